"""A linear map. What the backward pass needs, three results, is computed by all cores at once."""

from __future__ import annotations

from math import prod

import numpy as np

from .. import blas
from ..dtype import Array
from ..parallel import Blocks, each, get_num_threads
from ..products import LARGE, matmul
from . import Gradients, Needs
from ._rows import column_sum


def check(x: Array, weight: Array) -> None:
    """Refuse what does not fit.

    Raises:
        RuntimeError: the input's last axis is not as long as the weight's.
    """
    if x.shape[-1:] != weight.shape[1:]:
        raise RuntimeError(
            f"linear: mat1 and mat2 shapes cannot be multiplied: the input's last axis is "
            f"{x.shape[-1] if x.ndim else 'missing'} (shape {tuple(x.shape)}), the weight "
            f"{tuple(weight.shape)} wants {weight.shape[-1]}"
        )


def forward(needs: Needs, x: Array, weight: Array, bias: Array | None) -> tuple[Array, None]:
    check(x, weight)
    out = matmul(as_rows(x), weight.T, bias)
    return out.reshape(*x.shape[:-1], weight.shape[0]), None


def as_rows(x: Array) -> Array:
    """x as a matrix of its last axis."""
    return x.reshape(prod(x.shape[:-1]), x.shape[-1])


def backward(needs: Needs, saved: None, g: Array, x: Array, weight: Array, bias: Array | None) -> Gradients:
    rows, slopes = as_rows(x), as_rows(g)
    dx = np.empty(rows.shape, rows.dtype) if needs[0] else None
    dweight = np.empty(weight.shape, weight.dtype) if needs[1] else None
    dbias = np.empty(len(weight), weight.dtype) if needs[2] else None
    tall = len(weight) > weight.shape[1]  # of the weight's gradient: cut along the longer side

    def work(which: int, i: int, j: int) -> None:
        if which == 0 and dx is not None:
            np.matmul(slopes[i:j], weight, out=dx[i:j])
        elif which == 1 and dweight is not None:
            if tall:
                np.matmul(slopes[:, i:j].T, rows, out=dweight[i:j])
            else:
                np.matmul(slopes.T, rows[:, i:j], out=dweight[:, i:j])
        elif which == 2 and dbias is not None:
            dbias[i:j] = column_sum(slopes[:, i:j])

    if rows.size * len(weight) < LARGE or get_num_threads() == 1:
        with blas.one_thread():
            for which, length in enumerate((len(rows), max(weight.shape), len(weight))):
                work(which, 0, length)
    else:
        each(work, _cuts(needs, len(rows), weight.shape))
    return None if dx is None else dx.reshape(x.shape), dweight, dbias


def _cuts(needs: Needs, rows: int, weight: tuple[int, ...]) -> Blocks:
    """(which result, start, stop). The two products are equally large: where both are wanted, half of the
    threads make one and half the other, so that BLAS puts each operand in order for as few as can be."""
    threads = get_num_threads()
    parts = (threads + 1) // 2 if needs[0] and needs[1] else threads
    plan = ((rows, parts), (max(weight), parts), (weight[0], threads))
    return [
        (which, i, min(length, i + step))
        for which, (length, count) in enumerate(plan)
        if needs[which]
        for step in [max(1, -(-length // count))]
        for i in range(0, max(1, length), step)
    ]
