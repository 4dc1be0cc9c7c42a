"""Arithmetic and elementwise functions. Operands broadcast; the backward pass sums gradients over broadcast axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..backend import Device, dtype as dt, for_device, holds, of, where_holds, xp
from ..backend.dtype import Array
from ..backend.order import in_order, memory_order
from ..backend.special import complementary_error_function, error_function, inverse_error_function
from .op import Rule, bare, expression, op


def smooth(name: str, about: str, forward: Rule, formula: str, rule: Rule) -> Any:
    """An op for a holomorphic function of one variable."""
    return expression(name, about, forward, formula, x=rule, promote="float", holomorphic=True)


add = expression("add", "a + b", lambda a, b: a + b, "da = g; db = g", a=lambda g: g, b=lambda g: g, promote="same")
sub = expression("sub", "a - b", lambda a, b: a - b, "da = g; db = −g", a=lambda g: g, b=lambda g: -g, promote="same")


@op("da = g b; db = g a", a=lambda g, b: g * b, b=lambda g, a: g * a, promote="same", holomorphic=True)
def mul(a: Array, b: Array) -> Array:
    """a b"""
    return a * b


@op("da = g b; db = g a", a=lambda g, b: times(g, b), b=lambda g, a: times(g, a), promote="same", holomorphic=True)
def times(a: Array, b: Array) -> Array:
    """a b, but 0 where one factor is 0 and the other is infinite because a product of finite numbers overflowed"""
    m, out = xp(_array_of(a, b)), a * b
    overflow = m.isnan(out) & ((a == 0) | (b == 0)) & ~m.isnan(a) & ~m.isnan(b)
    return m.where(overflow, out.dtype.type(0), out)


# The rule for b divides twice, since b * b could underflow.
@op(
    "da = g / b; db = −g a / b²",
    a=lambda g, b: g / b,
    b=lambda g, a, b: -g * ((a / b) / b),
    promote="float",
    holomorphic=True,
)
def div(a: Array, b: Array) -> Array:
    """a / b"""
    return xp(_array_of(a, b)).true_divide(a, b)


def _check_divisor(a: Array, b: Array) -> None:
    """Raise an error for integer division by 0 (only on the CPU, as the check would have to wait for a GPU)."""
    array = _array_of(a, b)
    empty = any(getattr(v, "size", 1) == 0 for v in (a, b))
    if not empty and array.dtype.kind in "iu" and of(array).device_type == "cpu" and not xp(array).all(b):
        raise RuntimeError("ZeroDivisionError: integer division by zero")


# CuPy's ⌊a / b⌋ is wrong if a / b rounds up or b is infinite, so on GPUs both ops use fmod, which is exact.


@op(promote="same")
def floor_divide(a: Array, b: Array) -> Array:
    """⌊a / b⌋, constant almost everywhere"""
    _check_divisor(a, b)
    array = _array_of(a, b)
    m = xp(array)
    if type(array) is np.ndarray or array.dtype.kind != "f":
        return m.floor_divide(a, b)
    rest = m.fmod(a, b)
    return m.where(m.isnan(rest) & (b == 0), a / b, m.rint((a - rest) / b) - ((rest != 0) & ((rest < 0) != (b < 0))))


def _remainder_grad(g: Array, a: Array, b: Array, out: Array) -> Array:
    """-g ⌊a / b⌋ as a constant, computed from the remainder if that is finite, else from the quotient."""
    x, y, rest = bare(a), bare(b), bare(out)
    return -g * level(where(isfinite(rest), round((x - rest) / y), floor_divide(x, y)), a, b)


@op("da = g; db = −g ⌊a / b⌋", a=lambda g: g, b=_remainder_grad, promote="same")
def remainder(a: Array, b: Array) -> Array:
    """a - ⌊a / b⌋ b, with the sign of b"""
    _check_divisor(a, b)
    array = _array_of(a, b)
    m = xp(array)
    if type(array) is np.ndarray or array.dtype.kind != "f":
        return m.remainder(a, b)
    rest = m.fmod(a, b)
    return m.where((rest != 0) & ((rest < 0) != (b < 0)), rest + b, rest)


@op(
    "da = g; db = −g trunc(a / b)",
    a=lambda g: g,
    b=lambda g, a, b: -g * level(trunc(bare(a) / bare(b)), a, b),
    promote="same",
)
def fmod(a: Array, b: Array) -> Array:
    """a - trunc(a / b) b, with the sign of a"""
    _check_divisor(a, b)
    array = _array_of(a, b)
    m = xp(array)
    if type(array) is np.ndarray or array.dtype.kind == "f":
        return m.fmod(a, b)
    rest = m.remainder(a, b)  # CuPy's fmod of integers uses float64
    return m.where((rest != 0) & ((rest < 0) != (a < 0)), rest - b, rest)


def _power_grad(g: Array, a: Array, b: Array, shape: tuple[int, ...]) -> Array:
    """g b aᵇ⁻¹, but 0 where b = 0 (not 0 · inf)."""
    if isinstance(b, (int, float, complex)):
        return zeros_of(g, shape) if b == 0 else g * (a * 2 if b == 2 else b * pow(a, b - 1))
    return where(b == 0, 0.0, g * (b * pow(a, where(b == 0, 1.0, b - 1))))


def _exponent_grad(g: Array, a: Array, b: Array, out: Array) -> Array:
    """g aᵇ ln a, but 0 where a = 0 and b >= 0, as aᵇ is constant there, and NaN where a real power is not real."""
    if isinstance(a, (int, float, complex)):
        if not a:
            return where(b.real >= 0, 0.0, g * -math.inf)
        number: Any = a
        if bare(out).dtype.kind == "c":
            return g * (out * complex(np.log(complex(number))))
        return g * (out * (math.log(number) if number > 0 else math.nan))
    flat = (a == 0) & (b.real >= 0)
    return where(flat, 0.0, g * (out * log(where(flat, 1.0, a))))


@op("da = g b aᵇ⁻¹; db = g aᵇ ln a", a=_power_grad, b=_exponent_grad, promote="same", holomorphic=True)
def pow(a: Array, b: Array) -> Array:
    """aᵇ"""
    if isinstance(b, (int, float, complex)) and b in (2, 3):  # many times faster
        return a * a if b == 2 else a * a * a
    if hasattr(b, "dtype") and b.dtype.kind == "i" and holds(b < 0):
        m = xp(b)  # an integer aᵇ is 0 for b < 0, except for a = 1 and -1
        inverse = (m.asarray(a) == 1) + (m.asarray(a) == -1) * (1 - 2 * (b & 1))
        return m.where(b < 0, inverse, m.power(a, m.maximum(b, 0))).astype(b.dtype)
    array = _array_of(a, b)
    if array.dtype.kind == "c":
        return _complex_power(xp(array).asarray(a, array.dtype), b)
    if type(array) is np.ndarray and array.dtype.kind == "f" and np.ndim(b) == 0 and b == 0.5:
        a = np.asarray(a, array.dtype)  # NumPy would compute the root, which is NaN for -inf and -0 for -0
        return np.where(a == -np.inf, array.dtype.type(np.inf), np.sqrt(a + 0))
    out = xp(array).power(a, b)
    return out.astype(bool) if array.dtype.kind == "b" else out


def _complex_power(a: Array, b: Any) -> Array:
    """exp(b ln a), rounded as in C's ``cpow`` and PyTorch. (NumPy multiplies for integer b.) 0⁰ is 1, as for reals."""
    m = xp(a)
    if isinstance(b, (int, float, complex)):
        if b in (-2, -1, -0.5):
            return 1 / pow.forward(a, -b)
        if b in (0.5, 1):
            return m.sqrt(a) if b == 0.5 else a.copy()
    return m.where(m.asarray(b) == 0, 1, m.exp(b * m.log(a)))


def _array_of(*operands: Any) -> Any:
    """The first operand that is an array (in ``2 - x`` or ``x - 2``)."""
    return next((o for o in operands if hasattr(o, "dtype")), operands[0])


neg = expression("neg", "-x", lambda x: -x, "dx = −g", x=lambda g: -g)


@op("dx = g sign(x)", x=lambda g, x: g * sign(x), promote="same")
def abs(x: Array) -> Array:
    """|x|; the gradient at 0 is 0"""
    return xp(x).absolute(x)


@op("dx = 0", x=lambda g, shape: zeros_of(g, shape))
def sign(x: Array) -> Array:
    """-1, 0 or 1; 0 also for NaN"""
    return xp(x).subtract(x > 0, x < 0, dtype=x.dtype) if x.dtype.kind != "b" else x.copy()


@op("dx = 2 g x", x=lambda g, x: g * (2 * x), holomorphic=True)
def square(x: Array) -> Array:
    """x²; int64 for bools"""
    return x * x if x.dtype.kind != "b" else x.astype(np.int64)


sqrt = smooth("sqrt", "√x", lambda x: xp(x).sqrt(x), "dx = g / (2y)", lambda g, out: g / (2 * out))
# y³ may underflow while g is large.
rsqrt = smooth(
    "rsqrt", "1 / √x", lambda x: 1 / xp(x).sqrt(x), "dx = −½ g y³", lambda g, out: (g * out) * out * (-0.5 * out)
)
reciprocal = smooth("reciprocal", "1 / x", lambda x: 1 / x, "dx = −g y²", lambda g, out: -g * (out * out))
exp = smooth("exp", "eˣ", lambda x: xp(x).exp(x), "dx = g y", lambda g, out: g * out)
exp2 = smooth(
    "exp2", "2ˣ", lambda x: xp(x).power(x.dtype.type(2), x), "dx = g y ln 2", lambda g, out: g * (out * math.log(2))
)
expm1 = smooth("expm1", "eˣ - 1, accurate near 0", lambda x: xp(x).expm1(x), "dx = g eˣ", lambda g, x: g * exp(x))
log = smooth("log", "ln x", lambda x: xp(x).log(x), "dx = g / x", lambda g, x: g / x)
# The rule divides twice, since a GPU flushes the smallest x times ln 2 to 0.
log2 = smooth("log2", "log₂ x", lambda x: xp(x).log2(x), "dx = g / x / ln 2", lambda g, x: g / x / math.log(2))


@op(
    "da = g ln b, 0 where a = 0 and b ≤ 0; db = g a / b",
    a=lambda g, a, b: where((a == 0) & (b <= 0), 0.0, xlogy(g, b)),
    b=lambda g, a, b: g * a / b,
    promote="float",
)
def xlogy(a: Array, b: Array) -> Array:
    """a ln b, 0 where a = 0 unless b is NaN"""
    return times_log(a, b, "log")


def times_log(a: Any, b: Any, log: str) -> Array:
    """a times a logarithm of b, or 0 where a = 0 unless b is NaN. Either a or b may be a number."""
    m = xp(a if hasattr(a, "dtype") else b)
    product = a * getattr(m, log)(m.asarray(b, getattr(a, "dtype", None) or b.dtype))
    return m.where((m.asarray(a) == 0) & ~m.isnan(m.asarray(b)), m.zeros_like(product), product)


log10 = smooth("log10", "log₁₀ x", lambda x: xp(x).log10(x), "dx = g / (x ln 10)", lambda g, x: g / (x * math.log(10)))


def _logit_grad(g: Array, x: Array) -> Array:
    """The gradient of logit, which is NaN for real x outside [0, 1], where the logarithm is undefined."""
    if bare(x).dtype.kind != "c":
        x = where((x < 0) | (x > 1), math.nan, x)
    return g / x + g / (1 - x)


logit = smooth(
    "logit",
    "ln(x / (1 - x))",
    lambda x: xp(x).log(x / (1 - x)),
    "dx = g / x + g / (1 − x), NaN where y is",
    _logit_grad,
)


@op("dx = g / (1 + x)", x=lambda g, x: g / (1 + x), promote="float", holomorphic=True)
def log1p(x: Array) -> Array:
    """ln(1 + x), accurate near 0"""
    return _complex_log1p(x) if x.dtype.kind == "c" else xp(x).log1p(x)


def _complex_log1p(x: Array) -> Array:
    """ln |1 + x| (from |1 + x|² − 1 if that is small, since NumPy rounds 1 + x first) and the angle."""
    m, out = xp(x), xp(x).empty_like(x)
    a, b = x.real, x.imag
    more = a * (2 + a) + b * b
    near = m.absolute(more) < 0.5
    out.real[...] = m.where(near, m.log1p(m.where(near, more, 0)) / 2, m.log(m.hypot(1 + a, b)))
    out.imag[...] = m.arctan2(b, 1 + a)
    return out


sin = smooth("sin", "sin x", lambda x: xp(x).sin(x), "dx = g cos x", lambda g, x: g * cos(x))
cos = smooth("cos", "cos x", lambda x: xp(x).cos(x), "dx = −g sin x", lambda g, x: -g * sin(x))
tan = smooth("tan", "tan x", lambda x: xp(x).tan(x), "dx = g (1 + y²)", lambda g, out: g * (1 + out * out))
atan = smooth("atan", "arctan x", lambda x: xp(x).arctan(x), "dx = g / (1 + x²)", lambda g, x: g / (1 + x * x))
# 1 - y² and its derivative are 0 where y rounds to 1.
tanh = smooth("tanh", "tanh x", lambda x: xp(x).tanh(x), "dx = g / cosh² x", lambda g, x: g * tanh_grad(x))


@op("dx = −2 g y tanh x", x=lambda g, x, out: -2 * g * (out * tanh(x)), promote="float", holomorphic=True)
def tanh_grad(x: Array) -> Array:
    """1 / cosh² x = 4 σ(2x) σ(−2x), which does not overflow"""
    below, above = (sigmoid.forward(k * x) for k in (-2, 2))
    return 4 * (below * above)


# The product's rule for (1 − x)(1 + x) would give ∞ − ∞ for an infinite gradient, and lose small x.
@op("dx = −2 g x", x=lambda g, x: -2 * g * x, promote="float", holomorphic=True)
def one_minus_square(x: Array) -> Array:
    """1 − x², precise near |x| = 1"""
    return (1 - x) * (1 + x)


asin = smooth(
    "asin", "arcsin x", lambda x: xp(x).arcsin(x), "dx = g / √(1 − x²)", lambda g, x: g * rsqrt(one_minus_square(x))
)
acos = smooth(
    "acos", "arccos x", lambda x: xp(x).arccos(x), "dx = −g / √(1 − x²)", lambda g, x: -g * rsqrt(one_minus_square(x))
)
sinh = smooth("sinh", "sinh x", lambda x: xp(x).sinh(x), "dx = g cosh x", lambda g, x: g * cosh(x))
cosh = smooth("cosh", "cosh x", lambda x: xp(x).cosh(x), "dx = g sinh x", lambda g, x: g * sinh(x))
asinh = smooth("asinh", "arsinh x", lambda x: xp(x).arcsinh(x), "dx = g / √(x² + 1)", lambda g, x: g / sqrt(x * x + 1))
acosh = smooth(
    "acosh",
    "arcosh x",
    lambda x: xp(x).arccosh(x),
    "dx = g / √(x² − 1)",
    lambda g, x: g * (rsqrt(x - 1) * rsqrt(x + 1)),
)
atanh = smooth(
    "atanh", "artanh x", lambda x: xp(x).arctanh(x), "dx = g / (1 − x²)", lambda g, x: g / one_minus_square(x)
)


@op("dx = g · 2/√π · exp(−x²)", x=lambda g, x: g * (exp(-(x * x)) * (2 / math.sqrt(math.pi))), promote="float")
def erf(x: Array) -> Array:
    """2/√π ∫₀ˣ exp(-t²) dt"""
    return error_function(x)


@op("dx = −g · 2/√π · exp(−x²)", x=lambda g, x: g * (exp(-(x * x)) * (-2 / math.sqrt(math.pi))), promote="float")
def erfc(x: Array) -> Array:
    """1 - erf x, precise even where the result is tiny"""
    return complementary_error_function(x)


@op("dx = g · √π/2 · exp(y²)", x=lambda g, out: g * (exp(out * out) * (math.sqrt(math.pi) / 2)), promote="float")
def erfinv(x: Array) -> Array:
    """The inverse of erf"""
    return inverse_error_function(x)


@op("dx = 0 where y = 0, else g", x=lambda g, out: only(g, out != 0))
def relu(x: Array) -> Array:
    """max(x, 0); the gradient at 0 is 0"""
    return xp(x).maximum(x, 0)


# σ(−x) is 1 - y, but does not lose digits.
@op("dx = g y σ(−x)", x=lambda g, x, out: g * (out * sigmoid(-x)), promote="float", holomorphic=True)
def sigmoid(x: Array) -> Array:
    """1 / (1 + e⁻ˣ), computed as eˣ far below 0, where e⁻ˣ overflows"""
    m = xp(x)
    if x.dtype.kind == "c":  # 1 / inf is NaN for complex numbers
        power = m.exp(m.where(m.real(x) < 0, x, -x))
        return m.where(m.real(x) < 0, power, 1) / (1 + power)
    near, far = 1 / (1 + m.exp(-x)), x < -80
    return near if type(far) is np.ndarray and not far.any() else m.where(far, m.exp(x), near)


@op(
    "dx = g σ(x) (1 + x σ(−x))",
    x=lambda g, x: g * (sigmoid(x) * (1 + x * sigmoid(-x))),
    promote="float",
    holomorphic=True,
)
def silu(x: Array) -> Array:
    """x σ(x) (Elfwing et al. 2017, "swish")"""
    return x * sigmoid(x)


@op(
    "dx = g σ(βx), g above the threshold",
    x=lambda g, x, beta, threshold: g * where(x * beta > threshold, 1.0, sigmoid(x * beta)),
    promote="float",
)
def softplus(x: Array, beta: float = 1.0, threshold: float = 20.0) -> Array:
    """ln(1 + eᵝˣ) / β, and x itself where βx exceeds the threshold"""
    scaled = x * beta
    return xp(x).where(scaled > threshold, x, xp(x).logaddexp(scaled, xp(x).zeros_like(scaled)) / beta)


@op("dx = g σ(−x)", x=lambda g, x: g * sigmoid(-x), promote="float")
def logsigmoid(x: Array) -> Array:
    """ln σ(x) = -ln(1 + e⁻ˣ), in a form that cannot overflow"""
    m = xp(x)
    return m.minimum(x, 0) - m.log1p(m.exp(-m.absolute(x)))


@op(
    "dx = g α eˣ where x ≤ 0, else g",
    x=lambda g, x, alpha: g * where(x <= 0, alpha * exp(where(x < 0, x, 0.0)), 1.0),
    promote="float",
)
def elu(x: Array, alpha: float = 1.0) -> Array:
    """x for x > 0, else α (eˣ - 1) (Clevert et al. 2015)"""
    m = xp(x)
    return m.where(x > 0, x, alpha * m.expm1(m.minimum(x, 0)))


@op("dx = g where x > 0, else g · slope", x=lambda g, x, negative_slope: where(x > 0, g, g * negative_slope))
def leaky_relu(x: Array, negative_slope: float = 0.01) -> Array:
    """x for x > 0, else slope · x"""
    return xp(x).where(x > 0, x, x * negative_slope)


floor = expression("floor", "⌊x⌋", lambda x: xp(x).floor(x), "dx = 0", x=lambda g, shape: zeros_of(g, shape))
ceil = expression("ceil", "⌈x⌉", lambda x: xp(x).ceil(x), "dx = 0", x=lambda g, shape: zeros_of(g, shape))


@op("dx = 0", x=lambda g, shape: zeros_of(g, shape))
def round(x: Array, decimals: int = 0) -> Array:
    """The nearest integer, with ties rounded to even"""
    return xp(x).round(x, decimals)


trunc = expression(
    "trunc", "x without its fractional part", lambda x: xp(x).trunc(x), "dx = 0", x=lambda g, shape: zeros_of(g, shape)
)


@op("dx = g where the mask holds, else 0", x=lambda g, mask: only(g, mask))
def only(x: Array, mask: Array) -> Array:
    """x where the mask is True, else 0, even where x is infinite or NaN. Gradient rules use it, because an infinite
    gradient times a mask is NaN where the mask is 0"""
    return where_holds(x, mask)


def flow(g: Array, derivative: Array) -> Array:
    """g · derivative, but 0 where the derivative is 0 and g is infinite or NaN. Differentiated as a product."""
    return only(g, (derivative != 0) | isfinite(g)) * derivative


@op(
    "da = 0 where a < b, g/2 where equal, else g; db = 0 where b < a, g/2 where equal, else g",
    a=lambda g, a, b: only(_shared(g, a, b), ~(a < b)),
    b=lambda g, a, b: only(_shared(g, a, b), ~(b < a)),
    promote="same",
)
def maximum(a: Array, b: Array) -> Array:
    """max(a, b); equal operands share the gradient"""
    return xp(_array_of(a, b)).maximum(a, b)


@op(
    "da = 0 where a > b, g/2 where equal, else g; db = 0 where b > a, g/2 where equal, else g",
    a=lambda g, a, b: only(_shared(g, a, b), ~(a > b)),
    b=lambda g, a, b: only(_shared(g, a, b), ~(b > a)),
    promote="same",
)
def minimum(a: Array, b: Array) -> Array:
    """min(a, b); equal operands share the gradient"""
    return xp(_array_of(a, b)).minimum(a, b)


def _shared(g: Array, a: Array, b: Array) -> Array:
    return g * where(a == b, 0.5, 1.0)


@op(
    "dx = g where min ≤ x ≤ max, else 0; dmin = g where x < min < max, else 0; dmax = g where max < x or min, else 0",
    x=lambda g, x, min, max: only(g, (True if min is None else x >= min) & (True if max is None else x <= max)),
    min=lambda g, x, min, max: only(g, (x < min) if max is None else (x < min) & (min < max)),
    max=lambda g, x, min, max: only(g, (x > max) if min is None else (x > max) | (max < min)),
    promote="same",
)
def clamp(x: Array, min: Array = None, max: Array = None) -> Array:
    """x clamped to [min, max], which are numbers or arrays; max where min > max"""
    m = xp(x)
    if min is not None:
        x = m.maximum(x, min)
    return x if max is None else m.minimum(x, max)


@op(
    "da = g where the condition holds, else 0; db = 0 where the condition holds, else g",
    a=lambda g, condition: where(condition, g, 0.0),
    b=lambda g, condition: where(condition, 0.0, g),
)
def where(condition: Array, a: Array, b: Array) -> Array:
    """a where the condition is True, b elsewhere"""
    m = xp(condition)
    if type(a) is float and type(b) is float:  # in rules, two constants are a factor, which must not widen the dtype
        a, b = m.float32(a), m.float32(b)
    return m.where(condition, a, b)


@op(
    "da = g; db = g v c; dc = g v b",
    a=lambda g: g,
    b=lambda g, c, value: g * value * c,
    c=lambda g, b, value: g * value * b,
    promote="same",
    holomorphic=True,
)
def addcmul(a: Array, b: Array, c: Array, value: float = 1) -> Array:
    """a + value b c"""
    return a + (b * c if value == 1 else b * value * c)


@op(
    "da = g; db = g v / c; dc = −g v b / c²",
    a=lambda g: g,
    b=lambda g, c, value: g * value / c,
    c=lambda g, b, c, value: -(g * value) * ((b / c) / c),
    promote="float",
    holomorphic=True,
)
def addcdiv(a: Array, b: Array, c: Array, value: float = 1) -> Array:
    """a + value b / c"""
    return a + (b / c if value == 1 else b * value / c)


@op(
    "da = g (1 − w); db = g w; dw = g (b − a)",
    a=lambda g, weight: g * (1 - weight),
    b=lambda g, weight: g * weight,
    weight=lambda g, a, b: g * (b - a),
    promote="same",
    holomorphic=True,
)
def lerp(a: Array, b: Array, weight: Array) -> Array:
    """a + weight (b - a), computed from the nearer end, so that a weight of 1 gives exactly b"""
    far = not -0.5 < weight < 0.5 if weight.__class__ is float else abs(weight) >= 0.5
    if far is True or far is False or isinstance(far, np.bool_):
        return b - (b - a) * (1 - weight) if far else a + weight * (b - a)
    return xp(a).where(far, b - (b - a) * (1 - weight), a + weight * (b - a))


@op(
    "da = g b / (a² + b²), 0 at the origin; db = −g a / (a² + b²), 0 at the origin",
    a=lambda g, a, b: g * _over_square(b, a, b),
    b=lambda g, a, b: -g * _over_square(a, a, b),
    promote="float",
)
def atan2(a: Array, b: Array) -> Array:
    """The angle of the point (b, a)"""
    return xp(_array_of(a, b)).arctan2(a, b)


def _over_square(x: Array, a: Array, b: Array) -> Array:
    """x / (a² + b²), or 0 at the origin and at infinity. The squares may overflow or underflow."""
    radius = _inf_of_0(hypot(a, b))
    return where(isinf(radius), 0.0, x) / radius / radius


def _inf_of_0(x: Array) -> Array:
    """x with inf in place of 0, as a divisor for which 0 / 0 becomes 0, even in higher derivatives."""
    return where(x == 0, math.inf, x)


@op(
    "da = g y / a, 0 where a = 0; db = 0",
    a=lambda g, a, out: where(a == 0, 0.0, g * out / where(a == 0, 1.0, a)),
    b=lambda g, shape: zeros_of(g, shape),
    promote="float",
)
def copysign(a: Array, b: Array) -> Array:
    """|a| with the sign of b, where -0.0 counts as negative"""
    return xp(_array_of(a, b)).copysign(a, b)


@op(
    "da = g where a ≠ b, else 0; db = 0",
    a=lambda g, a, b: where(a == b, 0.0, g),
    b=lambda g, shape: zeros_of(g, shape),
    promote="same",
)
def nextafter(a: Array, b: Array) -> Array:
    """The next representable number after a, towards b"""
    return xp(_array_of(a, b)).nextafter(a, b)


@op("dvalue = g; dxᵢ = 0", value=lambda g: g, xs=lambda g, shapes, which: zeros_of(g, shapes[which]))
def level(value: Array, *xs: Array) -> Array:
    """A value that is locally constant in the xᵢ it was computed from, such as a rounded quotient"""
    return value


@op()
def zeros_of(like: Array, lengths: tuple[int, ...]) -> Array:
    """Zeros of a shape, with the dtype of another array"""
    return xp(like).zeros(lengths, like.dtype)


@op(
    "da = g a / y, 0 where y = 0; db = g b / y, 0 where y = 0",
    a=lambda g, a, b, out: g * _cosine(a, b, out),
    b=lambda g, a, b, out: g * _cosine(b, a, out),
    promote="float",
)
def hypot(a: Array, b: Array) -> Array:
    """√(a² + b²), without overflow"""
    return xp(_array_of(a, b)).hypot(a, b)


def _cosine(a: Array, b: Array, length: Array) -> Array:
    """a / the length of (a, b). An infinite a or b counts as 1, and a finite one paired with it as 0."""
    if holds(isinf(bare(length))):
        endless = isinf(a) | isinf(b)
        a, b = (where(endless, where(isinf(v), sign(v), 0.0), v) for v in (a, b))
        length = where(endless, hypot(a, b), length)
    return a / _inf_of_0(length)


@op(
    "da = g σ(a − b); db = g σ(b − a)",
    a=lambda g, a, b, out: g * _share_of_sum(a, b, out),
    b=lambda g, a, b, out: g * _share_of_sum(b, a, out),
    promote="float",
    holomorphic=True,
)
def logaddexp(a: Array, b: Array) -> Array:
    """ln(eᵃ + eᵇ), without overflow"""
    m = xp(_array_of(a, b))
    return log_of_sum(a, b) if _array_of(a, b).dtype.kind == "c" else m.logaddexp(a, b)


def _share_of_sum(a: Array, b: Array, out: Array) -> Array:
    """eᵃ / (eᵃ + eᵇ), even for infinite a and b. Equal operands get equal shares."""
    if bare(out).dtype.kind == "c":  # a complex sigmoid would overflow
        return exp(a - out)
    return sigmoid(where((a == b) & ~isfinite(a), 0.0, a - b))


def log_of_sum(a: Array, b: Array) -> Array:
    """ln(eᵃ + eᵇ) for complex a and b. The operand with the larger real part is factored out."""
    m = xp(_array_of(a, b))
    swap = m.real(a) < m.real(b)
    top, low = m.where(swap, b, a), m.where(swap, a, b)
    return m.where(m.isneginf(m.real(top)), top, top + _complex_log1p(m.exp(low - top)))


@op("dx = g", x=lambda g: g)
def clone(x: Array, order: Sequence[int] | None = None) -> Array:
    """A copy whose axes have this order in memory, by default the order of x"""
    if order is None and x.flags.c_contiguous:
        return x.copy()
    return in_order(x, memory_order(x) if order is None else order)


@op("dx = g in the dtype of x", x=lambda g: g)
def cast(x: Array, dtype: Any) -> Array:
    """x in another NumPy dtype, or its real part for complex x (backward converts gradients to the input's dtype)"""
    to_real = x.dtype.kind == "c" and np.dtype(dtype).kind in "fiuV"
    x = x.real if to_real else x
    return dt.converted(x, dtype) if dt.is_kept(np.dtype(dtype)) else x.astype(dtype)


@op("dx = g on the device of x", x=lambda g, device, source: moved(g, source, device))
def moved(x: Array, device: Device, source: Device) -> Array:
    """The same values on another device"""
    here, target = of(x), for_device(device)
    return target.asarray(x if here is target else here.to_numpy(x), device)


def wide(x: Array) -> Array:
    """Convert 16-bit numbers to float32. Anything else stays unchanged."""
    return cast(x, np.float32) if bare(x).dtype.itemsize == 2 and bare(x).dtype.kind in "fV" else x


@op("dx = g where x is finite, else 0", x=lambda g, x: where(isfinite(x), g, 0.0))
def nan_to_num(x: Array, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None) -> Array:
    """x with NaN and infinities replaced"""
    return xp(x).nan_to_num(x, nan=nan, posinf=posinf, neginf=neginf)


eq = expression("eq", "a = b", lambda a, b: a == b)
ne = expression("ne", "a ≠ b", lambda a, b: a != b)
lt = expression("lt", "a < b", lambda a, b: a < b)
le = expression("le", "a ≤ b", lambda a, b: a <= b)
gt = expression("gt", "a > b", lambda a, b: a > b)
ge = expression("ge", "a ≥ b", lambda a, b: a >= b)
bitwise_and = expression("bitwise_and", "a & b, bit by bit (logical and of bools)", lambda a, b: a & b, promote="same")
bitwise_or = expression("bitwise_or", "a | b, bit by bit", lambda a, b: a | b, promote="same")
bitwise_xor = expression("bitwise_xor", "a ^ b, bit by bit", lambda a, b: a ^ b, promote="same")
bitwise_left_shift = expression("bitwise_left_shift", "a · 2ᵇ for integers", lambda a, b: a << b, promote="same")
bitwise_right_shift = expression("bitwise_right_shift", "⌊a / 2ᵇ⌋ for integers", lambda a, b: a >> b, promote="same")
gcd = expression(
    "gcd", "The greatest common divisor of integers", lambda a, b: xp(_array_of(a, b)).gcd(a, b), promote="same"
)
lcm = expression(
    "lcm", "The least common multiple of integers", lambda a, b: xp(_array_of(a, b)).lcm(a, b), promote="same"
)
bitwise_not = expression("bitwise_not", "~x, bit by bit (logical not of bools)", lambda x: ~x)


def _truth(x: Array) -> Array:
    """Convert complex operands of logical functions to bools, as CuPy's do not support complex numbers."""
    return x != 0 if hasattr(x, "dtype") and x.dtype.kind == "c" else x


logical_and = expression("logical_and", "Both are nonzero", lambda a, b: xp(a).logical_and(_truth(a), _truth(b)))
logical_or = expression("logical_or", "At least one is nonzero", lambda a, b: xp(a).logical_or(_truth(a), _truth(b)))
logical_xor = expression("logical_xor", "Exactly one is nonzero", lambda a, b: xp(a).logical_xor(_truth(a), _truth(b)))
logical_not = expression("logical_not", "x is 0", lambda x: xp(x).logical_not(_truth(x)))
isnan = expression("isnan", "x is NaN", lambda x: xp(x).isnan(x))
isinf = expression("isinf", "x is infinite", lambda x: xp(x).isinf(x))
isfinite = expression("isfinite", "x is finite: not NaN and not infinite", lambda x: xp(x).isfinite(x))
