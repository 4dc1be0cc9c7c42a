"""Sums and other values over axes, by PyTorch's names."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..autograd.calls import apply
from ..ops import cumulative as cumulative_ops
from ..ops import indexing as i
from ..ops import reduction as r
from . import return_types
from .arguments import Dims, axes, axis, spelled

if TYPE_CHECKING:
    from ..tensor import Tensor


def _check_not_empty(input: Tensor, dim: Dims, name: str) -> None:
    """The largest of nothing does not exist."""
    if input.array.size == 0 and (dim is None or 0 in [input.array.shape[d] for d in _listed(dim)]):
        raise IndexError(
            f"{name}(): Expected reduction dim to have non-zero size: the tensor has shape {tuple(input.array.shape)}"
        )


def _check_float(input: Tensor, name: str) -> None:
    """Means and variances of integers are a mistake more often than a wish."""
    if input.array.dtype.kind not in "fc":
        raise RuntimeError(
            f"{name}(): could not infer output dtype: the input must be of a floating-point dtype, not "
            f"{input.dtype}. Convert it with .float()"
        )


def _listed(dim: Any) -> tuple[int, ...]:
    return (dim,) if isinstance(dim, int) else tuple(dim)


@spelled
def sum(input: Tensor, dim: Dims = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """Σ over ``dim``, over everything if None."""
    input = input if dtype is None else input.to(dtype)
    return apply(r.sum, (input, axes(dim, input.array.ndim), keepdim))


@spelled
def mean(input: Tensor, dim: Dims = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The mean over ``dim``, over everything if None; floating-point tensors only."""
    input = input if dtype is None else input.to(dtype)
    _check_float(input, "mean")
    return apply(r.mean, (input, axes(dim, input.array.ndim), keepdim))


@spelled
def var(
    input: Tensor, dim: Dims = None, unbiased: bool = True, keepdim: bool = False, *, correction: float | None = None
) -> Tensor:
    """The variance over ``dim``; its divisor is n - correction, by default n - 1."""
    _check_float(input, "var")
    dim, unbiased = (None, dim) if isinstance(dim, bool) else (dim, unbiased)
    minus = (1 if unbiased else 0) if correction is None else correction
    return apply(r.var, (input, axes(dim, input.array.ndim), minus, keepdim))


@spelled
def std(
    input: Tensor, dim: Dims = None, unbiased: bool = True, keepdim: bool = False, *, correction: float | None = None
) -> Tensor:
    """The standard deviation over ``dim``: the root of ``var``."""
    _check_float(input, "std")
    dim, unbiased = (None, dim) if isinstance(dim, bool) else (dim, unbiased)
    minus = (1 if unbiased else 0) if correction is None else correction
    return apply(r.std, (input, axes(dim, input.array.ndim), minus, keepdim))


@spelled
def prod(input: Tensor, dim: int | None = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """Π over ``dim``, over everything if None."""
    input = input if dtype is None else input.to(dtype)
    return apply(cumulative_ops.prod, (input, axes(dim, input.array.ndim), keepdim))


@spelled
def cumsum(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """Running sums along ``dim``."""
    input = input if dtype is None else input.to(dtype)
    return apply(cumulative_ops.cumsum, (input, axis(dim, input.array.ndim)))


@spelled
def cumprod(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """Running products along ``dim``."""
    input = input if dtype is None else input.to(dtype)
    return apply(cumulative_ops.cumprod, (input, axis(dim, input.array.ndim)))


@spelled
def logsumexp(input: Tensor, dim: Dims, keepdim: bool = False) -> Tensor:
    """ln Σ eˣ over ``dim``."""
    return apply(r.logsumexp, (input, axes(dim, input.array.ndim), keepdim))


@spelled
def amax(input: Tensor, dim: Dims = None, keepdim: bool = False) -> Tensor:
    """The largest over ``dim``; equal ones share the gradient."""
    _check_not_empty(input, dim, "amax")
    return apply(r.amax, (input, axes(dim, input.array.ndim), keepdim))


@spelled
def amin(input: Tensor, dim: Dims = None, keepdim: bool = False) -> Tensor:
    """The smallest over ``dim``; equal ones share the gradient."""
    _check_not_empty(input, dim, "amin")
    return apply(r.amin, (input, axes(dim, input.array.ndim), keepdim))


@spelled
def max(input: Tensor, dim: Any = None, keepdim: bool = False, *, other: Any = None) -> Any:
    """The largest element; with ``dim`` (values, indices), the gradient going to that index; with a tensor,
    the elementwise maximum."""
    return _extreme(input, dim if other is None else other, keepdim, "max")


@spelled
def min(input: Tensor, dim: Any = None, keepdim: bool = False, *, other: Any = None) -> Any:
    """The smallest element; with ``dim`` (values, indices), the gradient going to that index; with a tensor,
    the elementwise minimum."""
    return _extreme(input, dim if other is None else other, keepdim, "min")


def _extreme(input: Tensor, dim: Any, keepdim: bool, name: str) -> Any:
    from . import pointwise

    kind = return_types.max if name == "max" else return_types.min
    if hasattr(dim, "array"):
        return (pointwise.maximum if name == "max" else pointwise.minimum)(input, dim)
    _check_not_empty(input, dim, name)
    if dim is None:
        return apply(r.amax if name == "max" else r.amin, (input, None, False))
    if input.array.ndim == 0:
        return kind(input.clone(), argmax(input))
    dim = axis(dim, input.array.ndim)
    indices = apply(r.argmax if name == "max" else r.argmin, (input, dim, True))
    values = apply(i.gather, (input, dim, indices))
    if not keepdim:
        values, indices = values.squeeze(dim), indices.squeeze(dim)
    return kind(values, indices)


@spelled
def argmax(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """The index of the largest along ``dim`` (of the flattened tensor if None), int64."""
    _check_not_empty(input, dim, "argmax")
    return apply(r.argmax, (input, axes(dim, input.array.ndim), keepdim))


@spelled
def argmin(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """The index of the smallest along ``dim`` (of the flattened tensor if None), int64."""
    _check_not_empty(input, dim, "argmin")
    return apply(r.argmin, (input, axes(dim, input.array.ndim), keepdim))


@spelled
def any(input: Tensor, dim: Dims = None, keepdim: bool = False) -> Tensor:
    """Whether one element over ``dim`` at least is not 0, bool."""
    return apply(r.any, (input, axes(dim, input.array.ndim), keepdim))


@spelled
def all(input: Tensor, dim: Dims = None, keepdim: bool = False) -> Tensor:
    """Whether no element over ``dim`` is 0, bool."""
    return apply(r.all, (input, axes(dim, input.array.ndim), keepdim))


@spelled
def count_nonzero(input: Tensor, dim: Dims = None) -> Tensor:
    """How many elements over ``dim`` are not 0, int64."""
    return apply(r.count_nonzero, (input, axes(dim, input.array.ndim)))


@spelled
def norm(input: Tensor, p: float | str = "fro", dim: Dims = None, keepdim: bool = False, dtype: Any = None) -> Tensor:
    """The p-norm over ``dim``: (Σ |x|ᵖ)^(1/p); "fro" is 2; inf is the largest |x|."""
    input = input if dtype is None else input.to(dtype)
    p = 2.0 if p == "fro" else float(p)
    if p == math.inf:
        return amax(input.abs(), dim, keepdim)
    if p == -math.inf:
        return amin(input.abs(), dim, keepdim)
    if p == 0:
        return sum((input != 0).to(input.dtype), dim, keepdim)
    if p == 1:
        return sum(input.abs(), dim, keepdim)
    if p == 2:
        return _at_zero_zero(lambda total: total.sqrt(), sum(input * input, dim, keepdim))
    size = input.abs()
    powers = _at_zero_zero(lambda x: x**p, size) if 0 < p < 1 else size**p
    return _at_zero_zero(lambda total: total ** (1 / p), sum(powers, dim, keepdim))


def _at_zero_zero(function: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """A root, whose gradient at 0 is 0 and not 0/0."""
    if not x.requires_grad:
        return function(x)
    zero = x == 0
    return function(x.masked_fill(zero, 1.0)).masked_fill(zero, 0.0)


# Areas and lengths ------------------------------------------------------------------------------------------


@spelled
def trapezoid(y: Tensor, x: Tensor | None = None, *, dx: Any = 1, dim: int = -1) -> Tensor:
    """The area under points along ``dim``, at places ``x`` or in steps of ``dx``, by the trapezoidal rule."""
    return sum(_areas(y, x, dx, dim), dim)


@spelled
def cumulative_trapezoid(y: Tensor, x: Tensor | None = None, *, dx: Any = 1, dim: int = -1) -> Tensor:
    """The running sums of the areas of ``trapezoid``, one fewer than points."""
    return cumsum(_areas(y, x, dx, dim), dim)


def _areas(y: Tensor, x: Tensor | None, dx: Any, dim: int) -> Tensor:
    place = axis(dim, y.array.ndim)
    count = y.array.shape[place] - (1 if y.array.shape[place] else 0)
    heights = y.narrow(place, 0, count) + y.narrow(place, y.array.shape[place] - count, count)
    if x is None:
        return heights * (dx / 2)
    along = 0 if x.array.ndim == 1 else place
    steps = x.narrow(along, 1, count) - x.narrow(along, 0, count)
    shape = [1] * y.array.ndim
    shape[place] = count
    return heights * (steps.reshape(shape) if x.array.ndim == 1 else steps) / 2


@spelled
def renorm(input: Tensor, p: float, dim: int, maxnorm: float) -> Tensor:
    """The slices along ``dim`` of a larger p-norm than ``maxnorm`` scaled down to it."""
    place = axis(dim, input.array.ndim)
    others = tuple(d for d in range(input.array.ndim) if d != place)
    sizes = norm(input, p, others, True)
    scaled = maxnorm / (sizes + 1e-7)
    return input * scaled.masked_fill(sizes <= maxnorm, 1.0)
