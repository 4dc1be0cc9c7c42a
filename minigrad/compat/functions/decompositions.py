"""Matrix decompositions under ``torch.linalg``'s names, computed on the CPU by LAPACK."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...autograd.mode import state
from ...backend.dtype import Array
from ...functions.arguments import common_shape, rounded_once
from ...functions.creation import eye
from ...functions.define import function, method, spelled
from ...functions.pointwise import level
from ...tensor import Tensor, apply, wrap
from ..ops import decompositions as ops, indefinite
from ..ops.decompositions import LinAlgError, on_host
from . import return_types
from .equations import check_sides, matrices, or_nan, solve_triangular, square


@method
def cholesky(A: Tensor, upper: bool = False) -> Tensor:
    """Return L such that A = L Lᴴ, or Lᴴ if ``upper``. Raises LinAlgError if a matrix is not positive definite."""
    lower: Tensor = apply(ops.cholesky, (square(A, "cholesky"),))
    return lower.mH if upper else lower


@spelled
def cholesky_ex(
    A: Tensor, *, upper: bool = False, check_errors: bool = False
) -> return_types.linalg_cholesky_ex[Tensor]:
    """Return (L, info). info is 0, or the order of the first leading minor that is not positive definite. In the latter
    case, L is NaN or, with ``check_errors``, LinAlgError is raised."""
    parts = or_nan(lambda A: cholesky(A, upper), square(A, "cholesky_ex"), _first_minor, check_errors)
    return return_types.linalg_cholesky_ex(*parts)


def _first_minor(x: Array) -> int:
    """The order of the first leading minor that is not positive definite, or 0 if all are."""
    for n in range(1, len(x) + 1):
        try:
            np.linalg.cholesky(x[:n, :n])
        except np.linalg.LinAlgError:
            return n
    return 0


@spelled
def eigh(A: Tensor, UPLO: str = "L") -> return_types.linalg_eig[Tensor]:
    """Return (eigenvalues in ascending order, eigenvectors) of symmetric or complex Hermitian matrices.

    Eigenvectors have a gradient if the eigenvalues are distinct and the loss does not depend on the vectors' signs.
    ``UPLO`` is the triangle to read, "L" or "U".
    """
    return return_types.linalg_eigh(*apply(ops.eigh, (square(A, "eigh"), _side(UPLO, "eigh"))))


@spelled
@rounded_once
def eigvalsh(A: Tensor, UPLO: str = "L") -> Tensor:
    """The eigenvalues of symmetric or complex Hermitian matrices in ascending order."""
    side: Any = _side(UPLO, "eigvalsh")
    if square(A, "eigvalsh").requires_grad and state.grad:
        return eigh(A, side).eigenvalues
    return wrap(on_host(lambda a: np.linalg.eigvalsh(a, side), A.array))


def _side(triangle: str, name: str) -> str:
    side = triangle.upper()
    if side not in ("L", "U"):
        raise RuntimeError(f"linalg.{name}: Expected UPLO argument to be 'L' or 'U', but got {triangle}")
    return side


@spelled
def eig(A: Tensor) -> return_types.linalg_eig[Tensor]:
    """Return (eigenvalues, unit eigenvectors) of square matrices. Both are complex and in no particular order.

    The gradient exists if the eigenvalues are distinct and the loss does not depend on the phases of the vectors.
    """
    return return_types.linalg_eig(*apply(ops.eig, (square(A, "eig"),)))


@spelled
def eigvals(A: Tensor) -> Tensor:
    """The complex eigenvalues of square matrices, in no particular order."""
    return eig(square(A, "eigvals")).eigenvalues


@spelled
def svd(A: Tensor, full_matrices: bool = True, *, driver: str | None = None) -> return_types.linalg_svd[Tensor]:
    """Return (U, S, Vᴴ) such that A = U diag(S) Vᴴ, with singular values in descending order.

    U and V have a gradient if the singular values are distinct and the loss does not depend on the vectors' signs. The
    extra columns for ``full_matrices`` have no gradient. ``driver`` is ignored; minigrad always uses gesdd.
    """
    return return_types.linalg_svd(*apply(ops.svd, (matrices(A, "svd"), bool(full_matrices))))


@spelled
@rounded_once
def svdvals(A: Tensor, *, driver: str | None = None) -> Tensor:
    """The singular values in descending order."""
    if matrices(A, "svdvals").requires_grad and state.grad:
        return svd(A, False).S
    return wrap(on_host(lambda a: np.linalg.svd(a, compute_uv=False), A.array))


@spelled
def qr(A: Tensor, mode: str = "reduced") -> return_types.qr[Tensor]:
    """Return (Q, R) such that A = Q R. Q has orthonormal columns, and R is upper triangular. ``mode`` is "reduced";
    "complete", which makes Q square; or "r", which computes only R (Q is empty, and there is no gradient)."""
    matrices(A, "qr")
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(f"qr received unrecognized mode '{mode}' but expected one of 'reduced', 'r', or 'complete'")
    if mode != "r":
        return return_types.linalg_qr(*apply(ops.qr, (A, mode)))
    return return_types.linalg_qr(A.new_empty(0), wrap(on_host(lambda a: np.linalg.qr(a, "r"), A.array)))


@spelled
def lu_factor(A: Tensor, *, pivot: bool = True) -> return_types.linalg_lu_factor[Tensor]:
    """Return (LU, pivots) for A = P L U. LU contains U and, below the diagonal, L without its unit diagonal. The pivots
    are LAPACK's, in int32. Raises LinAlgError if U has a zero on its diagonal, by which ``lu_solve`` would divide."""
    return return_types.linalg_lu_factor(*lu_factor_ex(A, pivot=pivot, check_errors=True)[:2])


@spelled
def lu_factor_ex(
    A: Tensor, *, pivot: bool = True, check_errors: bool = False
) -> return_types.linalg_lu_factor_ex[Tensor]:
    """Return (LU, pivots, info), as in ``lu_factor``. info is 0, or the position of the first zero on U's diagonal."""
    LU, pivots, info = apply(ops.lu_factor, (_pivoted(A, pivot, "lu_factor"),))
    if check_errors and bool((info != 0).any()):
        place = int(info[info != 0][0])
        raise LinAlgError(f"linalg.lu_factor: U[{place},{place}] is zero and using it on lu_solve would divide by 0")
    return return_types.linalg_lu_factor_ex(LU, pivots, info)


def _pivoted(A: Tensor, pivot: bool, name: str) -> Tensor:
    if not pivot:
        raise RuntimeError(f"linalg.{name}: LU without pivoting is not implemented on the CPU")
    return matrices(A, name)


@spelled
def lu(A: Tensor, *, pivot: bool = True) -> return_types.lu_unpack[Tensor]:
    """Return (P, L, U) for A = P L U. P is a permutation matrix, L unit lower triangular, and U upper triangular."""
    return return_types.linalg_lu(*lu_unpack(*apply(ops.lu_factor, (_pivoted(A, pivot, "lu"),))[:2]))


@function
def lu_unpack(
    LU_data: Tensor, LU_pivots: Tensor, unpack_data: bool = True, unpack_pivots: bool = True
) -> return_types.lu_unpack[Tensor]:
    """Return (P, L, U) from the results of ``linalg.lu_factor``. Parts that are not unpacked are empty. Raises
    RuntimeError if the pivots are not int32."""
    if LU_pivots.array.dtype != np.int32:
        raise RuntimeError(f"lu_unpack: LU_pivots is expected to be a tensor of int32, not of {LU_pivots.dtype}")
    rows, columns = LU_data.array.shape[-2:]
    k = min(rows, columns)
    P, L, U = (LU_data.new_empty(0) for _ in range(3))
    if unpack_pivots:
        P = wrap(ops.permutation(LU_pivots.array, rows, LU_data.array.dtype))
    if unpack_data:
        L = LU_data[..., :k].tril(-1) + eye(rows, k, dtype=LU_data.dtype, device=LU_data.device)
        U = LU_data[..., :k, :].triu()
    return return_types.lu_unpack(P, L, U)


@spelled
def lu_solve(LU: Tensor, pivots: Tensor, B: Tensor, *, left: bool = True, adjoint: bool = False) -> Tensor:
    """Solve A X = B (X A = B if not ``left``), where A was passed to ``lu_factor``. If ``adjoint``, Aᴴ replaces A."""
    if not left:
        return lu_solve(LU, pivots, B.mH, adjoint=not adjoint).mH
    square(LU, "lu_solve")
    P = lu_unpack(LU, pivots, unpack_data=False).P
    lower: Any = lambda x, turned: solve_triangular(LU.mH if turned else LU, x, upper=turned, unitriangular=True)
    upper: Any = lambda x, turned: solve_triangular(LU.mH if turned else LU, x, upper=not turned)
    return P @ lower(upper(B, True), True) if adjoint else upper(lower(P.mT @ B, False), False)


@spelled
def ldl_factor(A: Tensor, *, hermitian: bool = False) -> return_types.linalg_ldl_factor[Tensor]:
    """Return (LD, pivots) of symmetric (or ``hermitian``) matrices in LAPACK's format, without a gradient. Only the
    lower triangle is read. Raises LinAlgError if D has a zero on its diagonal, as ``ldl_solve`` divides by it."""
    return return_types.linalg_ldl_factor(*ldl_factor_ex(A, hermitian=hermitian, check_errors=True)[:2])


@spelled
def ldl_factor_ex(
    A: Tensor, *, hermitian: bool = False, check_errors: bool = False
) -> return_types.linalg_ldl_factor_ex[Tensor]:
    """Return (LD, pivots, info), as in ``ldl_factor``. info is 0, or the position of the first zero on D's diagonal."""
    if square(A, "ldl_factor").requires_grad:
        raise NotImplementedError("linalg.ldl_factor has no gradient: use x.detach(), linalg.solve or linalg.cholesky")
    LD, pivots, info = map(wrap, indefinite.ldl_factor(A.array, hermitian))
    if check_errors and bool((info != 0).any()):
        place = int(info[info != 0][0])
        raise LinAlgError(f"linalg.ldl_factor: D[{place},{place}] is zero, and ldl_solve would divide by it")
    return return_types.linalg_ldl_factor_ex(LD, pivots, info)


@spelled
def ldl_solve(LD: Tensor, pivots: Tensor, B: Tensor, *, hermitian: bool = False) -> Tensor:
    """Solve A X = B, where A was passed to ``ldl_factor`` and B has shape (..., N, K). Only B gets a gradient. Raises
    RuntimeError if shapes or dtypes do not match."""
    check_sides(square(LD, "ldl_solve"), B, True, "ldl_solve")
    if LD.array.shape[:-1] != pivots.array.shape or pivots.array.dtype.kind not in "iu":
        expected = f"Expected integer pivots of shape {list(LD.shape[:-1])}"
        raise RuntimeError(f"linalg.ldl_solve: {expected}, not {pivots.dtype} and {list(pivots.shape)}")
    batch = common_shape(LD.array.shape[:-2], B.array.shape[:-2])
    LD, B = LD.detach().expand(*batch, *LD.shape[-2:]), B.expand(*batch, *B.shape[-2:])
    return apply(indefinite.ldl_solve, (LD, pivots.expand(*batch, pivots.array.shape[-1]), B, hermitian))


@spelled
def householder_product(input: Tensor, tau: Tensor) -> Tensor:
    """The first N columns of H₁ … Hₖ, where Hᵢ = I − τᵢ vᵢ vᵢᴴ. vᵢ is a one followed by the elements of the input's
    column i below the diagonal. The input has shape (..., M, N) with M ≥ N, and τ has shape (..., K) with K ≤ N."""
    matrices(input, "householder_product")
    rows, columns = input.array.shape[-2:]
    if rows < columns:
        raise RuntimeError(f"linalg.householder_product: more columns than rows in input: {list(input.shape)}")
    if columns < tau.array.shape[-1]:
        raise RuntimeError(f"linalg.householder_product: tau has {tau.shape[-1]} elements for {columns} columns")
    return reflected(input, tau, eye(rows, columns, dtype=input.dtype, device=input.device), adjoint=False)


def reflected(input: Tensor, tau: Tensor, other: Tensor, *, adjoint: bool) -> Tensor:
    """The product of H₁ … Hₖ (Hₖᴴ … H₁ᴴ if ``adjoint``) and another matrix. See ``householder_product``."""
    k = tau.array.shape[-1]
    batch = common_shape(input.array.shape[:-2], other.array.shape[:-2])
    v = input[..., :k].tril(-1) + eye(input.array.shape[-2], k, dtype=input.dtype, device=input.device)
    out = level(other.expand(*batch, *other.shape[-2:]), *(() if k else (input, tau)))
    for i in range(k) if adjoint else reversed(range(k)):
        column, factor = v[..., i : i + 1], tau[..., i : i + 1].unsqueeze(-1)
        out = out - (factor.conj() if adjoint else factor) * (column @ (column.mH @ out))
    return out
