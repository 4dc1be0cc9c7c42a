"""Linear layer and cross-entropy together, in chunks of rows: the logits are never whole in memory.

Where gradients are wanted they are made at once, chunk by chunk, for a loss gradient of 1, and scaled later.
Each thread has some of the classes: their logits, which become e^logit in place, and nothing else is done to
them. What remains is done to what is small. With Z the sum of a row, s the share of a row in the loss, ε the
smoothing over V classes, y the target and E = e^logits,

    loss = ln Z - (1 - ε) logit of y - ε (mean logit),   mean logit = x · (mean row of W) + mean b
    dx = (s/Z) E W - s (1 - ε) W[y] - s ε (mean row of W)
    dW = Eᵀ (s/Z) x - s (1 - ε) x at the rows y - (s ε/V) (sum of x)

Rows that do not count are left out from the start.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtype import Array
from ..parallel import PRODUCTS_A_SECOND, Blocks, each, shares, spread
from ..products import column_sums
from . import Gradients, Needs, scatter_add_rows, wanted
from ._rows import LARGE, SMALL, row_sum

CHUNK_BYTES = 20 << 20  # of logits at a time: they fit into a third-level cache
LEAST_ROWS = 256  # at a time, as each chunk goes once through the whole weight


def forward(needs: Needs, *args: Any) -> tuple[Array, Gradients]:
    x, weight, bias, target, ignore_index, smoothing, reduction = args
    counted = np.flatnonzero(target != ignore_index)
    whole = len(counted) == len(target)
    rows, classes = (x, target) if whole else (x[counted], target[counted])
    share = 1.0 if reduction == "sum" else 1 / len(counted) if len(counted) else float("nan")
    loss = _Loss(needs, rows, weight, bias, classes, smoothing, share)
    if len(rows):
        loss.add_all_chunks()
        loss.take_targets_off()
    dx = loss.dx
    if dx is not None and not whole:
        dx = np.zeros_like(x, order="C")
        dx[counted] = loss.dx
    return np.asarray(loss.losses.sum() * share, dtype=x.dtype), (dx, loss.dweight, loss.dbias)


class _Loss:
    """The losses of the rows that count, x (N, D), and the gradients, None where they are not wanted."""

    def __init__(
        self, needs: Needs, x: Array, weight: Array, bias: Array | None, target: Array, smoothing: float, share: float
    ) -> None:
        self.x, self.weight, self.bias, self.target = x, weight, bias, target
        self.smoothing, self.share = smoothing, share
        self.losses = np.zeros(len(x), x.dtype)
        self.dx = np.empty_like(x, order="C") if needs[0] else None
        self.dweight = np.zeros_like(weight, order="C") if needs[1] else None
        self.dbias = np.zeros_like(bias) if needs[2] and bias is not None else None

    def add_all_chunks(self) -> None:
        """The loss of each row, and the gradients as if no class were a target."""
        x, (count, width) = self.x, self.weight.shape
        step = min(len(x), max(LEAST_ROWS, CHUNK_BYTES // max(1, count * x.itemsize)))
        parts = shares(count, 2 * step * count * width / PRODUCTS_A_SECOND)
        buffers = [np.empty((step, j - i), x.dtype) for i, j in parts]
        for a in range(0, len(x), step):
            some = slice(a, min(len(x), a + step))
            logits = [buffer[: some.stop - a] for buffer in buffers]
            total, shift, picked = self.exponentials(some, logits, parts)
            self.losses[some] = np.log(total) + shift - x.dtype.type(1 - self.smoothing) * picked
            rate = x.dtype.type(self.share) / total
            if self.dx is not None:
                self.dx[some] *= rate[:, None]
            self.add_slopes(x[some] * rate[:, None], rate, logits, parts)

    def exponentials(self, some: slice, logits: list[Array], parts: Blocks) -> tuple[Array, Any, Array]:
        """Fill ``logits`` with e^(logit - c) of some rows, ``dx`` with their product with the weight.

        c is 0 where no exp overflows and no sum underflows, else the largest logit of the row.

        Returns:
            The sum of each row, c, and the logit of each row's target.
        """
        x, target, weight, bias = self.x[some], self.target[some], self.weight, self.bias
        picked = np.empty(len(x), x.dtype)
        totals = np.empty((len(parts), len(x)), x.dtype)
        sides = None if self.dx is None else np.empty((len(parts), *x.shape), x.dtype)
        tops = np.full((len(parts), len(x)), np.inf, x.dtype)

        def fill(k: int) -> Array:
            i, j = parts[k]
            np.matmul(x, weight[i:j].T, out=logits[k])
            if bias is not None:
                logits[k] += bias[i:j]
            hit = np.flatnonzero((target >= i) & (target < j))
            picked[hit] = logits[k][hit, target[hit] - i]
            return logits[k]

        def finish(k: int) -> None:
            np.exp(logits[k], out=logits[k])
            totals[k] = row_sum(logits[k])
            if sides is not None:
                np.matmul(logits[k], weight[slice(*parts[k])], out=sides[k])

        def quick(k: int) -> None:
            tops[k] = fill(k).max(initial=0)
            if tops[k, 0] <= most:
                finish(k)

        def find_top(k: int) -> None:
            tops[k] = fill(k).max(axis=1)

        def careful(k: int) -> None:
            fill(k)
            logits[k] -= shift[:, None]
            finish(k)

        shift: Any = 0
        most = LARGE if x.dtype.char in "fd" else -1  # float16 has no room: always the careful way
        each(quick, _numbers(parts))
        if not (tops.max() <= most and totals.sum(axis=0).min() >= SMALL):
            each(find_top, _numbers(parts))
            shift = tops.max(axis=0)
            shift[np.isneginf(shift)] = 0  # then logit - shift stays -inf, not NaN
            each(careful, _numbers(parts))
        if self.dx is not None and sides is not None:
            np.sum(sides, axis=0, out=self.dx[some])
        total = totals.sum(axis=0)
        return np.where(total == 0, total.dtype.type(1), total), shift, picked

    def add_slopes(self, x: Array, rate: Array, logits: list[Array], parts: Blocks) -> None:
        """Add a chunk's part to ``dweight`` and ``dbias``."""
        dweight, dbias = self.dweight, self.dbias

        def work(k: int) -> None:
            i, j = parts[k]
            if dweight is not None:
                dweight[i:j] += logits[k].T @ x
            if dbias is not None:
                dbias[i:j] += rate @ logits[k]

        if dweight is not None or dbias is not None:
            each(work, _numbers(parts))

    def take_targets_off(self) -> None:
        """What the targets take from the gradients, and the smoothing from the losses as well."""
        x, weight, target, share, smoothing = self.x, self.weight, self.target, self.share, self.smoothing
        count, dtype = len(weight), x.dtype.type
        hit, even = dtype(share * (1 - smoothing)), dtype(share * smoothing / count)
        if self.dx is not None:
            self.dx -= weight[target] * hit
        if smoothing:  # else a class with a bias of -inf would make all NaN
            total = column_sums(weight)
            self.losses -= dtype(smoothing / count) * (x @ total)
            if self.bias is not None:
                self.losses -= dtype(smoothing) * self.bias.mean()
            if self.dx is not None:
                self.dx -= even * total
        if self.dweight is not None:
            self.dweight -= scatter_add_rows.forward((), x * hit, target, count)[0]
            if smoothing:
                self.dweight -= column_sums(x) * even
        if self.dbias is not None:
            self.dbias -= np.bincount(target, minlength=count).astype(x.dtype) * hit
            self.dbias -= dtype(share * smoothing / count * len(x))


def _numbers(parts: Blocks) -> Blocks:
    """The number of each part, as a block for ``each``."""
    return [(k,) for k in range(len(parts))]


def backward(needs: Needs, saved: Gradients, g: Array, *args: Any) -> Gradients:
    def scaled(slope: Array | None) -> Array | None:
        """A copy for g = 1 too: a program may change it, and then ask once more."""
        return None if slope is None else spread(lambda block, out: np.multiply(block, g, out=out), slope)

    return wanted(needs, *map(scaled, saved))
