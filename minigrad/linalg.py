"""``torch.linalg``: norms, inverses, equations, decompositions. LAPACK computes these on the CPU."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .autograd.calls import apply
from .autograd.tape import wrap
from .functions import linalg as products
from .functions import return_types
from .functions.arguments import Dims
from .functions.define import method
from .functions.reduction import amax, amin, sum
from .functions.reduction import norm as _norm
from .functions.spelling import spelled
from .ops import linear as ops
from .tensor import Tensor

LinAlgError = ops.LinAlgError
matmul, matrix_power, tensordot = products.matmul, products.matrix_power, products.tensordot


def _square(input: Tensor, name: str) -> Tensor:
    """Raise RuntimeError unless these are square matrices of floats."""
    shape = tuple(input.array.shape)
    if len(shape) < 2 or shape[-1] != shape[-2]:
        raise RuntimeError(f"linalg.{name}: A must be batches of square matrices, but its shape is {shape}")
    if input.array.dtype.kind != "f":
        raise RuntimeError(f"linalg.{name}: Expected a floating point tensor as input. Got {input.dtype}")
    return input


def _without_gradient(function: Any, name: str, input: Tensor) -> Any:
    """The results of a NumPy function of a tensor that requires no gradient."""
    if input.requires_grad:
        raise NotImplementedError(
            f"linalg.{name} has no gradient in minigrad: give it x.detach(), or use linalg.inv, solve, det, "
            "slogdet or cholesky, which have one"
        )
    result = ops.on_host(function, input.array)
    return tuple(map(wrap, result)) if isinstance(result, tuple) else wrap(result)


def _any(value: Any) -> Any:
    """A value whose type NumPy's stubs want narrower than PyTorch's signature."""
    return value


@spelled
def inv(A: Tensor) -> Tensor:
    """The inverse of square matrices.

    Raises:
        LinAlgError: a matrix is singular.
    """
    return apply(ops.inverse, (_square(A, "inv"),))


@method
def det(A: Tensor) -> Tensor:
    """The determinant of square matrices."""
    return apply(ops.det, (_square(A, "det"),))


@method
def slogdet(A: Tensor) -> return_types.linalg_slogdet:
    """(sign, logarithm of the size) of the determinant."""
    return return_types.linalg_slogdet(*apply(ops.slogdet, (_square(A, "slogdet"),)))


@method
def logdet(input: Tensor) -> Tensor:
    """The logarithm of the determinant, NaN where that is negative."""
    sign, size = slogdet(input)
    return size.where(sign > 0, math.nan).where(sign != 0, -math.inf)


@spelled
def solve(A: Tensor, B: Tensor, *, left: bool = True) -> Tensor:
    """X of A X = B (of X A = B if not ``left``); B holds columns (..., N, K) or is one vector (..., N)."""
    _square(A, "solve")
    if not left:
        return solve(A.mT, B.mT).mT
    if B.array.ndim == 1 or (B.array.ndim == A.array.ndim - 1 and B.array.shape == A.array.shape[:-1]):
        return apply(ops.solve, (A, B.unsqueeze(-1))).squeeze(-1)
    return apply(ops.solve, (A, B))


@method
def cholesky(A: Tensor, *, upper: bool = False) -> Tensor:
    """L of L Lᵀ = A for positive definite A, or its transpose if ``upper``."""
    lower: Tensor = apply(ops.cholesky, (_square(A, "cholesky"),))
    return lower.mT if upper else lower


@spelled
def eigh(A: Tensor, UPLO: str = "L") -> return_types.linalg_eigh:
    """(eigenvalues in ascending order, eigenvectors) of symmetric matrices; without gradient."""
    run = lambda a: tuple(np.linalg.eigh(a, _any(UPLO)))
    return return_types.linalg_eigh(*_without_gradient(run, "eigh", _square(A, "eigh")))


@spelled
def eigvalsh(A: Tensor, UPLO: str = "L") -> Tensor:
    """The eigenvalues of symmetric matrices in ascending order; without gradient."""
    return eigh(A, UPLO).eigenvalues


@method
def svd(A: Tensor, full_matrices: bool = True, *, driver: str | None = None) -> return_types.linalg_svd:
    """(U, S, Vᵀ) of A = U diag(S) Vᵀ; without gradient."""
    run = lambda a: tuple(np.linalg.svd(a, full_matrices))
    return return_types.linalg_svd(*_without_gradient(run, "svd", A))


@spelled
def svdvals(A: Tensor, *, driver: str | None = None) -> Tensor:
    """The singular values in descending order; without gradient."""
    return _without_gradient(lambda a: np.linalg.svd(a, compute_uv=False), "svdvals", A)


@method
def qr(A: Tensor, mode: str = "reduced") -> return_types.linalg_qr:
    """(Q, R) of A = Q R, Q with orthonormal columns; without gradient."""
    run = lambda a: tuple(np.linalg.qr(a, _any(mode)))
    return return_types.linalg_qr(*_without_gradient(run, "qr", A))


@spelled
def pinv(A: Tensor, *, rcond: float = 1e-15, hermitian: bool = False) -> Tensor:
    """The pseudo-inverse of matrices; without gradient."""
    run = lambda a: np.linalg.pinv(a, rcond, hermitian)
    return _without_gradient(run, "pinv", A)


@method
def inverse(A: Tensor) -> Tensor:
    """``linalg.inv`` by its name in torch."""
    return inv(A)


@method
def pinverse(A: Tensor, *, rcond: float = 1e-15, hermitian: bool = False) -> Tensor:
    """``linalg.pinv`` by its name in torch."""
    return pinv(A, rcond=rcond, hermitian=hermitian)


@spelled
def matrix_rank(A: Tensor, *, tol: float | None = None, hermitian: bool = False) -> Tensor:
    """The number of singular values that are not 0, int64."""
    run = lambda a: np.linalg.matrix_rank(a, tol, hermitian)
    return _without_gradient(run, "matrix_rank", A.detach()).long()


@spelled
def vector_norm(x: Tensor, ord: float = 2, dim: Dims = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """(Σ |x|ᵖ)^(1/p) over ``dim``, over all elements if None."""
    return _norm(x if dtype is None else x.to(dtype), float(ord), dim, keepdim)


@spelled
def matrix_norm(
    A: Tensor, ord: Any = "fro", dim: tuple[int, int] = (-2, -1), keepdim: bool = False, *, dtype: Any = None
) -> Tensor:
    """A norm of matrices: "fro", "nuc", 1, -1, inf, -inf, 2 or -2 (2, -2 and "nuc" without gradient)."""
    A = A if dtype is None else A.to(dtype)
    if ord == "fro":
        return _norm(A, 2, tuple(dim), keepdim)
    rows, columns = (d % A.array.ndim for d in dim)
    if ord in (1, -1, math.inf, -math.inf):
        first, second = (rows, columns) if abs(ord) == 1 else (columns, rows)
        sums = sum(A.abs(), first, True)
        result = (amax if ord > 0 else amin)(sums, second, True)
    elif ord in ("nuc", 2, -2):
        values = svdvals(A.movedim((rows, columns), (-2, -1)))
        result = values.sum(-1) if ord == "nuc" else values.amax(-1) if ord == 2 else values.amin(-1)
        for place in sorted((rows, columns)):
            result = result.unsqueeze(place)
    else:
        raise ValueError(f"linalg.matrix_norm: {ord!r} is not one of 'fro', 'nuc', inf, -inf, 1, -1, 2, -2")
    return result if keepdim else result.squeeze((rows, columns))


@spelled
def norm(A: Tensor, ord: Any = None, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """``vector_norm``, or ``matrix_norm`` for an order of two axes."""
    if ord is not None and (isinstance(ord, str) or _names_two(dim) or (dim is None and A.array.ndim == 2)):
        return matrix_norm(A, ord, (-2, -1) if dim is None else tuple(dim), keepdim, dtype=dtype)
    return vector_norm(A, 2 if ord is None else ord, dim, keepdim, dtype=dtype)


def _names_two(dim: Any) -> bool:
    return isinstance(dim, (tuple, list)) and len(dim) == 2


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
    """The vector product along an axis of length 3."""
    return products.cross(input, other, dim)


def multi_dot(tensors: Any) -> Tensor:
    """The product of several matrices, from left to right."""
    return products.chain_matmul(*tensors)
