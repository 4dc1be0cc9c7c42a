"""``torch.fft``: discrete Fourier transforms, over the array library's; all are differentiable."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .autograd.calls import apply
from .backend import dtype as dt
from .functions.arguments import axis
from .functions.complex import conj, real
from .functions.creation import tensor
from .functions.shaping import cat, flip, roll
from .ops import fourier
from .ops.op import Op
from .tensor import Tensor

__all__ = [
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "irfft",
    "rfft",
    "rfftfreq",
]

_NORMS = ("backward", "forward", "ortho")
Dims = int | Sequence[int] | None


def fft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The transform along an axis: complex, of a real or a complex tensor.

    Args:
        n: the length to cut the axis to, or to fill it up to with zeros.
        norm: "backward" (the default) as it is, "ortho" divided by √n, "forward" by n.

    Raises:
        RuntimeError: an unknown norm, or n below 1.
    """
    return _along(fourier.fft, input, n, dim, norm)


def ifft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of ``fft`` with the same ``norm``."""
    return _along(fourier.ifft, input, n, dim, norm)


def fftn(input: Tensor, s: Sequence[int] | None = None, dim: Dims = None, norm: str | None = None) -> Tensor:
    """``fft`` along several axes: ``dim``, or the last ones that ``s`` has lengths for, or all."""
    return _over_axes(fourier.fft, input, s, dim, norm)


def ifftn(input: Tensor, s: Sequence[int] | None = None, dim: Dims = None, norm: str | None = None) -> Tensor:
    """The inverse of ``fftn``."""
    return _over_axes(fourier.ifft, input, s, dim, norm)


def fft2(input: Tensor, s: Sequence[int] | None = None, dim: Dims = (-2, -1), norm: str | None = None) -> Tensor:
    """``fftn`` along the last two axes."""
    return _over_axes(fourier.fft, input, s, dim, norm)


def ifft2(input: Tensor, s: Sequence[int] | None = None, dim: Dims = (-2, -1), norm: str | None = None) -> Tensor:
    """``ifftn`` along the last two axes."""
    return _over_axes(fourier.ifft, input, s, dim, norm)


def rfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The first n // 2 + 1 elements of the transform of a real tensor: the others are their conjugates.

    Raises:
        RuntimeError: a complex tensor; see ``fft``.
    """
    if input.is_complex():
        raise RuntimeError(f"rfft expects a real input tensor, but got {input.dtype}")
    whole = fft(input, n, dim, norm)
    return whole.narrow(dim, 0, whole.shape[dim] // 2 + 1)


def irfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The real tensor whose ``rfft`` this is.

    Args:
        n: its length; by default the even one, 2 (m - 1) for an axis of length m.
    """
    length = 2 * (input.shape[dim] - 1) if n is None else n
    if length < 1:
        raise RuntimeError(f"Invalid number of data points ({length}) specified")
    first = _of_length(_as_complex(input), length // 2 + 1, axis(dim, input.dim()))
    mirrored = conj(flip(first.narrow(dim, 1, (length - 1) // 2), (dim,)))
    return real(ifft(cat([first, mirrored], dim), None, dim, norm))


def fftfreq(n: int, d: float = 1.0, **kwargs: Any) -> Tensor:
    """The frequencies of the elements of ``fft``: 0, 1, ..., -2, -1, divided by n d.

    Args:
        d: the distance of two samples.
        kwargs: dtype, device, requires_grad.
    """
    return _floats(np.fft.fftfreq(n, d), kwargs)


def rfftfreq(n: int, d: float = 1.0, **kwargs: Any) -> Tensor:
    """The frequencies of the elements of ``rfft``; arguments as of ``fftfreq``."""
    return _floats(np.fft.rfftfreq(n, d), kwargs)


def fftshift(input: Tensor, dim: Dims = None) -> Tensor:
    """The axes turned so that frequency 0 stands in the middle."""
    dims = _axes(input, dim)
    return roll(input, tuple(input.shape[d] // 2 for d in dims), dims)


def ifftshift(input: Tensor, dim: Dims = None) -> Tensor:
    """The inverse of ``fftshift``."""
    dims = _axes(input, dim)
    return roll(input, tuple(-(input.shape[d] // 2) for d in dims), dims)


def _along(op: Op, input: Tensor, n: int | None, dim: int, norm: str | None) -> Tensor:
    """A transform along an axis, after a check of its arguments."""
    if norm is not None and norm not in _NORMS:
        raise RuntimeError(f"Invalid normalization mode: {norm!r}, expected one of {_NORMS}")
    place = axis(dim, input.dim())
    if (input.shape[place] if n is None else n) < 1:
        raise RuntimeError(f"Invalid number of data points ({n or 0}) specified")
    whole = _as_complex(input)
    return apply(op, (whole if n is None else _of_length(whole, n, place), place, norm or "backward"))


def _over_axes(op: Op, input: Tensor, s: Sequence[int] | None, dim: Dims, norm: str | None) -> Tensor:
    """A transform along one axis after the other."""
    dims = tuple(range(-len(s), 0)) if dim is None and s is not None else _axes(input, dim)
    lengths = (None,) * len(dims) if s is None else tuple(None if n == -1 else n for n in s)
    if len(lengths) != len(dims):
        raise RuntimeError("When given, dim and shape arguments must have the same length")
    for n, d in zip(lengths, dims, strict=True):
        input = _along(op, input, n, d, norm)
    return input if dims else _as_complex(input)


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
