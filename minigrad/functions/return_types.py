"""Named tuples that functions of several results return, printed as PyTorch prints them."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar

Result = TypeVar("Result", bound=type[tuple[Any, ...]])


def _printed(result_type: Result) -> Result:
    """Give a named tuple PyTorch's ``repr``: "torch.return_types.max(", then each field on a line of its own."""

    def show(result: Any) -> str:
        fields = ",\n".join(f"{name}={value!r}" for name, value in zip(result._fields, result, strict=True))
        return f"torch.return_types.{type(result).__name__}(\n{fields})"

    result_type.__repr__ = show  # type: ignore[method-assign]
    return result_type


@_printed
class ValuesIndices(NamedTuple):
    """Elements, and their indices along an axis."""

    values: Any
    indices: Any


def _of(name: str) -> type[ValuesIndices]:
    doc = f"The result of ``{name}``: (values, indices)."
    return type(name, (ValuesIndices,), {"__slots__": (), "__doc__": doc, "__module__": __name__})


max, min, sort, topk = _of("max"), _of("min"), _of("sort"), _of("topk")
cummax, cummin, kthvalue = _of("cummax"), _of("cummin"), _of("kthvalue")
median, nanmedian, mode = _of("median"), _of("nanmedian"), _of("mode")


@_printed
class aminmax(NamedTuple):
    """The result of ``aminmax``."""

    min: Any
    max: Any


@_printed
class linalg_eigh(NamedTuple):
    """The result of ``linalg.eigh``."""

    eigenvalues: Any
    eigenvectors: Any


@_printed
class linalg_qr(NamedTuple):
    """The result of ``linalg.qr``."""

    Q: Any
    R: Any


@_printed
class linalg_slogdet(NamedTuple):
    """The result of ``linalg.slogdet``."""

    sign: Any
    logabsdet: Any


@_printed
class linalg_svd(NamedTuple):
    """The result of ``linalg.svd``."""

    U: Any
    S: Any
    Vh: Any


@_printed
class linalg_cholesky_ex(NamedTuple):
    """The result of ``linalg.cholesky_ex``."""

    L: Any
    info: Any


@_printed
class linalg_eig(NamedTuple):
    """The result of ``linalg.eig``."""

    eigenvalues: Any
    eigenvectors: Any


@_printed
class linalg_inv_ex(NamedTuple):
    """The result of ``linalg.inv_ex``."""

    inverse: Any
    info: Any


@_printed
class linalg_ldl_factor(NamedTuple):
    """The result of ``linalg.ldl_factor``."""

    LD: Any
    pivots: Any


@_printed
class linalg_ldl_factor_ex(NamedTuple):
    """The result of ``linalg.ldl_factor_ex``."""

    LD: Any
    pivots: Any
    info: Any


@_printed
class linalg_lstsq(NamedTuple):
    """The result of ``linalg.lstsq``."""

    solution: Any
    residuals: Any
    rank: Any
    singular_values: Any


@_printed
class linalg_lu(NamedTuple):
    """The result of ``linalg.lu``."""

    P: Any
    L: Any
    U: Any


@_printed
class linalg_lu_factor(NamedTuple):
    """The result of ``linalg.lu_factor``."""

    LU: Any
    pivots: Any


@_printed
class linalg_lu_factor_ex(NamedTuple):
    """The result of ``linalg.lu_factor_ex``."""

    LU: Any
    pivots: Any
    info: Any


@_printed
class linalg_solve_ex(NamedTuple):
    """The result of ``linalg.solve_ex``."""

    result: Any
    info: Any


@_printed
class svd(NamedTuple):
    """The result of ``svd``."""

    U: Any
    S: Any
    V: Any


@_printed
class qr(NamedTuple):
    """The result of ``qr``."""

    Q: Any
    R: Any


@_printed
class geqrf(NamedTuple):
    """The result of ``geqrf``."""

    a: Any
    tau: Any


@_printed
class lu_unpack(NamedTuple):
    """The result of ``lu_unpack``."""

    P: Any
    L: Any
    U: Any


@_printed
class triangular_solve(NamedTuple):
    """The result of ``triangular_solve``."""

    solution: Any
    cloned_coefficient: Any


@_printed
class histogram(NamedTuple):
    """The result of ``histogram``."""

    hist: Any
    bin_edges: Any


@_printed
class frexp(NamedTuple):
    """The result of ``frexp``."""

    mantissa: Any
    exponent: Any
