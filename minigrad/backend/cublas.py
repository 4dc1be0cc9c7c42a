"""Batched matrix products by cuBLAS, and the TF32 setting for float32 products. CuPy 14.2 copies transposed
operands of a batch, multiplies float16 in float32, fails for bfloat16, and sums the product of a 16-bit row and column
in 16 bits. Here, cuBLAS reads operands by their strides and sums 16-bit products in float32. Other products of two
matrices use CuPy, which takes 4 µs less on the host."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from .dtype import Array, name_of
from .registry import xp

_TYPES = {"float16": 2, "bfloat16": 14, "float32": 0, "float64": 1}  # cudaDataType_t
_IN_FLOAT32, _IN_FLOAT64, _IN_TF32 = 68, 70, 77  # cublasComputeType_t
_FACTORS = np.array([1, 0], np.float32), np.array([1, 0], np.float64)  # factors for the product and for the old result
_NARROW, _WIDE = (x.ctypes.data for x in _FACTORS)
_TF32: dict[str, Any] = {"allowed": False, "cupy": None}


def is_tf32_allowed() -> bool:
    """Whether float32 products may round their factors to TF32 (11 bits of precision)."""
    return bool(_TF32["allowed"])


def allow_tf32(allowed: bool, cupy: Any = None) -> None:
    """Allow or forbid TF32 for float32 products, including CuPy's own if ``cupy`` is passed. CuPy's default depends on
    the environment (CUPY_TF32), so it is set in either case."""
    cupy = cupy or _TF32["cupy"]
    _TF32.update(allowed=allowed, cupy=cupy)
    if cupy:
        products = cupy._core._routines_linalg
        products.set_compute_type(np.float32, products.COMPUTE_TYPE_TF32 if allowed else products.COMPUTE_TYPE_DEFAULT)


def matmul(a: Array, b: Array) -> Array:
    """a b over the last two axes: (..., M, K) and (..., K, N) -> (..., M, N), or a vector (K) on either side."""
    if a.dtype != b.dtype or name_of(a.dtype) not in _TYPES or not hasattr(xp(a), "cuda"):
        return a @ b
    if max(a.ndim, b.ndim) < 3 and (a.itemsize > 2 or (a.ndim == b.ndim == 2 and len(a) * b.shape[1] > 1)):
        return a @ b
    if a.ndim == 1:
        return matmul(a[None], b)[..., 0, :] if b.ndim > 1 else matmul(a[None], b)[0]
    if b.ndim == 1:
        return matmul(a, b[:, None])[..., 0]
    lead, other = a.shape[:-2], b.shape[:-2]
    lead = lead if lead == other else np.broadcast_shapes(lead, other)
    rows, inner, columns = a.shape[-2], a.shape[-1], b.shape[-1]
    if inner != b.shape[-2]:
        raise ValueError(f"the inner dimensions of {a.shape} and {b.shape} differ")
    out = xp(a).empty((*lead, rows, columns), a.dtype)
    if not out.size or not inner:
        out.fill(0)
        return out
    kind, cuda = _TYPES[name_of(a.dtype)], xp(a).cuda
    compute = _IN_FLOAT64 if kind == 1 else _IN_TF32 if kind == 0 and _TF32["allowed"] else _IN_FLOAT32
    one, zero = (_WIDE, _WIDE + 8) if kind == 1 else (_NARROW, _NARROW + 4)
    (a, turns_a, row_a, step_a), (b, turns_b, row_b, step_b) = (_laid_out(x, out.shape[:-2]) for x in (a, b))
    # cuBLAS is column-major, so all three matrices are transposed: outᵀ = bᵀ aᵀ
    left, right = (b.data.ptr, kind, row_b, step_b), (a.data.ptr, kind, row_a, step_a)
    result = (out.data.ptr, kind, columns, rows * columns, out.size // (rows * columns))
    cuda.cublas.gemmStridedBatchedEx(
        cuda.get_cublas_handle(), turns_b, turns_a, columns, rows, inner, one, *left, *right, zero, *result, compute, -1
    )
    return out


def _laid_out(x: Array, lead: tuple[int, ...]) -> tuple[Array, int, int, int]:
    """An operand that cuBLAS can read (copied if necessary), whether it is column-major, the step from one column (or
    row) to the next, and the step from one matrix to the next."""
    rows, columns = x.shape[-2:]
    if x.shape[:-2] != lead:
        x = xp(x).broadcast_to(x, (*lead, rows, columns))
    *steps, by_row, by_column = (s // x.itemsize for s in x.strides)
    axes = [(n, step) for n, step in zip(lead, steps, strict=True) if n > 1]
    if all(outer == step * n for (_, outer), (n, step) in pairwise(axes)):
        step = axes[-1][1] if axes else 0
        row, column = by_row if rows > 1 else columns, by_column if columns > 1 else rows
        if step >= 0 and row >= columns and (by_column == 1 or columns == 1):
            return x, 0, row, step
        if step >= 0 and column >= rows and (by_row == 1 or rows == 1):
            return x, 1, column, step
    return _laid_out(xp(x).ascontiguousarray(x), lead)
