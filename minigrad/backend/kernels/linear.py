"""A linear map. What the backward pass needs, three results, is computed by all cores at once."""

from __future__ import annotations

from math import prod
from operator import iadd

import numpy as np

from ..dtype import Array
from ..parallel import each, get_num_threads
from ..products import LARGE, matmul


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


def forward(
    needs: tuple[bool, ...], x: Array, weight: Array, bias: Array | None
) -> tuple[Array, None]:
    check(x, weight)
    add = None if bias is None else lambda rows: iadd(rows, bias)
    out = matmul(_rows(x), weight.T, add)
    return out.reshape(*x.shape[:-1], weight.shape[0]), None


def _rows(x: Array) -> Array:
    """x as a matrix of its last axis."""
    return x.reshape(prod(x.shape[:-1]), x.shape[-1])


def backward(
    needs: tuple[bool, ...], saved: None, g: Array, x: Array, weight: Array, bias: Array | None
) -> tuple[Array | None, ...]:
    rows, slopes = _rows(x), _rows(g)
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
        elif dbias is not None:
            if dbias.dtype.char in "fd":
                np.matmul(np.ones(len(slopes), slopes.dtype), slopes, out=dbias)
            else:
                dbias[...] = slopes.sum(axis=0)

    parts = get_num_threads() if rows.size * len(weight) >= LARGE else 1
    sides = (len(rows), max(weight.shape), 1)
    cuts = [(which, *part) for which in range(3) if needs[which] for part in _parts(sides[which], parts)]
    if parts == 1:
        for cut in cuts:
            work(*cut)
    else:
        each(work, cuts)
    return None if dx is None else dx.reshape(x.shape), dweight, dbias


def _parts(length: int, count: int) -> list[tuple[int, int]]:
    step = max(1, -(-length // count))
    return [(i, min(length, i + step)) for i in range(0, max(1, length), step)]
