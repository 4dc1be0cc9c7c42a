"""The pictures of attention for a paper or a slide: lines between tokens, a matrix, all heads small."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..numbers import Array, checked_number, equal_parts
from ..palette import Palette
from ..vector import SMALL, Box, PointDrawing, shortened, width, wrapped
from .attention_data import Attention

LEAST = 0.01  # weights below are not drawn as lines,
FAINTEST = 0.002  # and these not as cells
MOST = 2000  # lines of a picture, the heaviest: more are a grey wall
MARGIN = 8.0  # points: around the picture
LONGEST = 90.0  # points of a token's text
GAP = 120.0  # points between the two sides of lines
NUMBERED = 16  # tokens a side up to which cells are large enough for their number
POOLED = 32  # cells a side of a small picture: where tokens share one, it shows the largest of their weights
_CURVE = 0.7  # opacity is the weight to this power: so weights of a tenth can be seen
_SHADES = 50  # steps of opacity: a file has one path for each
_SLANT = 0.71  # how high, and how wide, a text of length 1 is at 45°


class Chosen(NamedTuple):
    """What is drawn."""

    weights: Array  # (H, T, S) of some heads
    heads: tuple[int, ...]  # their numbers
    title: str
    blocked: Array | None  # (T, S), what a mask forbids in all of them; None without a mask


def chosen(attention: Attention, layer: int | None, head: int | Sequence[int] | None) -> Chosen:
    """Some heads of a layer, or of the mean over layers. Raises ValueError: no such one, or layers differ in heads."""
    layers = attention.layers
    if layer is None and len({len(one.weights) for one in layers}) > 1:
        raise ValueError("there is no mean over layers that differ in their heads: choose a layer")
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
        raise ValueError("there is no head to draw: an empty list of heads")
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
    """The drawing with notes in lines below it."""
    for line in wrapped("; ".join(notes), SMALL, drawing.width - 2 * MARGIN):
        drawing.height += 1.5 * SMALL
        drawing.caption(MARGIN, drawing.height - MARGIN, line)
    return drawing


def _colours(what: Chosen, palette: Palette) -> list[str]:
    """Of the keys: quiet where no query may look."""
    hidden: Array = np.zeros(what.weights.shape[1:]) if what.blocked is None else what.blocked
    return [palette.quiet if column.all() else palette.ink for column in hidden.T]


def head_picture(attention: Attention, what: Chosen, palette: Palette) -> PointDrawing:
    """Tokens at both sides and lines between them, the more opaque the larger the weight; for each head a colour."""
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
    _lines(drawing, what, (left + 4, right - 4), middles)
    for y, text in zip(middles[0], names[0], strict=True):
        drawing.text(left, y + 0.35 * size, text, "end", size, palette.ink)
    for y, text, colour in zip(middles[1], names[1], _colours(what, palette), strict=True):
        drawing.text(right, y + 0.35 * size, text, "start", size, colour)
    if len(what.heads) > 1:
        _key(drawing, what.heads)
    many = int((what.weights >= LEAST).sum()) > MOST
    notes = [attention.legend("left", "right"), *[f"the heaviest {MOST:,} lines are drawn"] * many]
    return _note(drawing, notes)


def _lines(drawing: PointDrawing, what: Chosen, across: tuple[float, float], middles: list[list[float]]) -> None:
    """A line for each weight; those of several heads beside each other."""
    least = max(LEAST, float(np.sort(what.weights, None)[-MOST:][0]))
    pitch = middles[0][1] - middles[0][0] if len(middles[0]) > 1 else 14.0
    apart = min(1.3, 0.5 * pitch / len(what.heads))
    for k, (head, weights) in enumerate(zip(what.heads, what.weights, strict=True)):
        colour = drawing.palette.nth(head) if len(what.heads) > 1 else drawing.palette.accent
        lower = apart * (k - (len(what.heads) - 1) / 2)
        for opacity, places in _shaded(weights, least):
            ends = [(across[0], middles[0][t] + lower, across[1], middles[1][s] + lower) for t, s in places]
            drawing.strokes(ends, colour, 1.1, opacity, True)


def _key(drawing: PointDrawing, heads: tuple[int, ...]) -> None:
    """The colour of each head, in lines at the bottom, in the order in which their lines lie."""
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
    """A cell for each pair of tokens: rows look, columns are looked at; several heads give their mean."""
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
    """Shaded cells from the first on, and a frame around all."""
    left, top, w, h = first
    for opacity, places in _shaded(weights, FAINTEST):
        boxes = [(left + w * s, top + h * t, w, h) for t, s in places]
        drawing.cells(boxes, drawing.palette.accent, opacity)
    right, bottom = left + w * weights.shape[1], top + h * weights.shape[0]
    frame = [(left, y, right, y) for y in (top, bottom)] + [(x, top, x, bottom) for x in (left, right)]
    drawing.strokes(frame, drawing.palette.line, 0.5)


def model_picture(attention: Attention, palette: Palette) -> PointDrawing:
    """Every head of every layer as a small matrix: layers downwards, heads across."""
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
    """A matrix of at most so many rows and columns: each holds the largest weight of those it stands for."""
    for axis in (0, 1):
        weights = np.maximum.reduceat(weights, equal_parts(weights.shape[axis], most)[:-1], axis)
    return weights


def _shaded(weights: Array, least: float) -> list[tuple[float, Sequence[tuple[int, int]]]]:
    """Places (row, column) of weights from ``least`` on, by their opacity, the faintest first."""
    steps = np.clip(np.rint(np.clip(weights, 0, 1) ** _CURVE * _SHADES), 1, _SHADES).astype(int)
    steps[weights < least] = 0
    shades = [step for step in np.unique(steps).tolist() if step]
    return [(step / _SHADES, [(t, s) for t, s in np.argwhere(steps == step).tolist()]) for step in shades]
