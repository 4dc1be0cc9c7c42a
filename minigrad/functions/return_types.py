"""Named tuples that functions of several results return, printed as PyTorch prints them."""

from __future__ import annotations

from operator import itemgetter
from typing import Any


class Result(tuple[Any, ...]):
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

    def __new__(cls, *values: Any) -> Any:
        if len(values) != len(cls._fields):
            raise TypeError(f"{cls.__name__}() takes {', '.join(cls._fields)}, not {len(values)} values")
        return tuple.__new__(cls, values)

    def __getnewargs__(self) -> tuple[Any, ...]:
        return tuple(self)

    def __repr__(self) -> str:
        fields = ",\n".join(f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True))
        return f"torch.return_types.{type(self).__name__}(\n{fields})"


class ValuesIndices(Result):
    """Elements, and their indices along an axis."""

    values: Any
    indices: Any


def _of(name: str) -> type[ValuesIndices]:
    doc = f"The result of ``{name}``: (values, indices)."
    return type(name, (ValuesIndices,), {"__slots__": (), "__doc__": doc, "__module__": __name__})


max, min, sort, topk = _of("max"), _of("min"), _of("sort"), _of("topk")
cummax, cummin, kthvalue = _of("cummax"), _of("cummin"), _of("kthvalue")
median, nanmedian, mode = _of("median"), _of("nanmedian"), _of("mode")


class aminmax(Result):
    """The result of ``aminmax``."""

    min: Any
    max: Any


class linalg_eigh(Result):
    """The result of ``linalg.eigh``."""

    eigenvalues: Any
    eigenvectors: Any


class linalg_qr(Result):
    """The result of ``linalg.qr``."""

    Q: Any
    R: Any


class linalg_slogdet(Result):
    """The result of ``linalg.slogdet``."""

    sign: Any
    logabsdet: Any


class linalg_svd(Result):
    """The result of ``linalg.svd``."""

    U: Any
    S: Any
    Vh: Any


class linalg_cholesky_ex(Result):
    """The result of ``linalg.cholesky_ex``."""

    L: Any
    info: Any


class linalg_eig(Result):
    """The result of ``linalg.eig``."""

    eigenvalues: Any
    eigenvectors: Any


class linalg_inv_ex(Result):
    """The result of ``linalg.inv_ex``."""

    inverse: Any
    info: Any


class linalg_ldl_factor(Result):
    """The result of ``linalg.ldl_factor``."""

    LD: Any
    pivots: Any


class linalg_ldl_factor_ex(Result):
    """The result of ``linalg.ldl_factor_ex``."""

    LD: Any
    pivots: Any
    info: Any


class linalg_lstsq(Result):
    """The result of ``linalg.lstsq``."""

    solution: Any
    residuals: Any
    rank: Any
    singular_values: Any


class linalg_lu(Result):
    """The result of ``linalg.lu``."""

    P: Any
    L: Any
    U: Any


class linalg_lu_factor(Result):
    """The result of ``linalg.lu_factor``."""

    LU: Any
    pivots: Any


class linalg_lu_factor_ex(Result):
    """The result of ``linalg.lu_factor_ex``."""

    LU: Any
    pivots: Any
    info: Any


class linalg_solve_ex(Result):
    """The result of ``linalg.solve_ex``."""

    result: Any
    info: Any


class svd(Result):
    """The result of ``svd``."""

    U: Any
    S: Any
    V: Any


class qr(Result):
    """The result of ``qr``."""

    Q: Any
    R: Any


class geqrf(Result):
    """The result of ``geqrf``."""

    a: Any
    tau: Any


class lu_unpack(Result):
    """The result of ``lu_unpack``."""

    P: Any
    L: Any
    U: Any


class triangular_solve(Result):
    """The result of ``triangular_solve``."""

    solution: Any
    cloned_coefficient: Any


class histogram(Result):
    """The result of ``histogram``."""

    hist: Any
    bin_edges: Any


class frexp(Result):
    """The result of ``frexp``."""

    mantissa: Any
    exponent: Any
