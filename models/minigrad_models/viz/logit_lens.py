"""The predictions of a language model after each layer: the logit lens (nostalgebraist 2020, "interpreting GPT: the
logit lens", LessWrong). The last layer's head, with its norm, is applied to the states between layers as well."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

import minigrad as mg
from minigrad import Tensor, no_grad, where
from minigrad.backend.host import host
from minigrad.nn import Module
from minigrad.utils.bar import bar
from minigrad.viz.attention.attention_data import Reader
from minigrad.viz.attention.attention_record import in_evaluation
from minigrad.viz.numbers import Array, checked_number, coded
from minigrad.viz.page import Page
from minigrad.viz.palette import LIGHT
from minigrad.viz.vector import INK, LINE, QUIET, Drawing, clean, cut, shortened
from minigrad.viz.view import Picture

from .texts import reader

MOST = 4_000_000  # tokens with their probabilities on a page
CELLS = 1 << 22  # logits in memory at once
COLUMNS = 16  # in an image, by default
WIDE, HIGH, LEFT, TOP = 76.0, 24.0, 84.0, 56.0  # the size of a cell, and the margins, in pixels
UNKNOWN = -1  # marks an unknown token


class Numbers(NamedTuple):
    """A summary of the distributions p in R = L + 1 rows (the inputs of each layer, and the output) at T positions.
    Entropy and divergence are in nats."""

    ids: Array  # (R, T, K) int64: the K most likely tokens, descending
    probabilities: Array  # (R, T, K) float32
    entropy: Array  # (R, T) float32: -Σ p log p
    divergence: Array  # (R, T) float32: KL(p of the last row ‖ p)
    ranks: Array  # (R, T) int64: the rank of the correct token, 1 for the most likely; 0 if unknown
    chances: Array  # (R, T) float32: the probability of the correct token; NaN if unknown


@dataclass(frozen=True)
class LogitLens(Picture):
    """Distributions by layer and position. Layer 0 is the embedding, and the last layer (-1) is the model's output. In
    a notebook it displays itself."""

    numbers: Numbers
    tokens: tuple[str, ...]  # the text of the T tokens that the model reads
    targets: Array  # (T,) int64: the correct token at each position; -1 if unknown
    read: Reader  # from an id to its text
    vocabulary: int  # V
    continues: bool = True  # the correct token is the next one, not the one at the position (masked words)
    title: str = "Logit lens"

    def __repr__(self) -> str:
        rows, positions, _ = self.numbers.ids.shape
        return f"<logit lens of {rows - 1} layers, {positions:,} tokens; .save('x.html'), .svg() or .top(layer, token)>"

    def top(self, layer: int, position: int, count: int = 10) -> list[tuple[str, float]]:
        """The most likely tokens after a layer, and their probabilities. Raises ValueError for an unknown layer or
        position."""
        rows, positions, _ = self.numbers.ids.shape
        at = checked_number("layer", layer, rows), checked_number("position", position, positions)
        pairs = zip(self.numbers.ids[at].tolist(), self.numbers.probabilities[at].tolist(), strict=True)
        return [(self._texts[i], p) for i, p in pairs][: max(count, 0)]

    @cached_property
    def _texts(self) -> dict[int, str]:
        ids = {*self.numbers.ids.reshape(-1).tolist(), *self.targets.tolist()} - {UNKNOWN}
        return {i: clean(self.read(i)) for i in sorted(ids)}

    def page(self) -> Page:
        """The interactive grid, with the most likely tokens in a cell and curves over the layers, as a file that works
        offline."""
        numbers, ids = self.numbers, np.array(sorted(self._texts), np.int64)
        data = {
            "title": self.title,
            "tokens": list(self.tokens),
            "names": [self._texts[i] for i in ids.tolist()],
            "shape": list(numbers.ids.shape),
            "vocabulary": self.vocabulary,
            "continues": self.continues,
            "targets": np.where(self.targets == UNKNOWN, UNKNOWN, np.searchsorted(ids, self.targets)).tolist(),
            "ids": coded(np.searchsorted(ids, numbers.ids), "<i4"),
            "ranks": coded(numbers.ranks, "<i4"),
            **{name: coded(getattr(numbers, name), "<f4") for name in numbers._fields if name not in ("ids", "ranks")},
        }
        return Page.of("lens", self.title, {"lens": data}, height=820)

    def svg(self, start: int = 0, stop: int | None = None) -> str:
        """An SVG of the positions from ``start`` up to but not including ``stop``, by default 16 positions.

        The correct token is above each column, and the token that the model reads is below it. Raises ValueError for
        positions out of range.
        """
        rows, positions, _ = self.numbers.ids.shape
        start = checked_number("position", start, positions)
        stop = min(start + COLUMNS, positions) if stop is None else stop
        if not start < stop <= positions:
            raise ValueError(f"positions {start} to {stop} are not in the text, which has {positions:,} positions")
        drawing = Drawing(LEFT + WIDE * (stop - start) + 12, TOP + HIGH * rows + 34, self.title)
        drawing.text(8, 18, self.title, size=13, font_weight=600)
        drawing.text(LEFT - 8, TOP - 8, "comes next" if self.continues else "stands there", "end", 9, QUIET)
        drawing.text(LEFT - 8, TOP + HIGH * rows + 17, "read", "end", 9, QUIET)
        for row in range(rows):
            y = TOP + HIGH * (rows - 1 - row)
            name = "embedding" if row == 0 and rows > 1 else "output" if row == rows - 1 else str(row)
            drawing.text(LEFT - 8, y + HIGH / 2 + 4, name, "end", 11, QUIET)
            for position in range(start, stop):  # the most likely token, darker if likelier, bold if correct
                x, at = LEFT + WIDE * (position - start), (row, position, 0)
                best, opacity = int(self.numbers.ids[at]), float(self.numbers.probabilities[at])
                box = {"x": x, "y": y, "width": WIDE, "height": HIGH}
                drawing.add("rect", **box, fill=LIGHT.accent, fill_opacity=opacity, stroke=LINE)
                colour = LIGHT.on_accent(opacity) if opacity > 0.02 else INK
                bold = {"font_weight": 600} if best == self.targets[position] else {}
                text = shortened(self._texts[best], 11, WIDE - 6)
                drawing.text(x + WIDE / 2, y + HIGH / 2 + 4, text, "middle", 11, colour, **bold)
        for position in range(start, stop):
            middle = LEFT + WIDE * (position - start + 0.5)
            if (target := int(self.targets[position])) != UNKNOWN:
                drawing.text(middle, TOP - 8, shortened(self._texts[target], 11, WIDE - 6), "middle", 11)
            drawing.text(middle, TOP + HIGH * rows + 17, shortened(self.tokens[position], 11, WIDE - 6), "middle", 11)
        return drawing.svg()


def logit_lens(
    model: Any,
    tokens: Any,
    labels: Any = None,
    *,
    targets: Any = None,
    top: int = 10,
    sentence: int = 0,
    title: str = "",
    **inputs: Any,
) -> LogitLens:
    """Show the model's predictions after each layer: distributions by layer and position.

        viz.logit_lens(GPT2.from_pretrained(folder), "The capital of Italy is").save("lens.html")

    Args:
        model: a model that maps tokens (B, T) to logits (B, T, V), or to a tuple that begins with them. Its ``layers``
            are a ModuleList; they run in sequence, each with the states (B, T, D) as its first argument. Its ``logits``
            maps the states after any layer (..., D) to logits (..., V). It runs once and is not changed.
        tokens: ids (T,) or (B, T), or text for the model's tokenizer.
        labels: the text of each id, a function from an id to its text, or a tokenizer; by default the model's
            tokenizer, or the ids.
        targets: ids (T,) or (B, T) of the correct tokens, negative if unknown. By default the next tokens, or the
            tokens themselves for a model that sees later tokens (BERT).
        top: K, the number of most likely tokens to show in each distribution.
        sentence: the index of the sentence in a batch. title: the page's title.
        inputs: the model's inputs by name. ``attention_mask`` (B, T), 1 or True at tokens, excludes padding.

    Raises TypeError for a model without layers or logits, or text without a tokenizer, and ValueError if there are no
    tokens, shapes do not match, top is below 1, the page would be too large, or logits are not finite.
    """
    if not (isinstance(model, Module) and hasattr(model, "layers") and hasattr(model, "logits")):
        kind = "a model with layers (a ModuleList) and logits(states), such as GPT2"
        raise TypeError(f"logit_lens needs {kind}, not a {type(model).__name__}")
    if top < 1:
        raise ValueError(f"top must be at least 1, not {top}")
    tokenizer = getattr(model, "tokenizer", None)
    ids = _ids(tokens, tokenizer)
    sentence = checked_number("sentence", sentence, len(ids), "the batch has")
    device = next((p.device for p in model.parameters()), None)
    with in_evaluation(model), no_grad():
        # If the model sees later tokens, a token's logits depend on the next token. Both calls have the same shapes,
        # so that rounding is the same.
        first = int(ids[0, 0])
        pairs = [first, first], [first, first - 1 if first else 1]
        one, other = (_logits(model(mg.tensor([pair], device=device)))[0, 0] for pair in pairs)
        continues = not (one != other).any()
        positions = _positions(inputs.get("attention_mask"), ids, sentence)
        right = _targets(targets, ids, sentence, positions, continues)
        states, output = _run(model, mg.tensor(ids, device=device), sentence, positions, inputs)
        numbers = _numbers(model, states, output, right, top)
    read = reader(labels, tokenizer)
    texts = tuple(clean(read(i)) for i in ids[sentence, positions].tolist())
    title = clean(title or cut(f"Logit lens: {' '.join(texts)}", 60))
    return LogitLens(numbers, texts, right, read, output.shape[-1], continues, title)


def _ids(tokens: Any, tokenizer: Any) -> Array:
    if isinstance(tokens, str):
        if tokenizer is None:
            raise TypeError("the model has no tokenizer for text: pass ids, and labels for them")
        encoded = tokenizer.encode(tokens)
        tokens = getattr(encoded, "ids", encoded)
    ids = host(tokens)
    if ids.ndim not in (1, 2) or ids.dtype.kind not in "iu" or not ids.size:
        raise ValueError(f"tokens must be nonempty ids (T,) or (B, T), but are {ids.dtype} of shape {ids.shape}")
    return ids.astype(np.int64).reshape(-1, ids.shape[-1])


def _positions(mask: Any, ids: Array, sentence: int) -> Array:
    """The positions of a sentence that are not padding."""
    if mask is None:
        return np.arange(ids.shape[1])
    array = host(mask)
    batch, length = ids.shape
    if array.ndim != 2 or len(array) != batch or array.shape[1] < length:
        raise ValueError(f"the mask has shape {array.shape}, but the tokens have shape {ids.shape}")
    positions = np.flatnonzero(array[sentence, -length:])  # a memory's tokens are before them
    if not positions.size:
        raise ValueError("the mask excludes all tokens")
    return positions


def _targets(targets: Any, ids: Array, sentence: int, positions: Array, continues: bool) -> Array:
    """The correct tokens at some positions, or UNKNOWN."""
    if targets is None:
        row = ids[sentence, positions]
        return np.append(row[1:], UNKNOWN) if continues else row
    array = host(targets)
    if array.shape not in (ids.shape, ids.shape[1:]) or array.dtype.kind not in "iu":
        raise ValueError(f"targets must be ids of the tokens' shape {ids.shape}, not {array.dtype} {array.shape}")
    row = np.broadcast_to(array, ids.shape)[sentence, positions].astype(np.int64)
    return np.where(row < 0, UNKNOWN, row)


def _logits(output: Any) -> Tensor:
    """The first output of a model."""
    logits: Tensor = output[0] if isinstance(output, tuple) else output
    return logits


def _run(model: Any, ids: Tensor, row: int, positions: Array, inputs: Mapping[str, Any]) -> tuple[list[Tensor], Tensor]:
    """The inputs (T, D) of each layer, and the logits (T, V) of the output, for one sentence without its padding."""
    states: list[Tensor] = []
    with ExitStack() as hooks:
        for layer in dict.fromkeys(model.layers):  # a layer that occurs twice needs a single hook
            hooks.callback(layer.register_forward_pre_hook(lambda _, args: states.append(args[0])).remove)
        logits = _logits(model(ids, **inputs))
    for name, one in (("a layer's states", states[0] if states else logits), ("the logits", logits)):
        if one.ndim != 3 or one.shape[:2] != ids.shape:
            shapes = tuple(one.shape), tuple(ids.shape)
            raise ValueError(f"{name} have shape {shapes[0]}, not (B, T, …) for tokens {shapes[1]}")
    places = mg.tensor(positions, device=logits.device)
    return [state[row, places] for state in states], logits[row, places]


def _numbers(model: Any, states: list[Tensor], output: Tensor, targets: Array, top: int) -> Numbers:
    """The summary of all distributions, computed for a few positions at a time."""
    positions, vocabulary = output.shape
    rows, top = len(states) + 1, min(top, vocabulary)
    if rows * positions * top > MOST:
        raise ValueError(
            f"{rows} rows of {positions:,} tokens, {top} likeliest each, are too many for a page, whose limit is "
            f"{MOST:,}: use fewer tokens, or a smaller top"
        )
    if targets.max(initial=UNKNOWN) >= vocabulary:
        raise ValueError(f"token {targets.max()} is not in the vocabulary of {vocabulary:,}")
    right, shape = mg.tensor(targets, device=output.device), (rows, positions)
    kinds = {"ids": np.int64, "ranks": np.int64}
    wide = {"ids": (*shape, top), "probabilities": (*shape, top)}
    numbers = Numbers(*(np.zeros(wide.get(name, shape), kinds.get(name, np.float32)) for name in Numbers._fields))
    many = max(CELLS // vocabulary, 1)
    with bar(rows * positions, "logit lens", " distributions") as progress:
        for start in range(0, positions, many):
            part = slice(start, start + many)
            last = output[part].float().log_softmax(-1)
            for row, state in enumerate([*states, None]):
                logs = last if state is None else model.logits(state[None, part])[0].float().log_softmax(-1)
                for into, values in zip(numbers, _distribution(logs, last, right[part], top), strict=True):
                    into[row, part] = host(values)
                progress.update(len(last))
    wrong = ~np.isfinite(numbers.probabilities).all(-1)
    if wrong.any():
        row, position = np.argwhere(wrong)[0].tolist()
        raise ValueError(f"after layer {row}, at position {position}, the model's logits are not finite")
    return numbers


def _distribution(logs: Tensor, last: Tensor, targets: Tensor, top: int) -> Iterable[Tensor]:
    """The fields of ``Numbers``, computed from log p (N, V), log p of the last row, and the correct tokens (N,)."""
    chances, has_target = logs.exp(), targets >= 0
    values, ids = chances.topk(top)
    of_target = logs.gather(1, targets.clamp(min=0)[:, None])  # (N, 1)
    return (
        ids,
        values,
        -where(chances > 0, chances * logs, 0.0).sum(-1),
        where(last > -math.inf, last.exp() * (last - logs), 0.0).sum(-1).clamp(min=0.0),
        where(has_target, (logs > of_target).sum(-1) + 1, 0),
        where(has_target, of_target[:, 0].exp(), math.nan),
    )
