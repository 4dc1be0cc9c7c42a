"""The view that ``viz.attention`` returns. It displays itself in a notebook, and can be saved as a page or image."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from ...nn.module import Module
from ...tensor import Tensor
from ..numbers import Array, checked_number, coded, equal_parts
from ..page import Page
from ..palette import DARK, LIGHT, Palette
from ..vector import SMALL, Box, PointDrawing, clean, cut, shortened, width, wrapped
from ..view import Picture
from .attention_data import Attention, Candidate, Kind, Tokens, grouped, sides
from .attention_record import from_call, from_weights

Look = Literal["head", "matrix", "model"]
Heads = int | Sequence[int] | None
EXACT = 600_000  # the most elements to store as float32; if there are more, they become float16 with three digits
PARTS = ("weights", "query", "key", "bias")  # the arrays of a layer
SCRIPTS = tuple(f"attention{part}.js" for part in ("", "_heads", "_matrix", "_model", "_neuron", "_start"))


def attention(subject: Any, *inputs: Any, tokens: Tokens = None, title: str = "", **kwargs: Any) -> AttentionView:
    """Show which tokens each token attends to, in every layer and head of encoder, decoder and cross-attention. Only
    the first sentence in a batch is shown.

        viz.attention(model, source, target, tokens=(source_tokens, target_tokens)).save("attention.html")
        viz.attention({"encoder": weights}, ["I", "like", "cats"]).save("heads.svg", layer=0, head=2)

    Args:
        subject: a module or function, or weights. A module or function is called once with ``inputs`` and ``kwargs`` in
            evaluation mode to record its attention. Weights are an array or Tensor (L, H, T, S), (H, T, S) or (T, S); a
            list with (H, T, S) or (B, H, T, S) for each layer; or a dict {"encoder": …, "decoder": …, "cross": …} of
            these. Each query and key is a token; rows sum to 1.
        inputs: the inputs of a module; for weights, the source tokens and the target tokens.
        tokens: a list of strings for both sides, a pair for source and target, or {"source": …, "target": …, "written":
            …}, where any key may be missing. A decoder's rows show the tokens that it writes, or else the tokens that
            it has read. For a module, tokens (except "written") may also be a tokenizer or a function from an id to a
            string. By default, the module's ``tokenizer`` is used; without one, ids or else indices are shown.
        title: the page title; by default, the tokens.

    Raises TypeError if the subject is not a module, function or weights, or tokens are not strings; and ValueError if
    there is no attention, the tokens do not match, or rows of weights are not probabilities.
    """
    if isinstance(subject, Module) or (callable(subject) and not isinstance(subject, Tensor)):
        both = sides(getattr(subject, "tokenizer", None) if tokens is None else tokens)
        return AttentionView(grouped(both, *from_call(subject, inputs, kwargs)), title)
    texts = all(isinstance(a, list | tuple) and all(isinstance(text, str) for text in a) for a in inputs)
    if kwargs or not texts or len(inputs) > 2 or (inputs and tokens is not None):
        wrong = f"an argument {next(iter(kwargs))!r}" if kwargs else f"{len(inputs)} more"
        raise TypeError(
            f"after the weights, pass the source and target tokens (or tokens=…) as lists of strings; "
            f"got {wrong}. To record a model's attention, pass the module itself"
        )
    both = sides(tokens if not inputs else inputs[0] if len(inputs) == 1 else inputs)
    return AttentionView(grouped(both, from_weights(subject, both)), title)


class AttentionView(Picture):
    """The attention between some tokens, in all layers and heads (which are counted from 0; -1 is the last).
    ``attentions`` has an item for each kind. ``beam`` contains the hypotheses of a beam search, best first."""

    def __init__(self, attentions: Sequence[Attention], title: str = "", beam: Sequence[Candidate] = ()) -> None:
        if not attentions:
            raise ValueError("the beam is empty: there is no attention to show")
        words = cut(" ".join(attentions[0].keys), 60)
        self.attentions, self.title = tuple(attentions), clean(title or f"Attention: {words}")
        self.beam = tuple(one._replace(text=clean(one.text)) for one in beam)

    def __repr__(self) -> str:
        sizes = (
            f"{a.title}: {len(a.layers)} layers, {len(a.layers[0].weights)} heads, "
            f"{len(a.queries)} × {len(a.keys)} tokens"
            for a in self.attentions
        )
        return f"<attention: {'; '.join(sizes)}>"

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The available kinds of attention: "encoder", "decoder", "cross"."""
        return tuple(a.kind for a in self.attentions)

    def weights(self, kind: Kind | None = None) -> list[Array]:
        """The weights (H, T, S) of each layer of one kind, by default the kind that ``svg`` draws."""
        return [layer.weights for layer in self._of(kind).layers]

    def page(self) -> Page:
        texts = self.beam or (Candidate("", 0.0, self.attentions),)
        different = list({id(one): one for text in texts for one in text.attentions}.values())  # they may share some
        arrays = (getattr(layer, name) for one in different for layer in one.layers for name in PARTS)
        half = sum(array.size for array in arrays if array is not None) > EXACT
        places = {id(one): place for place, one in enumerate(different)}
        beam = [(one.text, one.score, [places[id(a)] for a in one.attentions]) for one in texts]
        data = {"title": self.title, "digits": 3 if half else 4, "kinds": [_kind(one, half) for one in different]}
        data["texts"] = [{"text": text, "score": score, "kinds": kinds} for text, score, kinds in beam]
        return Page.of("attention", self.title, data, SCRIPTS)

    def svg(
        self,
        view: Look = "head",
        *,
        kind: Kind | None = None,
        layer: int | None = -1,
        head: Heads = None,
        dark: bool = False,
    ) -> str:
        """An image for a paper or a slide, as an SVG with selectable text. Sizes are in points. Larger weights are
        darker; in the "head" view, heads differ only in colour.

        Args:
            view: "head" (lines between tokens), "matrix" (cells), or "model" (all layers and heads).
            kind: "encoder", "decoder" or "cross"; None means "cross" if available, else the first.
            layer: an index; None averages over all layers. dark: draw light on dark, for slides.
            head: one or several indices; None means all. Lines have a colour for each head; cells show the mean.

        Raises ValueError if the view, kind, layer or head does not exist.
        """
        attention, palette = self._of(kind), DARK if dark else LIGHT
        if view == "model":
            return model_picture(attention, palette).svg()
        if view not in ("head", "matrix"):
            raise ValueError(f"view must be 'head', 'matrix' or 'model' ('neuron' is only on the page), not {view!r}")
        draw = head_picture if view == "head" else matrix_picture
        return draw(attention, chosen(attention, layer, head), palette).svg()

    def _of(self, kind: Kind | None) -> Attention:
        for usual in ("cross", *self.kinds) if kind is None else (kind,):
            for attention in self.attentions:
                if attention.kind == usual:
                    return attention
        raise ValueError(f"no {kind!r} attention here, only {', '.join(map(repr, self.kinds))}")


def _kind(attention: Attention, half: bool) -> dict[str, Any]:
    def packed(array: Array | None) -> dict[str, Any] | None:
        bytes_of = None if array is None else coded(array, "<f2" if half else "<f4")
        return None if array is None else {"shape": list(array.shape), "half": half, "bytes": bytes_of}

    blocked = [None if layer.blocked is None else coded(layer.blocked, "u1") for layer in attention.layers]
    masks = list(dict.fromkeys(mask for mask in blocked if mask is not None))  # layers often share one
    layers = []
    for layer, mask in zip(attention.layers, blocked, strict=True):
        index = None if mask is None else masks.index(mask)
        about = {"path": layer.path, "heads": len(layer.weights), "mask": index, "scale": layer.scale}
        layers.append(about | {name: packed(getattr(layer, name)) for name in PARTS})
    return {
        "kind": attention.kind,
        "title": attention.title,
        "short": f"{attention.kind.title()} {attention.note}".strip(),
        "meaning": attention.meaning,
        "reads": attention.kind != "encoder" and not attention.written,
        "queries": list(attention.rows),
        "keys": list(attention.keys),
        "masks": masks,
        "layers": layers,
    }


LEAST = 0.01  # smaller weights are not drawn as lines
FAINTEST = 0.002  # smaller weights are not drawn as cells
MOST = 2000  # maximum number of lines in an image, for the largest weights
MARGIN = 8.0  # points around the image
LONGEST = 90.0  # the maximum width of a token's text, in points
GAP = 120.0  # points between the two columns of tokens
NUMBERED = 16  # maximum number of tokens per side for which cells contain numbers
POOLED = 32  # maximum cells per side of a small matrix; a cell shows the largest weight of its tokens
_CURVE = 0.7  # opacity is the weight to this power, so that weights around 0.1 are visible
_SHADES = 50  # opacity levels; an SVG has a path for each
_SLANT = 0.71  # the height and width of text of length 1, rotated by 45°


class Chosen(NamedTuple):
    """The heads to draw."""

    weights: Array  # (H, T, S) of the selected heads
    heads: tuple[int, ...]  # their indices
    title: str
    blocked: Array | None  # (T, S), True where all of them are masked; None without a mask


def chosen(attention: Attention, layer: int | None, head: int | Sequence[int] | None) -> Chosen:
    """The heads of a layer, or of the mean over layers. Raises ValueError for a bad index, or if head counts differ."""
    layers = attention.layers
    if layer is None and len({len(one.weights) for one in layers}) > 1:
        raise ValueError("layers with different numbers of heads cannot be averaged: select a layer")
    if layer is not None or len(layers) == 1:
        number = checked_number("layer", layer or 0, len(layers))
        layers, name = layers[number : number + 1], f"layer {number}"
    else:
        name = f"mean of {len(layers)} layers"
    weights: Array = np.mean([one.weights for one in layers], 0)
    count = len(weights)
    numbers = range(count) if head is None else np.atleast_1d(head).tolist()
    heads = tuple(checked_number("head", h, count) for h in numbers)
    if not heads:
        raise ValueError("the list of heads to draw is empty")
    names = f"heads 0 to {count - 1}" if head is None and count > 1 else "head " + ", ".join(map(str, heads))
    masks = [np.broadcast_to(one.blocked, weights.shape)[list(heads)] for one in layers if one.blocked is not None]
    blocked = np.logical_and.reduce(np.concatenate(masks)) if len(masks) == len(layers) else None
    return Chosen(weights[list(heads)], heads, f"{attention.title} · {name} · {names}", blocked)


def _titled(right: float, bottom: float, title: str, palette: Palette) -> PointDrawing:
    right = max(right, MARGIN + width(title, SMALL))
    drawing = PointDrawing(right + MARGIN, bottom + MARGIN, title, palette)
    drawing.caption(MARGIN, MARGIN + SMALL, title)
    return drawing


def _note(drawing: PointDrawing, notes: list[str]) -> PointDrawing:
    for line in wrapped("; ".join(notes), SMALL, drawing.width - 2 * MARGIN):
        drawing.height += 1.5 * SMALL
        drawing.caption(MARGIN, drawing.height - MARGIN, line)
    return drawing


def _colours(what: Chosen, palette: Palette) -> list[str]:
    """The colour of each key, which is grey if no query may attend to it."""
    hidden: Array = np.zeros(what.weights.shape[1:]) if what.blocked is None else what.blocked
    return [palette.quiet if column.all() else palette.ink for column in hidden.T]


def head_picture(attention: Attention, what: Chosen, palette: Palette) -> PointDrawing:
    """Draw tokens on both sides, and lines that are more opaque for larger weights and have a colour for each head."""
    sides = (attention.rows, attention.keys)
    rows = max(map(len, sides))
    size = 9.0 if rows <= 40 else 7.5 if rows <= 80 else 6.0
    pitch = 1.55 * size
    names = [[shortened(text, size, LONGEST) for text in side] for side in sides]
    wide = [max(40.0, *(width(text, size) for text in side)) for side in names]
    left, top = MARGIN + wide[0], MARGIN + 3.4 * SMALL
    right = left + GAP
    drawing = _titled(right + wide[1], top + pitch * rows, what.title, palette)
    of_left, of_right = ("target", "source") if attention.kind == "cross" else ("looks", "at")
    drawing.caption(left, top - 0.6 * SMALL, of_left, "end")
    drawing.caption(right, top - 0.6 * SMALL, of_right)
    middles = [[top + pitch * (i + (rows - len(side) + 1) / 2) for i in range(len(side))] for side in sides]
    least = max(LEAST, float(np.sort(what.weights, None)[-MOST:][0]))
    apart = min(1.3, 0.5 * (pitch if len(middles[0]) > 1 else 14.0) / len(what.heads))
    for k, (head, weights) in enumerate(zip(what.heads, what.weights, strict=True)):  # heads are side by side
        colour = palette.nth(head) if len(what.heads) > 1 else palette.accent
        lower = apart * (k - (len(what.heads) - 1) / 2)
        for opacity, places in _shaded(weights, least):
            ends = [(left + 4, middles[0][t] + lower, right - 4, middles[1][s] + lower) for t, s in places]
            drawing.strokes(ends, colour, 1.1, opacity, True)
    for y, text in zip(middles[0], names[0], strict=True):
        drawing.text(left, y + 0.35 * size, text, "end", size, palette.ink)
    for y, text, colour in zip(middles[1], names[1], _colours(what, palette), strict=True):
        drawing.text(right, y + 0.35 * size, text, "start", size, colour)
    if len(what.heads) > 1:
        _key(drawing, what.heads)
    many = int((what.weights >= LEAST).sum()) > MOST
    notes = [attention.legend("left", "right"), *[f"the heaviest {MOST:,} lines are drawn"] * many]
    return _note(drawing, notes)


def _key(drawing: PointDrawing, heads: tuple[int, ...]) -> None:
    first, y = MARGIN + width("head", SMALL) + 6, drawing.height - MARGIN + 2 * SMALL
    drawing.caption(MARGIN, y, "head")
    x = first
    for label in map(str, heads):
        if x > first and x + 7 + width(label, SMALL) > drawing.width - MARGIN:
            x, y = first, y + 1.6 * SMALL
        drawing.cells([(x, y - 5, 5, 5)], drawing.palette.nth(int(label)))
        drawing.caption(x + 7, y, label)
        x += 15 + width(label, SMALL)
    drawing.height = y + MARGIN


def matrix_picture(attention: Attention, what: Chosen, palette: Palette) -> PointDrawing:
    """Draw a cell for each pair of tokens. Rows attend to columns; several heads are averaged."""
    weights = what.weights.mean(0)
    rows, columns = weights.shape
    few = max(rows, columns) <= NUMBERED
    cell = 18.0 if few else max(6.0, min(12.0, 600.0 / max(rows, columns)))
    size = min(9.0, 0.8 * cell)
    names = [[shortened(text, size, LONGEST) for text in side] for side in (attention.rows, attention.keys)]
    across = [width(text, size) for text in names[1]]
    high = size + max(across) * (_SLANT if few else 1.0)
    beyond = max(0.0, *(_SLANT * w - cell * (columns - i - 0.5) for i, w in enumerate(across))) if few else 0.0
    left = MARGIN + max(width(text, size) for text in names[0]) + 5
    top = MARGIN + 2.2 * SMALL + high
    title = f"{what.title} (mean)" if len(what.heads) > 1 else what.title
    drawing = _titled(left + cell * columns + beyond, top + cell * rows, title, palette)
    _cells(drawing, weights, (left, top, cell, cell))
    if what.blocked is not None and what.blocked.any():
        places = [(left + cell * s, top + cell * t) for t, s in np.argwhere(what.blocked).tolist()]
        ends = [(x + 0.3 * cell, y + 0.7 * cell, x + 0.7 * cell, y + 0.3 * cell) for x, y in places]
        drawing.strokes(ends, palette.quiet, max(0.3, cell / 24), 0.45)
    for i, text in enumerate(names[0]):
        drawing.text(left - 5, top + cell * (i + 0.5) + 0.35 * size, text, "end", size, palette.ink)
    for i, (text, colour) in enumerate(zip(names[1], _colours(what, palette), strict=True)):
        x = left + cell * (i + 0.5) + (0.0 if few else 0.35 * size)
        turned = f"rotate({-45 if few else -90} {x:.2f} {top - 4:.2f})"
        drawing.text(x, top - 4, text, "start", size, colour, transform=turned)
    for (t, s), weight in np.ndenumerate(weights) if few else ():
        if weight >= 0.005:
            colour = palette.on_accent(min(float(weight), 1.0) ** _CURVE)
            x, y = left + cell * (s + 0.5), top + cell * (t + 0.5) + 2.5
            drawing.text(x, y, f"{100 * float(weight):.0f}", "middle", 7, colour)
    notes = [attention.legend("row", "column"), *["numbers: per cent"] * few]
    notes += ["a stroke: forbidden by a mask"] * (what.blocked is not None)
    return _note(drawing, notes)


def _cells(drawing: PointDrawing, weights: Array, first: Box) -> None:
    left, top, w, h = first
    for opacity, places in _shaded(weights, FAINTEST):
        boxes = [(left + w * s, top + h * t, w, h) for t, s in places]
        drawing.cells(boxes, drawing.palette.accent, opacity)
    right, bottom = left + w * weights.shape[1], top + h * weights.shape[0]
    frame = [(left, y, right, y) for y in (top, bottom)] + [(x, top, x, bottom) for x in (left, right)]
    drawing.strokes(frame, drawing.palette.line, 0.5)


def model_picture(attention: Attention, palette: Palette) -> PointDrawing:
    """Draw every head of every layer as a small matrix, with a row for each layer and a column for each head."""
    rows, columns = len(attention.layers), max(len(layer.weights) for layer in attention.layers)
    side, step = 46.0, 54.0
    left, top = MARGIN + 34, MARGIN + 4.2 * SMALL
    right, bottom = left + columns * step - (step - side), top + rows * step - (step - side)
    drawing = _titled(right, bottom, f"{attention.title} · layers × heads", palette)
    for head in range(columns):
        drawing.caption(left + head * step + side / 2, top - 4, f"head {head}", "middle")
    for i, layer in enumerate(attention.layers):
        drawing.caption(left - 6, top + i * step + side / 2 + 2.5, f"layer {i}", "end")
        for head, weights in enumerate(layer.weights):
            small = pooled(weights)
            cell = side / small.shape[1], side / small.shape[0]
            _cells(drawing, small, (left + head * step, top + i * step, *cell))
    notes = ["layers downwards, heads across", attention.legend("row", "column")]
    return _note(drawing, notes)


def pooled(weights: Array, most: int = POOLED) -> Array:
    """Max-pool a matrix to at most ``most`` rows and columns."""
    for axis in (0, 1):
        weights = np.maximum.reduceat(weights, equal_parts(weights.shape[axis], most)[:-1], axis)
    return weights


def _shaded(weights: Array, least: float) -> list[tuple[float, Sequence[tuple[int, int]]]]:
    """The positions (row, column) of weights of at least ``least``, by opacity, faintest first."""
    steps = np.clip(np.rint(np.clip(weights, 0, 1) ** _CURVE * _SHADES), 1, _SHADES).astype(int)
    steps[weights < least] = 0
    shades = [step for step in np.unique(steps).tolist() if step]
    return [(step / _SHADES, [(t, s) for t, s in np.argwhere(steps == step).tolist()]) for step in shades]
