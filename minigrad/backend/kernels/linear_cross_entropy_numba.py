"""Linear layer and cross-entropy together, where each thread has some of the classes of a chunk of rows.

It computes what ``linear_cross_entropy.py`` tells, with E of each block of classes for that block's own largest logits
t: the sums of blocks count e^(t - T) times, where T is the largest logit of a row.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import blas
from ..compiled.functions import exp
from ..compiled.loops import FLOAT32, Cube, Flat, Indices, Rows, fits, laid, laid_or_none, loop, scratch
from ..compiled.native import row, sgemm
from ..dtype import Array
from . import Gradients, Needs
from .linear_cross_entropy import Loss, backward, loss_and_gradients

__all__ = ["backward", "forward"]

F = np.float32
CHUNK = 512  # rows
BLOCK = 512  # classes


def forward(needs: Needs, *args: Any) -> tuple[Array, Gradients]:
    x, weight, bias, target = args[:4]
    if not fits(x, weight, bias) or not weight.size or target.dtype != np.int64 or not blas.sgemm():
        return NotImplemented
    return loss_and_gradients(_CompiledLoss, needs, laid(x), laid(weight), laid_or_none(bias), *args[3:])


class _CompiledLoss(Loss):
    """``Loss`` by compiled loops."""

    def add_all_chunks(self) -> None:
        """In chunks of rows that are alike, so that their memory is the same."""
        if self.target.min() < 0 or self.target.max() >= len(self.weight):
            raise IndexError(f"linear_cross_entropy: a target is no class: there are {len(self.weight)}")
        chunks = max(1, round(len(self.x) / CHUNK))
        step = -(-len(self.x) // chunks)
        blocks = -(-len(self.weight) // BLOCK)
        self.x = np.ascontiguousarray(self.x)
        self.target = np.ascontiguousarray(self.target, np.int64)
        self.logits = np.empty((step, len(self.weight)), FLOAT32)
        self.sides = None if self.dx is None else np.empty((blocks, step, self.x.shape[1]), FLOAT32)
        self.tops, self.totals = np.empty((2, blocks, step), FLOAT32)
        self.belows = np.empty((blocks, step), FLOAT32) if self.smoothing else None
        self.widths = np.diff([*range(0, len(self.weight), BLOCK), len(self.weight)]).astype(FLOAT32)
        self.scaled = scratch(step * self.x.shape[1])
        for a in range(0, len(self.x), step):
            self.add_chunk(slice(a, min(len(self.x), a + step)))

    def add_chunk(self, some: slice) -> None:
        x, target = self.x[some], self.target[some]
        picked, blocks, count = np.zeros(len(x), FLOAT32), len(self.tops), len(x)
        with blas.one_thread() as one, one:
            about = blas.sgemm(), x, self.weight, self.bias, target, BLOCK
            exponentials(blocks, 1, *about, self.logits, picked, self.tops, self.totals, self.belows, self.sides)
        tops, totals = self.tops[:, :count], self.totals[:, :count]
        top = tops.max(axis=0)
        top[np.isneginf(top)] = 0  # then top of a block less top stays -inf, not NaN
        weights = np.exp(tops - top)
        below = top  # of no use
        if self.belows is not None:
            below = self.belows[:, :count].sum(axis=0) + self.widths @ (tops - top)
        rates = weights * self.add_losses(some, np.einsum("br,br->r", totals, weights), top, picked, below)
        if self.dx is not None and self.sides is not None:
            np.einsum("br,brd->rd", rates, self.sides[:, :count], out=self.dx[some])
        if self.dweight is not None or self.dbias is not None:
            with blas.one_thread() as one, one:
                slopes(blocks, 1, blas.sgemm(), x, rates, BLOCK, self.logits, self.scaled, self.dweight, self.dbias)


@loop
def exponentials(
    start: int,
    stop: int,
    blas: int,
    x: Rows,
    weight: Rows,
    bias: Flat,
    target: Indices,
    width: int,
    logits: Rows,
    picked: Flat,
    tops: Rows,
    totals: Rows,
    belows: Rows,
    sides: Cube,
) -> None:
    """Blocks of ``width`` classes: e^(logit - top) of all rows, their tops and sums, the sums of logit - top if
    ``belows`` has room for them, the product with the weight."""
    (count, inner), classes = x.shape, weight.shape[0]
    for block in range(start, stop):
        first = block * width
        wide = min(width, classes - first)
        place, part = logits.ctypes.data + 4 * first, weight.ctypes.data + 4 * first * inner
        sgemm(blas, False, True, count, wide, inner, F(1.0), x.ctypes.data, inner, part, inner, F(0.0), place, classes)
        for i in range(count):
            line = row(place + 4 * i * classes, wide)
            if bias.size:
                for j in range(wide):
                    line[j] += bias[first + j]
            top = F(-np.inf)
            for j in range(wide):
                top = max(top, line[j])
            shift, total, below = F(0.0) if top == F(-np.inf) else top, F(0.0), F(0.0)
            if belows.size:
                for j in range(wide):
                    below += line[j] - shift
                belows[block, i] = below
            hit = target[i] - first
            if 0 <= hit < wide:
                picked[i], line[hit] = line[hit], F(-np.inf)
            for j in range(wide):
                power = exp(line[j] - shift)
                line[j] = power
                total += power
            tops[block, i], totals[block, i] = top, total
        if sides.size:
            side = sides.ctypes.data + 4 * block * sides.shape[1] * inner
            sgemm(blas, False, False, count, inner, wide, F(1.0), place, classes, part, inner, F(0.0), side, inner)


@loop
def slopes(
    start: int,
    stop: int,
    thread: int,
    blas: int,
    x: Rows,
    rates: Rows,
    width: int,
    logits: Rows,
    scratch: Rows,
    dweight: Rows,
    dbias: Flat,
) -> None:
    """Blocks of ``width`` classes: add to the gradients of the weight's rows, and of the bias."""
    (count, inner), classes = x.shape, logits.shape[1]
    memory = scratch.ctypes.data + 4 * thread * scratch.shape[1]
    scaled = row(memory, count * inner)
    for block in range(start, stop):
        first = block * width
        wide = min(width, classes - first)
        place = logits.ctypes.data + 4 * first
        for i in range(count):
            for k in range(inner):
                scaled[i * inner + k] = x[i, k] * rates[block, i]
        if dweight.size:
            part = dweight.ctypes.data + 4 * first * inner
            sgemm(blas, True, False, wide, inner, count, F(1.0), place, classes, memory, inner, F(1.0), part, inner)
        if dbias.size:
            for i in range(count):
                line = row(place + 4 * i * classes, wide)
                for j in range(wide):
                    dbias[first + j] += rates[block, i] * line[j]
