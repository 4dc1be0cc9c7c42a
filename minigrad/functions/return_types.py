"""Named tuples that functions of several results return, printed as PyTorch prints them."""

from __future__ import annotations

from operator import itemgetter
from typing import Any, Self, TypeVarTuple

from ..backend import dtype as dt
from ..tensor import Tensor

Parts = TypeVarTuple("Parts")


class Result(tuple[*Parts]):
    """A tuple whose elements have the names that its class annotates. (A ``NamedTuple`` takes much longer to define,
    and there are many.)

    Args:
        values: the elements.
    """

    __slots__ = ()
    _fields: tuple[str, ...] = ()

    def __init_subclass__(cls) -> None:
        if "__annotations__" in vars(cls):
            cls._fields = tuple(cls.__annotations__)
            for i, name in enumerate(cls._fields):
                setattr(cls, name, property(itemgetter(i)))

    def __new__(cls, *values: *Parts) -> Self:
        if len(values) != len(cls._fields):
            raise TypeError(f"{cls.__name__}() takes {', '.join(cls._fields)}, not {len(values)} values")
        given: Any = values
        return tuple.__new__(cls, given)

    def __getnewargs__(self) -> tuple[Any, ...]:
        return tuple(self)

    def __repr__(self) -> str:
        fields = ",\n".join(f"{name}={getattr(self, name)!r}" for name in self._fields)
        return dt.shown(f"return_types.{type(self).__name__}(\n{fields})")


class ValuesIndices(Result[Tensor, Tensor]):
    """Elements, and their indices along an axis."""

    values: Tensor
    indices: Tensor


class max(ValuesIndices):
    """The result of ``max``."""


class min(ValuesIndices):
    """The result of ``min``."""


class sort(ValuesIndices):
    """The result of ``sort``."""


class topk(ValuesIndices):
    """The result of ``topk``."""


class cummax(ValuesIndices):
    """The result of ``cummax``."""


class cummin(ValuesIndices):
    """The result of ``cummin``."""


class kthvalue(ValuesIndices):
    """The result of ``kthvalue``."""


class median(ValuesIndices):
    """The result of ``median``."""


class nanmedian(ValuesIndices):
    """The result of ``nanmedian``."""


class mode(ValuesIndices):
    """The result of ``mode``."""


class aminmax(Result[Tensor, Tensor]):
    """The result of ``aminmax``."""

    min: Tensor
    max: Tensor


class linalg_eigh(Result[Tensor, Tensor]):
    """The result of ``linalg.eigh``."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class linalg_qr(Result[Tensor, Tensor]):
    """The result of ``linalg.qr``."""

    Q: Tensor
    R: Tensor


class linalg_slogdet(Result[Tensor, Tensor]):
    """The result of ``linalg.slogdet``."""

    sign: Tensor
    logabsdet: Tensor


class linalg_svd(Result[Tensor, Tensor, Tensor]):
    """The result of ``linalg.svd``."""

    U: Tensor
    S: Tensor
    Vh: Tensor


class linalg_cholesky_ex(Result[Tensor, Tensor]):
    """The result of ``linalg.cholesky_ex``."""

    L: Tensor
    info: Tensor


class linalg_eig(Result[Tensor, Tensor]):
    """The result of ``linalg.eig``."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class linalg_inv_ex(Result[Tensor, Tensor]):
    """The result of ``linalg.inv_ex``."""

    inverse: Tensor
    info: Tensor


class linalg_ldl_factor(Result[Tensor, Tensor]):
    """The result of ``linalg.ldl_factor``."""

    LD: Tensor
    pivots: Tensor


class linalg_ldl_factor_ex(Result[Tensor, Tensor, Tensor]):
    """The result of ``linalg.ldl_factor_ex``."""

    LD: Tensor
    pivots: Tensor
    info: Tensor


class linalg_lstsq(Result[Tensor, Tensor, Tensor, Tensor]):
    """The result of ``linalg.lstsq``."""

    solution: Tensor
    residuals: Tensor
    rank: Tensor
    singular_values: Tensor


class linalg_lu(Result[Tensor, Tensor, Tensor]):
    """The result of ``linalg.lu``."""

    P: Tensor
    L: Tensor
    U: Tensor


class linalg_lu_factor(Result[Tensor, Tensor]):
    """The result of ``linalg.lu_factor``."""

    LU: Tensor
    pivots: Tensor


class linalg_lu_factor_ex(Result[Tensor, Tensor, Tensor]):
    """The result of ``linalg.lu_factor_ex``."""

    LU: Tensor
    pivots: Tensor
    info: Tensor


class linalg_solve_ex(Result[Tensor, Tensor]):
    """The result of ``linalg.solve_ex``."""

    result: Tensor
    info: Tensor


class svd(Result[Tensor, Tensor, Tensor]):
    """The result of ``svd``."""

    U: Tensor
    S: Tensor
    V: Tensor


class qr(Result[Tensor, Tensor]):
    """The result of ``qr``."""

    Q: Tensor
    R: Tensor


class geqrf(Result[Tensor, Tensor]):
    """The result of ``geqrf``."""

    a: Tensor
    tau: Tensor


class lu_unpack(Result[Tensor, Tensor, Tensor]):
    """The result of ``lu_unpack``."""

    P: Tensor
    L: Tensor
    U: Tensor


class triangular_solve(Result[Tensor, Tensor]):
    """The result of ``triangular_solve``."""

    solution: Tensor
    cloned_coefficient: Tensor


class histogram(Result[Tensor, Tensor]):
    """The result of ``histogram``."""

    hist: Tensor
    bin_edges: Tensor


class frexp(Result[Tensor, Tensor]):
    """The result of ``frexp``."""

    mantissa: Tensor
    exponent: Tensor
