"""cuBLAS for the strict stand-in, like ``cupy.cuda.cublas``: pointers, leading dimensions, strides, type numbers.

Matrices are column-major, as in Fortran. Arguments that cuBLAS refuses or leaves undefined are refused here.
"""

import ctypes
from typing import Any

import numpy as np

from minigrad.backend.dtype import named

from .launches import launched

HANDLE = 7
TYPES = {0: "float32", 1: "float64", 2: "float16", 14: "bfloat16"}
COMPUTE: dict[int, Any] = {68: np.float32, 70: np.float64, 77: np.float32}  # 32F, 64F, 32F_FAST_TF32
calls: list[int] = []  # the compute type of each call


class CUBLASError(RuntimeError):
    """A status other than CUBLAS_STATUS_SUCCESS."""


def get_cublas_handle() -> int:
    return HANDLE


def _check(holds: bool, problem: str) -> None:
    if not holds:
        raise CUBLASError(f"CUBLAS_STATUS_INVALID_VALUE: {problem}")


def _matrices(pointer: int, kind: int, leading: int, step: int, shape: tuple[int, int], count: int) -> Any:
    """A view of a batch of column-major matrices (rows, columns)."""
    rows, columns = shape
    dtype = named(TYPES[kind]).numpy
    _check(leading >= max(1, rows), f"a leading dimension of {leading} for {rows} rows")
    _check(pointer % dtype.itemsize == 0 and pointer > 0, f"the address {pointer:#x}")
    extent = (count - 1) * step + (columns - 1) * leading + rows
    memory = np.frombuffer((ctypes.c_char * (extent * dtype.itemsize)).from_address(pointer), dtype)
    strides = (step * dtype.itemsize, dtype.itemsize, leading * dtype.itemsize)
    return np.lib.stride_tricks.as_strided(memory, (count, rows, columns), strides)


def gemmStridedBatchedEx(
    handle: int, transa: int, transb: int, m: int, n: int, k: int, alpha: int,
    a: int, a_type: int, lda: int, stride_a: int, b: int, b_type: int, ldb: int, stride_b: int,
    beta: int, c: int, c_type: int, ldc: int, stride_c: int, count: int, compute: int, algorithm: int,
) -> None:  # fmt: skip
    """C = α op(A) op(B) + β C for each batch element."""
    whole = (m, n, k, lda, ldb, ldc, stride_a, stride_b, stride_c, count, compute, a, b, c, alpha, beta)
    _check(all(type(number) is int for number in whole), "an argument is no Python int")
    _check(handle == HANDLE and {transa, transb} <= {0, 1} and algorithm == -1, "handle, operation or algorithm")
    _check(min(m, n, k, count) > 0 and min(stride_a, stride_b) >= 0, "a length or a step")
    _check(a_type == b_type == c_type and compute in COMPUTE, "types that do not go together")
    wide = COMPUTE[compute]
    _check((wide is np.float64) == (a_type == 1), "the type of the computation")
    _check(compute != 77 or a_type == 0, "TF32 is for float32")
    _check(count == 1 or stride_c >= (n - 1) * ldc + m, "results that overlap")
    factors = [np.frombuffer((ctypes.c_char * np.dtype(wide).itemsize).from_address(p), wide)[0] for p in (alpha, beta)]
    left = _matrices(a, a_type, lda, stride_a, (k, m) if transa else (m, k), count).astype(wide)
    right = _matrices(b, b_type, ldb, stride_b, (n, k) if transb else (k, n), count).astype(wide)
    if compute == 77:
        left, right = rounded_to_tf32(left), rounded_to_tf32(right)
    product = (left.mT if transa else left) @ (right.mT if transb else right)
    result = _matrices(c, c_type, ldc, stride_c, (m, n), count)
    old = factors[1] * result.astype(wide) if factors[1] else 0
    result[...] = (factors[0] * product + old).astype(result.dtype)
    launched("matmul")
    calls.append(compute)


def rounded_to_tf32(x: Any) -> Any:
    """float32 rounded to the 11 bits that tensor cores read."""
    bits = x.view(np.uint32).astype(np.uint64)
    return ((bits + 0xFFF + (bits >> 13 & 1)) & 0xFFFFE000).astype(np.uint32).view(np.float32)
