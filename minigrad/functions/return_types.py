"""Named tuples that functions of several results return, printed as PyTorch prints them."""

from __future__ import annotations

from operator import itemgetter
from typing import Any, Self, TypeVar, TypeVarTuple

from ..backend import dtype as dt

Parts = TypeVarTuple("Parts")
T = TypeVar("T")  # Tensor, which stands above: its stub, methods.pyi, names these types


class Result(tuple[*Parts]):
    """A tuple whose elements have the names that its class annotates. (A ``NamedTuple`` takes much longer to define,
    and there are many.)

    Args:
        values: the elements, or, as in PyTorch, one sequence of them.
    """

    __slots__ = ()
    __match_args__: tuple[str, ...] = ()
    _fields: tuple[str, ...] = ()
    n_fields = n_sequence_fields = n_unnamed_fields = 0  # as in PyTorch

    def __init_subclass__(cls) -> None:
        if "__annotations__" in vars(cls):
            cls._fields = tuple(cls.__annotations__)
            setattr(cls, "__match_args__", cls._fields)  # noqa: B010 - mypy allows no assignment
            cls.n_fields = cls.n_sequence_fields = len(cls._fields)
            for i, name in enumerate(cls._fields):
                setattr(cls, name, property(itemgetter(i)))

    def __new__(cls, *values: *Parts) -> Self:
        parts: Any = values
        if len(parts) == 1 and isinstance(parts[0], (tuple, list)):
            parts = parts[0]
        if len(parts) != len(cls._fields):
            raise TypeError(f"{cls.__name__}() takes {', '.join(cls._fields)}, not {len(parts)} values")
        return tuple.__new__(cls, parts)

    def __getnewargs__(self) -> tuple[Any, ...]:
        return tuple(self)

    def __repr__(self) -> str:
        fields = ",\n".join(f"{name}={getattr(self, name)!r}" for name in self._fields)
        return dt.shown(f"return_types.{type(self).__name__}(\n{fields})")


class ValuesIndices(Result[T, T]):
    """Elements, and their indices along an axis."""

    values: T
    indices: T


class max(ValuesIndices[T]):
    """The result of ``max``."""


class min(ValuesIndices[T]):
    """The result of ``min``."""


class sort(ValuesIndices[T]):
    """The result of ``sort``."""


class topk(ValuesIndices[T]):
    """The result of ``topk``."""


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


class frexp(Result[T, T]):
    """The result of ``frexp``."""

    mantissa: T
    exponent: T
