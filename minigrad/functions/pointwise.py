"""Functions of each element, by PyTorch's names; each is a function and a method of Tensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..autograd.tape import apply
from ..backend.dtype import result_type
from ..ops import elementwise as e
from ..ops.activation import gelu as _gelu
from ..ops.op import Op
from .arguments import Scalar, as_tensor_like, axis, operand, raw

if TYPE_CHECKING:
    from ..tensor import Tensor

Unary = Callable[["Tensor"], "Tensor"]
Binary = Callable[["Tensor", Any], "Tensor"]


def _unary(op: Op, name: str = "") -> Unary:
    """The function of one tensor that an op gives."""

    def function(input: Tensor) -> Tensor:
        return apply(op, (input,))

    function.__name__ = function.__qualname__ = name or op.name
    function.__doc__ = f"{op.__doc__}, elementwise."
    return function


def _binary(op: Op, name: str = "") -> Binary:
    """The function of two tensors, or of a tensor and a scalar, that an op gives."""

    def function(input: Tensor, other: Tensor | Scalar) -> Tensor:
        return apply(op, pair(op, input, other))

    function.__name__ = function.__qualname__ = name or op.name
    function.__doc__ = f"{op.__doc__}, elementwise; the operands broadcast."
    return function


def pair(op: Op, input: Any, other: Any) -> tuple[Any, Any]:
    """Both operands in the form that ops take."""
    if not hasattr(input, "array"):
        return operand(input, other), other
    found = operand(other, input)
    if found is NotImplemented:
        raise TypeError(
            f"{op.name}(): argument 'other' must be a Tensor or a number, not {type(other).__name__}"
        )
    return input, found


abs = _unary(e.abs)
absolute = abs
neg = _unary(e.neg)
negative = neg
sign = _unary(e.sign)
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
erf = _unary(e.erf)
relu = _unary(e.relu)
sigmoid = _unary(e.sigmoid)
floor = _unary(e.floor)
ceil = _unary(e.ceil)
trunc = _unary(e.trunc)
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
eq = _binary(e.eq)
ne = _binary(e.ne)
lt = _binary(e.lt)
le = _binary(e.le)
gt = _binary(e.gt)
ge = _binary(e.ge)
logical_and = _binary(e.logical_and)
logical_or = _binary(e.logical_or)
logical_xor = _binary(e.logical_xor)
bitwise_and = _binary(e.bitwise_and)
bitwise_or = _binary(e.bitwise_or)
bitwise_xor = _binary(e.bitwise_xor)
mul = _binary(e.mul)
multiply = mul


def add(input: Tensor, other: Tensor | Scalar, *, alpha: Scalar = 1) -> Tensor:
    """input + alpha · other, elementwise; the operands broadcast."""
    left, right = pair(e.add, input, other)
    return apply(e.add, (left, right if alpha == 1 else right * alpha))


def sub(input: Tensor, other: Tensor | Scalar, *, alpha: Scalar = 1) -> Tensor:
    """input - alpha · other, elementwise; the operands broadcast."""
    left, right = pair(e.sub, input, other)
    return apply(e.sub, (left, right if alpha == 1 else right * alpha))


subtract = sub


def div(input: Tensor, other: Tensor | Scalar, *, rounding_mode: str | None = None) -> Tensor:
    """input / other, elementwise; ``rounding_mode`` "floor" or "trunc" rounds the quotient."""
    operands = pair(e.div, input, other)
    if rounding_mode is None:
        return apply(e.div, operands)
    if rounding_mode == "floor":
        return apply(e.floor_divide, operands)
    if rounding_mode == "trunc":
        quotient = apply(e.trunc, (apply(e.div, operands),))
        return quotient if input.is_floating_point() else quotient.to(input.dtype)
    raise RuntimeError(
        f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found {rounding_mode!r}"
    )


divide = div


def round(input: Tensor, *, decimals: int = 0) -> Tensor:
    """The nearest integer, halves to even, elementwise."""
    return apply(e.round, (input, decimals))


def clamp(input: Tensor, min: Tensor | Scalar | None = None, max: Tensor | Scalar | None = None) -> Tensor:
    """input held within [min, max]; bounds are numbers or tensors."""
    if min is None and max is None:
        raise ValueError("clamp: at least one of min or max must not be None")
    if isinstance(min, type(input)) or isinstance(max, type(input)):
        low = input if min is None else maximum(input, min)
        return low if max is None else minimum(low, max)
    if not input.is_floating_point() and (isinstance(min, float) or isinstance(max, float)):
        input = input.float()
    return apply(e.clamp, (input, raw(min), raw(max)))


clip = clamp


def clamp_min(input: Tensor, min: Scalar) -> Tensor:
    """input, at least ``min``."""
    return clamp(input, min=min)


def clamp_max(input: Tensor, max: Scalar) -> Tensor:
    """input, at most ``max``."""
    return clamp(input, max=max)


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


def lerp(input: Tensor, end: Tensor, weight: Tensor | Scalar) -> Tensor:
    """input + weight · (end - input)."""
    return apply(e.lerp, (input, end, operand(weight, input)))


def nan_to_num(
    input: Tensor, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None
) -> Tensor:
    """input with NaN and infinities replaced (infinities by default by the largest finite numbers)."""
    return apply(e.nan_to_num, (input, nan, posinf, neginf))


def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """x Φ(x) (Hendrycks and Gimpel 2016), exact or by its tanh formula."""
    if approximate not in ("none", "tanh"):
        raise RuntimeError(f"approximate argument must be either none or tanh, not {approximate!r}")
    return apply(_gelu, (input, approximate))


def softmax(input: Tensor, dim: int, dtype: Any = None) -> Tensor:
    """eˣ / Σ eˣ along ``dim``, computed in ``dtype`` if one is given."""
    from ..ops.softmax import softmax as op

    input = input if dtype is None else input.to(dtype)
    return apply(op, (input, axis(dim, input.array.ndim)))


def log_softmax(input: Tensor, dim: int, dtype: Any = None) -> Tensor:
    """The logarithm of softmax along ``dim``, in a form that loses no precision."""
    from ..ops.softmax import log_softmax as op

    input = input if dtype is None else input.to(dtype)
    return apply(op, (input, axis(dim, input.array.ndim)))


def clone(input: Tensor, *, memory_format: Any = None) -> Tensor:
    """A copy in memory of its own, through which gradients flow."""
    return apply(e.clone, (input,))
