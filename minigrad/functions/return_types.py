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
class histogram(NamedTuple):
    """The result of ``histogram``."""

    hist: Any
    bin_edges: Any


@_printed
class frexp(NamedTuple):
    """The result of ``frexp``."""

    mantissa: Any
    exponent: Any
