"""Complex tensors and their parts, by PyTorch's names."""

from __future__ import annotations

import math

from ..ops import complex as c
from ..ops.elementwise import cos as _cos
from ..ops.elementwise import sin as _sin
from ..tensor import Tensor, apply
from .define import attribute, brief, function, method
from .pointwise import where


@function
def complex(real: Tensor, imag: Tensor) -> Tensor:
    """real + i imag: complex64 from float32, complex128 from float64. Raises RuntimeError: other or several dtypes."""
    kinds = {real.array.dtype.name, imag.array.dtype.name}
    if len(kinds) > 1 or kinds - {"float32", "float64"}:
        raise RuntimeError(f"complex: expected two float32 or two float64 tensors, got {real.dtype} and {imag.dtype}")
    return apply(c.complex, (real, imag))


@function
def polar(abs: Tensor, angle: Tensor) -> Tensor:
    """abs · e^(i angle)."""
    return complex(abs * apply(_cos, (angle,)), abs * apply(_sin, (angle,)))


@function
def view_as_complex(input: Tensor) -> Tensor:
    """(..., 2) real -> (...) complex in the same memory: the last axis holds real and imaginary part. Raises
    RuntimeError: the last axis is not of length 2, or its elements do not lie side by side."""
    array = input.array
    if array.dtype.name not in ("float32", "float64"):
        raise RuntimeError(f"view_as_complex is only supported for float32 and float64, not {input.dtype}")
    if not array.ndim or array.shape[-1] != 2:
        raise RuntimeError(f"Tensor must have a last dimension of size 2, not shape {tuple(array.shape)}")
    if array.strides[-1] != array.itemsize or any(s % (2 * array.itemsize) for s in array.strides[:-1]):
        raise RuntimeError("Tensor must have a last dimension with stride 1, other strides even: use x.contiguous()")
    return apply(c.view_as_complex, (input,))


@function
def view_as_real(input: Tensor) -> Tensor:
    """(...) complex -> (..., 2) real in the same memory. Raises RuntimeError for a real tensor."""
    return apply(c.view_as_real, (_complex(input, "view_as_real"),))


@attribute
@function
def real(input: Tensor) -> Tensor:
    """The real part, in the same memory; a real tensor is itself. It can be assigned to: ``x.real = y``."""
    return apply(c.real, (input,)) if input.is_complex() else input


@attribute
@function
def imag(input: Tensor) -> Tensor:
    """The imaginary part, in the same memory; it can be assigned to. Raises RuntimeError for a real tensor."""
    return apply(c.imag, (_complex(input, "imag"),))


@method
def conj(input: Tensor) -> Tensor:
    """a - bi of a + bi; a real tensor is itself."""
    return apply(c.conj, (input,)) if input.is_complex() else input


_METHODS = {
    "resolve_conj": (lambda input: input, "The tensor itself: conjugation happens at once."),
    "resolve_neg": (lambda input: input, "The tensor itself: negation happens at once."),
    "isreal": (
        lambda input: input.imag == 0 if input.is_complex() else input.eq(input) | True,
        "Whether each element has no imaginary part.",
    ),
}
_QUESTION = {"is_conj": (lambda input: False, "Whether conjugation is still to happen: never.")}
_IN_PLACE_TOO = {"conj_physical": (lambda input: conj(input), "``conj``, computed at once.")}
globals().update(
    brief(method, _METHODS) | brief(method, _QUESTION, "bool") | brief(method(in_place=True), _IN_PLACE_TOO)
)


@method
def angle(input: Tensor) -> Tensor:
    """The angle to the real axis in (-π, π]; of a real tensor 0 or π."""
    if input.is_complex():
        return apply(c.angle, (input,))
    as_float = input if input.is_floating_point() else input.float()
    zeros = where(as_float.isnan(), as_float, 0.0)
    return where(as_float < 0, math.pi, zeros).to(as_float.dtype)


def _complex(input: Tensor, name: str) -> Tensor:
    if not input.is_complex():
        raise RuntimeError(f"{name} is only supported for complex tensors, not {input.dtype}")
    return input
