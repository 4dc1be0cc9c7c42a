"""What a language model would say if it stopped after each layer: the logit lens (nostalgebraist 2020, "interpreting
GPT: the logit lens", LessWrong). The last layer's head, with its norm, reads the states between the layers, too."""

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

MOST = 4_000_000  # tokens with their probabilities in a page
CELLS = 1 << 22  # logits that are held at a time
COLUMNS = 16  # of a picture, by default
WIDE, HIGH, LEFT, TOP = 76.0, 24.0, 84.0, 56.0  # of a cell of the picture, and what is around them, in pixels
UNKNOWN = -1  # for a token that nobody knows


class Numbers(NamedTuple):
    """What is kept of the distributions p of R = L + 1 rows (the inputs of each layer, and the output) at T positions.
    Entropy and divergence are in nats."""

    ids: Array  # (R, T, K) int64: the K likeliest tokens, falling
    probabilities: Array  # (R, T, K) float32
    entropy: Array  # (R, T) float32: -Σ p log p
    divergence: Array  # (R, T) float32: KL(p of the last row ‖ p)
    ranks: Array  # (R, T) int64: of the token that is right, 1 for the likeliest; 0 where none is known
    chances: Array  # (R, T) float32: its probability; NaN where none is known


@dataclass(frozen=True)
class LogitLens(Picture):
    """Distributions by layer and position. Layer 0 is the embedding, the last (-1) the model's output. In a notebook
    it shows itself."""

    numbers: Numbers
    tokens: tuple[str, ...]  # the texts of the T tokens that the model reads
    targets: Array  # (T,) int64: the token that is right at each position; -1 where none is known
    read: Reader  # the text of an id
    vocabulary: int  # V
    continues: bool = True  # the right token is the next one; else the one that stands there (masked words)
    title: str = "Logit lens"

    def __repr__(self) -> str:
        rows, positions, _ = self.numbers.ids.shape
        return f"<logit lens of {rows - 1} layers, {positions:,} tokens; .save('x.html'), .svg() or .top(layer, token)>"

    def top(self, layer: int, position: int, count: int = 10) -> list[tuple[str, float]]:
        """The likeliest tokens after a layer, and their probabilities. Raises ValueError: there is no such layer or
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
        """The grid to point at, with the likeliest tokens of a cell and curves over the layers; one file that works
        offline."""
        numbers, known = self.numbers, np.array(sorted(self._texts), np.int64)
        data = {
            "title": self.title,
            "tokens": list(self.tokens),
            "names": [self._texts[i] for i in known.tolist()],
            "shape": list(numbers.ids.shape),
            "vocabulary": self.vocabulary,
            "continues": self.continues,
            "targets": np.where(self.targets == UNKNOWN, UNKNOWN, np.searchsorted(known, self.targets)).tolist(),
            "ids": coded(np.searchsorted(known, numbers.ids), "<i4"),
            "ranks": coded(numbers.ranks, "<i4"),
            **{name: coded(getattr(numbers, name), "<f4") for name in numbers._fields if name not in ("ids", "ranks")},
        }
        return Page.of("lens", self.title, {"lens": data}, height=820)

    def svg(self, start: int = 0, stop: int | None = None) -> str:
        """A vector picture of the positions from ``start`` to before ``stop``, by default 16 of them.

        Above a column stands the token that is right, below it the one that the model reads. Raises ValueError: there
        are no such positions.
        """
        rows, positions, _ = self.numbers.ids.shape
        start = checked_number("position", start, positions)
        stop = min(start + COLUMNS, positions) if stop is None else stop
        if not start < stop <= positions:
            raise ValueError(f"positions {start} to {stop} are not in the text: there are {positions:,}")
        drawing = Drawing(LEFT + WIDE * (stop - start) + 12, TOP + HIGH * rows + 34, self.title)
        drawing.text(8, 18, self.title, size=13, font_weight=600)
        drawing.text(LEFT - 8, TOP - 8, "comes next" if self.continues else "stands there", "end", 9, QUIET)
        drawing.text(LEFT - 8, TOP + HIGH * rows + 17, "read", "end", 9, QUIET)
        for row in range(rows):
            y = TOP + HIGH * (rows - 1 - row)
            name = "embedding" if row == 0 and rows > 1 else "output" if row == rows - 1 else str(row)
            drawing.text(LEFT - 8, y + HIGH / 2 + 4, name, "end", 11, QUIET)
            for position in range(start, stop):  # the likeliest token, darker the likelier, in bold where it is right
                x, at = LEFT + WIDE * (position - start), (row, position, 0)
                chosen, opacity = int(self.numbers.ids[at]), float(self.numbers.probabilities[at])
                box = {"x": x, "y": y, "width": WIDE, "height": HIGH}
                drawing.add("rect", **box, fill=LIGHT.accent, fill_opacity=opacity, stroke=LINE)
                colour = LIGHT.on_accent(opacity) if opacity > 0.02 else INK
                bold = {"font_weight": 600} if chosen == self.targets[position] else {}
                text = shortened(self._texts[chosen], 11, WIDE - 6)
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
    **named: Any,
) -> LogitLens:
    """What the model would predict if it stopped after each layer: its distribution by layer and position.

        viz.logit_lens(GPT2.from_pretrained(folder), "The capital of Italy is").save("lens.html")

    Args:
        model: tokens (B, T) -> logits (B, T, V), of several results the first. It has ``layers``, a ModuleList, called
            one after another, the first argument of each being the state (B, T, D); and ``logits(states)``, which maps
            the states after any of them (..., D) to logits (..., V). It runs once, and is afterwards as before.
        tokens: ids (T,) or (B, T); or a text for the model's tokenizer.
        labels: the texts of all ids, a function from an id to its text, or a tokenizer; by default the model's, or
            the ids.
        targets: ids (T,) or (B, T) of the tokens that are right, negative where none is known. By default the
            next ones; for a model that also sees later tokens (BERT), those that stand there.
        top: K, the likeliest tokens that are kept of each distribution.
        sentence: which of a batch. title: of the page.
        named: the model's inputs by name. Of ``mask``, True at tokens (B, T), padding is left out.

    Raises TypeError: a model without layers or logits; a text, and no tokenizer. ValueError: there are no tokens,
    shapes do not fit, top is below 1, the page would be too large, or a distribution is not of numbers.
    """
    if not (isinstance(model, Module) and hasattr(model, "layers") and hasattr(model, "logits")):
        wanted = "a model with layers (a ModuleList) and logits(states), as GPT2 is"
        raise TypeError(f"logit_lens takes {wanted}, and not a {type(model).__name__}")
    if top < 1:
        raise ValueError(f"top is 1 at least, not {top}")
    tokenizer = getattr(model, "tokenizer", None)
    ids = _ids(tokens, tokenizer)
    sentence = checked_number("sentence", sentence, len(ids), "the batch has")
    device = next((p.device for p in model.parameters()), None)
    with in_evaluation(model), no_grad():
        # Whether the model sees later tokens: its answers to a token before two others tell, each by itself and in the
        # same place, so that rounding, too, is the same.
        first = int(ids[0, 0])
        pairs = [first, first], [first, first - 1 if first else 1]
        one, other = (_logits(model(mg.tensor([pair], device=device)))[0, 0] for pair in pairs)
        continues = not (one != other).any()
        kept = _kept(named.get("mask"), ids, sentence)
        right = _targets(targets, ids, sentence, kept, continues)
        states, output = _run(model, mg.tensor(ids, device=device), sentence, kept, named)
        numbers = _numbers(model, states, output, right, top)
    read = reader(labels, tokenizer)
    texts = tuple(clean(read(i)) for i in ids[sentence, kept].tolist())
    title = clean(title or cut(f"Logit lens: {' '.join(texts)}", 60))
    return LogitLens(numbers, texts, right, read, output.shape[-1], continues, title)


def _ids(tokens: Any, tokenizer: Any) -> Array:
    if isinstance(tokens, str):
        if tokenizer is None:
            raise TypeError("a text needs the model's tokenizer, and it has none: pass ids, and labels for them")
        encoded = tokenizer.encode(tokens)
        tokens = getattr(encoded, "ids", encoded)
    ids = host(tokens)
    if ids.ndim not in (1, 2) or ids.dtype.kind not in "iu" or not ids.size:
        raise ValueError(f"tokens are ids (T,) or (B, T), at least one, not {ids.dtype} of the shape {ids.shape}")
    return ids.astype(np.int64).reshape(-1, ids.shape[-1])


def _kept(mask: Any, ids: Array, sentence: int) -> Array:
    """The positions of a sentence that are no padding."""
    if mask is None:
        return np.arange(ids.shape[1])
    known = host(mask)
    batch, length = ids.shape
    if known.ndim != 2 or len(known) != batch or known.shape[1] < length:
        raise ValueError(f"the mask has the shape {known.shape}, and the tokens {ids.shape}")
    kept = np.flatnonzero(known[sentence, -length:])  # a memory's tokens come before them
    if not kept.size:
        raise ValueError("the mask leaves no token")
    return kept


def _targets(targets: Any, ids: Array, sentence: int, kept: Array, continues: bool) -> Array:
    """The tokens that are right at the kept positions; UNKNOWN where none is known."""
    if targets is None:
        row = ids[sentence, kept]
        return np.append(row[1:], UNKNOWN) if continues else row
    known = host(targets)
    if known.shape not in (ids.shape, ids.shape[1:]) or known.dtype.kind not in "iu":
        raise ValueError(f"targets are ids of the tokens' shape {ids.shape}, not {known.dtype} {known.shape}")
    row = np.broadcast_to(known, ids.shape)[sentence, kept].astype(np.int64)
    return np.where(row < 0, UNKNOWN, row)


def _logits(output: Any) -> Tensor:
    """The first of a model's results."""
    logits: Tensor = output[0] if isinstance(output, tuple) else output
    return logits


def _run(model: Any, ids: Tensor, sentence: int, kept: Array, named: Mapping[str, Any]) -> tuple[list[Tensor], Tensor]:
    """The inputs (T, D) of each layer, and the logits (T, V) of the output, for one sentence without its padding."""
    states: list[Tensor] = []
    with ExitStack() as hooks:
        for layer in dict.fromkeys(model.layers):  # one that stands there twice is called twice
            hooks.callback(layer.register_forward_pre_hook(lambda _, args: states.append(args[0])).remove)
        logits = _logits(model(ids, **named))
    for name, one in (("a layer's states", states[0] if states else logits), ("the logits", logits)):
        if one.ndim != 3 or one.shape[:2] != ids.shape:
            shapes = tuple(one.shape), tuple(ids.shape)
            raise ValueError(f"{name} have the shape {shapes[0]}, and not (B, T, …) for tokens {shapes[1]}")
    places = mg.tensor(kept, device=logits.device)
    return [state[sentence, places] for state in states], logits[sentence, places]


def _numbers(model: Any, states: list[Tensor], output: Tensor, targets: Array, top: int) -> Numbers:
    """What is kept of all distributions; a part of the positions at a time."""
    positions, vocabulary = output.shape
    rows, top = len(states) + 1, min(top, vocabulary)
    if rows * positions * top > MOST:
        raise ValueError(
            f"{rows} rows of {positions:,} tokens, {top} likeliest each, are too many for a page, which holds "
            f"{MOST:,}: take fewer tokens, or a smaller top"
        )
    if targets.max(initial=UNKNOWN) >= vocabulary:
        raise ValueError(f"token {targets.max()} is not in the vocabulary of {vocabulary:,}")
    right, shape = mg.tensor(targets, device=output.device), (rows, positions)
    kinds = {"ids": np.int64, "ranks": np.int64}
    wide = {"ids": (*shape, top), "probabilities": (*shape, top)}
    kept = Numbers(*(np.zeros(wide.get(name, shape), kinds.get(name, np.float32)) for name in Numbers._fields))
    many = max(CELLS // vocabulary, 1)
    with bar(rows * positions, "logit lens", " distributions") as shown:
        for start in range(0, positions, many):
            part = slice(start, start + many)
            last = output[part].float().log_softmax(-1)
            for row, state in enumerate([*states, None]):
                logs = last if state is None else model.logits(state[None, part])[0].float().log_softmax(-1)
                for into, values in zip(kept, _distribution(logs, last, right[part], top), strict=True):
                    into[row, part] = host(values)
                shown.update(len(last))
    wrong = ~np.isfinite(kept.probabilities).all(-1)
    if wrong.any():
        row, position = np.argwhere(wrong)[0].tolist()
        raise ValueError(f"after layer {row}, at position {position}, the model's logits are not numbers")
    return kept


def _distribution(logs: Tensor, last: Tensor, targets: Tensor, top: int) -> Iterable[Tensor]:
    """Of log p (N, V), those of the last row, and right tokens (N,): the fields of ``Numbers``."""
    chances, known = logs.exp(), targets >= 0
    values, ids = chances.topk(top)
    of_target = logs.gather(1, targets.clamp(min=0)[:, None])  # (N, 1)
    return (
        ids,
        values,
        -where(chances > 0, chances * logs, 0.0).sum(-1),
        where(last > -math.inf, last.exp() * (last - logs), 0.0).sum(-1).clamp(min=0.0),
        where(known, (logs > of_target).sum(-1) + 1, 0),
        where(known, of_target[:, 0].exp(), math.nan),
    )
