"""Linear layer and cross-entropy together, in chunks of rows: the logits are never whole in memory.

Where gradients are wanted they are made at once, chunk by chunk, for a loss gradient of 1, and scaled later. The logits
of a chunk become e^logit in place, and what remains is done to what is small. With Z the sum of a row, s the share of a
row in the loss, ε the smoothing over V classes, y the target, E = e^logits but 0 at y, and r = 1 - p of y the sum of E
over Z,

    loss = -(1 - ε) ln p of y + ε (ln Z - mean logit)
    dx = (s/Z) E W - s (r - ε) W[y] - s ε (mean row of W)
    dW = Eᵀ (s/Z) x - s (r - ε) x at the rows y - (s ε/V) (sum of x)

r has digits that p - 1 has lost where p rounds to 1. Z and the mean are those of logits less the largest: beside large
logits ln Z would lose its digits. Rows that do not count are left out from the start.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import blas
from ..dtype import Array
from ..parallel import over_rows
from ..products import column_sums, matmul
from ..registry import xp
from . import Gradients, Needs, scatter_add_rows, wanted
from ._rows import row_max, row_sum

CHUNK_BYTES = 20 << 20  # of logits at a time: they fit into a third-level cache
LEAST_ROWS = 256  # at a time, as each chunk goes once through the whole weight


def forward(needs: Needs, *args: Any) -> tuple[Array, Gradients]:
    return loss_and_gradients(Loss, needs, *args)


def loss_and_gradients(kind: type[Loss], needs: Needs, *args: Any) -> tuple[Array, Gradients]:
    """The loss, and the gradients for a loss gradient of 1, None where they are not wanted."""
    x, weight, bias, target, ignore_index, smoothing, reduction = args
    counted = np.flatnonzero(target != ignore_index)
    whole = len(counted) == len(target)
    rows, classes = (x, target) if whole else (x[counted], target[counted])
    share = 1.0 if reduction == "sum" else 1 / len(counted) if len(counted) else float("nan")
    loss = kind(needs, rows, weight, bias, classes, smoothing, share)
    if len(rows):
        with blas.one_thread() as one, one:  # else products with vectors wake OpenBLAS's threads
            loss.add_all_chunks()
            loss.take_targets_off()
    dx = loss.dx
    if dx is not None and not whole:
        dx = np.zeros_like(x, order="C")
        dx[counted] = loss.dx
    return np.asarray(loss.losses.sum() * share, dtype=x.dtype), (dx, loss.dweight, loss.dbias)


class Loss:
    """The losses of the rows that count, x (N, D), and the gradients, None where they are not wanted."""

    def __init__(
        self, needs: Needs, x: Array, weight: Array, bias: Array | None, target: Array, smoothing: float, share: float
    ) -> None:
        self.x, self.weight, self.bias, self.target = x, weight, bias, target
        self.smoothing, self.share = smoothing, share
        self.losses, self.hits = np.zeros((2, len(x)), x.dtype)
        self.dx = np.empty_like(x, order="C") if needs[0] else None
        self.dweight = np.zeros_like(weight, order="C") if needs[1] else None
        self.dbias = np.zeros_like(bias) if needs[2] and bias is not None else None

    def add_all_chunks(self) -> None:
        """The loss of each row, and the gradients as if no class were a target."""
        x, count = self.x, len(self.weight)
        step = min(len(x), max(LEAST_ROWS, CHUNK_BYTES // max(1, count * x.itemsize)))
        for a in range(0, len(x), step):
            self.add_chunk(slice(a, min(len(x), a + step)))

    def add_chunk(self, some: slice) -> None:
        """The same for some rows."""
        x, weight = self.x[some], self.weight
        logits: Any = matmul(x, weight.T, self.bias)
        target = self.target[some]
        picked = logits[np.arange(len(x)), target]
        others, top, below = np.empty((3, len(x)), x.dtype)

        def work(a: int, b: int) -> None:
            block = logits[a:b]
            top[a:b] = row_max(block)
            block -= top[a:b, None]
            if self.smoothing:
                below[a:b] = row_sum(block)
            np.exp(block, out=block)
            block[np.arange(b - a), target[a:b]] = 0
            others[a:b] = row_sum(block)

        over_rows(work, len(x), 2 * logits.strides[0])
        rate = self.add_losses(some, others, top, picked, below)
        if self.dx is not None:
            np.multiply(matmul(logits, weight), rate[:, None], out=self.dx[some])
        if self.dweight is not None:
            self.dweight += matmul(logits.T, x * rate[:, None])
        if self.dbias is not None:
            self.dbias += rate @ logits

    def add_losses(self, some: slice, others: Array, top: Array, picked: Array, below: Array) -> Array:
        """Store the losses and the targets' share of the gradients; return s/Z of each row.

        Args:
            others: the sums of e^(logit - top), targets left out. picked: the targets' logits.
            below: the sums of logit - top, which smoothing asks for.
        """
        dtype = others.dtype.type
        with np.errstate(divide="ignore", invalid="ignore"):
            total = others + np.exp(picked - top)
            total[total == 0] = 1
            losses = np.logaddexp(dtype(0), np.log(others) + (top - picked))
            if self.smoothing:
                losses = losses * dtype(1 - self.smoothing)
                losses += (np.log(total) - below / dtype(len(self.weight))) * dtype(self.smoothing)
        self.losses[some] = losses
        self.hits[some] = (others / total - dtype(self.smoothing)) * dtype(self.share)
        return dtype(self.share) / total

    def take_targets_off(self) -> None:
        """What the targets and the smoothing take from the gradients."""
        x, weight, target, share, smoothing = self.x, self.weight, self.target, self.share, self.smoothing
        count, dtype = len(weight), x.dtype.type
        hits, even = self.hits, dtype(share * smoothing / count)
        if self.dx is not None:
            self.dx -= weight[target] * hits[:, None]
            if smoothing:
                self.dx -= even * column_sums(weight)
        if self.dweight is not None:
            self.dweight -= scatter_add_rows.forward((), x * hits[:, None], target, count)[0]
            if smoothing:
                self.dweight -= column_sums(x) * even
        if self.dbias is not None:
            self.dbias -= np.bincount(target.astype(np.intp, copy=False), hits, count).astype(x.dtype)
            self.dbias -= dtype(share * smoothing / count * len(x))


def backward(needs: Needs, saved: Gradients, g: Array, *args: Any) -> Gradients:
    """Copies for g = 1 too: a program may change a gradient, and then ask once more. 0 in ignored rows, for any g."""
    dx, dweight, dbias = saved
    counts = args[3] != args[4]
    rates = xp(g).where(counts, g, g.dtype.type(0))[:, None]
    return wanted(needs, *(None if d is None else d * f for d, f in ((dx, rates), (dweight, g), (dbias, g))))
