"""Functions for compiled loops: access to a NumPy array's data, shape and strides, and float32 functions without calls
or branches, so that the compiler can vectorize loops over them. The fields of PyArrayObject follow the object header,
which has ``object.__basicsize__`` bytes. ``store.py`` checks this against NumPy before it loads anything. Errors in
float32 are at most 1 unit in the last place for exp, 2 for tanh, 2.5 for sigmoid, and 1e-7 for normal."""

from __future__ import annotations

import numpy as np

from .loops import inline
from .native import fma, from_bits, rint, to_bits, word

F = np.float32
HEAD = object.__basicsize__
_AXES, _SHAPE, _STEPS = HEAD + 8, HEAD + 16, HEAD + 24
# ln 2 in two parts, the first with so few bits that its product with an integer is exact
_LOG2E, _LN2_HIGH, _LN2_LOW = F(1.4426950408889634), F(0.693359375), F(-2.12194440e-4)


@inline
def axes(array: int) -> int:
    """The number of axes."""
    return word(array + _AXES) & 0xFFFF


@inline
def at(array: int) -> int:
    """The address of the first element."""
    return word(array + HEAD)


@inline
def length(array: int, axis: int) -> int:
    """The length of an axis, counted from the end if negative, or 1 if the array lacks the axis."""
    place = axis + axes(array) if axis < 0 else axis
    return 1 if place < 0 else word(word(array + _SHAPE) + 8 * place)


@inline
def step(array: int, axis: int) -> int:
    """The stride of an axis in bytes. A negative axis counts from the end."""
    place = axis + axes(array) if axis < 0 else axis
    return word(word(array + _STEPS) + 8 * place)


@inline
def volume(array: int, but: int) -> int:
    """The product of the lengths of all axes except the last ``but``."""
    count = 1
    for axis in range(axes(array) - but):
        count *= word(word(array + _SHAPE) + 8 * axis)
    return count


@inline
def exp(x: np.float32) -> np.float32:
    """eˣ = 2ⁿ eʳ with |r| ≤ ln 2 / 2, where eʳ is computed as a Taylor series. It is 0 for -inf, and NaN for NaN."""
    c = F(-104.0) if x < F(-104.0) else x
    c = F(89.0) if c > F(89.0) else c
    n = rint(c * _LOG2E)
    r = fma(n, -_LN2_LOW, fma(n, -_LN2_HIGH, c))
    p = fma(r, F(1 / 5040), F(1 / 720))
    p = fma(p, r, F(1 / 120))
    p = fma(p, r, F(1 / 24))
    p = fma(p, r, F(1 / 6))
    p = fma(p, r, F(0.5))
    p = fma(p, r * r, r) + F(1.0)
    whole = np.int32(n)
    half = whole >> np.int32(1)  # 2ⁿ in two steps, as it may not fit in float32; the first goes into the exponent of p
    return from_bits(to_bits(p) + (half << np.int32(23))) * from_bits((whole - half + np.int32(127)) << np.int32(23))


@inline
def tanh(x: np.float32) -> np.float32:
    """tanh x: a polynomial near 0 (Cephes, tanhf), else 1 - 2 / (e²ˣ + 1)."""
    a = abs(x)
    large = F(1.0) - F(2.0) / (exp(F(2.0) * a) + F(1.0))
    z = x * x
    p = fma(z, F(-5.70498872745e-3), F(2.06390887954e-2))
    p = fma(p, z, F(-5.37397155531e-2))
    p = fma(p, z, F(1.33314422036e-1))
    p = fma(p, z, F(-3.33332819422e-1))
    small = fma(p * z, a, a)
    size = small if a < F(0.625) else large
    return -size if x < F(0.0) else size


@inline
def sigmoid(x: np.float32) -> np.float32:
    """1 / (1 + e⁻ˣ), and eˣ / (1 + eˣ) below 0, where e⁻ˣ may overflow float32."""
    e = exp(-abs(x))
    return (e if x < F(0.0) else F(1.0)) / (F(1.0) + e)


# P, highest power first, and the 0.33 in u: a least-squares fit of Φ(-x) / exp(-x²/2), weighted until its largest
# errors are equal: 8e-9 near 0, and a relative error of 2e-6 far from it.
_TAIL = tuple(F(c) for c in (-0.046632068, 0.099830642, 0.03513395, -0.14776962, -0.31856234, 1.0868025, -1.2089165))
_NEAR = F(0.33)


@inline
def normal_and_bell(x: np.float32) -> tuple[np.float32, np.float32]:
    """The normal CDF Φ(x) and b = exp(-x²/2), where Φ(-|x|) = b (½ + u P(u)), u = 0.33 |x| / (1 + 0.33 |x|)."""
    bell = exp(F(-0.5) * x * x)
    near = abs(x) * _NEAR
    near = F(9.0) if near > F(9.0) else near  # inf / inf is NaN
    u = near / (near + F(1.0))
    p = fma(u, _TAIL[0], _TAIL[1])
    p = fma(p, u, _TAIL[2])
    p = fma(p, u, _TAIL[3])
    p = fma(p, u, _TAIL[4])
    p = fma(p, u, _TAIL[5])
    p = fma(p, u, _TAIL[6])
    tail = bell * fma(p, u, F(0.5))
    return (F(1.0) - tail if x > F(0.0) else tail), bell


@inline
def normal(x: np.float32) -> np.float32:
    """The normal CDF Φ(x)."""
    return normal_and_bell(x)[0]
