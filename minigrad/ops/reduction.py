"""Sums and other reductions over axes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..backend import in_order, products, xp
from ..backend.dtype import Array, counted, kind_of
from .elementwise import flow, isnan, only, sign, where
from .op import op
from .shape import broadcast_to, reshape

Axes = int | tuple[int, ...] | None


def keepdim_shape(shape: tuple[int, ...], dim: Axes) -> tuple[int, ...]:
    """The shape of a reduction's result if the reduced axes are kept with length 1."""
    axes = range(len(shape)) if dim is None else [d % len(shape) for d in ((dim,) if isinstance(dim, int) else dim)]
    return tuple(1 if i in axes else n for i, n in enumerate(shape))


def spread(g: Array, shape: tuple[int, ...], dim: Axes) -> Array:
    """A reduction's gradient repeated along the reduced axes."""
    return broadcast_to(restored(g, shape, dim), shape)


def restored(value: Array, shape: tuple[int, ...], dim: Axes) -> Array:
    """A reduction's result, with the reduced axes restored as axes of length 1."""
    return reshape(value, keepdim_shape(shape, dim)) if shape else value


@op("dx = g repeated along dim", x=lambda g, shape, dim: spread(g, shape, dim))
def sum(x: Array, dim: Axes = None, keepdim: bool = False) -> Array:
    """Σ x over the axes ``dim``, or over all axes if None"""
    if x.dtype.kind in "biu":
        return in_order(x.sum(axis=dim, keepdims=keepdim, dtype=np.int64))
    if x.dtype.itemsize == 2:  # float16's 11 bits, or bfloat16's 8, are too few for sums
        return in_order(x.astype(np.float32).sum(axis=dim, keepdims=keepdim).astype(x.dtype))
    return _total(x, dim, keepdim)


def _total(x: Array, dim: Axes, keepdim: bool) -> Array:
    """Σ x. Leading axes in memory are reduced by column sums of a matrix, in blocks, like NumPy's pairwise sums."""
    if dim is None or x.size < 4096 or x.dtype.kind != "f" or type(x) is not np.ndarray:
        return in_order(x.sum(axis=dim, keepdims=keepdim))
    axes = [d % x.ndim for d in ((dim,) if isinstance(dim, int) else dim)]
    order = list(range(x.ndim)) if x.flags.c_contiguous else sorted(range(x.ndim), key=lambda d: -x.strides[d])
    leading = next((i for i, d in enumerate(order) if d not in axes), 0)
    y, rest = x.transpose(order), order[leading:]
    rows = math.prod(y.shape[:leading])
    if not leading or (rows < 2048 and leading < len(axes)) or not y.flags.c_contiguous:
        return in_order(x.sum(axis=dim, keepdims=keepdim))
    total = products.column_sums(y.reshape(rows, y.size // rows)).reshape(y.shape[leading:])
    total = total.sum(axis=tuple(i for i, d in enumerate(rest) if d in axes))
    places = sorted(d for d in rest if d not in axes)
    total = total.transpose([places.index(d) for d in rest if d not in axes]) if total.ndim > 1 else total
    return in_order(total.reshape(keepdim_shape(x.shape, dim)) if keepdim else total)


def sum_to(x: Array, shape: tuple[int, ...]) -> Array:
    """The sum of x over the axes along which ``shape`` was broadcast to the shape of x. Accepts Tensors."""
    extra = len(x.shape) - len(shape)
    if extra < 0:  # x has more axes than ``shape``, and the first ones have length 1
        return reshape(sum_to(x, shape[-extra:]), shape)
    axes = tuple(range(extra)) + tuple(extra + i for i, n in enumerate(shape) if n == 1 and x.shape[extra + i] != 1)
    summed = sum(x, axes, False) if axes else x
    return summed if summed.shape == shape else reshape(summed, shape)


@op("dx = g / n repeated along dim", x=lambda g, shape, dim: spread(g / _count(shape, dim), shape, dim))
def mean(x: Array, dim: Axes = None, keepdim: bool = False) -> Array:
    """Σ x / n over the axes ``dim``"""
    if not x.size:  # NaN, without NumPy's warning
        return sum(x, dim, keepdim) / (_count(x.shape, dim) or float("nan"))
    return _mean(x, dim, keepdim)


def _mean(x: Array, dim: Axes, keepdim: bool) -> Array:
    if type(x) is not np.ndarray or x.dtype.char not in "fd" or not x.size:
        return in_order(x.mean(axis=dim, keepdims=keepdim))
    total = _total(x, dim, keepdim)
    return total / (x.size // total.size)


def _count(shape: tuple[int, ...], dim: Axes) -> int:
    lengths = keepdim_shape(shape, dim)
    return int(np.prod([n for n, k in zip(shape, lengths, strict=True) if k == 1], dtype=np.int64)) if shape else 1


@op(
    "dx = g · 2 (x − mean) / (n − correction)",
    x=lambda g, x, shape, dim, correction: (
        spread(g * 2, shape, dim) * ((x - mean(x, dim, True)) / _degrees(shape, dim, correction))
    ),
)
def var(x: Array, dim: Axes = None, correction: float = 1, keepdim: bool = False) -> Array:
    """Σ |x - mean|² / (n - correction)"""
    squares, size = _scaled_var(x, dim, correction, keepdim)
    return (squares * size * size).astype(x.real.dtype, copy=False)


def _degrees(shape: tuple[int, ...], dim: Axes, correction: float) -> float:
    """n - correction, or 0 for too few elements. Dividing by 0 yields inf, or NaN for equal elements."""
    return max(_count(shape, dim) - correction, 0)


def _scaled_var(x: Array, dim: Axes, correction: float, keepdim: bool) -> tuple[Array, Array]:
    """The variance of x / s, and s. As squares may overflow or underflow, s is a power of 2 near the largest |x|, or 1
    on a CPU if no square does. float16 is computed in float32, since the square of 256 exceeds its largest number."""
    x = x.astype(np.float32) if x.dtype == np.float16 else x
    one, limits = xp(x).ones((), x.real.dtype), np.finfo(x.real.dtype)
    if type(x) is np.ndarray or not x.size:
        out = _plain_var(x, dim, correction, keepdim)
        if not x.size or ((out > limits.tiny / limits.eps) & (out < math.inf)).all():
            return out, one
    m, parts = xp(x), (x.real, x.imag) if x.dtype.kind == "c" else (x,)
    tops = [m.maximum(p.max(axis=dim, keepdims=True), -p.min(axis=dim, keepdims=True)) for p in parts]
    top = m.maximum(tops[0], tops[-1])
    least = np.finfo(top.dtype).minexp  # a normal number, as complex numbers divided by a subnormal number are NaN
    size = m.ldexp(m.ones_like(top), m.maximum(m.frexp(top)[1] - 1, least))
    out = _plain_var(x / size, dim, correction, keepdim)
    return out, size.reshape(out.shape)


def _plain_var(x: Array, dim: Axes, correction: float, keepdim: bool) -> Array:
    """The variance. It is exactly 0 for equal elements, even though their rounded mean may differ from them."""
    if x.size and x.shape:
        x = x - x[tuple(slice(0, n) for n in keepdim_shape(x.shape, dim))]
    centred = x - _mean(x, dim, True)
    squares = centred.real * centred.real + centred.imag * centred.imag if x.dtype.kind == "c" else centred * centred
    return _total(squares, dim, keepdim) / _degrees(x.shape, dim, correction)


@op(
    "dx = g (x − mean) / (y (n − correction)), 0 where y = 0",
    x=lambda g, x, out, shape, dim, correction: (
        spread(only(g, out != 0) / _degrees(shape, dim, correction), shape, dim)
        * ((x - mean(x, dim, True)) / restored(where(out == 0, math.inf, out), shape, dim))
    ),
)
def std(x: Array, dim: Axes = None, correction: float = 1, keepdim: bool = False) -> Array:
    """√var; the gradient is 0 where √var is 0"""
    squares, size = _scaled_var(x, dim, correction, keepdim)
    return (xp(x).sqrt(squares) * size).astype(x.real.dtype, copy=False)


@op(
    "dx = g sign(x) (|x| / y)ᵖ⁻¹, 0 where x = 0 or y = 0",
    x=lambda g, x, out, shape, p, dim: flow(spread(g, shape, dim), _norm_grad(x, restored(out, shape, dim), p)),
    promote="float",
)
def norm(x: Array, p: float, dim: Axes = None, keepdim: bool = False) -> Array:
    """(Σ |x|ᵖ)^(1/p) for real x and finite nonzero p"""
    if p == 2:
        return xp(x).sqrt(sum(x * x, dim, keepdim))
    with np.errstate(divide="ignore"):
        return sum(xp(x).absolute(x) ** p, dim, keepdim) ** (1 / p)


def _norm_grad(x: Array, length: Array, p: float) -> Array:
    """The gradient of the norm, in the form that stays finite for large and small elements."""
    if p == 2:
        return x / where(length == 0, math.inf, length)
    none = (x == 0) | (length == 0)
    length = where(length == 0, 1.0, length)
    if 0 < p < 2:
        return where(none, 0.0, sign(x) * abs(where(none, 1.0, x)) ** (p - 1) / length ** (p - 1))
    return where(none, 0.0, sign(x) * abs(where(none, 1.0, x / length)) ** (p - 1))


@op("dx = g shared among the elements that equal y", x=lambda g, x, out, shape, dim: _to_winners(g, x, out, shape, dim))
def amax(x: Array, dim: Axes = None, keepdim: bool = False) -> Array:
    """The maximum; equal elements share the gradient"""
    return in_order(x.max(axis=dim, keepdims=keepdim))


@op("dx = g shared among the elements that equal y", x=lambda g, x, out, shape, dim: _to_winners(g, x, out, shape, dim))
def amin(x: Array, dim: Axes = None, keepdim: bool = False) -> Array:
    """The minimum; equal elements share the gradient"""
    return in_order(x.min(axis=dim, keepdims=keepdim))


def _to_winners(g: Array, x: Array, out: Array, shape: tuple[int, ...], dim: Axes) -> Array:
    """The gradient for each element that equals the result, divided by the number of such elements. If an element is
    NaN, so is the result. As in PyTorch, the NaNs then share the gradient if no axes are specified (``max``). If axes
    are specified, even all of them (``amax``), all gradients are NaN."""
    if not shape:
        return g
    best = restored(out, shape, dim)
    wins = (x == best) | isnan(best) & (isnan(x) if dim is None else True)
    count = sum(where(wins, 1.0, 0.0), dim, True)
    return only(restored(g, shape, dim) / (count if dim is None else where(isnan(best), math.nan, count)), wins)


@op
def any(x: Array, dim: Axes = None, keepdim: bool = False) -> Array:
    """Whether at least one element is nonzero"""
    return _truth(x, x.any(axis=dim, keepdims=keepdim))


@op
def all(x: Array, dim: Axes = None, keepdim: bool = False) -> Array:
    """Whether all elements are nonzero"""
    return _truth(x, x.all(axis=dim, keepdims=keepdim))


def _truth(x: Array, out: Array) -> Array:
    """Convert bools to uint8 if x is uint8, which was once PyTorch's type for bools."""
    return out.astype(x.dtype) if x.dtype == "uint8" else out


@op
def argmax(x: Array, dim: int | None = None, keepdim: bool = False) -> Array:
    """The index of the largest element, the first one in a tie"""
    return _index_of(first_of(x, "argmax", dim), x.shape, dim, keepdim)


@op
def argmin(x: Array, dim: int | None = None, keepdim: bool = False) -> Array:
    """The index of the smallest element, the first one in a tie"""
    return _index_of(first_of(x, "argmin", dim), x.shape, dim, keepdim)


def first_of(x: Array, name: str, dim: int | None) -> Any:
    """NumPy's "argmax" or "argmin": the first index in a tie, or the first NaN's. (CuPy may return any NaN's index.)"""
    index = getattr(x, name)(axis=dim)
    if isinstance(x, np.ndarray) or kind_of(x) != "f":
        return index
    missing = x != x
    return xp(x).where(missing.any(axis=dim), missing.argmax(axis=dim), index)


def _index_of(index: Any, shape: tuple[int, ...], dim: int | None, keepdim: bool) -> Array:
    return counted(index.reshape(keepdim_shape(shape, dim)) if keepdim and shape else index)


@op
def count_nonzero(x: Array, dim: Axes = None) -> Array:
    """The number of nonzero elements"""
    return (x != 0).sum(axis=dim, dtype=np.int64)
