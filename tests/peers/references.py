"""Elementwise functions in high precision, and their derivatives: they decide where PyTorch and minigrad differ.

1e-330 represents 0 and 1e320 infinity, so that a value at one of them is the limit there.
"""

import math
from collections.abc import Callable, Sequence
from inspect import signature
from typing import Any

from mpmath import mp

_DIGITS = 150  # enough for cancellation in differences of numbers near 1; with two arguments, one may hide the other
_STEP = 30  # a difference's step is 10^-30 of an argument, at most 10^-30


def _atan2(a: Any, b: Any) -> Any:
    return mp.atan2(a, b)


def _erfcx(x: Any) -> Any:
    return mp.exp(x * x) * mp.erfc(x) if x < 1e9 else (1 - 1 / (2 * x * x)) / (x * mp.sqrt(mp.pi))


def _log_ndtr(x: Any) -> Any:
    return mp.log(mp.erfc(-x / mp.sqrt(2)) / 2)


def _scaled(function: Callable[..., Any], order: int, power: int) -> Callable[[Any], Any]:
    """A Bessel function of x times e^(±|x|)."""
    return lambda x: function(order, x) * mp.exp(power * abs(x))


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "erf": lambda x: mp.erf(x),
    "erfc": lambda x: mp.erfc(x),
    "acosh": lambda x: mp.acosh(x),
    "asinh": lambda x: mp.asinh(x),
    "atanh": lambda x: mp.atanh(x),
    "digamma": lambda x: mp.digamma(x),
    "lgamma": lambda x: mp.log(abs(mp.gamma(x))) if abs(x) < 1e6 else mp.re(mp.loggamma(x)),
    "hypot": lambda a, b: mp.sqrt(a * a + b * b),
    "atan2": _atan2,
    "pow": lambda a, b: mp.power(a, b) if a > 0 else mp.nan,
    "logaddexp": lambda a, b: max(a, b) + mp.log1p(mp.exp(-abs(a - b))),
    "logsigmoid": lambda x: -mp.log1p(mp.exp(-x)) if x > 0 else x - mp.log1p(mp.exp(x)),
    "mish": lambda x: x * mp.tanh(x + mp.log1p(mp.exp(-x)) if x > 0 else mp.log1p(mp.exp(x))),
    "erfcx": _erfcx,
    "log_ndtr": _log_ndtr,
    "remainder": lambda a, b: a - b * mp.floor(a / b),
    "fmod": lambda a, b: a - b * (mp.floor(a / b) if a / b > 0 else mp.ceil(a / b)),
    "copysign": lambda a, b: abs(a) if b > 0 else -abs(a),
    "i0": lambda x: mp.besseli(0, x),
    "i1": lambda x: mp.besseli(1, x),
    "i0e": _scaled(mp.besseli, 0, -1),
    "i1e": _scaled(mp.besseli, 1, -1),
    "expm1": lambda x: mp.expm1(x),
    "tanh": lambda x: mp.tanh(x),
    "sigmoid": lambda x: 1 / (1 + mp.exp(-x)),
    "silu": lambda x: x / (1 + mp.exp(-x)),
    "sinc": lambda x: mp.sin(mp.pi * x) / (mp.pi * x),
    "expit": lambda x: 1 / (1 + mp.exp(-x)),
    "tanhshrink": lambda x: x - mp.tanh(x),
    "logaddexp2": lambda a, b: max(a, b) + mp.log1p(mp.power(2, -abs(a - b))) / mp.log(2),
    "binary_cross_entropy_with_logits": lambda x, t: mp.log1p(mp.exp(-abs(x))) + max(x, 0) - t * x,
    # of order 2, as in the cases
    "modified_bessel_i": lambda x: mp.besseli(2, x),
    "scaled_modified_bessel_i": _scaled(mp.besseli, 2, -1),
    "spherical_bessel_j": lambda x: (3 / x**3 - 1 / x) * mp.sin(x) - 3 * mp.cos(x) / x**2,
}


def arity(op: str) -> int:
    """The number of arguments of an op's or PyTorch name's function; -1 if it does not exist."""
    op = op.rpartition(".")[2]
    return sum(p.default is p.empty for p in signature(FUNCTIONS[op]).parameters.values()) if op in FUNCTIONS else -1


def reference(op: str, point: Sequence[float], order: int, place: int, weights: Sequence[float]) -> float | None:
    """The value of an op at a point (order 0), its derivative in an argument (1), or the derivative of the weighted sum
    of its derivatives in all arguments (2). NaN at NaN; None if mpmath has no answer."""
    if any(math.isnan(x) for x in point):
        return math.nan
    op = op.rpartition(".")[2]
    with mp.workdps(_digits(point)):
        function, xs = FUNCTIONS[op], [_stand_in(x) for x in point]
        steps = [mp.mpf(10) ** -_STEP * min(1, abs(x)) for x in xs]

        def derivative(of: Callable[..., Any], i: int) -> Callable[..., Any]:
            def difference(*at: Any) -> Any:
                ahead, behind = ([x + s * steps[i] * (j == i) for j, x in enumerate(at)] for s in (1, -1))
                return (of(*ahead) - of(*behind)) / (2 * steps[i])

            return difference

        try:
            if order == 0:
                out = function(*xs)
            elif order == 1:
                out = derivative(function, place)(*xs)
            else:
                out = sum(w * derivative(derivative(function, i), place)(*xs) for i, w in enumerate(weights))
            return float(out) if mp.im(out) == 0 else math.nan
        except (ArithmeticError, ValueError, mp.NoConvergence):
            return None


def _stand_in(x: float) -> Any:
    if x == 0:
        return mp.mpf(10) ** -330 * math.copysign(1, x)
    return mp.mpf(10) ** 320 * math.copysign(1, x) if math.isinf(x) else mp.mpf(x)


def _digits(point: Sequence[float]) -> int:
    """Enough for x + 1e-30 at large x, and for cancellation in second differences of 1 + x² at small x."""
    powers = [math.log10(abs(x)) if x and math.isfinite(x) else 330 * (1 if x else -1) for x in point]
    return _DIGITS * len(point) ** 2 + sum(math.ceil(p if p > 0 else -4 * p) for p in powers)
