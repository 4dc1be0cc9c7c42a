"""Matrix inverses, determinants and linear equations under ``torch.linalg``'s names, computed on the CPU by LAPACK."""

from __future__ import annotations

import math
from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from ...autograd.graph import as_one
from ...backend import dtype as dt
from ...backend.dtype import Array
from ...functions.arguments import common_shape
from ...functions.creation import eye, zeros
from ...functions.define import method, spelled
from ...functions.pointwise import level
from ...tensor import Tensor, apply, wrap
from ..ops import decompositions as ops
from ..ops.decompositions import LinAlgError, on_host
from . import return_types


def matrices(input: Tensor, name: str) -> Tensor:
    """Raise RuntimeError unless a tensor contains matrices of real or complex floats."""
    if input.array.ndim < 2:
        raise RuntimeError(f"linalg.{name}: A must have at least 2 dimensions, but its shape is {list(input.shape)}")
    if dt.kind_of(input.array) not in "fc":
        raise RuntimeError(f"linalg.{name}: Expected a floating point or complex tensor as input. Got {input.dtype}")
    return input


def square(input: Tensor, name: str) -> Tensor:
    """Raise RuntimeError unless a tensor contains square matrices of real or complex floats."""
    if input.array.ndim < 2 or input.array.shape[-1] != input.array.shape[-2]:
        raise RuntimeError(f"linalg.{name}: A must be batches of square matrices, not of shape {list(input.shape)}")
    return matrices(input, name)


def _same_dtype(a: Tensor, b: Tensor, name: str) -> None:
    if a.array.dtype != b.array.dtype:
        dtypes = f"but found A of {a.dtype} and B of {b.dtype}; convert one with .to(dtype)"
        raise RuntimeError(f"linalg.{name}: Expected A and B to have the same dtype, {dtypes}")


@method
def inverse(A: Tensor) -> Tensor:
    """The inverse of square matrices. Raises LinAlgError if a matrix is singular."""
    return apply(ops.inverse, (square(A, "inv"),))


@spelled
def inv_ex(A: Tensor, *, check_errors: bool = False) -> return_types.linalg_inv_ex[Tensor]:
    """Return (inverse, info). info is 0 or, for a singular matrix, the elimination step with a zero pivot. In the
    latter case, the inverse is NaN or, with ``check_errors``, LinAlgError is raised."""
    return return_types.linalg_inv_ex(*or_nan(inverse, square(A, "inv_ex"), _zero_pivot, check_errors))


def or_nan(
    function: Callable[[Tensor], Tensor], A: Tensor, failure: Callable[[Array], int], check_errors: bool, axes: int = 2
) -> tuple[Tensor, Tensor]:
    """Return (result, info). Where ``function`` fails, the result is NaN over the last ``axes`` axes or, with
    ``check_errors``, LinAlgError is raised. ``failure`` returns the info for a matrix, which is 0 on success."""
    try:
        return function(A), zeros(A.array.shape[:-2], dtype=dt.int32, device=A.device)
    except LinAlgError:
        if check_errors:
            raise
    each = lambda x: np.array([failure(a) for a in x.reshape(-1, *x.shape[-2:])], np.int32).reshape(x.shape[:-2])
    info = wrap(on_host(each, A.array))
    failed = info != 0
    one = eye(A.array.shape[-1], dtype=A.dtype, device=A.device)
    result = function(one.where(failed.reshape(*failed.shape, 1, 1), A))
    return result.masked_fill(failed.reshape(*failed.shape, *(1,) * axes), math.nan), info


def _zero_pivot(x: Array) -> int:
    try:
        np.linalg.inv(x)
    except np.linalg.LinAlgError:
        return int(ops.lu_factor(x)[2]) or len(x)  # NumPy may have rounded the last pivot to 0
    return 0


@method
def det(A: Tensor) -> Tensor:
    """The determinant of square matrices."""
    return apply(ops.det, (square(A, "det"),))


@method
def slogdet(A: Tensor) -> return_types.slogdet[Tensor]:
    """The sign of the determinant, and the logarithm of its absolute value."""
    return return_types.slogdet(*apply(ops.slogdet, (square(A, "slogdet"),)))


@method
def logdet(input: Tensor) -> Tensor:
    """The logarithm of the determinant (the principal value if complex), or NaN where the determinant is negative."""
    sign, size = slogdet(input)
    if input.array.dtype.kind == "c":
        return size + sign.angle() * 1j
    return size.where(sign >= 0, math.nan)


@spelled
def tensorinv(A: Tensor, ind: int = 2) -> Tensor:
    """The inverse of a tensor viewed as a matrix. Its first ``ind`` axes index the rows, and the others the columns.
    Raises RuntimeError if ``ind`` is not positive, or the numbers of rows and columns differ."""
    if ind <= 0:
        raise RuntimeError(f"linalg.tensorinv: Expected a strictly positive integer for 'ind', not {ind}")
    rows, columns = A.array.shape[:ind], A.array.shape[ind:]
    if prod(rows) != prod(columns):
        expected = "Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind])"
        raise RuntimeError(f"linalg.tensorinv: {expected}, but got {prod(columns)} != {prod(rows)}")
    return inverse(A.reshape(prod(rows), prod(columns))).reshape(columns + rows)


@spelled
def pinv(A: Tensor, rcond: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None) -> Tensor:
    """The Moore-Penrose pseudo-inverse, computed from singular values, or from eigenvalues if ``hermitian``.

    Args:
        atol, rtol: numbers, or tensors with one number per matrix. Values up to max(atol, rtol · the largest value)
            count as 0. By default, ``rtol`` is max(M, N) times the dtype's eps, or 0 if ``atol`` is positive.
        rcond: an older name for rtol.
    """
    matrices(A, "pinv")
    limits = _limits(A, atol, rcond if rtol is None else rtol)
    return apply(ops.pinv, (square(A, "pinv") if hermitian else A, *limits, hermitian))


@method
def pinverse(input: Tensor, rcond: Any = 1e-15) -> Tensor:
    """``linalg.pinv`` under its name in ``torch``."""
    return pinv(input, rcond)


def _limits(A: Tensor, atol: Any, rtol: Any) -> tuple[Any, Any]:
    """The ``atol`` and ``rtol`` of ``pinv``, prepared for NumPy."""
    least, relative = (np.asarray(x.numpy(force=True) if isinstance(x, Tensor) else x or 0.0) for x in (atol, rtol))
    if rtol is None:
        usual = max(A.array.shape[-2:]) * float(np.finfo(A.array.dtype).eps)
        relative = np.where(least > 0, 0.0, usual)
    return least, relative


@spelled
def matrix_rank(A: Tensor, tol: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None) -> Tensor:
    """The number of singular values (eigenvalues if ``hermitian``) above max(atol, rtol · the largest), as int64.

    Args:
        tol: replaces ``atol``, and sets ``rtol`` to 0.
        atol, rtol: as for ``pinv``.
    """
    matrices(A, "matrix_rank")
    least, relative = _limits(A, atol, rtol) if tol is None else _limits(A, tol, 0.0)
    values: Any = np.linalg.eigvalsh if hermitian else lambda a: np.linalg.svd(a, compute_uv=False)
    count = lambda a: ops.significant(values(a), least, relative).sum(-1) if a.size else np.zeros(a.shape[:-2], int)
    return wrap(dt.counted(on_host(count, (square(A, "matrix_rank") if hermitian else A).array)))


@spelled
def solve(A: Tensor, B: Tensor, *, left: bool = True) -> Tensor:
    """Solve A X = B (X A = B if not ``left``). B is a matrix of columns (..., N, K) or a vector (..., N). Raises
    LinAlgError if a matrix is singular, and RuntimeError if shapes or dtypes do not match."""
    square(A, "solve")
    if vector := B.array.ndim == 1 or B.array.shape == A.array.shape[:-1]:  # one vector for each matrix
        if not left:
            raise RuntimeError("linalg.solve: Vector broadcasting of the left hand side needs left=True")
        B = B.unsqueeze(-1)
    check_sides(A, B, left, "solve")
    if not left:
        return apply(ops.solve, (A.mT, B.mT)).mT
    X = apply(ops.solve, (A, B))
    return X.squeeze(-1) if vector else X


def check_sides(A: Tensor, B: Tensor, left: bool, name: str) -> None:
    """Raise RuntimeError unless the shapes and dtypes of A and B match for A X = B (X A = B if not ``left``)."""
    _same_dtype(A, B, name)
    if B.array.ndim < 2:
        raise RuntimeError(f"linalg.{name}: B must have at least 2 dimensions, but its shape is {list(B.shape)}")
    if A.array.shape[-2] != B.array.shape[-2 if left else -1]:
        equation = "AX = B" if left else "XA = B"
        raise RuntimeError(f"linalg.{name}: Incompatible shapes for {equation}: {list(A.shape)} and {list(B.shape)}")
    common_shape(A.array.shape[:-2], B.array.shape[:-2])


@spelled
def solve_ex(
    A: Tensor, B: Tensor, *, left: bool = True, check_errors: bool = False
) -> return_types.linalg_solve_ex[Tensor]:
    """Return (result of ``solve``, info). info is 0 or, for a singular matrix, the elimination step with a zero pivot.
    In the latter case, the result is NaN or, with ``check_errors``, LinAlgError is raised."""
    axes = 1 if B.array.ndim == 1 or B.array.shape == A.array.shape[:-1] else 2
    solution = or_nan(lambda A: solve(A, B, left=left), A, _zero_pivot, check_errors, axes)
    return return_types.linalg_solve_ex(*solution)


@spelled
def solve_triangular(A: Tensor, B: Tensor, *, upper: bool, left: bool = True, unitriangular: bool = False) -> Tensor:
    """Solve A X = B (X A = B if not ``left``) for the upper or lower triangle of A. The result is not finite if the
    diagonal has a 0. ``unitriangular`` assumes a diagonal of ones. Raises RuntimeError for invalid shapes or dtypes."""
    square(A, "solve_triangular")
    check_sides(A, B, left, "solve_triangular")
    if not left:
        return apply(ops.solve_triangular, (A.mT, B.mT, not upper, unitriangular)).mT
    return apply(ops.solve_triangular, (A, B, upper, unitriangular))


@method
def triangular_solve(
    input: Tensor, A: Tensor, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> return_types.triangular_solve[Tensor]:
    """Solve A X = input, or Aᴴ X = input if ``transpose``, for a triangle of A. Returns (X, A)."""
    matrix = A.mH if transpose else A
    X = solve_triangular(matrix, input, upper=upper is not transpose, unitriangular=unitriangular)
    return return_types.triangular_solve(X, A.clone())


@method
def cholesky_solve(input: Tensor, input2: Tensor, upper: bool = False) -> Tensor:
    """Solve L Lᴴ X = input, or Lᴴ L X = input if ``upper``, where L is ``input2``, from ``linalg.cholesky``."""
    L: Tensor = square(input2, "cholesky_solve")
    check_sides(L, input, True, "cholesky_solve")
    return apply(ops.cholesky_solve, (L.mH if upper else L, input))


@method
def cholesky_inverse(input: Tensor, upper: bool = False) -> Tensor:
    """(L Lᴴ)⁻¹ for L from ``linalg.cholesky``, or (Lᴴ L)⁻¹ if ``upper``."""
    square(input, "cholesky_inverse")
    return cholesky_solve(eye(input.array.shape[-1], dtype=input.dtype, device=input.device), input, upper)


@spelled
def tensorsolve(A: Tensor, B: Tensor, dims: Any = None) -> Tensor:
    """Solve ``tensordot(A, X, X.ndim) = B``, after moving the axes ``dims`` of A to the end. Raises RuntimeError if A's
    axes for B and for X have different numbers of elements."""
    if dims is not None:
        A = A.movedim(tuple(dims), tuple(range(-len(dims), 0)))
    shape = A.array.shape[B.array.ndim :]
    if prod(shape) != prod(A.array.shape[: B.array.ndim]) or B.array.size != prod(shape):
        expected = (
            "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == prod(self.shape[:other.ndim])"
        )
        raise RuntimeError(f"linalg.tensorsolve: {expected}, but the shapes are {list(A.shape)} and {list(B.shape)}")
    return solve(A.reshape(prod(shape), prod(shape)), B.reshape(-1)).reshape(shape)


@spelled
def lstsq(
    A: Tensor, B: Tensor, rcond: float | None = None, *, driver: str | None = None
) -> return_types.linalg_lstsq[Tensor]:
    """Return (solution, residuals, rank, singular_values) for the X of least norm that minimises ‖A X − B‖.

    X is always computed from singular values, as by gelsd. As in PyTorch, ``driver`` determines which other results are
    not empty. All drivers except "gels" return the rank. Only "gelsd" and "gelss" return singular values. All except
    "gelsy", the default, return residuals (each column's ‖A X − B‖²) if A has more rows than columns and full rank.

    Args:
        rcond: singular values up to rcond times the largest count as 0; by default, eps times max(M, N).
    """
    driver, drivers = driver or "gelsy", ("gels", "gelsy", "gelsd", "gelss")
    if driver not in drivers:
        raise RuntimeError(f"linalg.lstsq: parameter `driver` should be one of {drivers}, not {driver!r}")
    matrices(A, "lstsq")
    _same_dtype(A, B, "lstsq")
    columns = B.unsqueeze(-1) if (vector := B.array.ndim == A.array.ndim - 1) else B
    if columns.array.ndim < 2 or columns.array.shape[-2] != A.array.shape[-2]:
        raise RuntimeError(f"linalg.lstsq: A has {A.array.shape[-2]} rows, but B of shape {list(B.shape)} does not")
    batch = common_shape(A.array.shape[:-2], columns.array.shape[:-2])
    A, columns = A.expand(*batch, *A.shape[-2:]), columns.expand(*batch, *columns.shape[-2:])
    rows, unknowns = A.array.shape[-2:]
    rcond = max(rows, unknowns) * float(np.finfo(A.array.dtype).eps) if rcond is None or driver == "gels" else rcond
    X: Tensor = as_one(apply(ops.pinv, (A, 0.0, float(rcond), False)) @ columns, "LinalgLstsqBackward0")
    values = wrap(on_host(lambda a: np.linalg.svd(a, compute_uv=False), A.array))
    rank = (values > rcond * values[..., :1]).sum(-1)
    residuals = level(A.new_empty(0), A, B).abs()  # real, even for complex numbers
    if driver != "gelsy" and rows > unknowns and (driver == "gels" or bool((rank == unknowns).all())):
        residuals = ((A @ X - columns).abs() ** 2).sum(-2)
    rank = rank.new_empty(0) if driver == "gels" else rank
    values = values if driver in ("gelsd", "gelss") else values.new_empty(0)
    return return_types.linalg_lstsq(X.squeeze(-1) if vector else X, residuals, rank, values)
