"""Elementwise functions, under PyTorch's names. Each is both a function and a Tensor method."""

from __future__ import annotations

import math
from typing import Any, overload

import numpy as np

from ..backend import xp
from ..backend.dtype import bfloat16, complex128, finfo, float64, get_default_dtype, kind_of, result_type
from ..ops import activation, elementwise as e, softmax as rows
from ..ops.op import Op
from ..tensor import Tensor, apply, wrap
from . import return_types
from .arguments import Scalar, as_tensor_like, axis, operand, raw, rounded_once, scaled
from .define import binary, brief, by, changing, factors_first, function, method, pair, spelled, unary

abs, square, sqrt, rsqrt = unary(e.abs), unary(e.square), unary(e.sqrt), unary(e.rsqrt)
reciprocal, exp, exp2, expm1 = unary(e.reciprocal), unary(e.exp), unary(e.exp2), unary(e.expm1)
log, log2, log10, log1p = unary(e.log), unary(e.log2), unary(e.log10), unary(e.log1p)
sin, cos, tan = unary(e.sin), unary(e.cos), unary(e.tan)
asin, acos, atan = unary(e.asin), unary(e.acos), unary(e.atan)
sinh, cosh, tanh = unary(e.sinh), unary(e.cosh), unary(e.tanh)
asinh, acosh, atanh = unary(e.asinh), unary(e.acosh), unary(e.atanh)
erf, erfc, erfinv, relu, sigmoid = unary(e.erf), unary(e.erfc), unary(e.erfinv), unary(e.relu), unary(e.sigmoid)
floor, ceil, trunc = unary(e.floor), unary(e.ceil), unary(e.trunc)
isnan, isinf = unary(e.isnan, in_place=False), unary(e.isinf, in_place=False)
isfinite, bitwise_not = unary(e.isfinite, in_place=False), unary(e.bitwise_not)

mul, pow, true_divide = binary(e.mul), binary(e.pow), binary(e.div, name="true_divide")
remainder, fmod, floor_divide = binary(e.remainder), binary(e.fmod), binary(e.floor_divide)
maximum, minimum = binary(e.maximum, in_place=False), binary(e.minimum, in_place=False)
logaddexp = binary(e.logaddexp, in_place=False)
xlogy = binary(e.xlogy)
atan2, hypot, copysign = binary(e.atan2), binary(e.hypot), binary(e.copysign)
nextafter, gcd, lcm = binary(e.nextafter), binary(e.gcd), binary(e.lcm)
eq, ne = binary(e.eq, in_place=changing), binary(e.ne, in_place=changing)
lt, le = binary(e.lt, in_place=changing), binary(e.le, in_place=changing)
gt, ge = binary(e.gt, in_place=changing), binary(e.ge, in_place=changing)
logical_and, logical_or = binary(e.logical_and, in_place=changing), binary(e.logical_or, in_place=changing)
logical_xor, logical_not = binary(e.logical_xor, in_place=changing), unary(e.logical_not, in_place=changing)
bitwise_and, bitwise_or, bitwise_xor = binary(e.bitwise_and), binary(e.bitwise_or), binary(e.bitwise_xor)
bitwise_left_shift, bitwise_right_shift = binary(e.bitwise_left_shift), binary(e.bitwise_right_shift)

absolute, fix, multiply, arctan2 = abs, trunc, mul, atan2
arcsin, arccos, arctan, arcsinh, arccosh, arctanh = asin, acos, atan, asinh, acosh, atanh
greater, greater_equal, less, less_equal, not_equal = gt, ge, lt, le, ne
_TO_INVERT = "If you are trying to invert a mask, use the `~` or `logical_not()` operator instead."


@method(in_place=by(e.sign))
def sgn(input: Tensor) -> Tensor:
    """The sign, -1, 0 or 1, elementwise. For complex numbers, x / |x|, or 0 if x is 0."""
    return apply(e.sign, (input,))


@method(in_place=by(e.sign))
def sign(input: Tensor) -> Tensor:
    """The sign, -1, 0 or 1, elementwise. Raises RuntimeError for a complex tensor."""
    if input.is_complex():
        raise RuntimeError("sign is not intended to support complex numbers: use sgn")
    return apply(e.sign, (input,))


@method(in_place=by(e.neg))
def neg(input: Tensor) -> Tensor:
    """-x, elementwise. Raises RuntimeError for a bool tensor."""
    if input.array.dtype.kind == "b":
        raise RuntimeError(f"Negation, the `-` operator, on a bool tensor is not supported. {_TO_INVERT}")
    return apply(e.neg, (input,))


negative = neg


@method
@factors_first
def add(input: Tensor, other: Tensor | Scalar, *, alpha: Scalar = 1) -> Tensor:
    """input + alpha · other, elementwise; the operands broadcast.

    >>> mg.add(mg.tensor([1, 2]), mg.tensor([3, 4]), alpha=10)
    tensor([31, 42])
    """
    return _sum(e.add, *pair(e.add, input, other), alpha)


def _sum(op: Op, left: Any, right: Any, alpha: Scalar) -> Tensor:
    """left ± alpha · right. Raises RuntimeError if alpha is a float but both operands are integers."""
    if isinstance(alpha, float) and not any(_is_inexact(v) for v in (left, right)):
        raise RuntimeError("For integral input tensors, argument alpha must not be a floating point number.")
    return apply(op, (left, right)) if alpha == 1 else _weighted_sum(op, left, right, alpha)


@rounded_once
def _weighted_sum(op: Op, left: Any, right: Any, alpha: Scalar) -> Tensor:
    of_bools = hasattr(right, "array") and _is_bool(left) and _is_bool(right)
    return apply(op, (left, scaled(right, alpha) if of_bools else right * alpha))


def _is_inexact(operand: Any) -> bool:
    return kind_of(operand.array) in "fc" if hasattr(operand, "array") else isinstance(operand, (float, complex))


def level(value: Tensor, *inputs: Any) -> Tensor:
    """Record a value as locally constant in its inputs, so that they get gradients of 0 instead of None."""
    tensors = [x for x in inputs if isinstance(x, Tensor) and x.requires_grad]
    return apply(e.level, (value, *tensors)) if tensors else value


def _is_bool(operand: Any) -> bool:
    return isinstance(operand, bool) or (hasattr(operand, "array") and operand.array.dtype.kind == "b")


@method
@factors_first
def sub(input: Tensor, other: Tensor | Scalar, *, alpha: Scalar = 1) -> Tensor:
    """input - alpha · other, elementwise; the operands broadcast. Raises RuntimeError if either is bool."""
    left, right = pair(e.sub, input, other)
    if _is_bool(left) or _is_bool(right):
        raise RuntimeError(f"Subtraction, the `-` operator, with a bool tensor is not supported. {_TO_INVERT}")
    return _sum(e.sub, left, right, alpha)


subtract = sub


@method(in_place=by(e.div))
def div(input: Tensor, other: Tensor | Scalar, *, rounding_mode: str | None = None) -> Tensor:
    """input / other, elementwise. A ``rounding_mode`` of "floor" or "trunc" rounds the quotient.

    >>> mg.tensor([7, -7]).div(2, rounding_mode="floor")
    tensor([ 3, -4])
    """
    operands = pair(e.div, input, other)
    if rounding_mode is None:
        return apply(e.div, operands)
    if rounding_mode == "floor":
        return level(apply(e.floor_divide, operands), *operands)
    if rounding_mode == "trunc":
        quotient = apply(e.trunc, (apply(e.div, operands),))
        kind = result_type(*map(raw, operands))
        return quotient if kind.is_floating_point else quotient.to(kind)
    raise RuntimeError(f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found {rounding_mode!r}")


divide = div


@method(in_place=True)
def round(input: Tensor, *, decimals: int = 0) -> Tensor:
    """Round each element to the nearest integer, or to ``decimals`` decimal places. Ties round to even.

    >>> mg.tensor([1.25, 2.5]).round(decimals=1)
    tensor([1.2000, 2.5000])
    """
    return apply(e.round, (input, decimals))


@method(in_place=by(e.clamp))
def clamp(input: Tensor, min: Tensor | Scalar | None = None, max: Tensor | Scalar | None = None) -> Tensor:
    """input clamped to [min, max]. The bounds may be numbers or tensors.

    >>> mg.tensor([-2.0, 0.5, 3.0]).clamp(0, 1)
    tensor([0.0000, 0.5000, 1.0000])
    """
    if min is None and max is None:
        raise RuntimeError("clamp: At least one of 'min' or 'max' must not be None")
    if isinstance(min, type(input)) or isinstance(max, type(input)):
        return apply(e.clamp, (input, min, max))
    if not input.is_floating_point() and (isinstance(min, float) or isinstance(max, float)):
        input = input.float()
    return apply(e.clamp, (input, raw(min), raw(max)))


clip = clamp


@overload
def where(condition: Tensor) -> tuple[Tensor, ...]: ...
@overload
def where(condition: Tensor, input: Tensor | Scalar, other: Tensor | Scalar) -> Tensor: ...


@function
def where(condition: Tensor, input: Tensor | Scalar | None = None, other: Tensor | Scalar | None = None) -> Any:
    """input where the condition is True and other elsewhere. With one argument, the indices where it is True.

    >>> x = mg.tensor([-1.0, 2.0])
    >>> mg.where(x > 0, x, 0.0)
    tensor([0., 2.])
    """
    if input is None and other is None:
        return condition.nonzero(as_tuple=True)
    if condition.array.dtype.kind != "b":
        raise RuntimeError(f"where expected condition to be a boolean tensor, but got one of {condition.dtype}")
    a, b = operand(input, condition), operand(other, condition)
    if not hasattr(a, "array") and not hasattr(b, "array"):
        a = as_tensor_like(a, condition)
    common = result_type(raw(a), raw(b))
    a, b = (v.to(common) if hasattr(v, "array") else v for v in (a, b))
    return apply(e.where, (condition, a, b))


@method(in_place=by(e.lerp))
def lerp(input: Tensor, end: Tensor, weight: Tensor | Scalar) -> Tensor:
    """input + weight · (end - input).

    >>> mg.lerp(mg.tensor([0.0]), mg.tensor([10.0]), 0.25)
    tensor([2.5000])
    """
    return apply(e.lerp, (input, end, operand(weight, input)))


@method(in_place=True)
def nan_to_num(input: Tensor, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None) -> Tensor:
    """Replace NaN with ``nan``, and infinities with ``posinf`` and ``neginf`` (by default, the largest finite numbers).

    >>> mg.tensor([float("nan"), 1.0]).nan_to_num(0.0)
    tensor([0., 1.])
    """
    if input.dtype is bfloat16:  # its largest number differs from float32's
        limit = finfo(bfloat16).max
        posinf, neginf = limit if posinf is None else posinf, -limit if neginf is None else neginf
    return apply(e.nan_to_num, (input, nan, posinf, neginf))


@spelled
def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """x Φ(x) (Hendrycks and Gimpel 2016), exact or with the tanh approximation."""
    if approximate not in ("none", "tanh"):
        raise RuntimeError(f"approximate argument must be either none or tanh, not {approximate!r}")
    return apply(activation.gelu, (input, approximate))


@method
def softmax(input: Tensor, dim: int, dtype: Any = None) -> Tensor:
    """eˣ / Σ eˣ along ``dim``, computed in ``dtype`` (by default the input's dtype).

    >>> mg.tensor([0.0, 0.0, 0.0, 0.0]).softmax(dim=0)
    tensor([0.2500, 0.2500, 0.2500, 0.2500])
    """
    input = input if dtype is None else input.to(dtype)
    return apply(rows.softmax, (input, axis(dim, input.array.ndim)))


@method
def log_softmax(input: Tensor, dim: int, dtype: Any = None) -> Tensor:
    """The logarithm of softmax along ``dim``, computed without loss of precision."""
    input = input if dtype is None else input.to(dtype)
    return apply(rows.log_softmax, (input, axis(dim, input.array.ndim)))


@method
def clone(input: Tensor, *, memory_format: Any = None) -> Tensor:
    """A copy through which gradients flow, in the tensor's memory order or in a memory format.

    >>> x = mg.tensor([1.0])
    >>> y = x.clone()
    >>> y[0] = 2
    >>> x, y
    (tensor([1.]), tensor([2.]))
    """
    order = None if memory_format is None else memory_format.order(input.array.ndim)
    return apply(e.clone, (input,) if order is None else (input, order))


@function
def rsub(input: Tensor, other: Tensor | Scalar, *, alpha: Scalar = 1) -> Tensor:
    """other - alpha · input."""
    if not hasattr(input, "array") and not hasattr(other, "array"):
        raise TypeError(f"rsub(): one of the arguments must be a Tensor, not {type(input).__name__}")
    left: Any = as_tensor_like(other, input) if _is_bool(input) else other
    return sub(left, input if alpha == 1 else input * alpha)


@method(in_place=by(e.addcmul))
@factors_first
def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Scalar = 1) -> Tensor:
    """input + value · tensor1 · tensor2."""
    return apply(e.addcmul, (input, tensor1, tensor2, value))


@method(in_place=by(e.addcdiv))
@factors_first
def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Scalar = 1) -> Tensor:
    """input + value · tensor1 / tensor2."""
    return apply(e.addcdiv, (input, tensor1, tensor2, value))


_IN_PLACE_TOO = {
    "clamp_min": (lambda input, min: clamp(input, min), "input clamped to at least ``min``."),
    "clamp_max": (lambda input, max: clamp(input, None, max), "input clamped to at most ``max``."),
    "frac": (lambda input: input - trunc(input), "The fractional part, input - trunc(input)."),
    "deg2rad": (lambda input: input * (math.pi / 180), "Convert degrees to radians."),
    "rad2deg": (lambda input: input * (180 / math.pi), "Convert radians to degrees."),
    "ldexp": (lambda input, other: input * exp2(other), "input · 2ᵒᵗʰᵉʳ."),
    "heaviside": (
        lambda input, values: where(input == 0, values, (input > 0).to(input.dtype)),
        "0 where input < 0, 1 where input > 0, and ``values`` where input is 0. NaN becomes 0, as in PyTorch.",
    ),
}
_NEW = {
    "positive": (lambda input: input, "The tensor itself."),
    "isposinf": (lambda input: input == math.inf, "Whether each element is +inf."),
    "isneginf": (lambda input: input == -math.inf, "Whether each element is -inf."),
    "signbit": (
        lambda input: wrap(xp(input.array).signbit(input.array)) if input.is_floating_point() else input < 0,
        "Whether each element has a minus sign, including -0.0.",
    ),
    "fmax": (lambda input, other: _unless_nan(e.ge, *_promoted(input, other)), "The maximum, ignoring NaN."),
    "fmin": (lambda input, other: _unless_nan(e.le, *_promoted(input, other)), "The minimum, ignoring NaN."),
}
globals().update(brief(method(in_place=True), _IN_PLACE_TOO) | brief(method, _NEW))


def _unless_nan(comparison: Op, a: Tensor, b: Tensor) -> Tensor:
    """a where the comparison is true, else b. If one of them is NaN, the result is the other."""
    return where(apply(comparison, (a, b)) | isnan(b), a, b)


@method(in_place=True)
@rounded_once
def logit(input: Tensor, eps: float | None = None) -> Tensor:
    """ln(p / (1 - p)), the inverse of sigmoid. Unless eps is None, p is first clamped to [eps, 1 - eps]."""
    p = input if input.is_floating_point() or input.is_complex() else input.to(get_default_dtype())
    p = p if eps is None else clamp(p, eps, 1 - eps)
    return apply(e.logit, (p,))


@method
@rounded_once
def logaddexp2(input: Tensor, other: Tensor) -> Tensor:
    """log₂(2ᵃ + 2ᵇ)."""
    input, other = _promoted(input, other)
    return logaddexp(input * math.log(2), other * math.log(2)) / math.log(2)


def _promoted(input: Tensor, other: Tensor) -> tuple[Tensor, Tensor]:
    common = result_type(input.array, other.array)
    return input.to(common), other.to(common)


@method(in_place=True)
def float_power(input: Any, exponent: Any) -> Tensor:
    """input to the power of ``exponent``, in float64, or in complex128 if either is complex."""
    pair = (input, exponent)
    return pow(*(v.to(complex128 if v.is_complex() else float64) if hasattr(v, "array") else v for v in pair))


@method
def frexp(input: Tensor) -> return_types.frexp[Tensor]:
    """(mantissa, exponent), where input = mantissa · 2^exponent and 1/2 <= |mantissa| < 1. The exponent is int32."""
    exponent = wrap(xp(input.array).frexp(input.array)[1].astype(np.int32))
    half = exponent // 2  # in two steps, as 2^1074 is infinite
    near = input * exp2(-half.to(input.dtype))
    return return_types.frexp(near * exp2((half - exponent).to(input.dtype)), exponent)
