"""Sums and other reductions over axes, under PyTorch's names."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, overload

from ..backend.dtype import kind_of
from ..extension import look_up
from ..ops import cumulative as cumulative_ops, indexing as i, reduction as r, softmax as softmax_ops
from ..ops.op import Op
from ..tensor import Tensor, apply
from . import return_types
from .arguments import Dims, axes, axis, rounded_once, scalars_as_vectors
from .define import function, method, named
from .pointwise import level


def _check_not_empty(input: Tensor, dim: Dims, name: str) -> None:
    """Raise an error for the maximum or minimum of an empty axis."""
    if input.array.size == 0 and (dim is None or 0 in [input.array.shape[d] for d in _listed(dim)]):
        raise IndexError(f"{name}(): Expected reduction dim to have non-zero size; the shape is {tuple(input.shape)}")


def _check_float(input: Tensor, name: str) -> None:
    """Raise an error for integers, since taking their mean or variance is usually a mistake."""
    if kind_of(input.array) not in "fc":
        problem = f"the input must have a floating-point dtype, not {input.dtype}. Convert it with .float()"
        raise RuntimeError(f"{name}(): could not infer output dtype: {problem}")


def _listed(dim: Any) -> tuple[int, ...]:
    return (dim,) if isinstance(dim, int) else tuple(dim)


def _of_dtype(dtype: Any, result: Tensor) -> Tensor:
    """Convert a result to the requested dtype, as the op returns int64 for all integers."""
    return result if dtype is None else result.to(dtype)


@method
def sum(input: Tensor, dim: Dims = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The sum over ``dim``, or over all elements if None.

    >>> x = mg.tensor([[1, 2], [3, 4]])
    >>> x.sum(), x.sum(dim=0)
    (tensor(10), tensor([4, 6]))
    """
    input = input if dtype is None else input.to(dtype)
    return _of_dtype(dtype, apply(r.sum, (input, axes(dim, input.array.ndim), keepdim)))


@method
def mean(input: Tensor, dim: Dims = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The mean over ``dim``, or over all elements if None. Only floating-point tensors are supported.

    >>> mg.tensor([[1.0, 2.0], [3.0, 4.0]]).mean(dim=1)
    tensor([1.5000, 3.5000])
    """
    input = input if dtype is None else input.to(dtype)
    _check_float(input, "mean")
    return apply(r.mean, (input, axes(dim, input.array.ndim), keepdim))


def _spread(op: Op, doc: str) -> Callable[..., Tensor]:
    def spread(
        input: Tensor, dim: Dims = None, unbiased: bool = True, keepdim: bool = False, *, correction: Any = None
    ) -> Tensor:
        _check_float(input, op.name)
        dim, unbiased = (None, dim) if isinstance(dim, bool) else (dim, unbiased)
        minus = (1 if unbiased else 0) if correction is None else correction
        return apply(op, (input, axes(dim, input.array.ndim), minus, keepdim))

    return method(named(spread, op.name, doc))


var = _spread(r.var, "The variance over ``dim``, with divisor n - correction (by default n - 1).")
std = _spread(r.std, "The standard deviation over ``dim``: the square root of ``var``.")


@method
def prod(input: Tensor, dim: int | None = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The product over ``dim``, or over all elements if None.

    >>> mg.tensor([1, 2, 3, 4]).prod()
    tensor(24)
    """
    input = input if dtype is None else input.to(dtype)
    return _of_dtype(dtype, apply(cumulative_ops.prod, (input, axes(dim, input.array.ndim), keepdim)))


@method(in_place=True)
@scalars_as_vectors
def cumsum(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """Cumulative sums along ``dim``.

    >>> mg.tensor([1, 2, 3]).cumsum(0)
    tensor([1, 3, 6])
    """
    input = input if dtype is None else input.to(dtype)
    return _of_dtype(dtype, apply(cumulative_ops.cumsum, (input, axis(dim, input.array.ndim))))


@method(in_place=True)
@scalars_as_vectors
def cumprod(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """Cumulative products along ``dim``."""
    input = input if dtype is None else input.to(dtype)
    return _of_dtype(dtype, apply(cumulative_ops.cumprod, (input, axis(dim, input.array.ndim))))


@method
def logsumexp(input: Tensor, dim: Dims, keepdim: bool = False) -> Tensor:
    """ln Σ eˣ over ``dim``.

    >>> mg.tensor([1000.0, 1000.0]).logsumexp(0)
    tensor(1000.6932)
    """
    return apply(softmax_ops.logsumexp, (input, axes(dim, input.array.ndim), keepdim))


def _over(
    op: Op, doc: str, of_nothing: bool = True, along_none: bool = False, by_number: bool = False
) -> Callable[..., Tensor]:
    """A function that applies an op over axes. With ``of_nothing``, an axis may be empty. With ``along_none``, an empty
    ``dim`` means no axes, not all axes. With ``by_number``, the op receives all axes' indices, not None."""

    def over(input: Tensor, dim: Dims = None, keepdim: bool = False) -> Tensor:
        if not of_nothing:
            _check_not_empty(input, dim, op.name)
        places = () if along_none and dim in ((), []) else axes(dim, input.array.ndim)
        places = tuple(range(input.array.ndim)) if by_number and places is None else places
        return apply(op, (input, places, keepdim))

    return method(named(over, op.name, doc))


any = _over(r.any, "Whether any element over ``dim`` is not 0, as bool (uint8 for uint8).", along_none=True)
all = _over(r.all, "Whether no element over ``dim`` is 0, as bool (uint8 for uint8).", along_none=True)
_SHARED = "The {} element over ``dim``. Unlike in ``{}``, ties share the gradient. For a NaN result, it is NaN."
amax = _over(r.amax, _SHARED.format("largest", "max"), of_nothing=False, by_number=True)
amin = _over(r.amin, _SHARED.format("smallest", "min"), of_nothing=False, by_number=True)
_INDEX = "The index (int64) of the {} element along ``dim``, or in the flattened tensor if None."
argmax = _over(r.argmax, _INDEX.format("largest"), of_nothing=False)
argmin = _over(r.argmin, _INDEX.format("smallest"), of_nothing=False)


@overload
def max(input: Tensor, dim: None = None, keepdim: bool = False) -> Tensor: ...
@overload
def max(input: Tensor, dim: int, keepdim: bool = False) -> return_types.max[Tensor]: ...
@overload
def max(input: Tensor, dim: Tensor) -> Tensor: ...
@overload
def max(input: Tensor, *, other: Tensor) -> Tensor: ...


@method
def max(input: Tensor, dim: Any = None, keepdim: bool = False, *, other: Any = None) -> Any:
    """The largest element. With ``dim``, returns (values, indices), and the gradient flows only to those indices. With
    another tensor, returns the elementwise maximum.

    >>> x = mg.tensor([[1, 5], [7, 2]])
    >>> x.max()
    tensor(7)
    >>> values, indices = x.max(dim=1)
    >>> values, indices
    (tensor([5, 7]), tensor([1, 0]))
    """
    return _extreme(input, dim if other is None else other, keepdim, "max")


@overload
def min(input: Tensor, dim: None = None, keepdim: bool = False) -> Tensor: ...
@overload
def min(input: Tensor, dim: int, keepdim: bool = False) -> return_types.min[Tensor]: ...
@overload
def min(input: Tensor, dim: Tensor) -> Tensor: ...
@overload
def min(input: Tensor, *, other: Tensor) -> Tensor: ...


@method
def min(input: Tensor, dim: Any = None, keepdim: bool = False, *, other: Any = None) -> Any:
    """The smallest element. With ``dim``, returns (values, indices); with another tensor, the elementwise minimum.

    >>> mg.tensor([3, 1, 2]).min()
    tensor(1)
    """
    return _extreme(input, dim if other is None else other, keepdim, "min")


def _extreme(input: Tensor, dim: Any, keepdim: bool, name: str) -> Any:
    kind = return_types.max if name == "max" else return_types.min
    if hasattr(dim, "array"):
        return input.maximum(dim) if name == "max" else input.minimum(dim)
    _check_not_empty(input, dim, name)
    if dim is None:
        return apply(r.amax if name == "max" else r.amin, (input, None, False))
    dim = axis(dim, input.array.ndim)
    if input.array.ndim == 0:
        return kind(input.clone(), argmax(input))
    indices = apply(r.argmax if name == "max" else r.argmin, (input, dim, True))
    values = apply(i.gather, (input, dim, indices))
    if not keepdim:
        values, indices = values.squeeze(dim), indices.squeeze(dim)
    return kind(values, indices)


@method
def count_nonzero(input: Tensor, dim: Dims = None) -> Tensor:
    """The number (int64) of nonzero elements along ``dim``."""
    return apply(r.count_nonzero, (input, axes(dim, input.array.ndim)))


@method
def norm(input: Tensor, p: float | str = "fro", dim: Dims = None, keepdim: bool = False, dtype: Any = None) -> Tensor:
    """The p-norm over ``dim``, (Σ |x|ᵖ)^(1/p). "fro" means 2, inf means max |x|, and "nuc" the sum of singular values.

    >>> mg.tensor([3.0, 4.0]).norm()
    tensor(5.)
    """
    return _norm(input if dtype is None else input.to(dtype), p, dim, keepdim)


@rounded_once
def _norm(input: Tensor, p: float | str, dim: Dims, keepdim: bool) -> Tensor:
    if p == "nuc":  # the sum of the singular values of the matrices in two axes, by default of a matrix
        places = _listed((0, 1) if dim is None and input.array.ndim == 2 else () if dim is None else dim)
        if len(places) != 2:
            raise RuntimeError(f"norm: the nuclear norm needs two axes, not dim={dim} of a {input.array.ndim}-d tensor")
        first, second = (axis(d, input.array.ndim) for d in places)
        total = sum(look_up("minigrad", "linalg").svdvals(input.movedim((first, second), (-2, -1))), -1)
        for place in sorted((first, second)) if keepdim else ():
            total = total.unsqueeze(place)
        return total
    p = 2.0 if p == "fro" else float(p)
    input = input.abs() if input.is_complex() else input
    if math.isinf(p):
        _check_not_empty(input, dim, "amax" if p > 0 else "amin")
        return apply(r.amax if p > 0 else r.amin, (input.abs(), axes(dim, input.array.ndim), keepdim))
    if p == 0:
        return level(sum((input != 0).to(input.dtype), dim, keepdim), input)
    if p == 1:
        return sum(input.abs(), dim, keepdim)
    return apply(r.norm, (input, p, axes(dim, input.array.ndim), keepdim))


@function
def trapezoid(y: Tensor, x: Tensor | None = None, *, dx: Any = 1, dim: int = -1) -> Tensor:
    """The integral along ``dim`` by the trapezoidal rule, with points at ``x`` or with spacing ``dx``."""
    return sum(_areas(y, x, dx, dim), dim)


@function
def cumulative_trapezoid(y: Tensor, x: Tensor | None = None, *, dx: Any = 1, dim: int = -1) -> Tensor:
    """The cumulative integral by the trapezoidal rule. The result has one element fewer than ``y``."""
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


@method(in_place=True)
@rounded_once
def renorm(input: Tensor, p: float, dim: int, maxnorm: float) -> Tensor:
    """Scale down each slice along ``dim`` whose p-norm exceeds ``maxnorm``, so that its norm is ``maxnorm``."""
    if input.array.ndim < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {input.array.ndim} dimensions")
    place = axis(dim, input.array.ndim)
    others = tuple(d for d in range(input.array.ndim) if d != place)
    small = ~(norm(input.detach(), p, others, True) > maxnorm)
    sizes = norm(input.masked_fill(small, 0.0), p, others, True)  # so that small slices get no ∞ or NaN gradients
    return input * (maxnorm / (sizes + 1e-7)).masked_fill(small, 1.0)
