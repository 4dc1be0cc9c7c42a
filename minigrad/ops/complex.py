"""Complex numbers: conversion from and to pairs of reals, and the ops that support complex numbers.

In PyTorch's convention, the gradient of a real loss L for z = a + bi is ∂L/∂a + i ∂L/∂b. For a holomorphic f(z), it is
g · conj(f'). So ops need no separate rules for complex numbers: if a rule R returns g times the derivative,
conj(R(conj(g))) is g times its conjugate, however R computes it. ``for_complex`` returns the op for complex operands.
An op that only arranges or adds elements is used unchanged. A holomorphic op is replaced by a copy whose rules are
wrapped in these two conjugations, and a few ops are replaced by other ops. The rest reject complex operands.
"""

from __future__ import annotations

from functools import wraps
from typing import Any

import numpy as np

from ..backend import xp
from ..backend.dtype import Array
from . import cumulative, elementwise, indexing, joining, reduction, shape
from .elementwise import only, where, zeros_of
from .op import Op, Rule, expression, op

_COMPLEX = {"float32": np.complex64, "float64": np.complex128}


@op("dx = (Re g, Im g)", x=lambda g: view_as_real(g), view=True)
def view_as_complex(x: Array) -> Array:
    """Complex numbers (...) from reals (..., 2), whose last axis holds the real and imaginary parts"""
    return x.view(_COMPLEX[x.dtype.name]).squeeze(-1)


@op("dx = g₀ + i g₁", x=lambda g: as_complex(g), view=True)
def view_as_real(x: Array) -> Array:
    """Reals (..., 2) from complex numbers (...), with the real and imaginary parts along a new last axis"""
    return x[..., None].view(x.real.dtype)


def as_complex(g: Array) -> Array:
    """``view_as_complex`` for any real array, with a copy if necessary."""
    return complex(g[..., 0], g[..., 1])


@op("da = Re g; db = Im g", real=lambda g: real(g), imag=lambda g: imag(g), promote="same")
def complex(real: Array, imag: Array) -> Array:
    """real + i imag"""
    out = xp(real).empty(np.broadcast_shapes(real.shape, imag.shape), _COMPLEX[real.dtype.name])
    out.real[...], out.imag[...] = real, imag  # the real part of i times infinity would be NaN
    return out


@op("dx = g + 0i", x=lambda g, shape: complex(g, zeros_of(g, shape)), view=True)
def real(x: Array) -> Array:
    """The real part"""
    return x.real


@op("dx = 0 + i g", x=lambda g, shape: complex(zeros_of(g, shape), g), view=True)
def imag(x: Array) -> Array:
    """The imaginary part"""
    return x.imag


conj = expression("conj", "a - bi of a + bi", lambda x: xp(x).conjugate(x), "dx = conj(g)", x=lambda g: conj(g))


@op("dx = g x / |x|, 0 at 0", x=lambda g, x: g * phase(x))
def modulus(x: Array) -> Array:
    """|a + bi|; the gradient at 0 is 0"""
    return xp(x).absolute(x)


@op(
    "dx = (g − y Re(g ȳ)) / |x|, 0 at 0", x=lambda g, x, out: only(g - out * real(g * conj(out)), out != 0) / _length(x)
)
def phase(x: Array) -> Array:
    """x / |x|, 0 at 0"""
    return x / _length(x)


def _length(x: Array) -> Array:
    size = modulus(x)
    return where(size == 0, 1.0, size)


@op("dx = g (−b + ai) / (a² + b²) for x = a + bi", x=lambda g, x: _turned(g, x))
def angle(x: Array) -> Array:
    """The angle between a + bi and the real axis, in (-π, π]"""
    return xp(x).angle(x)


def _turned(g: Array, x: Array) -> Array:
    """g (-b + ai) / (a² + b²), 0 at 0"""
    a, b, size = real(x), imag(x), _length(x)
    return complex(-g * (b / size / size), g * (a / size / size))


def _of(module: Any) -> list[Op]:
    return [value for value in vars(module).values() if isinstance(value, Op)]


# Ops used unchanged, as they arrange, add or compare elements, or their rules support complex numbers. Files that few
# programs load (convolution, fourier, decompositions) add their ops to ``IN_PLACE_OF``.
_THEMSELVES = (
    *_of(shape),
    *_of(joining),
    *(elementwise.add, elementwise.sub, elementwise.neg, elementwise.clone, elementwise.where, elementwise.cast),
    *(elementwise.level, elementwise.zeros_of, elementwise.only, elementwise.nan_to_num),
    *(elementwise.eq, elementwise.ne, elementwise.isnan, elementwise.isinf, elementwise.isfinite),
    *(elementwise.logical_and, elementwise.logical_or, elementwise.logical_xor, elementwise.logical_not),
    *(reduction.sum, reduction.mean, reduction.var, reduction.std),
    *(reduction.any, reduction.all, reduction.count_nonzero, cumulative.cumsum),
    *(indexing.getitem, indexing.put_back, indexing.put, indexing.assign_view, indexing.masked_fill),
    *(indexing.index_select, indexing.index_add, indexing.gather, indexing.scatter, indexing.scatter_add),
    *(indexing.scatter_add_rows, indexing.embedding, indexing.nonzero),
    *(view_as_real, real, imag, conj, modulus, phase, angle, elementwise.moved),
)
IN_PLACE_OF: dict[Op, Op] = {op: op for op in _THEMSELVES} | {elementwise.abs: modulus, elementwise.sign: phase}


def for_complex(op: Op) -> Op | None:
    """The equivalent op for complex numbers, possibly ``op`` itself, or None if it does not support them."""
    other = IN_PLACE_OF.get(op)
    if other is None and op.holomorphic:
        other = Op(op.forward, promote=op.promote, view=op.view, holomorphic=True)
        other.kernel, other.differentiable = "", op.differentiable  # kernels are for real numbers
        other.rules = {name: (_adjoint(rule), takes) for name, (rule, takes) in op.rules.items()}
        other.formulas = {name: f"{text}, of ḡ and conjugated" for name, text in op.formulas.items()}
        IN_PLACE_OF[op] = IN_PLACE_OF[other] = other
    return other


def _adjoint(rule: Rule) -> Rule:
    """The rule conj(R(conj(g))) for a rule R."""

    @wraps(rule)
    def adjoint(g: Any, *values: Any) -> Any:
        return conj(rule(tuple(map(conj, g)) if isinstance(g, tuple) else conj(g), *values))

    return adjoint
