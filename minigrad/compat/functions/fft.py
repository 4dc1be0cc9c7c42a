"""``torch.fft``: discrete Fourier transforms, over the array library's; all are differentiable."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from ...autograd.calls import apply
from ...backend import dtype as dt
from ...functions.arguments import axis
from ...functions.define import spelled
from ...functions.names import cat, conj, flip, real, roll, tensor
from ...ops.op import Op
from ...tensor import Tensor
from ..ops import fourier

__all__ = ["fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "hfft2", "hfftn", "ifft", "ifft2", "ifftn"]
__all__ += ["ifftshift", "ihfft", "ihfft2", "ihfftn", "irfft", "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn"]

_NORMS = ("backward", "forward", "ortho")
_INVERSE = {None: "forward", "backward": "forward", "forward": "backward", "ortho": "ortho"}  # as ifft divides by n
Dims = int | Sequence[int] | None
Function = TypeVar("Function", bound=Callable[..., Any])


@spelled
def fft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The transform along an axis: complex, of a real or a complex tensor.

    Args:
        n: the length to cut the axis to, or to fill it up to with zeros.
        norm: "backward" (the default) as it is, "ortho" divided by √n, "forward" by n.

    Raises RuntimeError: an unknown norm, or n below 1.
    """
    return _along(fourier.fft, input, n, dim, norm)


@spelled
def ifft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of ``fft`` with the same ``norm``."""
    return _along(fourier.ifft, input, n, dim, norm)


@spelled
def fftn(input: Tensor, s: Sequence[int] | None = None, dim: Dims = None, norm: str | None = None) -> Tensor:
    """``fft`` along several axes: ``dim``, or the last ones that ``s`` has lengths for, or all."""
    return _over_axes(fourier.fft, input, s, dim, norm)


@spelled
def ifftn(input: Tensor, s: Sequence[int] | None = None, dim: Dims = None, norm: str | None = None) -> Tensor:
    """The inverse of ``fftn``."""
    return _over_axes(fourier.ifft, input, s, dim, norm)


@spelled
def rfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The first n // 2 + 1 elements of the transform of a real tensor: the others are their conjugates.
    Raises RuntimeError: a complex tensor; see ``fft``."""
    _check_real(input, "rfft")
    whole = fft(input, n, dim, norm)
    return whole.narrow(dim, 0, whole.shape[dim] // 2 + 1)


@spelled
def irfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The real tensor whose ``rfft`` this is, of length n: by default the even one, 2 (m - 1) for m elements."""
    place = _place(input, dim)
    length = 2 * (input.shape[place] - 1) if n is None else n
    if length < 1:
        raise RuntimeError(f"Invalid number of data points ({length}) specified")
    first = _of_length(_as_complex(input), length // 2 + 1, place)
    mirrored = conj(flip(first.narrow(place, 1, (length - 1) // 2), (place,)))
    return real(ifft(cat([first, mirrored], place), None, place, norm))


@spelled
def rfftn(input: Tensor, s: Sequence[int] | None = None, dim: Dims = None, norm: str | None = None) -> Tensor:
    """``fftn`` of a real tensor, along the last of the axes its first n // 2 + 1 elements; arguments as of ``fftn``."""
    _check_real(input, "rfftn")
    lengths, dims = _lengths(input, s, dim, "rfftn")
    half = rfft(input, lengths[-1], dims[-1], norm)
    return _over_axes(fourier.fft, half, lengths[:-1], dims[:-1], norm)


@spelled
def irfftn(input: Tensor, s: Sequence[int] | None = None, dim: Dims = None, norm: str | None = None) -> Tensor:
    """The real tensor whose ``rfftn`` this is: along the last axis by default of length 2 (m - 1)."""
    lengths, dims = _lengths(input, s, dim, "irfftn")
    whole = _over_axes(fourier.ifft, input, lengths[:-1], dims[:-1], norm)
    return irfft(whole, lengths[-1], dims[-1], norm)


@spelled
def hfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The transform, real, of a signal that is its own mirrored conjugate, from its first n // 2 + 1 elements. It has
    length n: by default the even one, 2 (m - 1) for m elements."""
    return irfft(conj(input), n, dim, _inverse(norm))


@spelled
def ihfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of ``hfft``: the first n // 2 + 1 elements of ``ifft`` of a real tensor.
    Raises RuntimeError: a complex tensor; see ``ifft``."""
    _check_real(input, "ihfft")
    return conj(rfft(input, n, dim, _inverse(norm)))


@spelled
def hfftn(input: Tensor, s: Sequence[int] | None = None, dim: Dims = None, norm: str | None = None) -> Tensor:
    """``hfft`` along the last of several axes, after ``fft`` along the others; arguments as of ``fftn``."""
    return irfftn(conj(input), s, dim, _inverse(norm))


@spelled
def ihfftn(input: Tensor, s: Sequence[int] | None = None, dim: Dims = None, norm: str | None = None) -> Tensor:
    """The inverse of ``hfftn``."""
    _check_real(input, "ihfftn")
    return conj(rfftn(input, s, dim, _inverse(norm)))


def _over_two(function: Function) -> Function:
    """A transform along the last two axes, where others are not named."""

    def over_two(
        input: Tensor, s: Sequence[int] | None = None, dim: Dims = (-2, -1), norm: str | None = None
    ) -> Tensor:
        return function(input, s, dim, norm)

    over_two.__name__ = over_two.__qualname__ = f"{function.__name__[:-1]}2"
    over_two.__doc__ = f"``{function.__name__}`` along the last two axes."
    return spelled(over_two)  # type: ignore[return-value]


fft2, ifft2, rfft2, irfft2, hfft2, ihfft2 = map(_over_two, (fftn, ifftn, rfftn, irfftn, hfftn, ihfftn))


@spelled
def fftfreq(n: int, d: float = 1.0, **kwargs: Any) -> Tensor:
    """The frequencies of the elements of ``fft``: 0, 1, ..., -2, -1, divided by n d.

    Args:
        d: the distance of two samples.
        kwargs: dtype, device, requires_grad.
    """
    return _floats(np.fft.fftfreq(n, d), kwargs)


@spelled
def rfftfreq(n: int, d: float = 1.0, **kwargs: Any) -> Tensor:
    """The frequencies of the elements of ``rfft``; arguments as of ``fftfreq``."""
    return _floats(np.fft.rfftfreq(n, d), kwargs)


@spelled
def fftshift(input: Tensor, dim: Dims = None) -> Tensor:
    """The axes turned so that frequency 0 stands in the middle."""
    dims = _axes(input, dim)
    return roll(input, tuple(input.shape[d] // 2 for d in dims), dims)


@spelled
def ifftshift(input: Tensor, dim: Dims = None) -> Tensor:
    """The inverse of ``fftshift``."""
    dims = _axes(input, dim)
    return roll(input, tuple(-(input.shape[d] // 2) for d in dims), dims)


def _along(op: Op, input: Tensor, n: int | None, dim: int, norm: str | None) -> Tensor:
    """A transform along an axis, after a check of its arguments."""
    _check_norm(norm)
    place = _place(input, dim)
    if (input.shape[place] if n is None else n) < 1:
        raise RuntimeError(f"Invalid number of data points ({n or 0}) specified")
    whole = _as_complex(input)
    return apply(op, (whole if n is None else _of_length(whole, n, place), place, norm or "backward"))


def _check_norm(norm: str | None) -> None:
    if norm not in _INVERSE:
        raise RuntimeError(f"Invalid normalization mode: {norm!r}, expected one of {_NORMS}")


def _check_real(input: Tensor, name: str) -> None:
    if input.is_complex():
        raise RuntimeError(f"{name} expects a real input tensor, but got {input.dtype}")


def _inverse(norm: str | None) -> str:
    """The ``norm`` of a transform whose ``norm`` is that of its inverse."""
    _check_norm(norm)
    return _INVERSE[norm]


def _place(input: Tensor, dim: int) -> int:
    """An axis from 0; IndexError where there is none."""
    if not input.dim():
        raise IndexError("Dimension specified as -1 but tensor has no dimensions")
    return axis(dim, input.dim())


def _over_axes(op: Op, input: Tensor, s: Sequence[int | None] | None, dim: Dims, norm: str | None) -> Tensor:
    """A transform along one axis after the other."""
    _check_norm(norm)
    lengths, dims = _lengths(input, s, dim)
    for n, d in zip(lengths, dims, strict=True):
        input = _along(op, input, n, d, norm)
    return input if dims else _as_complex(input)


def _lengths(
    input: Tensor, s: Sequence[int | None] | None, dim: Dims, name: str = ""
) -> tuple[tuple[int | None, ...], tuple[int, ...]]:
    """The new length of each axis to transform, None for the one that it has, and the axes, from 0. A function that has
    a ``name`` needs at least one."""
    if dim is None and s is not None:
        if len(s) > input.dim():
            raise RuntimeError(f"Got shape with {len(s)} values but input tensor only has {input.dim()} dimensions.")
        dim = range(input.dim() - len(s), input.dim())
    dims = tuple(_place(input, d) for d in _axes(input, dim))
    lengths = (None,) * len(dims) if s is None else tuple(None if n == -1 else n for n in s)
    if len(lengths) != len(dims):
        raise RuntimeError("When given, dim and shape arguments must have the same length")
    if len(set(dims)) < len(dims):
        raise RuntimeError("FFT dims must be unique")
    if name and not dims:
        raise RuntimeError(f"{name} must transform at least one axis")
    return lengths, dims


def _axes(input: Tensor, dim: Dims) -> tuple[int, ...]:
    if dim is None:
        return tuple(range(input.dim()))
    return (dim,) if isinstance(dim, int) else tuple(dim)


def _as_complex(input: Tensor) -> Tensor:
    """The tensor in complex64 or complex128."""
    if input.is_complex():
        return input
    wide = input if input.is_floating_point() else input.to(dt.get_default_dtype())
    return wide.to(dt.complex128 if wide.dtype is dt.float64 else dt.complex64)


def _of_length(input: Tensor, n: int, dim: int) -> Tensor:
    """An axis cut, or filled up with zeros."""
    missing = n - input.shape[dim]
    if missing <= 0:
        return input.narrow(dim, 0, n)
    return cat([input, input.new_zeros([missing if d == dim else k for d, k in enumerate(input.shape)])], dim)


def _floats(values: Any, kwargs: dict[str, Any]) -> Tensor:
    kwargs["dtype"] = kwargs.get("dtype") or dt.get_default_dtype()
    return tensor(values, **kwargs)
