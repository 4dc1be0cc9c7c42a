"""Results with names of all functions, as PyTorch calls their types."""

from __future__ import annotations

from typing import TypeVar

from ...functions.return_types import Result, ValuesIndices
from ...functions.return_types import frexp as frexp
from ...functions.return_types import max as max
from ...functions.return_types import min as min
from ...functions.return_types import sort as sort
from ...functions.return_types import topk as topk

T = TypeVar("T")


class cummax(ValuesIndices[T]):
    """The result of ``cummax``."""


class cummin(ValuesIndices[T]):
    """The result of ``cummin``."""


class kthvalue(ValuesIndices[T]):
    """The result of ``kthvalue``."""


class median(ValuesIndices[T]):
    """The result of ``median``."""


class nanmedian(ValuesIndices[T]):
    """The result of ``nanmedian``."""


class mode(ValuesIndices[T]):
    """The result of ``mode``."""


class aminmax(Result[T, T]):
    """The result of ``aminmax``."""

    min: T
    max: T


class linalg_eigh(Result[T, T]):
    """The result of ``linalg.eigh``."""

    eigenvalues: T
    eigenvectors: T


class linalg_qr(Result[T, T]):
    """The result of ``linalg.qr``."""

    Q: T
    R: T


class linalg_slogdet(Result[T, T]):
    """The result of ``linalg.slogdet``."""

    sign: T
    logabsdet: T


class slogdet(Result[T, T]):
    """The result of ``slogdet``."""

    sign: T
    logabsdet: T


class linalg_svd(Result[T, T, T]):
    """The result of ``linalg.svd``."""

    U: T
    S: T
    Vh: T


class linalg_cholesky_ex(Result[T, T]):
    """The result of ``linalg.cholesky_ex``."""

    L: T
    info: T


class linalg_eig(Result[T, T]):
    """The result of ``linalg.eig``."""

    eigenvalues: T
    eigenvectors: T


class linalg_inv_ex(Result[T, T]):
    """The result of ``linalg.inv_ex``."""

    inverse: T
    info: T


class linalg_ldl_factor(Result[T, T]):
    """The result of ``linalg.ldl_factor``."""

    LD: T
    pivots: T


class linalg_ldl_factor_ex(Result[T, T, T]):
    """The result of ``linalg.ldl_factor_ex``."""

    LD: T
    pivots: T
    info: T


class linalg_lstsq(Result[T, T, T, T]):
    """The result of ``linalg.lstsq``."""

    solution: T
    residuals: T
    rank: T
    singular_values: T


class linalg_lu(Result[T, T, T]):
    """The result of ``linalg.lu``."""

    P: T
    L: T
    U: T


class linalg_lu_factor(Result[T, T]):
    """The result of ``linalg.lu_factor``."""

    LU: T
    pivots: T


class linalg_lu_factor_ex(Result[T, T, T]):
    """The result of ``linalg.lu_factor_ex``."""

    LU: T
    pivots: T
    info: T


class linalg_solve_ex(Result[T, T]):
    """The result of ``linalg.solve_ex``."""

    result: T
    info: T


class _lu_with_info(Result[T, T, T]):
    """The result of ``lu`` with info."""

    LU: T
    pivots: T
    info: T


class svd(Result[T, T, T]):
    """The result of ``svd``."""

    U: T
    S: T
    V: T


class qr(Result[T, T]):
    """The result of ``qr``."""

    Q: T
    R: T


class geqrf(Result[T, T]):
    """The result of ``geqrf``."""

    a: T
    tau: T


class lu_unpack(Result[T, T, T]):
    """The result of ``lu_unpack``."""

    P: T
    L: T
    U: T


class triangular_solve(Result[T, T]):
    """The result of ``triangular_solve``."""

    solution: T
    cloned_coefficient: T


class histogram(Result[T, T]):
    """The result of ``histogram``."""

    hist: T
    bin_edges: T


class histogramdd(Result[T, tuple[T, ...]]):
    """The result of ``histogramdd``: of the edges a tuple, one tensor for each axis."""

    hist: T
    bin_edges: tuple[T, ...]
