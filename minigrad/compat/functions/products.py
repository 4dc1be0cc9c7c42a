"""Products, matrix powers, distances and decompositions under their names in ``torch``. Their arguments and results
differ from those of the functions in ``torch.linalg``."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np

from ...functions.arguments import axis, rounded_once
from ...functions.define import function, method
from ...functions.names import arange, dot, einsum, eye, matmul, randn, stack, where
from ...functions.pointwise import level
from ...tensor import Tensor, apply, wrap
from ..ops import decompositions as ops
from ..ops.decompositions import on_host
from . import decompositions, return_types, special
from .equations import matrices, square


@method
def vdot(input: Tensor, other: Tensor) -> Tensor:
    """Σ conj(aᵢ) bᵢ for two vectors."""
    return dot(input.conj(), other)


@method
def inner(input: Tensor, other: Tensor) -> Tensor:
    """Sums of products over the last axis of both tensors."""
    if not input.array.ndim or not other.array.ndim:
        return input * other
    return tensordot(input, other, ([-1], [-1]))


@function
def chain_matmul(*matrices: Any) -> Tensor:
    """The product of several matrices, computed from left to right."""
    listed: Any = matrices[0] if len(matrices) == 1 and isinstance(matrices[0], (tuple, list)) else matrices
    return reduce(matmul, listed)


@function
def tensordot(a: Tensor, b: Tensor, dims: Any = 2) -> Tensor:
    """Sum products over the last ``dims`` axes of a and the first ``dims`` of b. ``dims`` can be two lists of axes.

    >>> mg.tensordot(mg.ones(2, 3, 4), mg.ones(3, 4, 5), dims=2).shape
    minigrad.Size([2, 5])
    """
    if isinstance(dims, int):
        left, right = list(range(a.array.ndim - dims, a.array.ndim)), list(range(dims))
    else:
        sides = [[side] if isinstance(side, int) else side for side in dims]
        left, right = ([d % x.array.ndim for d in side] for x, side in zip((a, b), sides, strict=True))
    if len(left) != len(right):
        raise RuntimeError(f"tensordot: both dimension lists should have the same length: {left} and {right}")
    for m, n in zip(left, right, strict=True):
        if 1 not in (a.array.shape[m], b.array.shape[n]) and a.array.shape[m] != b.array.shape[n]:
            lengths = (
                f"axis {m} of the first has length {a.array.shape[m]} and axis {n} of the second {b.array.shape[n]}"
            )
            raise RuntimeError(f"contracted dimensions need to match, but {lengths}")
    axes = [*range(a.array.ndim + b.array.ndim)]
    of_a, of_b = axes[: a.array.ndim], axes[a.array.ndim :]
    for m, n in zip(left, right, strict=True):
        of_b[n] = m
    return einsum(a, of_a, b, of_b, [n for n in axes if (n in of_a) != (n in of_b)])


@method
def kron(input: Tensor, other: Tensor) -> Tensor:
    """The Kronecker product. It consists of blocks, each of which is an element of the input times the other tensor."""
    n = max(input.array.ndim, other.array.ndim)
    a, b = ((1,) * (n - t.array.ndim) + tuple(t.array.shape) for t in (input, other))
    left = input.reshape([k for size in a for k in (size, 1)])
    right = other.reshape([k for size in b for k in (1, size)])
    return (left * right).reshape([p * q for p, q in zip(a, b, strict=True)])


@method
def cross(input: Tensor, other: Tensor, dim: int | None = None) -> Tensor:
    """The cross product along an axis of length 3 (by default the first such axis). Shapes broadcast.

    Raises RuntimeError if the length of the axis is not 3, and IndexError if the axis does not exist.

    >>> mg.cross(mg.tensor([1.0, 0, 0]), mg.tensor([0.0, 1, 0]), dim=0)
    tensor([0., 0., 1.])
    """
    if dim is None:
        dim = next((d for d, n in enumerate(input.array.shape) if n == 3), -1)
    lengths = {t.array.shape[axis(dim, t.array.ndim)] if t.array.ndim else 0 for t in (input, other)}
    if lengths != {3}:
        raise RuntimeError(f"inputs dimension {dim} must have length 3: got {input.shape} and {other.shape}")
    (a, b, c), (d, e, f) = input.unbind(dim), other.unbind(dim)
    return stack([b * f - c * e, c * d - a * f, a * e - b * d], dim)


@function
@rounded_once
def cdist(x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: str | None = None) -> Tensor:
    """The p-norm distances (..., P, R) between the rows of ``x1`` (..., P, M) and those of ``x2`` (..., R, M)."""
    return _lengths(x1.unsqueeze(-2) - x2.unsqueeze(-3), p, "cdist")


def _lengths(apart: Tensor, p: float, name: str) -> Tensor:
    """The p-norms of differences along the last axis, which may be empty. If p is 0, count nonzeros; NaN yields NaN."""
    if p < 0:
        raise RuntimeError(f"{name} only supports non-negative p values")
    if p == 1:  # unlike for a norm, the gradient at NaN is NaN
        rest = apart.detach()
        return (apart * where(rest.isnan(), rest, rest.sign())).sum(-1)
    return apart.norm(p, -1) if p and apart.shape[-1] else apart.abs().ceil().clamp(max=1).sum(-1)


@method
def matrix_power(input: Tensor, n: int) -> Tensor:
    """A square matrix to the power n. If n is negative, return a power of the inverse."""
    if n < 0:
        return matrix_power(apply(ops.inverse, (input,)), -n)
    out = eye(input.array.shape[-1], dtype=input.dtype, device=input.device).expand(input.array.shape)
    out = level(out, input) if n == 0 else out
    while n:
        out = matmul(out, input) if n & 1 else out
        input, n = (matmul(input, input) if n > 1 else input), n >> 1
    return out


@method
def matrix_exp(input: Tensor) -> Tensor:
    """The matrix exponential Σ xⁿ / n! of square matrices."""
    return apply(ops.matrix_exp, (square(input, "matrix_exp"),))


@function
def vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:
    """The Vandermonde matrix (len(x), N). Its columns are powers of a vector, highest first unless ``increasing``."""
    count = x.array.shape[0] if N is None else N
    powers = arange(count, device=x.device) if increasing else arange(count - 1, -1, -1, device=x.device)
    return x.unsqueeze(-1) ** powers


@function
@rounded_once
def pdist(input: Tensor, p: float = 2.0) -> Tensor:
    """The p-norm distances between all pairs of rows: (N, M) -> (N (N - 1) / 2)."""
    first, second = np.triu_indices(input.array.shape[0], 1)
    return _lengths(input[first] - input[second], p, "pdist")


@method
def svd(input: Tensor, some: bool = True, compute_uv: bool = True) -> return_types.svd[Tensor]:
    """Return (U, S, V) such that input = U diag(S) Vᴴ. Note that ``linalg.svd`` returns Vᴴ instead of V.

    Args:
        some: whether U and V have min(M, N) columns; if not, they are square.
        compute_uv: if False, U and V are square matrices of zeros without a gradient.
    """
    if not compute_uv:
        U, V = (input.new_zeros((*input.shape[:-2], n, n)) for n in matrices(input, "svd").shape[-2:])
        return return_types.svd(U, decompositions.svdvals(input), V)
    U, S, Vh = decompositions.svd(input, not some)
    return return_types.svd(U, S, Vh.mH)


@method
def qr(input: Tensor, some: bool = True) -> return_types.qr[Tensor]:
    """Return (Q, R) such that input = Q R. If not ``some``, Q is square."""
    return return_types.qr(*decompositions.qr(input, "reduced" if some else "complete"))


@method
def lu(A: Tensor, pivot: bool = True, get_infos: bool = False) -> tuple[Tensor, ...]:
    """Return (LU, pivots) from ``linalg.lu_factor``, followed by info if ``get_infos``."""
    result = decompositions.lu_factor_ex(A, pivot=pivot, check_errors=not get_infos)
    return return_types._lu_with_info(*result) if get_infos else result[:2]


@method
def lu_solve(input: Tensor, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
    """``linalg.lu_solve`` with the right-hand side first."""
    return decompositions.lu_solve(LU_data, LU_pivots, input)


@method
def geqrf(input: Tensor) -> return_types.geqrf[Tensor]:
    """Return (a, tau) without a gradient. a contains R and, below it, reflectors for ``linalg.householder_product``."""
    packed, tau = on_host(lambda x: tuple(np.linalg.qr(x, "raw")), matrices(input, "geqrf").array)
    return return_types.geqrf(wrap(packed.swapaxes(-1, -2)), wrap(tau))


@method
def orgqr(input: Tensor, input2: Tensor) -> Tensor:
    """``linalg.householder_product`` under its name in ``torch``."""
    return decompositions.householder_product(input, input2)


@method
def ormqr(input: Tensor, input2: Tensor, input3: Tensor, left: bool = True, transpose: bool = False) -> Tensor:
    """Multiply Q and input3, or input3 and Q if not ``left``. Q is represented by ``input`` and ``input2``, the results
    a and tau of ``geqrf``. If ``transpose``, Qᴴ replaces Q. Raises RuntimeError if shapes do not match."""
    if input.array.ndim < 2 or input3.array.ndim < 2:
        raise RuntimeError(f"ormqr: input {input.shape} and other {input3.shape} must have at least 2 dimensions")
    side = -2 if left else -1
    if (count := input3.array.shape[side]) != (rows := input.array.shape[-2]):
        raise RuntimeError(
            f"ormqr: other.shape[{side}] must be equal to input.shape[-2], but these are {count} and {rows}"
        )
    if input2.array.shape[-1] > input.array.shape[-1]:
        raise RuntimeError(f"ormqr: tau has {input2.shape[-1]} elements, more than input.shape[-1], {input.shape[-1]}")
    if left:
        return decompositions.reflected(input, input2, input3, adjoint=transpose)
    return decompositions.reflected(input, input2, input3.mH, adjoint=not transpose).mH


@method(free=False, in_place=True)
def polygamma(input: Tensor, n: int) -> Tensor:
    """The n-th derivative of ``digamma``. The free function takes its arguments in the opposite order."""
    return special.polygamma(n, input)


@function
def svd_lowrank(
    A: Tensor, q: int | None = 6, niter: int | None = 2, M: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """Return (U, S, V) with approximations of the q largest singular values of A, or of A − M if M is passed (Halko et
    al. 2011, algorithm 5.1). ``niter`` is the number of subspace iterations."""
    q, niter = 6 if q is None else q, 2 if niter is None else niter
    A = A if M is None else A - M
    wide = A.array.shape[-2] < A.array.shape[-1]
    A = A.mH if wide else A
    Q = decompositions.qr(A @ randn(A.array.shape[-1], q, dtype=A.dtype, device=A.device)).Q
    for _ in range(niter):
        Q = decompositions.qr(A.mH @ Q).Q
        Q = decompositions.qr(A @ Q).Q
    U, S, Vh = decompositions.svd(Q.mH @ A, full_matrices=False)
    return (Vh.mH, S, Q @ U) if wide else (Q @ U, S, Vh.mH)


@function
def pca_lowrank(A: Tensor, q: int | None = None, center: bool = True, niter: int = 2) -> tuple[Tensor, Tensor, Tensor]:
    """Return (U, S, V) from ``svd_lowrank``. If ``center``, first subtract the mean of the rows. The columns of V are
    the principal directions. By default, q = min(6, M, N)."""
    most = min(A.array.shape[-2:])
    q = min(6, most) if q is None else q
    if not 0 <= q <= most:
        raise ValueError(f"q(={q}) must be non-negative integer and not greater than min(m, n)={most}")
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    return svd_lowrank(A - A.mean(-2, True) if center else A, q, niter)
