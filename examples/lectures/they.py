"""What "they" attends to in "My friends like tomatoes because they are tasty", in a trained translator.

They could be the friends or the tomatoes. Italian must know: the adjective takes the gender and number of
what it tells of. So a trained encoder has to find out, and its self-attention shows where it looks.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import minigrad as mg

from .lesson import Block, Checked, Choice, Lesson, Line, Matrix, Section, Steps, Text

if TYPE_CHECKING:
    from examples.translate.translator import Translator

SENTENCE, WORD, RIVALS = "My friends like tomatoes because they are tasty", "they", ("friends", "tomatoes")
OTHERS = ("My friends sleep because they are tired", "My friends like apples because they are tasty")
END = "⟨end⟩"
Array = np.ndarray[Any, Any]


class Looked(NamedTuple):
    """A sentence in the encoder, by word.

    Attributes:
        words: of the source, its end included. target: the translation's words, its end included.
        self_attention: (layers, heads, S, S) by words; rows sum to 1.
        cross_attention: (layers, heads, T, S), likewise.
        translation: the text. notes: what the tokenizer said of the sentence.
    """

    words: list[str]
    target: list[str]
    self_attention: Array
    cross_attention: Array
    translation: str
    notes: list[str]


@mg.no_grad()
def look(translator: Translator, sentence: str) -> Looked:
    """Translate a sentence, and note all attention on the way."""
    from examples.translate.serve.words import units
    from minigrad.text.tokenizer import EOS
    from models.transformer import pad

    (found,) = translator.translate([sentence])
    cross = translator.attention(found.source, found.text)
    ids = translator.tokenizers.source.encode(found.source)[: translator.model.config.positions - 1]
    model, seen = translator.model, []

    def note(attention: Any, inputs: tuple[Any, ...]) -> None:
        seen.append(attention.weights(*inputs)[0])  # (H, S, S)

    was_training = model.training
    watched = [layer.attention.register_forward_pre_hook(note) for layer in model.encoder]
    try:
        model.eval().encode(pad([[*ids, EOS]], model.embedding.weight.device))
    finally:
        for handle in watched:
            handle.remove()
        model.train(was_training)
    source, target = units(cross.source, found.source)[1], units(cross.target, found.text)[1]
    columns, rows = [unit.tokens for unit in source], [unit.tokens for unit in target]
    weights = mg.stack(seen).cpu().numpy()
    return Looked(
        [*(unit.text for unit in source[:-1]), END], [*(unit.text for unit in target[:-1]), END],
        by_word(weights, columns, columns), by_word(cross.weights, rows, columns), found.text, found.notes,
    )  # fmt: skip


def by_word(weights: Array, rows: Sequence[list[int]], columns: Sequence[list[int]]) -> Array:
    """Weights by token (…, T, S) as weights by word: summed over the tokens of a word that is looked at, and
    averaged over those of the word that looks."""
    summed = np.stack([weights[..., tokens].sum(-1) for tokens in columns], -1)
    return np.stack([summed[..., tokens, :].mean(-2) for tokens in rows], -2)


def place(words: Sequence[str], word: str) -> int:
    """Where a word stands.

    Raises:
        ValueError: it does not.
    """
    lower = [w.lower() for w in words]
    if word.lower() not in lower:
        raise ValueError(f"the sentence has no word {word!r}: {' '.join(words)}")
    return lower.index(word.lower())


def lesson(run: Path) -> Lesson:
    """The worked example.

    Raises:
        FileNotFoundError: there is no trained run. ValueError, RuntimeError: it is damaged.
    """
    from examples.translate.translator import Translator

    translator = Translator.load(run)
    first, others = look(translator, SENTENCE), [look(translator, sentence) for sentence in OTHERS]
    source, target = translator.languages
    layers, heads = first.self_attention.shape[:2]
    about = (
        f"They could be the friends or the tomatoes. A translator from {source} to {target} with {layers} "
        f"layers of {heads} heads, trained, read the sentence; here is where its encoder looked from "
        f"“{WORD}”."
    )
    return Lesson(
        "they", f"What “{WORD}” attends to", about,
        (_sentence(first), _heads(first), _cross(first), _others(translator, others), _checks(first)),
    )


def _sentence(found: Looked) -> Section:
    at = place(found.words, WORD)
    layers, heads = found.self_attention.shape[:2]
    weights, names, lines = found.self_attention, [], []
    names.append("all, mean")
    lines.append(Line(found.words, weights.mean((0, 1))[at].tolist(), at))
    for layer in range(layers):
        names.append(f"layer {layer + 1}, mean")
        lines.append(Line(found.words, weights[layer].mean(0)[at].tolist(), at))
        for head in range(heads):
            names.append(f"layer {layer + 1}, head {head + 1}")
            lines.append(Line(found.words, weights[layer, head, at].tolist(), at))
    told = [Text(f"Note: {note}.") for note in found.notes]
    best = 1 + _decided(weights[:, :, at], found.words)
    return Section("1. Where the encoder looks", (
        Text(f"{SENTENCE}. → {found.translation}"), *told,
        Text(f"The weights of self-attention from “{WORD}” to each word. The head shown first is the one "
             f"whose weights on “{RIVALS[0]}” and “{RIVALS[1]}” differ most."),
        Choice("attention of", names, lines, best, printed=(0, best)),
    ))  # fmt: skip


def _decided(weights: Array, words: Sequence[str]) -> int:
    """The place among ``names`` of the head (layers, heads, S) with the clearest choice."""
    difference = np.abs(weights[:, :, place(words, RIVALS[1])] - weights[:, :, place(words, RIVALS[0])])
    layer, head = np.unravel_index(int(difference.argmax()), difference.shape)
    return int(layer) * (weights.shape[1] + 1) + 1 + int(head)


def _heads(found: Looked) -> Section:
    at, (one, other) = place(found.words, WORD), (place(found.words, rival) for rival in RIVALS)
    rows = []
    for layer, heads in enumerate(found.self_attention[:, :, at]):
        for head, weights in enumerate(heads):
            most = int(weights.argmax())
            rows.append((f"{layer + 1}", f"{head + 1}", f"{weights[one]:.3f}", f"{weights[other]:.3f}",
                         f"{found.words[most]} ({weights[most]:.3f})"))  # fmt: skip
    mean = found.self_attention[:, :, at].mean((0, 1))
    more = RIVALS[0] if mean[one] > mean[other] else RIVALS[1]
    return Section("2. Head by head", (
        Text(f"How much “{WORD}” takes from “{RIVALS[0]}” and from “{RIVALS[1]}”. On average over all heads: "
             f"{mean[one]:.3f} and {mean[other]:.3f}, more from “{more}”."),
        Steps(("layer", "head", *RIVALS, "most from"), rows, numbers=(0, 1, 2, 3)),
    ))  # fmt: skip


def _cross(found: Looked) -> Section:
    layers = len(found.cross_attention)
    names = ["mean", *(f"layer {i + 1}" for i in range(layers))]
    values = [found.cross_attention.mean((0, 1)), *found.cross_attention.mean(1)]
    options: list[Block] = [
        Matrix(f"cross-attention, {name}", value, found.target, found.words, 2, "weights",
               note="written words look at words of the source")
        for name, value in zip(names, values, strict=True)
    ]  # fmt: skip
    return Section("3. Where the decoder looks as it writes", (
        Text("The row of a written word has the weights at the step that wrote it, over all heads."),
        Choice("layer", names, options, printed=(0,)),
    ))  # fmt: skip


def _others(translator: Translator, others: Sequence[Looked]) -> Section:
    blocks: list[Block] = [Text(
        "The same word in other sentences, mean of all heads. In the first, they are the friends; in the "
        "second, the apples, which are feminine in Italian, where tomatoes are masculine."
    )]  # fmt: skip
    for sentence, found in zip(OTHERS, others, strict=True):
        at = place(found.words, WORD)
        weights = found.self_attention.mean((0, 1))[at].tolist()
        notes = [Text(f"Note: {note}.") for note in found.notes]
        blocks += [Text(f"{sentence}. → {found.translation}"), *notes, Line(found.words, weights, at)]
    return Section("4. Other sentences", blocks)


def _checks(found: Looked) -> Section:
    sums = [np.abs(w.sum(-1) - 1).max() for w in (found.self_attention, found.cross_attention)]
    return Section("Checked", (
        Checked("all weights from a word sum to 1", bool(max(sums) < 1e-4)),
    ))  # fmt: skip
