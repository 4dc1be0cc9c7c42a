"""Mathematical functions that NumPy lacks."""

from __future__ import annotations

import math

import numpy as np

from .dtype import Array
from .registry import of, xp


def error_function(x: Array) -> Array:
    """erf of an array, to the full precision of its dtype, by the backend's function or W. J. Cody's approximations."""
    if x.dtype == np.float16:  # the polynomials would lose most digits in float16
        return error_function(x.astype(np.float32)).astype(np.float16)
    special = getattr(of(x), "erf", None)
    return special(x) if special else _cody_erf(x)


Polynomials = tuple[list[float], list[float]]


def _quotient(text: str) -> Polynomials:
    """The coefficients of "numerator / denominator", each from the highest power down."""
    above, below = ([float(number) for number in part.split()] for part in text.split("/"))
    return above, below


# Rational Chebyshev approximations for the error function, Math. Comp. 23 (1969)
_NEAR = _quotient(
    """
    1.85777706184603153e-1 3.16112374387056560e0 1.13864154151050156e2 3.77485237685302021e2 3.20937758913846947e3
    / 1.0 2.36012909523441209e1 2.44024637934444173e2 1.28261652607737228e3 2.84423683343917062e3
    """
)
_MIDDLE = _quotient(
    """
    2.15311535474403846e-8 5.64188496988670089e-1 8.88314979438837594e0 6.61191906371416295e1
    2.98635138197400131e2 8.81952221241769090e2 1.71204761263407058e3 2.05107837782607147e3 1.23033935479799725e3
    / 1.0 1.57449261107098347e1 1.17693950891312499e2 5.37181101862009858e2 1.62138957456669019e3
    3.29079923573345963e3 4.36261909014324716e3 3.43936767414372164e3 1.23033935480374942e3
    """
)
_FAR = _quotient(
    """
    1.63153871373020978e-2 3.05326634961232344e-1 3.60344899949804439e-1 1.25781726111229246e-1
    1.60837851487422766e-2 6.58749161529837803e-4
    / 1.0 2.56852019228982242e0 1.87295284992346725e0 5.27905102951428412e-1 6.05183413124413191e-2
    2.33520497626869185e-3
    """
)


def _ratio(coefficients: Polynomials, t: Array) -> Array:
    """The quotient of two polynomials, by Horner's rule."""
    sums = []
    for first, second, *rest in coefficients:
        total = first * t + second
        for coefficient in rest:
            total *= t
            total += coefficient
        sums.append(total)
    return sums[0] / sums[1]


def _scaled_tail(y: Array) -> Array:
    """erfc(y) e^(y²) for y >= 0.46875."""
    m = xp(y)
    large = m.maximum(y, 4.0)
    inverse = 1 / large**2
    far = (1 / math.sqrt(math.pi) - inverse * _ratio(_FAR, inverse)) / large
    return m.where(y > 4, far, _ratio(_MIDDLE, m.minimum(y, 4.0)))


def _cody_tail(y: Array) -> Array:
    """erfc(y) for y >= 0.46875, clipped at 26.6, where it is smaller than any float64."""
    m = xp(y)
    clipped = m.clip(y, 0.46875, 26.6)
    rounded = m.trunc(clipped * 16) / 16  # the square in two parts, so that its rounding does not grow
    square = m.exp(-rounded * rounded) * m.exp(-(clipped - rounded) * (clipped + rounded))
    return m.where(y < 26.6, _scaled_tail(clipped) * square, 0)


def _cody_erf(x: Array) -> Array:
    m = xp(x)
    y = m.absolute(x)
    near = x * _ratio(_NEAR, m.minimum(y, 0.5) ** 2)
    clipped = m.clip(y, 0.46875, 6.0)
    tail = _scaled_tail(clipped) * m.exp(-clipped * clipped)
    return m.where(y <= 0.46875, near, m.where(m.isnan(x), x, m.sign(x) * (1 - tail)))


def complementary_error_function(x: Array) -> Array:
    """erfc = 1 - erf of an array, to the full precision of its dtype even where it is tiny."""
    m, dtype = xp(x), x.dtype
    x = x.astype(np.float64)
    tail = _cody_tail(m.absolute(x))
    far = m.where(x < 0, 2 - tail, tail)
    return m.where(m.isnan(x), x, m.where(m.absolute(x) < 0.46875, 1 - _cody_erf(x), far)).astype(dtype)


# P, from the highest power down: a least-squares fit of Φ up to 6, weighted until the largest errors are equal, 3e-8.
# Beyond 6, x P(x²) only grows, and tanh is 1.
_NORMAL = (1.7562759e-9, -1.3226623e-7, 3.9647726e-6, -5.5306314e-5, -3.259475e-5, 0.036333084, 0.79788494)


def normal_share(x: Array) -> Array:
    """The standard normal CDF, in the array's dtype. For NumPy's float32, it is (1 + tanh(x P(x²))) / 2, which takes a
    fifth of the time, except where that loses digits."""
    if type(x) is not np.ndarray or x.dtype != np.float32:
        return 0.5 * complementary_error_function(x * -math.sqrt(0.5))
    square, p = x * x, np.full_like(x, _NORMAL[0])
    for coefficient in _NORMAL[1:]:
        p *= square
        p += coefficient
    p *= x
    share: Array = np.asarray(0.5 + 0.5 * np.tanh(p, out=p))
    low = x < -3
    share[low] = 0.5 * complementary_error_function(x[low] * -math.sqrt(0.5))
    return share


def scaled_complementary_error_function(x: Array) -> Array:
    """erfcx = e^(x²) erfc(x) of an array, to the full precision of its dtype even where erfc is 0. inf below -27."""
    m, dtype, x = xp(x), x.dtype, x.astype(np.float64)
    y = m.absolute(x)
    tail = _scaled_tail(m.maximum(y, 0.46875))
    near = m.exp(m.minimum(y, 0.5) ** 2) * (1 - _cody_erf(m.clip(x, -0.5, 0.5)))
    rounded = m.trunc(m.minimum(y, 30.0) * 16) / 16  # the square in two parts, so that its rounding does not grow
    square = m.exp(rounded * rounded) * m.exp((m.minimum(y, 30.0) - rounded) * (m.minimum(y, 30.0) + rounded))
    out = m.where(y < 0.46875, near, m.where(x < 0, 2 * square - tail, tail))
    return m.where(m.isnan(x), x, out).astype(dtype)


def log_normal_share(x: Array) -> Array:
    """The logarithm of the standard normal CDF, in the array's dtype."""
    m, dtype, t = xp(x), x.dtype, x.astype(np.float64) * math.sqrt(0.5)
    below = m.log(scaled_complementary_error_function(-m.minimum(t, 0.0)) / 2) - t * t
    return m.where(t < -math.sqrt(0.5), below, m.log1p(-complementary_error_function(t) / 2)).astype(dtype)


# The normal distribution's quantiles by Wichura's algorithm AS 241, Appl. Statist. 37 (1988)
_CENTRE = _quotient(
    """
    2509.0809287301227 33430.57558358813 67265.7709270087 45921.95393154987 13731.69376550946 1971.5909503065513
    133.14166789178438 3.3871328727963665
    / 5226.495278852854 28729.085735721943 39307.89580009271 21213.794301586597 5394.196021424751
    687.1870074920579 42.31333070160091 1.0
    """
)
_FLANK = _quotient(
    """
    0.0007745450142783414 0.022723844989269184 0.2417807251774506 1.2704582524523684 3.6478483247632045
    5.769497221460691 4.630337846156546 1.4234371107496835
    / 1.0507500716444169e-09 0.0005475938084995345 0.015198666563616457 0.14810397642748008 0.6897673349851
    1.6763848301838038 2.053191626637759 1.0
    """
)
_TAIL = _quotient(
    """
    2.0103343992922881e-07 2.7115555687434876e-05 0.0012426609473880784 0.026532189526576124 0.29656057182850487
    1.7848265399172913 5.463784911164114 6.657904643501103
    / 2.0442631033899397e-15 1.421511758316446e-07 1.8463183175100548e-05 0.0007868691311456133
    0.014875361290850615 0.1369298809227358 0.599832206555888 1.0
    """
)


def inverse_error_function(y: Array) -> Array:
    """The inverse of erf: the normal distribution's quantile of (1 + y) / 2, divided by √2."""
    m, dtype = xp(y), y.dtype
    y = y.astype(np.float64)
    size = m.absolute(y)
    return m.copysign(_quantile(size / 2, (1 - size) / 2) / math.sqrt(2), y).astype(dtype)


def normal_quantile(share: Array) -> Array:
    """The inverse of the standard normal CDF, in the array's dtype, or NaN outside [0, 1]."""
    m, dtype, p = xp(share), share.dtype, share.astype(np.float64)
    return m.copysign(_quantile(m.absolute(p - 0.5), m.minimum(p, 1 - p)), p - 0.5).astype(dtype)


def _quantile(above: Array, tail: Array) -> Array:
    """The standard normal quantile of ½ + ``above`` = 1 - ``tail``."""
    m = xp(tail)
    depth = m.sqrt(-m.log(tail))
    outside = m.where(depth <= 5, _ratio(_FLANK, depth - 1.6), _ratio(_TAIL, depth - 5))
    x = m.where(above > 0.425, outside, above * _ratio(_CENTRE, 0.180625 - above * above))
    return m.where(tail == 0, math.inf, x)
