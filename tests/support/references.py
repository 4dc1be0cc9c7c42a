"""Functions of one number in mpmath, by the names of the ops that compute them, and their derivatives."""

from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

mp: Any = pytest.importorskip("mpmath").mp
Reference = Callable[[Any], Any]


def sigmoid(x: Any) -> Any:
    return 1 / (1 + mp.exp(-x))


def softplus(x: Any) -> Any:
    return mp.log1p(mp.exp(x))


def normal_share(x: Any) -> Any:
    return mp.erfc(-x / mp.sqrt(2)) / 2


def second_spherical(x: Any) -> Any:
    """j₂, by its power series (DLMF 10.53.1)."""
    terms = (x**2 * (-x * x / 2) ** k / (mp.factorial(k) * mp.fac2(2 * k + 5)) for k in range(40))
    return mp.fsum(terms)


WHOLE: dict[str, Reference] = {  # on the whole real line; the order is 2, or 1 for polygamma
    "asinh": mp.asinh,
    "atan": mp.atan,
    "cos": mp.cos,
    "cosh": mp.cosh,
    "one_minus_square": lambda x: 1 - x * x,
    "tanh_grad": lambda x: mp.sech(x) ** 2,
    "erf": mp.erf,
    "erfc": mp.erfc,
    "erfcx": lambda x: mp.exp(x * x) * mp.erfc(x),
    "exp": mp.exp,
    "exp2": lambda x: mp.mpf(2) ** x,
    "expm1": mp.expm1,
    "gelu": lambda x: x * normal_share(x),
    "i0": lambda x: mp.besseli(0, x),
    "i1": lambda x: mp.besseli(1, x),
    "log_ndtr": lambda x: mp.log(normal_share(x)),
    "logsigmoid": lambda x: -softplus(-x),
    "mish": lambda x: x * mp.tanh(softplus(x)),
    "modified_bessel_i": lambda x: mp.besseli(2, x),
    "ndtr": normal_share,
    "sigmoid": sigmoid,
    "silu": lambda x: x * sigmoid(x),
    "sin": mp.sin,
    "sinc": lambda x: mp.sinc(mp.pi * x),
    "sinh": mp.sinh,
    "softplus": softplus,
    "spherical_bessel_j": second_spherical,
    "square": lambda x: x * x,
    "tan": mp.tan,
    "tanh": mp.tanh,
}
INSIDE: dict[str, Reference] = {"acos": mp.acos, "asin": mp.asin, "atanh": mp.atanh, "erfinv": mp.erfinv}  # on (-1, 1)
POSITIVE: dict[str, Reference] = {
    "digamma": mp.digamma,
    "entr": lambda x: -x * mp.log(x),
    "i0e": lambda x: mp.besseli(0, x) * mp.exp(-x),
    "i1e": lambda x: mp.besseli(1, x) * mp.exp(-x),
    "lgamma": mp.loggamma,
    "log": mp.log,
    "log10": mp.log10,
    "log1p": mp.log1p,
    "log2": lambda x: mp.log(x, 2),
    "polygamma": lambda x: mp.polygamma(1, x),
    "reciprocal": lambda x: 1 / x,
    "rsqrt": lambda x: 1 / mp.sqrt(x),
    "scaled_modified_bessel_i": lambda x: mp.besseli(2, x) * mp.exp(-x),
    "sqrt": mp.sqrt,
}
SHARES: dict[str, Reference] = {  # on (0, 1)
    "logit": lambda x: mp.log(x / (1 - x)),
    "ndtri": lambda x: mp.sqrt(2) * mp.erfinv(2 * x - 1),
}
ABOVE_1: dict[str, Reference] = {"acosh": mp.acosh}


@cache
def derivatives(function: Reference, x: float, orders: int, digits: int = 150) -> list[float]:
    """The derivatives of a function at x, of orders 0 to ``orders``. Numbers below 1e-100 may be noise."""
    with mp.workdps(digits):
        return [float(c * mp.factorial(k)) for k, c in enumerate(mp.taylor(function, mp.mpf(x), orders))]
