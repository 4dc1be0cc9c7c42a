"""Complex numbers, as rotary position embeddings use them (Su et al. 2021): a pair of reals as one number.

The gradient of a real loss for a complex z = a + bi is ∂L/∂a + i ∂L/∂b, PyTorch's convention. The rule of a
product therefore conjugates. ``multiply`` and ``divide`` stand in for ``mul`` and ``div`` where operands are
complex; ops that only arrange or add elements are right as they are. All others refuse complex operands,
and are not in ``IN_PLACE_OF``.
"""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from ..backend import xp
from ..backend.dtype import Array
from . import device, elementwise, fourier, indexing, joining, reduction, shape
from .op import Op, op

_COMPLEX = {"float32": np.complex64, "float64": np.complex128}


@op("dx = (Re g, Im g)", x=lambda g: view_as_real(g), view=True)
def view_as_complex(x: Array) -> Array:
    """(..., 2) real -> (...): the last axis holds real and imaginary part"""
    return x.view(_COMPLEX[x.dtype.name]).squeeze(-1)


@op("dx = g₀ + i g₁", x=lambda g: as_complex(g), view=True)
def view_as_real(x: Array) -> Array:
    """(...) complex -> (..., 2): real and imaginary part in a new last axis"""
    return x[..., None].view(x.real.dtype)


def as_complex(g: Array) -> Array:
    """``view_as_complex`` of anything real, also where it must be copied for that."""
    return complex(g[..., 0], g[..., 1])


@op("da = Re g; db = Im g", real=lambda g: real(g), imag=lambda g: imag(g), promote="same")
def complex(real: Array, imag: Array) -> Array:
    """real + i imag"""
    return real + imag * _COMPLEX[real.dtype.name](1j)


@op("dx = g + 0i", x=lambda g: complex(g, g * 0), view=True)
def real(x: Array) -> Array:
    """The real part"""
    return x.real


@op("dx = 0 + i g", x=lambda g: complex(g * 0, g), view=True)
def imag(x: Array) -> Array:
    """The imaginary part"""
    return x.imag


@op("dx = conj(g)", x=lambda g: conj(g))
def conj(x: Array) -> Array:
    """a - bi of a + bi"""
    return xp(x).conjugate(x)


@op(
    "da = g conj(b); db = g conj(a)",
    a=lambda g, b: multiply(g, _conjugate(b)),
    b=lambda g, a: multiply(g, _conjugate(a)),
    promote="same",
)
def multiply(a: Array, b: Array) -> Array:
    """a b, of complex numbers"""
    return a * b


@op(
    "da = g / conj(b); db = −g conj(y) / conj(b)",
    a=lambda g, b: divide(g, _conjugate(b)),
    b=lambda g, b, out: -divide(multiply(g, _conjugate(out)), _conjugate(b)),
    promote="same",
)
def divide(a: Array, b: Array) -> Array:
    """a / b, of complex numbers"""
    return a / b


def _conjugate(x: Any) -> Any:
    return x.conjugate() if isinstance(x, (int, float, builtins.complex)) else conj(x)


@op("dx = g x / |x|, 0 at 0", x=lambda g, x, out: g * divide(x, out + (out == 0)))
def modulus(x: Array) -> Array:
    """|a + bi|; the gradient at 0 is 0"""
    return xp(x).absolute(x)


@op("dx = g (−b + ai) / (a² + b²) for x = a + bi", x=lambda g, x: _turned(g, x))
def angle(x: Array) -> Array:
    """The angle of a + bi to the real axis, in (-π, π]"""
    return xp(x).angle(x)


def _turned(g: Array, x: Array) -> Array:
    """g (-b + ai) / (a² + b²), 0 at 0"""
    a, b = real(x), imag(x)
    square = a * a + b * b
    square = square + (square == 0)
    return complex(-g * b / square, g * a / square)


# What computes an op of complex operands: the op itself, or another in its place. All others refuse them.
_THEMSELVES = (
    elementwise.add,
    elementwise.sub,
    elementwise.neg,
    elementwise.clone,
    elementwise.where,
    elementwise.cast,
    reduction.sum,
    reduction.mean,
    indexing.getitem,
    indexing.put_back,
    indexing.put,
    indexing.assign_view,
    indexing.index_add,
    indexing.index_select,
    indexing.masked_fill,
    device.moved,
    view_as_real,
    real,
    imag,
    conj,
    multiply,
    divide,
    modulus,
    angle,
    fourier.fft,
    fourier.ifft,
)


def _of(module: Any) -> list[Op]:
    return [value for value in vars(module).values() if isinstance(value, Op)]


IN_PLACE_OF: dict[Op, Op] = {op: op for op in (*_of(shape), *_of(joining), *_THEMSELVES)} | {
    elementwise.mul: multiply,
    elementwise.div: divide,
    elementwise.abs: modulus,
}
