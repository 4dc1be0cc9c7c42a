"""``torch.fft``: differentiable discrete Fourier transforms, computed by the array library."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

import numpy as np

from ...backend import dtype as dt
from ...functions.arguments import axis
from ...functions.define import spelled
from ...functions.names import cat, conj, flip, real, roll, tensor
from ...ops.op import Op
from ...tensor import Tensor, apply
from ..ops import fourier

__all__ = ["fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "hfft2", "hfftn", "ifft", "ifft2", "ifftn"]
__all__ += ["ifftshift", "ihfft", "ihfft2", "ihfftn", "irfft", "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn"]

_INVERSE = {None: "forward", "backward": "forward", "forward": "backward", "ortho": "ortho"}  # as ifft divides by n
Sizes = Sequence[int | None] | None
Dims = int | Sequence[int] | None
Function = TypeVar("Function", bound=Callable[..., Any])


class OneAxis(Protocol):
    """A transform along one axis."""

    def __call__(self, input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor: ...


def fftn(input: Tensor, s: Sizes = None, dim: Dims = None, norm: str | None = None) -> Tensor:
    """The complex Fourier transform of a real or complex tensor along several axes.

    Args:
        s: the lengths to which to cut or zero-pad the axes; -1 leaves an axis unchanged.
        dim: the axes to transform; by default, the last ``len(s)`` axes, or all axes if ``s`` is None.
        norm: "backward" (the default) does not scale; "forward" divides by the number of elements n, and "ortho" by √n.

    Raises RuntimeError for an unknown norm, a length below 1 or a repeated axis.
    """
    return _along(fourier.fft, input, s, dim, norm)


def ifftn(input: Tensor, s: Sizes = None, dim: Dims = None, norm: str | None = None) -> Tensor:
    """The inverse of ``fftn`` with the same ``norm``."""
    return _along(fourier.ifft, input, s, dim, norm)


def rfftn(input: Tensor, s: Sizes = None, dim: Dims = None, norm: str | None = None) -> Tensor:
    """``fftn`` of a real tensor. It returns only the first n // 2 + 1 elements along the last axis, as the others are
    their conjugates. Raises RuntimeError for a complex tensor or if there are no axes; see ``fftn``."""
    _check_real(input, "rfftn")
    lengths, dims = _lengths(input, s, dim, "rfftn")
    whole = _along(fourier.fft, input, lengths[-1:], dims[-1:], norm)
    half = whole.narrow(dims[-1], 0, whole.shape[dims[-1]] // 2 + 1)
    return _along(fourier.fft, half, lengths[:-1], dims[:-1], norm)


def irfftn(input: Tensor, s: Sizes = None, dim: Dims = None, norm: str | None = None) -> Tensor:
    """The real tensor whose ``rfftn`` is the input. By default, m elements along the last axis become 2 (m - 1)."""
    (*lengths, last), (*dims, place) = _lengths(input, s, dim, "irfftn")
    whole = _along(fourier.ifft, input, lengths, dims, norm)
    n = 2 * (input.shape[place] - 1) if last is None else last
    if n < 1:
        raise RuntimeError(f"Invalid number of data points ({n}) specified")
    first = _of_length(whole, n // 2 + 1, place)
    mirrored = conj(flip(first.narrow(place, 1, (n - 1) // 2), (place,)))
    return real(_along(fourier.ifft, cat([first, mirrored], place), None, place, norm))


def hfftn(input: Tensor, s: Sizes = None, dim: Dims = None, norm: str | None = None) -> Tensor:
    """The real transform of a signal with Hermitian symmetry along the last axis. The input contains only the first m =
    n // 2 + 1 elements along this axis. By default, n is 2 (m - 1). Args: see ``fftn``."""
    return irfftn(conj(input), s, dim, _inverse(norm))


def ihfftn(input: Tensor, s: Sizes = None, dim: Dims = None, norm: str | None = None) -> Tensor:
    """The inverse of ``hfftn``. Raises RuntimeError for a complex tensor or if there are no axes; see ``fftn``."""
    _check_real(input, "ihfftn")
    return conj(rfftn(input, s, dim, _inverse(norm)))


def _over_one(function: Callable[..., Tensor]) -> OneAxis:
    name = function.__name__[:-1]

    def over_one(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
        if n is not None and n < 1:
            raise RuntimeError(f"Invalid number of data points ({n}) specified")
        if name in ("rfft", "ihfft"):
            _check_real(input, name)
        return function(input, None if n is None else (n,), (dim,), norm)

    over_one.__name__ = over_one.__qualname__ = name
    over_one.__doc__ = f"``{function.__name__}`` along one axis, cut or zero-padded to the length ``n``."
    return over_one


def _over_two(function: Function) -> Function:
    def over_two(input: Tensor, s: Sizes = None, dim: Dims = (-2, -1), norm: str | None = None) -> Tensor:
        return function(input, s, dim, norm)

    over_two.__name__ = over_two.__qualname__ = f"{function.__name__[:-1]}2"
    over_two.__doc__ = f"``{function.__name__}`` along the last two axes."
    return over_two  # type: ignore[return-value]


fft, ifft, rfft, irfft, hfft, ihfft = map(_over_one, (fftn, ifftn, rfftn, irfftn, hfftn, ihfftn))
fft2, ifft2, rfft2, irfft2, hfft2, ihfft2 = map(_over_two, (fftn, ifftn, rfftn, irfftn, hfftn, ihfftn))


def fftfreq(n: int, d: float = 1.0, **kwargs: Any) -> Tensor:
    """The frequencies of the elements in the result of ``fft``: 0, 1, ..., -2, -1, divided by n d.

    Args:
        d: the sample spacing.
        kwargs: dtype, device, requires_grad.
    """
    return _floats(np.fft.fftfreq(n, d), kwargs)


def rfftfreq(n: int, d: float = 1.0, **kwargs: Any) -> Tensor:
    """The frequencies of the elements in the result of ``rfft``. Args: see ``fftfreq``."""
    return _floats(np.fft.rfftfreq(n, d), kwargs)


def _floats(values: Any, kwargs: dict[str, Any]) -> Tensor:
    kwargs["dtype"] = kwargs.get("dtype") or dt.get_default_dtype()
    return tensor(values, **kwargs)


def fftshift(input: Tensor, dim: Dims = None) -> Tensor:
    """Roll the axes so that frequency 0 is in the middle."""
    dims = _axes(input, dim)
    return roll(input, tuple(input.shape[d] // 2 for d in dims), dims)


def ifftshift(input: Tensor, dim: Dims = None) -> Tensor:
    """The inverse of ``fftshift``."""
    dims = _axes(input, dim)
    return roll(input, tuple(-(input.shape[d] // 2) for d in dims), dims)


def _along(op: Op, input: Tensor, s: Sizes, dim: Dims, norm: str | None) -> Tensor:
    _inverse(norm)
    lengths, dims = _lengths(input, s, dim)
    wide = input if input.is_floating_point() or input.is_complex() else input.to(dt.get_default_dtype())
    out = wide if wide.is_complex() else wide.to(dt.complex128 if wide.dtype is dt.float64 else dt.complex64)
    for n, place in zip(lengths, dims, strict=True):
        if (out.shape[place] if n is None else n) < 1:
            raise RuntimeError(f"Invalid number of data points ({n or 0}) specified")
        out = apply(op, (out if n is None else _of_length(out, n, place), place, norm or "backward"))
    return out


def _check_real(input: Tensor, name: str) -> None:
    if input.is_complex():
        raise RuntimeError(f"{name} expects a real input tensor, but got {input.dtype}")


def _inverse(norm: str | None) -> str:
    """The ``norm`` with which the opposite transform scales equally. Raises RuntimeError if ``norm`` is unknown."""
    if norm not in _INVERSE:
        raise RuntimeError(f"Invalid normalization mode: {norm!r}, expected one of {tuple(_INVERSE)[1:]}")
    return _INVERSE[norm]


def _lengths(input: Tensor, s: Sizes, dim: Dims, name: str = "") -> tuple[tuple[int | None, ...], tuple[int, ...]]:
    """Return the new lengths of the axes to transform (None keeps a length) and the axes as nonnegative indices. If
    ``name`` is not empty, at least one axis is required."""
    if dim is None and s is not None:
        if len(s) > input.dim():
            raise RuntimeError(f"Got shape with {len(s)} values but input tensor only has {input.dim()} dimensions.")
        dim = range(input.dim() - len(s), input.dim())
    dims = _axes(input, dim)
    lengths = (None,) * len(dims) if s is None else tuple(None if n == -1 else n for n in s)
    if len(lengths) != len(dims):
        raise RuntimeError("When given, dim and shape arguments must have the same length")
    if len(set(dims)) < len(dims):
        raise RuntimeError("FFT dims must be unique")
    if name and not dims:
        raise RuntimeError(f"{name} must transform at least one axis")
    return lengths, dims


def _axes(input: Tensor, dim: Dims) -> tuple[int, ...]:
    """The axes as nonnegative indices; all axes by default. Raises IndexError if an axis does not exist."""
    if dim is None:
        return tuple(range(input.dim()))
    dims = (dim,) if isinstance(dim, int) else tuple(dim)
    if dims and not input.dim():
        raise IndexError("Dimension specified as -1 but tensor has no dimensions")
    return tuple(axis(d, input.dim()) for d in dims)


def _of_length(input: Tensor, n: int, dim: int) -> Tensor:
    """Cut or zero-pad an axis to the length ``n``."""
    missing = n - input.shape[dim]
    if missing <= 0:
        return input.narrow(dim, 0, n)
    return cat([input, input.new_zeros([missing if d == dim else k for d, k in enumerate(input.shape)])], dim)


for _name in __all__:
    globals()[_name] = spelled(globals()[_name])
