"""``torch.linalg``: norms, inverses, equations and decompositions."""

from __future__ import annotations

import math
from typing import Any

from ..functions.arguments import Dims
from ..functions.creation import arange
from ..functions.define import spelled
from ..functions.linalg import matmul as matmul
from ..functions.reduction import amax, amin, norm as _norm, sum
from ..tensor import Tensor
from .functions import decompositions as factors, equations, products, return_types
from .ops.decompositions import LinAlgError as LinAlgError

det, inv, inv_ex = equations.det, equations.inverse, equations.inv_ex
pinv, matrix_rank, lstsq = equations.pinv, equations.matrix_rank, equations.lstsq
solve, solve_ex, solve_triangular = equations.solve, equations.solve_ex, equations.solve_triangular
tensorinv, tensorsolve = equations.tensorinv, equations.tensorsolve
cholesky, cholesky_ex, qr = factors.cholesky, factors.cholesky_ex, factors.qr
svd, svdvals = factors.svd, factors.svdvals
eig, eigvals, eigh, eigvalsh = factors.eig, factors.eigvals, factors.eigh, factors.eigvalsh
lu, lu_factor, lu_factor_ex, lu_solve = factors.lu, factors.lu_factor, factors.lu_factor_ex, factors.lu_solve
ldl_factor, ldl_factor_ex, ldl_solve = factors.ldl_factor, factors.ldl_factor_ex, factors.ldl_solve
householder_product = factors.householder_product
matrix_power, matrix_exp = products.matrix_power, products.matrix_exp
tensordot = products.tensordot


@spelled
def slogdet(A: Tensor) -> return_types.linalg_slogdet[Tensor]:
    """The sign of the determinant, and the logarithm of its absolute value."""
    return return_types.linalg_slogdet(*equations.slogdet(A))


@spelled
def vector_norm(x: Tensor, ord: float = 2, dim: Dims = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """(Σ |x|ᵖ)^(1/p) over ``dim``, or over all elements if ``dim`` is None."""
    return _norm(x if dtype is None else x.to(dtype), float(ord), dim, keepdim)


@spelled
def matrix_norm(
    A: Tensor, ord: Any = "fro", dim: tuple[int, int] = (-2, -1), keepdim: bool = False, *, dtype: Any = None
) -> Tensor:
    """A matrix norm: "fro" is the Frobenius norm; "nuc", 2 and -2 are the sum, maximum and minimum of the singular
    values; 1 and -1 are the maximum and minimum column sum of |x|; inf and -inf use rows instead. An empty maximum is
    0. Raises IndexError for an empty minimum, and ValueError for an unknown order."""
    A = A if dtype is None else A.to(dtype)
    if ord in ("fro", "nuc"):
        return _norm(A, ord, tuple(dim), keepdim)
    rows, columns = (d % A.array.ndim for d in dim)
    if ord in (1, -1, math.inf, -math.inf):
        first, second = (rows, columns) if abs(ord) == 1 else (columns, rows)
        sums = sum(A.abs(), first, True)
        result = (_largest if ord > 0 else amin)(sums, second, True)
    elif ord in (2, -2):
        values = svdvals(A.movedim((rows, columns), (-2, -1)))
        result = (_largest if ord == 2 else amin)(values, -1, False)
        for place in sorted((rows, columns)):
            result = result.unsqueeze(place)
    else:
        raise ValueError(f"linalg.matrix_norm: {ord!r} is not one of 'fro', 'nuc', inf, -inf, 1, -1, 2, -2")
    return result if keepdim else result.squeeze((rows, columns))


def _largest(x: Tensor, dim: int, keepdim: bool) -> Tensor:
    """The largest of nonnegative numbers along an axis; 0 if the axis is empty."""
    return (amax if x.array.shape[dim] else sum)(x, dim, keepdim)


@spelled
def norm(A: Tensor, ord: Any = None, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """``vector_norm``, or ``matrix_norm`` if the order requires two axes."""
    is_matrix = A.array.ndim == 2 if dim is None else isinstance(dim, (tuple, list)) and len(dim) == 2
    if ord is not None and (isinstance(ord, str) or is_matrix):
        return matrix_norm(A, ord, (-2, -1) if dim is None else tuple(dim), keepdim, dtype=dtype)
    return vector_norm(A, 2 if ord is None else ord, dim, keepdim, dtype=dtype)


@spelled
def cond(A: Tensor, p: Any = None) -> Tensor:
    """The condition number ‖A‖ ‖A⁻¹‖, computed from singular values if p is None, 2 or -2; inf for a singular matrix.
    Raises RuntimeError for any other p if the matrices are not square."""
    if p in (None, 2, -2):
        values = svdvals(A)
        if not values.array.shape[-1]:
            return sum(values, -1)
        return values[..., -1] / values[..., 0] if p == -2 else values[..., 0] / values[..., -1]
    inverse, info = inv_ex(equations.square(A, "cond"))
    if not A.array.size:
        return sum(A, (-2, -1))
    return (matrix_norm(A, p) * matrix_norm(inverse, p)).masked_fill(info != 0, math.inf)


@spelled
def vander(x: Tensor, *, N: int | None = None) -> Tensor:
    """(..., L) -> (..., L, N), where each row contains the powers 0 to N - 1 of an element. By default, N is L."""
    if N is not None and N <= 1:
        raise RuntimeError(f"linalg.vander: N must be greater than 1, not {N}")
    x = x if x.array.ndim else x.unsqueeze(0)
    count = x.array.shape[-1] if N is None else N
    return x.unsqueeze(-1) ** arange(count, device=x.device)


@spelled
def vecdot(x: Tensor, y: Tensor, *, dim: int = -1) -> Tensor:
    """Σ conj(x) y along an axis."""
    return sum(x.conj() * y, dim)


@spelled
def diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """The diagonals of matrices."""
    return A.diagonal(offset, dim1, dim2)


@spelled
def cross(input: Tensor, other: Tensor, *, dim: int = -1) -> Tensor:
    """The cross product along an axis of length 3."""
    if input.array.ndim != other.array.ndim:
        raise RuntimeError(
            f"linalg.cross: inputs must have the same number of dimensions, not {input.array.ndim} and "
            f"{other.array.ndim}"
        )
    return products.cross(input, other, dim)


@spelled
def multi_dot(tensors: Any) -> Tensor:
    """The product of several matrices, from left to right."""
    return products.chain_matmul(*tensors)
