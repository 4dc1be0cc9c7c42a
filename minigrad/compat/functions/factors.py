"""Decompositions by the names that they have in ``torch`` itself, with other arguments and results than in
``torch.linalg``."""

from __future__ import annotations

import numpy as np

from ...autograd.tape import wrap
from ...functions.define import function, method
from ...functions.names import randn
from ...tensor import Tensor
from ..ops.lapack import on_host
from . import decompositions, return_types
from .equations import matrices


@method
def svd(input: Tensor, some: bool = True, compute_uv: bool = True) -> return_types.svd[Tensor]:
    """(U, S, V) of input = U diag(S) Vᴴ: V, where ``linalg.svd`` has Vᴴ.

    Args:
        some: U and V with min(M, N) columns; if not, they are square.
        compute_uv: if not, U and V are square matrices of zeros, and have no gradient.
    """
    if not compute_uv:
        U, V = (input.new_zeros((*input.shape[:-2], n, n)) for n in matrices(input, "svd").shape[-2:])
        return return_types.svd(U, decompositions.svdvals(input), V)
    U, S, Vh = decompositions.svd(input, not some)
    return return_types.svd(U, S, Vh.mH)


@method
def qr(input: Tensor, some: bool = True) -> return_types.qr[Tensor]:
    """(Q, R) of input = Q R; Q is square if not ``some``."""
    return return_types.qr(*decompositions.qr(input, "reduced" if some else "complete"))


@method
def lu(A: Tensor, pivot: bool = True, get_infos: bool = False) -> tuple[Tensor, ...]:
    """(LU, pivots) of ``linalg.lu_factor``, if ``get_infos`` with info."""
    result = decompositions.lu_factor_ex(A, pivot=pivot, check_errors=not get_infos)
    return return_types._lu_with_info(*result) if get_infos else result[:2]


@method
def lu_solve(input: Tensor, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
    """``linalg.lu_solve`` with the right side first."""
    return decompositions.lu_solve(LU_data, LU_pivots, input)


@method
def geqrf(input: Tensor) -> return_types.geqrf[Tensor]:
    """(a, tau): R in the upper triangle of a, and the reflections of Q below it, as ``linalg.householder_product``
    takes them; without gradient."""
    packed, tau = on_host(lambda x: tuple(np.linalg.qr(x, "raw")), matrices(input, "geqrf").array)
    return return_types.geqrf(wrap(packed.swapaxes(-1, -2)), wrap(tau))


@method
def orgqr(input: Tensor, input2: Tensor) -> Tensor:
    """``linalg.householder_product`` by its name in torch."""
    return decompositions.householder_product(input, input2)


@method
def ormqr(input: Tensor, input2: Tensor, input3: Tensor, left: bool = True, transpose: bool = False) -> Tensor:
    """Q input3 (input3 Q if not ``left``, with Qᴴ if ``transpose``) for the Q of ``geqrf``: input and tau (input2).
    Raises RuntimeError: shapes that do not go together."""
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


# A few of many singular values, by random directions -------------------------------------------------------


@function
def svd_lowrank(
    A: Tensor, q: int | None = 6, niter: int | None = 2, M: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """(U, S, V) with about the q largest singular values of A, or of A − M (Halko et al. 2011, algorithm 5.1).
    ``niter`` says how often the random directions are improved."""
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
    """(U, S, V) of ``svd_lowrank`` with the mean of the rows taken off first if ``center``: the columns of V are the
    principal directions. By default q = min(6, M, N)."""
    most = min(A.array.shape[-2:])
    q = min(6, most) if q is None else q
    if not 0 <= q <= most:
        raise ValueError(f"q(={q}) must be non-negative integer and not greater than min(m, n)={most}")
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    return svd_lowrank(A - A.mean(-2, True) if center else A, q, niter)
