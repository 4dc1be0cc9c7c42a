"""The pictures of attention for a paper or a slide: lines between tokens, a matrix, all heads small."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..palette import Palette
from .choice import Chosen
from .data import Array, Attention
from .drawing import Anchor, Cells, Drawing, Strokes, Text, shortened, width, wrapped

LEAST = 0.01  # weights below are not drawn as lines,
FAINTEST = 0.002  # and these not as cells
MOST = 2000  # lines of a picture, the heaviest: more are a grey wall
MARGIN, SMALL = 8.0, 7.0  # points: around the picture; of captions
LONGEST = 90.0  # points of a token's text
GAP = 120.0  # points between the two sides of lines
NUMBERED = 16  # tokens a side up to which cells are large enough for their number
POOLED = 32  # cells a side of a small picture: where tokens share one, it shows the largest of their weights
_CURVE = 0.7  # opacity is the weight to this power: so weights of a tenth can be seen
_SHADES = 50  # steps of opacity: a file has one path for each
_SLANT = 0.71  # how high, and how wide, a text of length 1 is at 45°


class Square(NamedTuple):
    """Where a matrix is drawn: its left and upper edge, and the width and height of a cell."""

    left: float
    top: float
    width: float
    height: float


# Lines ----------------------------------------------------------------------------------------------------


def head_picture(attention: Attention, what: Chosen, palette: Palette, caption: bool = True) -> Drawing:
    """Tokens at both sides and lines between them: the more opaque the larger the weight.

    Several heads have a colour each, and lines beside each other.
    """
    sides = (attention.rows, attention.keys)
    rows = max(map(len, sides))
    size = 9.0 if rows <= 40 else 7.5 if rows <= 80 else 6.0
    pitch = 1.55 * size
    names = [[shortened(text, size, LONGEST) for text in side] for side in sides]
    wide = [max(40.0, *(width(text, size) for text in side)) for side in names]
    left, top = MARGIN + wide[0], MARGIN + (3.4 * SMALL if caption else 0.0)
    right = left + GAP
    made = Drawing(
        max(right + wide[1], MARGIN + width(what.told, SMALL) if caption else 0.0) + MARGIN,
        top + pitch * rows + MARGIN,
        what.told,
        palette.paper,
    )
    if caption:
        _captions(made, attention, (left, right, top - 0.6 * SMALL), palette)
    middles = [[top + pitch * (i + (rows - len(side) + 1) / 2) for i in range(len(side))] for side in sides]
    _lines(made, what, (left + 4, right - 4), middles, palette)
    for i, text in enumerate(names[0]):
        made.add(Text(left, middles[0][i] + 0.35 * size, text, size, palette.ink, "end"))
    for i, text in enumerate(names[1]):
        colour = palette.quiet if i in what.padding else palette.ink
        made.add(Text(right, middles[1][i] + 0.35 * size, text, size, colour))
    if what.several:
        _legend(made, what.heads, palette)
    if caption:
        many = int((what.weights >= LEAST).sum()) > MOST
        most = f"; the heaviest {MOST:,} lines are drawn" if many else ""
        _note(made, attention.told("left", "right") + most, palette)
    return made


def _captions(made: Drawing, attention: Attention, at: tuple[float, float, float], palette: Palette) -> None:
    left, right, y = at
    sides = ("target", "source") if attention.kind == "cross" else ("looks", "at")
    made.add(
        Text(MARGIN, MARGIN + SMALL, made.title, SMALL, palette.quiet),
        Text(left, y, sides[0], SMALL, palette.quiet, "end"),
        Text(right, y, sides[1], SMALL, palette.quiet),
    )


def _lines(
    made: Drawing, what: Chosen, across: tuple[float, float], middles: list[list[float]], palette: Palette
) -> None:
    """A line for each weight; those of several heads beside each other."""
    least = max(LEAST, float(np.sort(what.weights, None)[-MOST:][0]))
    pitch = middles[0][1] - middles[0][0] if len(middles[0]) > 1 else 14.0
    apart = min(1.3, 0.5 * pitch / len(what.heads))
    for k, (head, weights) in enumerate(zip(what.heads, what.weights, strict=True)):
        colour = palette.nth(head) if what.several else palette.accent
        lower = apart * (k - (len(what.heads) - 1) / 2)
        for opacity, places in _shaded(weights, least):
            ends = [(across[0], middles[0][t] + lower, across[1], middles[1][s] + lower) for t, s in places]
            made.add(Strokes(ends, colour, 1.1, opacity, True))


def _legend(made: Drawing, heads: tuple[int, ...], palette: Palette) -> None:
    """The colour of each head, in lines at the bottom, in the order in which their lines lie."""
    first, y = MARGIN + width("head", SMALL) + 6, made.height - MARGIN + 2 * SMALL
    made.add(Text(MARGIN, y, "head", SMALL, palette.quiet))
    x = first
    for head in heads:
        label = str(head)
        if x > first and x + 7 + width(label, SMALL) > made.width - MARGIN:
            x, y = first, y + 1.6 * SMALL
        made.add(Cells([(x, y - 5, 5, 5)], palette.nth(head)))
        made.add(Text(x + 7, y, label, SMALL, palette.quiet))
        x += 15 + width(label, SMALL)
    made.height = y + MARGIN


def _note(made: Drawing, told: str, palette: Palette) -> None:
    """What is to be known of a picture, in lines below it."""
    for line in wrapped(told, SMALL, made.width - 2 * MARGIN):
        made.height += 1.5 * SMALL
        made.add(Text(MARGIN, made.height - MARGIN, line, SMALL, palette.quiet))


# Cells ----------------------------------------------------------------------------------------------------


def matrix_picture(attention: Attention, what: Chosen, palette: Palette, caption: bool = True) -> Drawing:
    """A cell for each pair of tokens: rows look, columns are looked at; several heads give their mean."""
    weights = what.weights.mean(0)
    rows, columns = weights.shape
    few = max(rows, columns) <= NUMBERED
    cell = 18.0 if few else max(6.0, min(12.0, 600.0 / max(rows, columns)))
    size = min(9.0, 0.8 * cell)
    sides = (attention.rows, attention.keys)
    names = [[shortened(text, size, LONGEST) for text in side] for side in sides]
    across = [width(text, size) for text in names[1]]
    high = size + max(across) * (_SLANT if few else 1.0)
    beyond = max(0.0, *(_SLANT * w - cell * (columns - i - 0.5) for i, w in enumerate(across)))
    told = f"{what.told} (mean)" if what.several else what.told
    left = MARGIN + max(width(text, size) for text in names[0]) + 5
    at = Square(left, MARGIN + (2.2 * SMALL if caption else 0.0) + high, cell, cell)
    made = Drawing(
        max(left + cell * columns + (beyond if few else 0.0), MARGIN + width(told, SMALL) if caption else 0.0) + MARGIN,
        at.top + cell * rows + MARGIN,
        told,
        palette.paper,
    )
    if caption:
        made.add(Text(MARGIN, MARGIN + SMALL, told, SMALL, palette.quiet))
    _cells(made, weights, at, palette)
    _strokes(made, what.blocked, at, palette)
    _names(made, names, size, 45.0 if few else 90.0, at, palette, what.padding)
    if few:
        _numbers(made, weights, at, palette)
    if caption:
        more = ["numbers: per cent"] * few + ["a stroke: forbidden by a mask"] * (what.blocked is not None)
        _note(made, "; ".join([attention.told("row", "column"), *more]), palette)
    return made


def _cells(made: Drawing, weights: Array, at: Square, palette: Palette) -> None:
    """Shaded cells, and a frame around all."""
    left, top, w, h = at
    for opacity, places in _shaded(weights, FAINTEST):
        made.add(Cells([(left + w * s, top + h * t, w, h) for t, s in places], palette.accent, opacity))
    right, bottom = left + w * weights.shape[1], top + h * weights.shape[0]
    edges = [
        (left, top, right, top),
        (left, bottom, right, bottom),
        (left, top, left, bottom),
        (right, top, right, bottom),
    ]
    made.add(Strokes(edges, palette.line, 0.5))


def _strokes(made: Drawing, blocked: Array | None, at: Square, palette: Palette) -> None:
    """A stroke through each cell that a mask forbids."""
    if blocked is None:
        return
    left, top, w, h = at
    ends = [
        (left + w * (s + 0.3), top + h * (t + 0.7), left + w * (s + 0.7), top + h * (t + 0.3))
        for t, s in np.argwhere(blocked).tolist()
    ]
    made.add(Strokes(ends, palette.quiet, max(0.3, w / 24), 0.45))


def _names(
    made: Drawing, names: list[list[str]], size: float, turn: float, at: Square, palette: Palette, padding: set[int]
) -> None:
    """Tokens of the rows at the left, of the columns above."""
    for i, text in enumerate(names[0]):
        y = at.top + at.height * (i + 0.5) + 0.35 * size
        made.add(Text(at.left - 5, y, text, size, palette.ink, "end"))
    for i, text in enumerate(names[1]):
        x = at.left + at.width * (i + 0.5) + (0.35 * size if turn == 90 else 0.0)
        colour = palette.quiet if i in padding else palette.ink
        made.add(Text(x, at.top - 4, text, size, colour, "start", turn))


def _numbers(made: Drawing, weights: Array, at: Square, palette: Palette) -> None:
    """The weights that can be seen, in per cent."""
    for (t, s), weight in np.ndenumerate(weights):
        if weight >= 0.005:
            colour = palette.on_accent(opacity_of(float(weight)))
            x, y = at.left + at.width * (s + 0.5), at.top + at.height * (t + 0.5) + 2.5
            made.add(Text(x, y, f"{100 * float(weight):.0f}", 7, colour, "middle"))


# All heads ------------------------------------------------------------------------------------------------


def model_picture(attention: Attention, palette: Palette, caption: bool = True) -> Drawing:
    """Every head of every layer as a small matrix: layers downwards, heads across."""
    rows, columns = len(attention.layers), max(len(layer.weights) for layer in attention.layers)
    side, step = 46.0, 54.0
    left, top = MARGIN + 20, MARGIN + (4.2 * SMALL if caption else 2 * SMALL)
    told = f"{attention.title} · layers × heads"
    right = max(left + columns * step - (step - side), MARGIN + width(told, SMALL) if caption else 0.0)
    made = Drawing(right + MARGIN, top + rows * step - (step - side) + MARGIN, told, palette.paper)
    if caption:
        made.add(Text(MARGIN, MARGIN + SMALL, told, SMALL, palette.quiet))

    def number(x: float, y: float, which: int, anchor: Anchor) -> None:
        made.add(Text(x, y, str(which), SMALL, palette.quiet, anchor))

    for head in range(columns):
        number(left + head * step + side / 2, top - 4, head, "middle")
    for i, layer in enumerate(attention.layers):
        number(left - 6, top + i * step + side / 2 + 2.5, i, "end")
        for head, weights in enumerate(layer.weights):
            small = pooled(weights)
            height, wide = side / small.shape[0], side / small.shape[1]
            _cells(made, small, Square(left + head * step, top + i * step, wide, height), palette)
    if caption:
        _note(made, f"layers downwards, heads across; {attention.told('row', 'column')}", palette)
    return made


def pooled(weights: Array, most: int = POOLED) -> Array:
    """A matrix of at most so many rows and columns: each holds the largest weight of those it stands for."""
    for axis in (0, 1):
        if weights.shape[axis] > most:
            starts = np.linspace(0, weights.shape[axis], most, endpoint=False).astype(int)
            weights = np.maximum.reduceat(weights, starts, axis)
    return weights


def opacity_of(weights: Any) -> Any:
    """How opaque weights are drawn."""
    return np.clip(weights, 0, 1) ** _CURVE


def _shaded(weights: Array, least: float) -> list[tuple[float, Sequence[tuple[int, int]]]]:
    """Places (row, column) of weights from ``least`` on, by their opacity, the faintest first."""
    steps = np.clip(np.rint(opacity_of(weights) * _SHADES), 1, _SHADES).astype(int)
    steps[weights < least] = 0
    return [
        (step / _SHADES, [(t, s) for t, s in np.argwhere(steps == step).tolist()])
        for step in np.unique(steps).tolist()
        if step
    ]
