"""Cross-entropy on given logits: they are read once forward, and once to make their gradient. Where a linear map has
given them, that is never there whole."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import blas
from ..compiled.functions import exp
from ..compiled.loops import FLOAT32, Cube, Flat, Indices, Rows, fits, grain, inline, laid, loop, scratch
from ..compiled.native import row, sgemm
from ..dtype import Array
from ..in_parts import InParts, Products
from . import Needs, wanted
from ._softmax_numba import exp_sum, log, log1p, top

F = np.float32
_INT64 = np.dtype(np.int64)
LARGE = 1 << 20  # logits whose gradient is made part by part, if a linear map has given them
SHARES = 16  # of all classes, for threads; as many whatever their number is
TILE = 256  # rows and classes of a part: it stays in a second-level cache
SIDES = 1 << 21  # float32 of what the shares add to the inputs' gradients: as many rows at a time, but at least
ROWS = 1024  # so many, as the gradient of all weights is read and written for each time


@loop
def losses(
    start: int,
    stop: int,
    x: Rows,
    target: Indices,
    weight: Flat,
    total_weight: float,
    ignored: int,
    smoothing: float,
    out: Flat,
    level: Flat,
    sums: Flat,
    miss: Flat,
) -> None:
    """Σᵥ qᵥ wᵥ (ln Σ eˣ - xᵥ) of each row, its largest x as ``level``, Σ eˣ⁻ˡᵉᵛᵉˡ and 1 - p of the target; q is as in
    ``ops/loss.py``."""
    classes = x.shape[1]
    for i in range(start, stop):
        t = target[i]
        out[i] = level[i] = sums[i] = miss[i] = F(0.0)
        if t == ignored:
            continue
        if t < 0 or t >= classes:  # an error of who calls the op without a check of its range
            out[i] = F(np.nan)
            continue
        most = top(x[i])
        own = exp(x[i, t] - most)
        total = exp_sum(x, i, most, 0, classes)
        others = total - own
        if own > F(0.75) * total:  # own would take their digits
            others = exp_sum(x, i, most, 0, t) + exp_sum(x, i, most, t + 1, classes)
        above = log(total)  # ln Σ eˣ, above the largest logit: the sum of both could have none of its digits
        level[i], sums[i], miss[i] = most, total, others / total
        depth = most - x[i, t]
        depth = F(0.0) if depth <= F(0.0) else depth  # as the compiler may add in any order: not ``most`` to ``above``
        loss = log1p(others / own) if others < own else above + depth
        loss *= weight[t] if weight.size else F(1.0)
        if smoothing:
            spread = F(0.0)
            if weight.size:
                for j in range(classes):
                    spread += weight[j] * (x[i, j] - most)
            else:
                for j in range(classes):
                    spread += x[i, j] - most
            spread = above * F(total_weight) - spread
            loss = loss * F(1.0 - smoothing) + spread * F(smoothing / classes)
        out[i] = loss


def _given(
    logits: Array, target: Array, weight: Array | None, ignored: int, smoothing: float
) -> tuple[Array, Array, Array | None, float, int, float]:
    """The arguments that both loops begin with, the sum of the weights among them."""
    total = float(logits.shape[1] if weight is None else weight.sum(dtype=np.float64))
    return laid(logits), np.ascontiguousarray(target, _INT64), laid(weight), total, ignored, smoothing


def forward(
    needs: Needs, logits: Array, target: Array, weight: Array | None, ignore_index: int, label_smoothing: float
) -> tuple[Array, Any]:
    if not fits(logits, weight):
        return NotImplemented
    rows, classes = logits.shape
    given = _given(logits, target, weight, ignore_index, label_smoothing)
    loss, *saved = np.empty((4, rows), FLOAT32)
    losses(rows, grain(rows, 4 * classes), *given, loss, *saved)
    return loss, saved


@inline
def slope_part(
    x: int, count: int, first: int, t: int, weight: Flat, own: Any, each: Any, both: Any, middle: Any, to: int
) -> None:
    """dx = eˣ⁻ˡᵉᵛᵉˡ · both - each · weight of ``count`` classes from ``first`` on; ``own`` at the target t."""
    line, out = row(x, count), row(to, count)
    if each == F(0.0):
        for j in range(count):
            out[j] = exp(line[j] - middle) * both
    elif weight.size:
        shares = weight[first : first + count]
        for j in range(count):
            out[j] = exp(line[j] - middle) * both - each * shares[j]
    else:
        for j in range(count):
            out[j] = exp(line[j] - middle) * both - each
    if first <= t < first + count:
        out[t - first] = own


@inline
def slope_block(
    x: Rows,
    start: int,
    stop: int,
    first: int,
    count: int,
    target: Indices,
    weight: Flat,
    total_weight: float,
    ignored: int,
    smoothing: float,
    g: Flat,
    level: Flat,
    sums: Flat,
    miss: Flat,
    to: int,
    step: int,
) -> None:
    """dx = g (p Σ q w - q w) of rows [start, stop) and ``count`` classes from ``first`` on, to rows that are
    ``step`` bytes apart; 0 in ignored rows, for any g."""
    classes = x.shape[1]
    for i in range(start, stop):
        t, place = target[i], to + (i - start) * step
        if t == ignored or t < 0 or t >= classes:
            nothing, out = F(0.0) if t == ignored else F(np.nan), row(place, count)
            for j in range(count):
                out[j] = nothing
            continue
        hit = g[i] * F(1.0 - smoothing) * (weight[t] if weight.size else F(1.0))
        each = g[i] * F(smoothing / classes) if smoothing else F(0.0)  # also of an infinite g
        spread, source = each * F(total_weight), x.ctypes.data + 4 * (i * classes + first)
        own = spread * (F(1.0) - miss[i]) - hit * miss[i] - each * (weight[t] if weight.size else F(1.0))
        slope_part(source, count, first, t, weight, own, each, (hit + spread) / sums[i], level[i], place)


@loop
def slope(
    start: int,
    stop: int,
    x: Rows,
    target: Indices,
    weight: Flat,
    total_weight: float,
    ignored: int,
    smoothing: float,
    g: Flat,
    level: Flat,
    sums: Flat,
    miss: Flat,
    out: Rows,
) -> None:
    """The gradient of rows [start, stop)."""
    classes = x.shape[1]
    about = target, weight, total_weight, ignored, smoothing, g, level, sums, miss
    slope_block(x, start, stop, 0, classes, *about, out.ctypes.data + 4 * start * classes, 4 * classes)


@loop
def slopes_of_linear(
    start: int,
    stop: int,
    thread: int,
    blas: int,
    x: Rows,
    target: Indices,
    weight: Flat,
    total_weight: float,
    ignored: int,
    smoothing: float,
    g: Flat,
    level: Flat,
    sums: Flat,
    miss: Flat,
    first: int,
    last: int,
    inputs: Rows,
    matrix: Rows,
    memory: Rows,
    dinputs: Cube,
    dmatrix: Rows,
    dbias: Flat,
) -> None:
    """Of shares [start, stop) of all classes: what they add to the gradients of the linear map's inputs, rows [first,
    last), and of its rows. A tile of the logits' gradient is there at a time."""
    classes, inner, shares = x.shape[1], inputs.shape[1], dinputs.shape[0]
    about = target, weight, total_weight, ignored, smoothing, g, level, sums, miss
    tile = memory.ctypes.data + 4 * thread * memory.shape[1]
    for share in range(start, stop):
        begin, end = classes * share // shares, classes * (share + 1) // shares
        side = dinputs.ctypes.data + 4 * share * dinputs.shape[1] * inner
        for c in range(begin, end, TILE):
            wide = min(TILE, end - c)
            part, sums = matrix.ctypes.data + 4 * c * inner, dmatrix.ctypes.data + 4 * c * inner
            for r in range(first, last, TILE):
                tall = min(TILE, last - r)
                slope_block(x, r, r + tall, c, wide, *about, tile, 4 * wide)
                beta, to = F(1.0) if c > begin else F(0.0), side + 4 * (r - first) * inner
                sgemm(blas, False, False, tall, inner, wide, F(1.0), tile, wide, part, inner, beta, to, inner)
                beta, seen = F(1.0) if r > 0 else F(0.0), inputs.ctypes.data + 4 * r * inner
                sgemm(blas, True, False, wide, inner, tall, F(1.0), tile, wide, seen, inner, beta, sums, inner)
                if dbias.size:
                    add_columns(tile, tall, wide, r > 0, dbias[c:end])


@inline
def add_columns(x: int, rows: int, columns: int, more: bool, sums: Flat) -> None:
    """The sums of a tile's columns, added to ``sums`` or written there."""
    if not more:
        for j in range(columns):
            sums[j] = F(0.0)
    for i in range(rows):
        line = row(x + 4 * i * columns, columns)
        for j in range(columns):
            sums[j] += line[j]


@loop
def add_shares(start: int, stop: int, parts: Rows, out: Flat) -> None:
    """out = Σ parts, of elements [start, stop)."""
    for j in range(start, stop):
        total = F(0.0)
        for i in range(parts.shape[0]):
            total += parts[i, j]
        out[j] = total


class LogitSlope(InParts):
    """The gradient of logits, from that of each row's loss."""

    def __init__(self, given: tuple[Any, ...], g: Array, *saved: Array) -> None:
        super().__init__(given[0].shape, FLOAT32)
        self._about = *given, laid(g), *saved

    def rows(self) -> Array:
        out = np.empty(self._about[0].shape, FLOAT32)
        slope(len(out), grain(len(out), 8 * out.shape[1]), *self._about, out)
        return out

    def products(self, weight: Array, x: Array, of_bias: bool) -> Products | None:
        if not (fits(x, weight) and blas.sgemm()):
            return None
        x, weight = laid(x), laid(weight)
        count, inner = x.shape
        dx, dweight, dbias = np.empty((count, inner), FLOAT32), np.empty(weight.shape, FLOAT32), None
        if of_bias:
            dbias = np.empty(len(weight), FLOAT32)
        shares = min(SHARES, len(weight))
        step = max(TILE, ROWS, SIDES // (shares * inner) // TILE * TILE)
        memory = scratch(TILE * TILE)
        with blas.one_thread() as one, one:
            for a in range(0, count, step):
                b = min(count, a + step)
                sides = np.empty((shares, b - a, inner), FLOAT32)
                linear = a, b, x, weight, memory, sides, dweight, dbias
                slopes_of_linear(shares, 1, blas.sgemm(), *self._about, *linear)
                some = dx[a:b]
                add_shares(some.size, grain(some.size, 4 * shares), sides.reshape(shares, -1), some)
        return dx, dweight, dbias


def backward(needs: Needs, saved: list[Array], g: Array, *args: Any) -> tuple[Any, ...]:
    slopes = LogitSlope(_given(*args), g, *saved)
    large = args[0].size >= LARGE and len(args[0]) > 1
    return wanted(needs, slopes if large else slopes.rows())
