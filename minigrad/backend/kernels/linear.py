"""A linear map. What the backward pass needs, three results, is computed by all cores at once."""

from __future__ import annotations

from math import prod

import numpy as np

from .. import blas
from ..dtype import Array
from ..parallel import PRODUCTS_A_SECOND, Blocks, each, get_num_threads, shares
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
    add = None if bias is None else lambda rows: np.add(rows, bias, out=rows)
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

    size = rows.size * len(weight)
    parts = get_num_threads() if size >= LARGE else 1
    cuts: Blocks = [(which, *part) for which, length in enumerate((len(rows), max(weight.shape), 1))
                    if needs[which] for part in _parts(length, parts)]  # fmt: skip
    if not needs[2] and needs[1] and parts > 1:
        ends = shares(max(weight.shape), size / PRODUCTS_A_SECOND)
        cuts = [*(cut for cut in cuts if cut[0] != 1), *((1, *part) for part in ends)]
    if parts == 1:
        with blas.one_thread():
            for cut in cuts:
                work(*cut)
    else:
        each(work, cuts)
    return None if dx is None else dx.reshape(x.shape), dweight, dbias


def _parts(length: int, count: int) -> list[tuple[int, int]]:
    step = max(1, -(-length // count))
    return [(i, min(length, i + step)) for i in range(0, max(1, length), step)]
