"""Where "they" attends in "My friends like tomatoes because they are tasty", in a trained translator.

"They" could mean the friends or the tomatoes. A translation into Italian must decide, as the adjective agrees in gender
and number with its noun. The lesson shows where the encoder looks from "they". Weights show where a head looks, not
what a model has understood (Jain and Wallace 2019, arXiv 1902.10186); the endings of its translations show that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..lesson.blocks import Array, Block, Choice, Lesson, Line, Matrix, Steps, Text, number
from ..lesson.markdown import Fields, told

if TYPE_CHECKING:
    from minigrad_models.translation.translator import Translator

SENTENCE, WORD, RIVALS = "My friends like tomatoes because they are tasty", "they", ("friends", "tomatoes")
ADJECTIVE = "tasty"
OTHERS = {  # the possible meanings of "they" in each
    "My friends sleep because they are tired": ("friends",),
    "My friends like apples because they are tasty": ("friends", "apples"),
    "My sisters like tomatoes because they are tasty": ("sisters", "tomatoes"),
}
END = "⟨end⟩"


class Looked(NamedTuple):
    """The attention for a sentence and its translation, by word."""

    words: list[str]  # of the source, including its end
    target: list[str]  # the words of the translation, including its end
    self_attention: Array  # (layers, heads, S, S) by words; rows sum to 1
    cross_attention: Array  # (layers, heads, T, S), likewise for the words of the translation
    translation: str  # the text
    notes: list[str]  # the tokenizer's notes on the sentence


def look(translator: Translator, sentence: str) -> Looked:
    """Translate a sentence, and record all attention."""
    from minigrad_models.translation.serve.api import units

    (computed,) = translator.translate([sentence])
    view, cross = translator.look(computed), translator.attention(computed.source, computed.text)
    source, target = units(cross.source, computed.source)[1], units(cross.target, computed.text)[1]
    columns, rows = [unit.tokens for unit in source], [unit.tokens for unit in target]
    return Looked(
        [*(unit.text for unit in source[:-1]), END],
        [*(unit.text for unit in target[:-1]), END],
        by_word(np.stack(view.weights("encoder")), columns, columns),
        by_word(cross.weights, rows, columns),
        computed.text,
        computed.notes,
    )


def by_word(weights: Array, rows: Sequence[list[int]], columns: Sequence[list[int]]) -> Array:
    """Convert weights by token (…, T, S) to weights by word: sum over the tokens of the attended word, and average over
    the tokens of the attending word."""
    summed = np.stack([weights[..., tokens].sum(-1) for tokens in columns], -1)
    return np.stack([summed[..., tokens, :].mean(-2) for tokens in rows], -2)


def place(words: Sequence[str], word: str) -> int:
    """The position of a word. Raises ValueError if it is missing."""
    lower = [w.lower() for w in words]
    if word.lower() not in lower:
        raise ValueError(f"the sentence has no word {word!r}: {' '.join(words)}")
    return lower.index(word.lower())


def lesson(run: Path) -> Lesson:
    """The worked example. Raises FileNotFoundError if there is no trained run, and ValueError or RuntimeError if it is
    damaged."""
    from minigrad_models.translation.translator import Translator

    translator = Translator.load(run)
    first, others = look(translator, SENTENCE), {text: look(translator, text) for text in OTHERS}
    source, target = translator.settings.data.source, translator.settings.data.target
    layers, heads = first.self_attention.shape[:2]
    head, italian = decided(first), target == "it"
    return told(
        globals(),
        **_sentence(first, head),
        heads=_heads(first),
        **_adjective(first, italian),
        layers=_cross(first),
        others=_others(others, head, italian),
        **_checks([first, *others.values()]),
        about=f"{source} to {target}, with {layers} layers of {heads} heads",
    )


def decided(computed: Looked, word: str = WORD) -> tuple[int, int]:
    """The layer and head, from 0, in which a word's weights on the two rivals differ most."""
    one, other = (computed.self_attention[..., place(computed.words, rival)] for rival in RIVALS)
    difference = np.abs(one - other)[:, :, place(computed.words, word)]
    layer, head = np.unravel_index(int(difference.argmax()), difference.shape)
    return int(layer), int(head)


def _named(layer: int, head: int) -> str:
    return f"layer {layer + 1}, head {head + 1}"


def _translated(sentence: str, computed: Looked) -> list[Block]:
    """The sentence and its translation."""
    notes = [Text(f"Note: {note}.") for note in computed.notes]
    return [Text(f"“{sentence}” → “{computed.translation}”"), *notes]


def _sentence(computed: Looked, head: tuple[int, int]) -> Fields:
    at = place(computed.words, WORD)
    weights = computed.self_attention[:, :, at]  # (layers, heads, S)
    rows = {"all heads, mean": weights.mean((0, 1))}
    for layer, heads in enumerate(weights):
        rows[f"layer {layer + 1}, mean"] = heads.mean(0)
        rows |= {_named(layer, i): row for i, row in enumerate(heads)}
    lines = [Line(computed.words, row.tolist(), at) for row in rows.values()]
    start = list(rows).index(_named(*head))
    mean, (one, other) = weights.mean((0, 1)), (place(computed.words, rival) for rival in RIVALS)
    most, count = int(mean.argmax()), weights[..., 0].size
    return {
        "translated": _translated(SENTENCE, computed),
        "count": count,
        "most": "itself" if computed.words[most].lower() == WORD else f"“{computed.words[most]}”",
        "on_most": mean[most],
        "on_rivals": mean[[one, other]],
        "size": len(computed.words),
        "even": 1 / len(computed.words),
        "favour": [int((weights[..., a] > weights[..., b]).sum()) for a, b in ((one, other), (other, one))],
        "chosen": _named(*head),
        "attention": Choice("attention of", list(rows), lines, start),
    }


def _heads(computed: Looked) -> Steps:
    at, (one, other) = place(computed.words, WORD), (place(computed.words, rival) for rival in RIVALS)
    rows = []
    for layer, heads in enumerate(computed.self_attention[:, :, at]):
        for head, weights in enumerate(heads):
            most = int(weights.argmax())
            shares = f"{weights[one]:.3f}", f"{weights[other]:.3f}", f"{computed.words[most]} ({weights[most]:.3f})"
            rows.append((f"{layer + 1}", f"{head + 1}", *shares))
    return Steps(("layer", "head", *RIVALS, "most from"), rows, numbers=(0, 1, 2, 3))


def _adjective(computed: Looked, italian: bool) -> Fields:
    at, (layer, head) = place(computed.words, ADJECTIVE), decided(computed, ADJECTIVE)
    row = computed.self_attention[layer, head, at]
    return {
        "why": f"Italian has no word for “{WORD}” here: the ending of the adjective depends on the answer. " * italian,
        "adjective_head": _named(layer, head),
        "of_adjective": [row[place(computed.words, rival)] for rival in RIVALS],
        "adjective": Line(computed.words, row.tolist(), at),
    }


def _cross(computed: Looked) -> Choice:
    names = ["mean", *(f"layer {i + 1}" for i in range(len(computed.cross_attention)))]
    values = [computed.cross_attention.mean((0, 1)), *computed.cross_attention.mean(1)]
    note = "rows look at columns"
    options = [
        Matrix(f"cross-attention, {name}", value, computed.target, computed.words, 2, "weights", note=note)
        for name, value in zip(names, values, strict=True)
    ]
    return Choice("layer", names, options)


def _others(others: Mapping[str, Looked], head: tuple[int, int], italian: bool) -> list[Block]:
    blocks: list[Block] = []
    if italian:
        blocks.append(
            Text(
                "In Italian the adjective shows who “they” are: it ends in -i for the friends and the tomatoes, "
                "which are masculine, so that the sentence above is ambiguous, and in -e for the apples and "
                "the sisters, which are feminine. (For “tired” and “tasty”: stanchi, stanche; gustosi, gustose.)"
            )
        )
    for sentence, computed in others.items():
        at = place(computed.words, WORD)
        weights = computed.self_attention[:, :, at]
        mean = weights.mean((0, 1))
        means = " and ".join(
            f"{number(mean[place(computed.words, noun)], 3)} from “{noun}”" for noun in OTHERS[sentence]
        )
        blocks += [
            *_translated(sentence, computed),
            Line(computed.words, weights[head].tolist(), at),
            Text(f"On average over all heads: {means}."),
        ]
    return blocks


def _checks(computed: Sequence[Looked]) -> Fields:
    sums = [np.abs(w.sum(-1) - 1).max() for one in computed for w in (one.self_attention, one.cross_attention)]
    return {"sums": max(sums) < 1e-4}
