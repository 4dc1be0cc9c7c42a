"""Optimizer updates and clipping of many parameters in one launch: see adam.cu, sgd.cu, muon.cu, clip_grad_norm.cu. A
row consists of arrays that belong together, such as a parameter and its gradient. Kernels get a table of the arrays'
addresses and a list of the parts into which all rows are cut, with a block of threads for each part. Both stay
on the GPU until they change, so most steps upload nothing. Clipping does not wait for the GPU."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

import numpy as np

from ..cublas import matmul
from ..dtype import Array
from ..registry import xp
from ._launch import BLOCK, NULL, launch, over_elements

PART = 4096  # elements
_KEPT = 64  # tables on the GPU: gradients may alternate between a few addresses


class Many:
    """Rows with the same number of arrays, on the GPU of the first, ``device``. ``fits`` says for each row whether
    kernels support it (contiguous arrays on that GPU, of one size and one floating dtype). It is false for all rows if
    two share memory. ``parts`` is the number of parts."""

    def __init__(self, rows: Sequence[tuple[Array, ...]]) -> None:
        self.rows, self.device = rows, rows[0][0].device
        self._sizes = [_size(row, type(rows[0][0]), self.device.id) for row in rows]
        places = [row[0].data.ptr for row, size in zip(rows, self._sizes, strict=True) if size > 0]
        if len({*places}) < len(places):
            self._sizes = [-1] * len(rows)
        self.fits = [size >= 0 for size in self._sizes]
        self.parts = sum(-(-size // PART) for size in self._sizes if size > 0)

    def each(self, source: str, name: str, *args: Any, rates: Sequence[tuple[float, ...]] | None = None) -> None:
        """Run a kernel ``(MANY, args..., the row's rates...)`` once for all rows with the same dtype and rates."""
        groups: dict[Any, list[int]] = {}
        for i, (row, size) in enumerate(zip(self.rows, self._sizes, strict=True)):
            if size > 0:
                groups.setdefault((row[0].dtype, rates[i] if rates else ()), []).append(i)
        before = 0
        for (_, numbers), members in groups.items():
            rows = [self.rows[i] for i in members]
            like, lib = rows[0][0], xp(rows[0][0])
            table = _table(lib, self.device.id, tuple(a.data.ptr for row in rows for a in row))
            parts = _parts(lib, self.device.id, tuple(self._sizes[i] for i in members))
            launch(like, source, name, (len(parts),), (BLOCK,), (table, parts, len(rows[0]), before, *args, *numbers))
            before += len(parts)


def _size(row: tuple[Any, ...], kind: Any, device: int) -> int:
    """The size of each array in a row, or -1 if kernels do not support the row."""
    dtype, size = row[0].dtype, row[0].size
    for a in row:
        if type(a) is not kind or a.device.id != device or not a.flags.c_contiguous:
            return -1
        if a.dtype != dtype or a.size != size:
            return -1
    return int(size) if dtype.kind == "f" else -1


@lru_cache(_KEPT)
def _table(lib: Any, device: int, addresses: tuple[int, ...]) -> Array:
    return lib.asarray(np.array(addresses, np.int64))


@lru_cache(_KEPT)
def _parts(lib: Any, device: int, sizes: tuple[int, ...]) -> Array:
    """For each part, its row, its first element, its end, and where the row's parts begin and end."""
    parts: list[tuple[int, ...]] = []
    for i, n in enumerate(sizes):
        ends = len(parts), len(parts) + -(-n // PART)
        parts += [(i, k, min(k + PART, n), *ends) for k in range(0, n, PART)]
    return lib.asarray(np.array(parts, np.int64))


def adam_all(many: Many, rates: Sequence[tuple[float, float]], *numbers: float) -> None:
    """Update the parameters and averages of rows (θ, g, m, v) or (θ, g, m, v, largest v) in place."""
    many.each("adam", "adam", *map(float, numbers), rates=rates)


def sgd_all(many: Many, *numbers: float) -> None:
    """Update the parameters, and b if there is one, of rows (θ, g) or (θ, g, b) in place."""
    many.each("sgd", "sgd", *map(float, numbers))


def norm(many: Many) -> Array:
    """The square root of the sum of all squares, 0-d, in the widest dtype."""
    like = max((row[0] for row in many.rows), key=lambda x: x.itemsize)
    sums, total = xp(like).empty(many.parts, "float64"), xp(like).empty((), like.dtype)
    many.each("clip_grad_norm", "squares", sums)
    launch(total, "clip_grad_norm", "root", (1,), (BLOCK,), (sums, total, many.parts))
    return total


def clip(many: Many, most: float, total: Array) -> None:
    """Scale all arrays, whose norm is ``total``, in place, so that their norm is at most ``most``."""
    many.each("clip_grad_norm", "scale", *_single_or_double(total), 1, most)


def scale(many: Many, factor: float | Array) -> None:
    """Multiply all arrays in place by a factor, which is a number or a 0-d array on the GPU."""
    by, number = ((NULL, NULL), factor) if isinstance(factor, float) else (_single_or_double(factor), 1.0)
    many.each("clip_grad_norm", "scale", *by, 0, number)


def _single_or_double(x: Array) -> tuple[Any, Any]:
    """A number on the GPU, for a kernel that accepts it as float32 or float64."""
    return (x, NULL) if x.dtype == "float32" else (NULL, x.astype("float64", copy=False))


def muon_all(many: Many, rates: Sequence[float], numbers: Sequence[float], steps: int) -> list[bool]:
    """Update the matrices of rows (θ, g, m) in place. Returns for each row whether it is supported."""
    shapes: dict[Any, list[int]] = {}
    for i, (param, *_) in enumerate(many.rows):
        if many.fits[i] and param.size:
            shapes.setdefault((param.shape, param.dtype), []).append(i)
    if not shapes:
        return many.fits
    shrink, rest, share, *coefficients, eps = map(float, numbers)
    lib, todo = xp(many.rows[0][0]), [i for members in shapes.values() for i in members]
    batches = [lib.empty((2, len(members), *shape), dtype) for (shape, dtype), members in shapes.items()]
    pairs = [pair for batch in batches for pair in zip(*batch, strict=True)]
    whole = Many([(*many.rows[i], *pair) for i, pair in zip(todo, pairs, strict=True)])
    sums = lib.empty(whole.parts, "float64")
    whole.each("muon", "momentum", sums, rest, share)
    whole.each("muon", "normalize", sums, eps)
    for batch in batches:
        for k in range(steps):
            _iterate(batch[k % 2], batch[1 - k % 2], coefficients)
    whole.each("muon", "descend", 3 + steps % 2, shrink, rates=[(float(rates[i]),) for i in todo])
    return many.fits


def _iterate(x: Array, out: Array, coefficients: list[float]) -> None:
    """A Newton-Schulz iteration step for a batch, with the smaller of XXᵀ and XᵀX."""
    lib, turned, wide = xp(x), x.swapaxes(1, 2), x.shape[1] <= x.shape[2]
    gram = matmul(x, turned) if wide else matmul(turned, x)  # CuPy's own copies a transposed operand
    factor = lib.matmul(gram, gram)
    over_elements(factor, "muon", "polynomial", factor, gram, *coefficients, len(gram[0]))
    lib.matmul(*((factor, x) if wide else (x, factor)), out=out)


KERNELS = {
    "adam": SimpleNamespace(Many=Many, step_all=adam_all),
    "sgd": SimpleNamespace(Many=Many, step_all=sgd_all),
    "muon": SimpleNamespace(Many=Many, step_all=muon_all),
    "clip_grad_norm": SimpleNamespace(Many=Many, norm=norm, clip=clip, scale=scale),
}
