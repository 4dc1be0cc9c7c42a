"""Functions of each element, by PyTorch's names; each is a function and a method of Tensor."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd.calls import apply
from ..autograd.tape import Variable, wrap
from ..backend import xp
from ..backend.dtype import as_dtype, result_type
from ..ops import elementwise as e
from ..ops.activation import gelu as _gelu
from ..ops.op import Op
from . import return_types
from .arguments import Scalar, as_tensor_like, axis, factors_first, operand, raw, spelled

if TYPE_CHECKING:
    from ..tensor import Tensor

Unary = Callable[..., "Tensor"]
Binary = Callable[..., "Tensor"]


_OF_NUMBERS = {e.add, e.sub, e.mul, e.div, e.floor_divide}  # these also take two numbers


def _unary(op: Op, name: str = "") -> Unary:
    """The function of one tensor that an op gives."""

    @spelled
    def function(input: Tensor) -> Tensor:
        return apply(op, (input,))

    function.__name__ = function.__qualname__ = name or op.name
    function.__doc__ = f"{op.__doc__}, elementwise."
    return function


def _binary(op: Op, name: str = "") -> Binary:
    """The function of two tensors, or of a tensor and a scalar, that an op gives."""

    @spelled
    def function(input: Tensor, other: Tensor | Scalar) -> Tensor:
        return apply(op, pair(op, input, other))

    function.__name__ = function.__qualname__ = name or op.name
    function.__doc__ = f"{op.__doc__}, elementwise; the operands broadcast."
    return function


def pair(op: Op, input: Any, other: Any) -> tuple[Any, Any]:
    """Both operands in the form that ops take."""
    if isinstance(input, Variable) and isinstance(other, Variable):
        return input, other
    if not hasattr(input, "array"):
        if not hasattr(other, "array") and op in _OF_NUMBERS:
            return wrap(np.asarray(input, as_dtype(type(input)).numpy)), other
        return operand(input, other), other
    found = operand(other, input)
    if found is NotImplemented:
        raise TypeError(f"{op.name}(): argument 'other' must be a Tensor or a number, not {type(other).__name__}")
    return input, found


abs = _unary(e.abs)
absolute = abs


@spelled
def neg(input: Tensor) -> Tensor:
    """-x, elementwise.

    Raises:
        RuntimeError: a bool tensor.
    """
    if input.array.dtype.kind == "b":
        raise RuntimeError(
            "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a "
            "mask, use the `~` or `logical_not()` operator instead."
        )
    return apply(e.neg, (input,))


negative = neg
sign = _unary(e.sign)
sgn = sign
square = _unary(e.square)
sqrt = _unary(e.sqrt)
rsqrt = _unary(e.rsqrt)
reciprocal = _unary(e.reciprocal)
exp = _unary(e.exp)
exp2 = _unary(e.exp2)
expm1 = _unary(e.expm1)
log = _unary(e.log)
log2 = _unary(e.log2)
log10 = _unary(e.log10)
log1p = _unary(e.log1p)
sin = _unary(e.sin)
cos = _unary(e.cos)
tan = _unary(e.tan)
atan = _unary(e.atan)
arctan = atan
tanh = _unary(e.tanh)
asin, acos, sinh, cosh = _unary(e.asin), _unary(e.acos), _unary(e.sinh), _unary(e.cosh)
asinh, acosh, atanh = _unary(e.asinh), _unary(e.acosh), _unary(e.atanh)
arcsin, arccos, arcsinh, arccosh, arctanh = asin, acos, asinh, acosh, atanh
erf = _unary(e.erf)
erfc, erfinv = _unary(e.erfc), _unary(e.erfinv)
relu = _unary(e.relu)
sigmoid = _unary(e.sigmoid)
floor = _unary(e.floor)
ceil = _unary(e.ceil)
trunc = _unary(e.trunc)
fix = trunc
logical_not = _unary(e.logical_not)
bitwise_not = _unary(e.bitwise_not)
isnan = _unary(e.isnan)
isinf = _unary(e.isinf)
isfinite = _unary(e.isfinite)

true_divide = _binary(e.div, "true_divide")
pow = _binary(e.pow)
remainder = _binary(e.remainder)
fmod = _binary(e.fmod)
floor_divide = _binary(e.floor_divide)
maximum = _binary(e.maximum)
minimum = _binary(e.minimum)
atan2 = _binary(e.atan2)
arctan2 = atan2
hypot, logaddexp = _binary(e.hypot), _binary(e.logaddexp)
eq = _binary(e.eq)
ne = _binary(e.ne)
lt = _binary(e.lt)
le = _binary(e.le)
gt = _binary(e.gt)
ge = _binary(e.ge)
greater, greater_equal, less, less_equal, not_equal = gt, ge, lt, le, ne
logical_and = _binary(e.logical_and)
logical_or = _binary(e.logical_or)
logical_xor = _binary(e.logical_xor)
bitwise_and = _binary(e.bitwise_and)
bitwise_or = _binary(e.bitwise_or)
bitwise_xor = _binary(e.bitwise_xor)
bitwise_left_shift = _binary(e.bitwise_left_shift)
bitwise_right_shift = _binary(e.bitwise_right_shift)
mul = _binary(e.mul)
multiply = mul


@factors_first
@spelled
def add(input: Tensor, other: Tensor | Scalar, *, alpha: Scalar = 1) -> Tensor:
    """input + alpha · other, elementwise; the operands broadcast."""
    left, right = pair(e.add, input, other)
    return apply(e.add, (left, right if alpha == 1 else right * alpha))


def _is_bool(operand: Any) -> bool:
    return isinstance(operand, bool) or (hasattr(operand, "array") and operand.array.dtype.kind == "b")


@factors_first
@spelled
def sub(input: Tensor, other: Tensor | Scalar, *, alpha: Scalar = 1) -> Tensor:
    """input - alpha · other, elementwise; the operands broadcast.

    Raises:
        RuntimeError: one of them is bool.
    """
    left, right = pair(e.sub, input, other)
    if _is_bool(left) or _is_bool(right):
        raise RuntimeError(
            "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert "
            "a mask, use the `~` or `logical_not()` operator instead."
        )
    return apply(e.sub, (left, right if alpha == 1 else right * alpha))


subtract = sub


@spelled
def div(input: Tensor, other: Tensor | Scalar, *, rounding_mode: str | None = None) -> Tensor:
    """input / other, elementwise; ``rounding_mode`` "floor" or "trunc" rounds the quotient."""
    operands = pair(e.div, input, other)
    if rounding_mode is None:
        return apply(e.div, operands)
    if rounding_mode == "floor":
        return apply(e.floor_divide, operands)
    if rounding_mode == "trunc":
        quotient = apply(e.trunc, (apply(e.div, operands),))
        kind = result_type(*map(raw, operands))
        return quotient if kind.is_floating_point else quotient.to(kind)
    raise RuntimeError(f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found {rounding_mode!r}")


divide = div


@spelled
def round(input: Tensor, *, decimals: int = 0) -> Tensor:
    """The nearest integer, halves to even, elementwise."""
    return apply(e.round, (input, decimals))


@spelled
def clamp(input: Tensor, min: Tensor | Scalar | None = None, max: Tensor | Scalar | None = None) -> Tensor:
    """input held within [min, max]; bounds are numbers or tensors."""
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    if isinstance(min, type(input)) or isinstance(max, type(input)):
        low = input if min is None else maximum(input, min)
        return low if max is None else minimum(low, max)
    if not input.is_floating_point() and (isinstance(min, float) or isinstance(max, float)):
        input = input.float()
    return apply(e.clamp, (input, raw(min), raw(max)))


clip = clamp


@spelled
def clamp_min(input: Tensor, min: Scalar) -> Tensor:
    """input, at least ``min``."""
    return clamp(input, min=min)


@spelled
def clamp_max(input: Tensor, max: Scalar) -> Tensor:
    """input, at most ``max``."""
    return clamp(input, max=max)


@spelled
def where(condition: Tensor, input: Any = None, other: Any = None) -> Any:
    """input where the condition holds and other elsewhere; with one argument, the indices where it holds."""
    if input is None and other is None:
        from .indexing import nonzero

        return nonzero(condition, as_tuple=True)
    if condition.array.dtype.kind != "b":
        raise RuntimeError(
            f"where expected condition to be a boolean tensor, but got a tensor with dtype {condition.dtype}"
        )
    a, b = operand(input, condition), operand(other, condition)
    if not hasattr(a, "array") and not hasattr(b, "array"):
        a = as_tensor_like(a, condition)
    common = result_type(raw(a), raw(b))
    a, b = (v.to(common) if hasattr(v, "array") else v for v in (a, b))
    return apply(e.where, (condition, a, b))


@spelled
def lerp(input: Tensor, end: Tensor, weight: Tensor | Scalar) -> Tensor:
    """input + weight · (end - input)."""
    return apply(e.lerp, (input, end, operand(weight, input)))


@spelled
def nan_to_num(input: Tensor, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None) -> Tensor:
    """input with NaN and infinities replaced (infinities by default by the largest finite numbers)."""
    return apply(e.nan_to_num, (input, nan, posinf, neginf))


def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """x Φ(x) (Hendrycks and Gimpel 2016), exact or by its tanh formula."""
    if approximate not in ("none", "tanh"):
        raise RuntimeError(f"approximate argument must be either none or tanh, not {approximate!r}")
    return apply(_gelu, (input, approximate))


@spelled
def softmax(input: Tensor, dim: int, dtype: Any = None) -> Tensor:
    """eˣ / Σ eˣ along ``dim``, computed in ``dtype`` if one is given."""
    from ..ops.softmax import softmax as op

    input = input if dtype is None else input.to(dtype)
    return apply(op, (input, axis(dim, input.array.ndim)))


@spelled
def log_softmax(input: Tensor, dim: int, dtype: Any = None) -> Tensor:
    """The logarithm of softmax along ``dim``, in a form that loses no precision."""
    from ..ops.softmax import log_softmax as op

    input = input if dtype is None else input.to(dtype)
    return apply(op, (input, axis(dim, input.array.ndim)))


@spelled
def clone(input: Tensor, *, memory_format: Any = None) -> Tensor:
    """A copy in memory of its own, through which gradients flow."""
    return apply(e.clone, (input,))


# Made of others -------------------------------------------------------------------------------------------


@spelled
def rsub(input: Tensor, other: Tensor | Scalar, *, alpha: Scalar = 1) -> Tensor:
    """other - alpha · input."""
    scaled = input if alpha == 1 else input * alpha
    left: Any = as_tensor_like(other, input) if _is_bool(input) else other
    return sub(left, scaled)


@factors_first
@spelled
def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Scalar = 1) -> Tensor:
    """input + value · tensor1 · tensor2."""
    return input + (tensor1 * tensor2 if value == 1 else tensor1 * tensor2 * value)


@factors_first
@spelled
def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Scalar = 1) -> Tensor:
    """input + value · tensor1 / tensor2."""
    return input + (tensor1 / tensor2 if value == 1 else tensor1 / tensor2 * value)


@spelled
def positive(input: Tensor) -> Tensor:
    """The tensor itself."""
    return input


@spelled
def frac(input: Tensor) -> Tensor:
    """The fraction: input - trunc(input)."""
    return input - trunc(input)


@spelled
def deg2rad(input: Tensor) -> Tensor:
    """Degrees as radians."""
    return input * (math.pi / 180)


@spelled
def rad2deg(input: Tensor) -> Tensor:
    """Radians as degrees."""
    return input * (180 / math.pi)


@spelled
def logit(input: Tensor, eps: float | None = None) -> Tensor:
    """ln(p / (1 - p)), the inverse of sigmoid; p is held within [eps, 1 - eps] if that is given."""
    p = input if eps is None else clamp(input, eps, 1 - eps)
    return log(p / (1 - p))


@spelled
def sinc(input: Tensor) -> Tensor:
    """sin(πx) / (πx), 1 at 0."""
    zero = input == 0
    angle = masked(input, zero, 1.0) * math.pi
    return masked(sin(angle) / angle, zero, 1.0)


@spelled
def xlogy(input: Any, other: Any) -> Tensor:
    """input · ln(other), 0 where the input is 0 and the other is no NaN."""
    like = input if hasattr(input, "array") else other
    input, other = as_tensor_like(input, like), as_tensor_like(other, like)
    nothing = logical_and(input == 0, logical_not(isnan(other)))
    return masked(input * log(where(nothing, 1.0, other)), nothing, 0.0)


def masked(input: Tensor, mask: Tensor, value: float) -> Tensor:
    """``masked_fill`` with a mask that may have more axes."""
    return where(mask, value, input)


@spelled
def heaviside(input: Tensor, values: Tensor) -> Tensor:
    """0 below 0, 1 above, and at 0 ``values``."""
    return where(input == 0, values, where(isnan(input), input, (input > 0).to(input.dtype)))


@spelled
def logaddexp2(input: Tensor, other: Tensor) -> Tensor:
    """log₂(2ᵃ + 2ᵇ)."""
    return logaddexp(input * math.log(2), other * math.log(2)) / math.log(2)


@spelled
def fmax(input: Tensor, other: Tensor) -> Tensor:
    """The larger of two; of a NaN and a number, the number."""
    return where((input >= other) | isnan(other), input, other)


@spelled
def fmin(input: Tensor, other: Tensor) -> Tensor:
    """The smaller of two; of a NaN and a number, the number."""
    return where((input <= other) | isnan(other), input, other)


@spelled
def float_power(input: Any, exponent: Any) -> Tensor:
    """input to the power of ``exponent``, in float64."""
    input, exponent = (v.double() if hasattr(v, "array") else float(v) for v in (input, exponent))
    return pow(input, exponent)


@spelled
def ldexp(input: Tensor, other: Tensor) -> Tensor:
    """input · 2ᵒᵗʰᵉʳ."""
    return input * exp2(other)


@spelled
def copysign(input: Tensor, other: Tensor | Scalar) -> Tensor:
    """|input| with the sign of ``other``, which -0.0 has too."""
    signs: Any = as_tensor_like(other, input)
    negative = signbit(signs)
    return where(negative, -abs(input), abs(input))


@spelled
def signbit(input: Tensor) -> Tensor:
    """Whether the sign is minus, also of -0.0."""
    return wrap(xp(input.array).signbit(input.array)) if input.is_floating_point() else input < 0


@spelled
def isposinf(input: Tensor) -> Tensor:
    """Whether it is +inf."""
    return input == math.inf


@spelled
def isneginf(input: Tensor) -> Tensor:
    """Whether it is -inf."""
    return input == -math.inf


@spelled
@spelled
def gcd(input: Tensor, other: Tensor) -> Tensor:
    """The greatest common divisor of integers."""
    return wrap(xp(input.array).gcd(input.array, raw(other)))


@spelled
def lcm(input: Tensor, other: Tensor) -> Tensor:
    """The least common multiple of integers."""
    return wrap(xp(input.array).lcm(input.array, raw(other)))


@spelled
def frexp(input: Tensor) -> return_types.frexp:
    """(mantissa, exponent): input = mantissa · 2^exponent with 1/2 <= |mantissa| < 1; the exponent int32."""
    exponent = wrap(xp(input.array).frexp(input.array)[1].astype(np.int32))
    half = exponent // 2  # in two steps, as 2^1074 alone is infinite
    near = input * exp2(-half.to(input.dtype))
    return return_types.frexp(near * exp2((half - exponent).to(input.dtype)), exponent)


@spelled
def nextafter(input: Tensor, other: Tensor) -> Tensor:
    """The next number of the dtype after ``input`` towards ``other``."""
    return wrap(xp(input.array).nextafter(input.array, other.array))
