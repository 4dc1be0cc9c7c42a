"""The comparison as a page: a table, exactness against length, and the two reasons to leave recurrent networks."""

from __future__ import annotations

from collections.abc import Mapping

from examples.lesson.blocks import Block, Chart, Checked, Lesson, Section, Series, Steps, Text
from minigrad_models.text import Pairs

from .measure import Result, groups, lengths
from .sizes import KINDS

HEAD = ("model", "parameters", "updates", "minutes", "exact", "shortest", "longest", "ms a token", "steps", "path")


def lesson(results: Mapping[str, Result], test: Pairs) -> Lesson:
    """The page of the results, by the architecture's name."""
    chart = _chart(results, test)
    return Lesson(
        "compare",
        "Translators side by side",
        "Recurrent networks without and with attention, convolutions and the transformer learn the same English "
        "and Italian sentences, with equal numbers of parameters and updates.",
        (_table(results), _by_length(chart), _reasons(), _claims(results)),
        picture=chart,
    )


def _table(results: Mapping[str, Result]) -> Section:
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
    about = (
        "Exact is the share of unseen sentences whose translation is the reference, word by word; the two columns "
        "after it have the shortest and the longest quarter of them. Minutes are of training. A token's time is that "
        "of greedy translation, one sentence at a time. The last columns count for S tokens, L layers and "
        "convolutions over K tokens the steps, one after another, that encode a sentence, and those on the path from "
        "its first token to its last (Vaswani et al. 2017, table 1)."
    )
    return Section("1. The table", (Text(about), Steps(HEAD, rows, numbers=tuple(range(1, 8)))))


def _chart(results: Mapping[str, Result], test: Pairs) -> Chart:
    words = lengths(test.source)
    centres = [round(float(words[places].mean()), 1) for places in groups(test.source)]
    series = [Series(KINDS[name].title, centres, [100 * x for x in r.by_length]) for name, r in results.items()]
    return Chart("Exact translations by length", "mean number of words", "%", series, digits=1)


def _by_length(chart: Chart) -> Section:
    about = (
        "Without attention, one vector carries the whole sentence to the decoder: the longer the sentence, the more "
        "is lost (Cho et al. 2014, figure 4; Bahdanau et al. 2015, figure 2). Attention looks at all states anew for "
        "each word."
    )
    return Section("2. Long sentences", (Text(about), chart))


def _reasons() -> Section:
    return Section(
        "3. Two reasons to leave recurrence",
        (
            Text(
                "A recurrent network reads word after word: S steps that wait for each other, whatever the machine "
                "could do at once. A transformer reads all words in one step a layer."
            ),
            Text(
                "A signal between distant words passes through as many steps, and so does its gradient, which "
                "shrinks or grows at each: `python -m examples.gradients` shows it. In a transformer any two words "
                "are one step apart."
            ),
        ),
    )


def _claims(results: Mapping[str, Result]) -> Section:
    """What attention changes for each cell; tested is the claim of Bahdanau et al. on their own cell, the GRU."""
    blocks: list[Block] = []
    for cell in ("rnn", "lstm", "gru"):
        without, with_it = results.get(cell), results.get(f"{cell}-attention")
        if without and with_it:
            text = (
                f"Of the longest sentences the {KINDS[cell].title} translates {without.by_length[-1]:.1%} exactly "
                f"without attention, and {with_it.by_length[-1]:.1%} with it."
            )
            is_better = with_it.by_length[-1] > without.by_length[-1]
            blocks.append(Checked(text, is_better) if cell == "gru" else Text(text))
    return Section("4. What attention changes", blocks or (Text("One model alone: nothing to compare."),))
