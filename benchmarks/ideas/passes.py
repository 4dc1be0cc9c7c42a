"""Fewer passes over memory, and fewer copies."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from minigrad.backend import blas, parallel
from minigrad.backend.kernels import _rows as rows
from minigrad.backend.kernels import gelu, scatter_add_rows
from minigrad.ops import joining

from .idea import PAID, Array, Given, Row, idea
from .ways import Way


@idea(PAID, "exp without the row's maximum", "kernels/_rows.py, exp_rows")
def no_maximum(given: Given) -> list[Row]:
    """Softmax subtracts the largest number of each row, so that exp does not overflow. One look at the whole
    block tells whether it could; nearly always not, and two passes are saved."""
    return [
        given.compare(f"{n} × {width:,}, one thread", *_softmaxes(given, given.part(n), width))
        for n, width in ((4096, 16), (4096, 64), (524, 10_000))
    ]


def _softmaxes(given: Given, count: int, width: int) -> tuple[Way, Way]:
    x = given.random(count, width)
    block = np.empty_like(x)
    fill = partial(np.copyto, block, x)

    def call(again: Any) -> None:
        with blas.one_thread():
            rows.exp_rows(block, again)

    return Way(partial(call, fill), before=fill), Way(partial(call, None), before=fill)


@idea(PAID, "GELU's slope made in the forward pass", "kernels/gelu.py")
def slope(given: Given) -> list[Row]:
    """Result and slope share the normal distribution; made together and kept, the slope leaves the backward
    pass one product."""
    x = given.random(given.part(2048), 1536)
    g = np.ones_like(x)

    def together() -> None:
        _, saved = gelu.forward((True,), x, "none")
        gelu.backward((True,), saved, g, x, "none")

    def apart() -> None:
        gelu.forward((False,), x, "none")
        flat, slopes, out = x.reshape(-1), g.reshape(-1), np.empty_like(x).reshape(-1)

        def work(i: int, j: int) -> None:
            block = flat[i:j]
            share = gelu._share(block, "none")
            np.multiply(share + block * gelu._density(block, share, "none"), slopes[i:j], out=out[i:j])

        parallel.over_rows(work, flat.size, 5 * flat.itemsize)

    return [given.compare("2048 × 1536, forward and backward", Way(together), Way(apart))]


@idea(PAID, "embedding's gradient in rounds", "kernels/scatter_add_rows.py")
def rounds(given: Given) -> list[Row]:
    """The first rows of all words are copied at once, the second added, and so on: few long calls in place of
    a sum for each word."""
    count, draw = given.part(4096), np.random.default_rng(0)
    x, shares = given.random(count, 128), 1 / np.arange(1, 10_001)
    tokens = {
        "evenly": draw.integers(0, 10_000, count),
        "as in language": draw.choice(10_000, count, p=shares / shares.sum()),
    }
    return [
        given.compare(
            f"4096 of 10,000 words, spread {how}",
            Way(partial(scatter_add_rows.forward, (), x, which, 10_000)),
            Way(partial(add_runs, x, which, 10_000)),
        )
        for how, which in tokens.items()
    ]


def add_runs(x: Array, indices: Array, count: int) -> Array:
    """The sum of the rows of each index by ``reduceat``, (count, D)."""
    out = np.zeros((count, x.shape[1]), x.dtype)
    order = np.argsort(indices, kind="stable")
    ordered = indices[order]
    starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    out[ordered[starts]] = np.add.reduceat(x[order], starts, axis=0)
    return out


@idea(PAID, "gradients of q, k and v side by side", "ops/joining.py, _rejoined")
def side_by_side(given: Given) -> list[Row]:
    """Attention writes the three gradients into one memory, as the projection had the three: the gradient of
    the split is then a view, and not a copy."""
    memory = np.zeros((given.part(256), 16, 3, 4, 32), np.float32)
    views = tuple(memory[:, :, i] for i in range(3))
    apart = [view.copy() for view in views]
    view, copy = partial(joining._rejoined, views, 2, True), partial(np.stack, apart, 2)
    return [given.compare("three of (256, 16, 4, 32)", Way(view), Way(copy))]


@idea(PAID, "sums of rows and columns as products", "kernels/_rows.py, backend/products.py")
def sums(given: Given) -> list[Row]:
    """NumPy's sum goes by short pieces; BLAS multiplies by ones at the speed of memory."""
    x = given.random(given.part(4096), 128)

    def by_blas(total: Callable[[Array], Array]) -> None:
        with blas.one_thread():
            total(x)

    found = []
    for what, axis, total in (("columns", 0, rows.column_sum), ("rows", -1, rows.row_sum)):
        with_it, without = Way(partial(by_blas, total)), Way(partial(x.sum, axis))
        found.append(given.compare(f"{what} of 4096 × 128, one thread", with_it, without))
    return found
