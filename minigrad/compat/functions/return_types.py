"""Named tuples returned by functions, under PyTorch's names for their types."""

from __future__ import annotations

from typing import TypeVar

from ...functions.return_types import (
    Result,
    ValuesIndices as ValuesIndices,
    frexp as frexp,
    max as max,
    min as min,
    sort as sort,
    topk as topk,
)

T = TypeVar("T")
Kind = TypeVar("Kind", bound=type)


def _as(kind: Kind, name: str) -> Kind:
    return type(name, (kind,), {})  # type: ignore[return-value]


cummax, cummin, kthvalue = (_as(ValuesIndices, name) for name in ("cummax", "cummin", "kthvalue"))
median, nanmedian, mode = (_as(ValuesIndices, name) for name in ("median", "nanmedian", "mode"))


class aminmax(Result[T, T]):
    min: T
    max: T


class geqrf(Result[T, T]):
    a: T
    tau: T


class histogram(Result[T, T]):
    hist: T
    bin_edges: T


class histogramdd(Result[T, tuple[T, ...]]):
    hist: T
    bin_edges: tuple[T, ...]  # one tensor for each axis


class lu_unpack(Result[T, T, T]):
    P: T
    L: T
    U: T


class linalg_lu_factor(Result[T, T]):
    LU: T
    pivots: T


class linalg_lu_factor_ex(Result[T, T, T]):
    LU: T
    pivots: T
    info: T


class linalg_ldl_factor(Result[T, T]):
    LD: T
    pivots: T


class linalg_ldl_factor_ex(Result[T, T, T]):
    LD: T
    pivots: T
    info: T


class linalg_cholesky_ex(Result[T, T]):
    L: T
    info: T


class linalg_eig(Result[T, T]):
    eigenvalues: T
    eigenvectors: T


class linalg_inv_ex(Result[T, T]):
    inverse: T
    info: T


class linalg_lstsq(Result[T, T, T, T]):
    solution: T
    residuals: T
    rank: T
    singular_values: T


class linalg_solve_ex(Result[T, T]):
    result: T
    info: T


class linalg_svd(Result[T, T, T]):
    U: T
    S: T
    Vh: T


class qr(Result[T, T]):
    Q: T
    R: T


class slogdet(Result[T, T]):
    sign: T
    logabsdet: T


class linalg_slogdet(slogdet[T]): ...


class svd(Result[T, T, T]):
    U: T
    S: T
    V: T


class triangular_solve(Result[T, T]):
    solution: T
    cloned_coefficient: T


linalg_lu, linalg_eigh, linalg_qr = _as(lu_unpack, "linalg_lu"), _as(linalg_eig, "linalg_eigh"), _as(qr, "linalg_qr")
_lu_with_info = _as(linalg_lu_factor_ex, "_lu_with_info")
