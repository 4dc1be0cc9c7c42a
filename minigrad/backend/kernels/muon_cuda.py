"""Muon's update of matrices, those of one shape as a batch: see muon.cu, and ``muon_step`` in ``optim/muon.py``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..cublas import matmul
from ..dtype import Array
from ..many_cuda import Many
from ..registry import xp
from ._launch import over_elements


def step_all(many: Many, rates: Sequence[float], numbers: Sequence[float], steps: int) -> list[bool]:
    """Update the matrices of rows (θ, g, m) in place; whether it took each."""
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
    """A step of Newton's and Schulz's iteration for a batch, by XXᵀ or XᵀX, whichever is smaller."""
    lib, turned, wide = xp(x), x.swapaxes(1, 2), x.shape[1] <= x.shape[2]
    gram = matmul(x, turned) if wide else matmul(turned, x)  # CuPy's own copies a transposed operand
    factor = lib.matmul(gram, gram)
    over_elements(factor, "muon", "polynomial", factor, gram, *coefficients, len(gram[0]))
    lib.matmul(*((factor, x) if wide else (x, factor)), out=out)
