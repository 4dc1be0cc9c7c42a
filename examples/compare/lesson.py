"""The comparison as a page: a table, accuracy by length, and two reasons to leave recurrent networks."""

from __future__ import annotations

from collections.abc import Mapping

from examples.lesson.markdown import told
from minigrad_models.text import Pairs
from minigrad_models.viz.blocks import Block, Chart, Checked, Lesson, Series, Steps, Text

from .measure import Result, groups, lengths
from .sizes import KINDS

HEAD = ("model", "parameters", "updates", "minutes", "exact", "shortest", "longest", "ms a token", "steps", "path")


def lesson(results: Mapping[str, Result], test: Pairs) -> Lesson:
    """The page about the ``results`` of each architecture."""
    chart = _chart(results, test)
    return told(globals(), name="compare", picture=chart, table=_table(results), chart=chart, claims=_claims(results))


def _table(results: Mapping[str, Result]) -> Steps:
    rows = [
        (
            KINDS[name].title,
            f"{r.parameters:,}",
            f"{r.updates:,}",
            f"{r.minutes:.1f}",
            f"{r.exact:.1%}",
            f"{r.by_length[0]:.1%}",
            f"{r.by_length[-1]:.1%}",
            f"{1000 * r.seconds:.2f}",
            KINDS[name].steps,
            KINDS[name].path,
        )
        for name, r in results.items()
    ]
    return Steps(HEAD, rows, numbers=tuple(range(1, 8)))


def _chart(results: Mapping[str, Result], test: Pairs) -> Chart:
    words = lengths(test.source)
    centres = [round(float(words[places].mean()), 1) for places in groups(test.source)]
    series = [Series(KINDS[name].title, centres, [100 * x for x in r.by_length]) for name, r in results.items()]
    return Chart("Exact translations by length", "mean number of words", "%", series, digits=1)


def _claims(results: Mapping[str, Result]) -> list[Block]:
    """The effect of attention on each cell. The page checks it for the GRU, the cell used by Bahdanau et al."""
    blocks: list[Block] = []
    for cell in ("rnn", "lstm", "gru"):
        without, with_it = results.get(cell), results.get(f"{cell}-attention")
        if without and with_it:
            text = (
                f"The {KINDS[cell].title} translates {without.by_length[-1]:.1%} of the longest sentences exactly "
                f"without attention, and {with_it.by_length[-1]:.1%} with it."
            )
            is_better = with_it.by_length[-1] > without.by_length[-1]
            blocks.append(Checked(text, is_better) if cell == "gru" else Text(text))
    return blocks or [Text("There is only one model, so there is nothing to compare.")]
