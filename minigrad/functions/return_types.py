"""Named tuples that functions of several results return, printed as PyTorch prints them."""

from __future__ import annotations

from typing import Any, NamedTuple


def _shown(result: Any) -> str:
    """ "torch.return_types.max(", then each field on a line of its own."""
    fields = ",\n".join(f"{name}={value!r}" for name, value in zip(result._fields, result, strict=True))
    return f"torch.return_types.{type(result).__name__}(\n{fields})"


class ValuesIndices(NamedTuple):
    """Elements, and where along an axis they stood."""

    values: Any
    indices: Any

    def __repr__(self) -> str:
        return _shown(self)


def _of(name: str) -> type[ValuesIndices]:
    doc = f"What ``{name}`` returns: (values, indices)."
    return type(name, (ValuesIndices,), {"__slots__": (), "__doc__": doc, "__module__": __name__})


max, min, sort, topk = _of("max"), _of("min"), _of("sort"), _of("topk")
cummax, cummin, kthvalue = _of("cummax"), _of("cummin"), _of("kthvalue")
median, nanmedian, mode = _of("median"), _of("nanmedian"), _of("mode")


class aminmax(NamedTuple):
    """What ``aminmax`` returns."""

    min: Any
    max: Any

    def __repr__(self) -> str:
        return _shown(self)


class linalg_eigh(NamedTuple):
    """What ``linalg.eigh`` returns."""

    eigenvalues: Any
    eigenvectors: Any

    def __repr__(self) -> str:
        return _shown(self)


class linalg_qr(NamedTuple):
    """What ``linalg.qr`` returns."""

    Q: Any
    R: Any

    def __repr__(self) -> str:
        return _shown(self)


class linalg_slogdet(NamedTuple):
    """What ``linalg.slogdet`` returns."""

    sign: Any
    logabsdet: Any

    def __repr__(self) -> str:
        return _shown(self)


class linalg_svd(NamedTuple):
    """What ``linalg.svd`` returns."""

    U: Any
    S: Any
    Vh: Any

    def __repr__(self) -> str:
        return _shown(self)


class histogram(NamedTuple):
    """What ``histogram`` returns."""

    hist: Any
    bin_edges: Any

    def __repr__(self) -> str:
        return _shown(self)


class frexp(NamedTuple):
    """What ``frexp`` returns."""

    mantissa: Any
    exponent: Any

    def __repr__(self) -> str:
        return _shown(self)
