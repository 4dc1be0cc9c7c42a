"""The command compare: GPT-2 and Transformer-XL of equal size, after equal updates, by how much text each may see.

All learn from as many tokens at each update. A GPT-2 has a vector for each place in its window, so it cannot see more
than it has learned to; it is given its best, a window that moves by a few tokens, and two other chances: a larger table
of positions, of which the training uses the first ones alone, and a training with windows of the larger size.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from . import text
from . import train_gpt as training
from .architectures import build
from .gpt_run import evaluate
from .gpt_settings import ModelSettings, Settings
from .tokens import learn

WINDOW, MOVED = 4, 16  # the large window is 4 contexts; a small stride is a 16th of the window


@dataclass(frozen=True)
class Entry:
    """A model of the comparison: its title, the settings that it changes, and the windows to evaluate with, each with
    its stride."""

    title: str
    changes: dict[str, Any]
    windows: tuple[tuple[int, int], ...]


class Row(NamedTuple):
    """A result: bits per character of the validation text."""

    title: str
    parameters: int
    window: int
    stride: int
    bits: float


def entries(settings: Settings, vocabulary: int) -> dict[str, Entry]:
    """The models by the names of their folders. Raises ValueError: the batch does not make windows of four contexts."""
    context, batch = settings.model.context, settings.training.batch
    large = WINDOW * context
    if batch % WINDOW:
        raise ValueError(
            f"batch is {batch}, and must be a multiple of {WINDOW}: one training has windows {WINDOW} "
            "times as long, and as many tokens in a batch"
        )
    plain = {"model": "gpt2", "window": context, "memory": 0}
    recurrent = {**plain, "model": "transformer-xl"}
    return {
        "gpt2": Entry("GPT-2", plain, ((context, context), (context, moved(context)))),
        "gpt2-positions": Entry(
            f"GPT-2 with {large} positions, trained on {context}",
            {**plain, "context": large},
            ((context, moved(context)), (large, moved(large))),
        ),
        "gpt2-large-window": Entry(
            f"GPT-2 trained on windows of {large}",
            {**plain, "context": large, "window": large, "batch": batch // WINDOW},
            ((large, large), (large, moved(large))),
        ),
        "transformer-xl": Entry(
            f"Transformer-XL trained on segments and a memory of {context}",
            {**recurrent, "d_ff": equal_width(settings, vocabulary, recurrent)},
            ((2 * context, context), (large, context), (large, moved(large))),
        ),
    }


def moved(window: int) -> int:
    """A small stride of a window."""
    return max(1, window // MOVED)


def equal_width(settings: Settings, vocabulary: int, changes: dict[str, Any]) -> int:
    """The width of the feed-forward networks with which a changed model has as many weights as that of the settings."""
    variants = {"model": "gpt2", "memory": 0}, {**changes, "d_ff": 1}, {**changes, "d_ff": 2}
    goal, least, next_one = (parameters(settings.changed(values).model, vocabulary) for values in variants)
    return max(1, 1 + round((goal - least) / (next_one - least)))


def parameters(sizes: ModelSettings, vocabulary: int) -> int:
    """The number of a model's weights."""
    return sum(p.numel() for p in build(sizes, vocabulary).parameters())


def compare(settings: Settings, folder: Path) -> tuple[int, list[Row]]:
    """Train all models that are not trained yet, each in a folder of its own, and score them. Returns an exit status
    and the results. Raises ValueError: sizes that cannot be compared."""
    corpus = text.read(settings.data)
    tokens = learn(settings.data.tokenizer, corpus.train + corpus.validation, corpus.train, settings.data.vocabulary)
    rows = []
    for name, entry in entries(settings, len(tokens)).items():
        changed = settings.changed(entry.changes)
        print(f"\n== {entry.title}", flush=True)
        if status := training.train(changed, folder / name):
            return status, []
        count = parameters(changed.model, len(tokens))
        for window, stride in entry.windows:
            score = evaluate(folder / name, settings.training.device, None, window, stride)
            rows.append(Row(entry.title, count, window, stride, score["bits_per_character"]))
    return 0, rows


def table(rows: list[Row]) -> str:
    """The results in Markdown."""
    lines = ["| model | weights | sees at most | moves by | bits per character |", "|---|---|---|---|---|"]
    lines += [f"| {r.title} | {r.parameters:,} | {r.window} | {r.stride} | {r.bits:.3f} |" for r in rows]
    return "\n".join(lines)
