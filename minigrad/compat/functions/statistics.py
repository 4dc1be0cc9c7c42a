"""Order statistics and histograms under PyTorch's names: medians, quantiles, running extremes and counts."""

from __future__ import annotations

import math
from functools import reduce
from typing import Any, overload

import numpy as np

from ...autograd.tape import Variable
from ...backend import of, xp
from ...backend.dtype import counted, get_default_dtype, has_gradient, iinfo, kind_of, widened
from ...functions.arguments import Dims, as_tensor_like, axis, ordered, raw, rounded_once, scalars_as_vectors
from ...functions.creation import tensor_on
from ...functions.define import Function, function, method
from ...functions.names import amax, amin, complex, gather, isnan, mean, norm, sort, std, sum, tensor, var, where
from ...ops import cumulative as cumulative_ops, indexing as i
from ...tensor import Tensor, apply, wrap
from . import return_types


def along_an_axis(function: Function) -> Function:
    """Define a method that compares elements along an axis."""
    return method(ordered(scalars_as_vectors(function)))


def _picked(input: Tensor, indices: Any, dim: int, keepdim: bool, kind: Any) -> Any:
    """Return (values, indices) of the elements at ``indices``, an array whose length along the axis is 1."""
    places = wrap(indices)
    values = apply(i.gather, (input, dim, places))
    return kind(values, places) if keepdim else kind(values.squeeze(dim), places.squeeze(dim))


@along_an_axis
def kthvalue(input: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> return_types.ValuesIndices[Tensor]:
    """Return (values, indices) of the k-th smallest elements along ``dim``."""
    place = axis(dim, input.array.ndim)
    if not 1 <= k <= input.array.shape[place]:
        raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {dim}: {k}")
    m = xp(input.array)
    order = m.take(i._stable_order(input.array, place, False), m.asarray([k - 1]), axis=place)
    return _picked(input, order, place, keepdim, return_types.kthvalue)


@overload
def median(input: Tensor, dim: None = None, keepdim: bool = False) -> Tensor: ...
@overload
def median(input: Tensor, dim: int, keepdim: bool = False) -> return_types.ValuesIndices[Tensor]: ...


@along_an_axis
def median(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
    """The median (the lower of two middle elements), or NaN if any is NaN. With ``dim``, return (values, indices).

    >>> mg.tensor([1.0, 9.0, 2.0]).median()
    tensor(2.)
    """
    return _median(input, dim, keepdim, return_types.median, False)


@overload
def nanmedian(input: Tensor, dim: None = None, keepdim: bool = False) -> Tensor: ...
@overload
def nanmedian(input: Tensor, dim: int, keepdim: bool = False) -> return_types.ValuesIndices[Tensor]: ...


@along_an_axis
def nanmedian(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
    """The ``median``, ignoring NaN."""
    return _median(input, dim, keepdim, return_types.nanmedian, True)


def _median(input: Tensor, dim: int | None, keepdim: bool, kind: Any, skip: bool) -> Any:
    if dim is None and not input.array.size:
        if has_gradient(input.array.dtype):
            return input.sum() * math.nan
        return input.new_full((), True if input.array.dtype.kind == "b" else iinfo(input.dtype).min)
    if dim is None:  # equal elements share the gradient
        input = input.reshape(-1)
        value = _median(input, 0, False, kind, skip)[0]
        middle = input.isnan() if bool(value.isnan()) else input == value
        return input.masked_fill(~middle, -math.inf).max() if value.requires_grad else value
    place = axis(dim, input.array.ndim)
    m, order = xp(input.array), i._stable_order(input.array, place, False)
    missing = (input.array != input.array).sum(axis=place, keepdims=True)
    last = input.array.shape[place] - 1
    at = (last - missing) // 2 if skip else m.where(missing > 0, last + 1 - missing, last // 2)  # the first NaN
    indices = m.take_along_axis(order, m.maximum(at, 0), place)
    return _picked(input, indices, place, keepdim, kind)


@along_an_axis
def mode(input: Tensor, dim: int = -1, keepdim: bool = False) -> return_types.ValuesIndices[Tensor]:
    """The most frequent value along ``dim`` (the smallest if tied). Returns (values, indices of last occurrences)."""
    place = axis(dim, input.array.ndim)
    m, order = xp(input.array), i._stable_order(input.array, place, False)
    rows = m.moveaxis(m.take_along_axis(input.array, order, place), place, -1)
    equal = (rows[..., :, None] == rows[..., None, :]).sum(-1)
    best = equal.argmax(axis=-1)[..., None]  # the first occurrence of the mode
    last = best + m.maximum(m.take_along_axis(equal, best, -1) - 1, 0)  # the last; for NaN, the first
    indices = m.take_along_axis(order, m.moveaxis(last, -1, place), place)
    return _picked(input, indices, place, keepdim, return_types.mode)


@method
def quantile(
    input: Tensor, q: Any, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear"
) -> Tensor:
    """The value below which a fraction ``q`` of the elements lies. For a vector ``q``, the result has a leading axis.

    >>> mg.tensor([1.0, 2.0, 3.0]).quantile(0.5)
    tensor(2.)
    """
    return _quantile(input, q, dim, keepdim, interpolation, False)


@method
def nanquantile(
    input: Tensor, q: Any, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear"
) -> Tensor:
    """The ``quantile``, ignoring NaN."""
    return _quantile(input, q, dim, keepdim, interpolation, True)


@rounded_once
def _quantile(input: Tensor, q: Any, dim: int | None, keepdim: bool, how: str, skip: bool) -> Tensor:
    shares: Any = q if isinstance(q, Variable) else tensor(q, dtype=input.dtype, device=input.device)
    shares = shares.to(input.dtype)
    if shares.array.ndim > 1:
        raise RuntimeError(f"quantile() q must be a scalar or 1D tensor, but got shape {list(shares.shape)}")
    place = 0 if dim is None else axis(dim, input.array.ndim)
    x = input.reshape(-1) if dim is None else input
    rows = sort(x, place).values.movedim(place, -1) if x.array.ndim else x.reshape(1)
    missing = isnan(rows).sum(-1, keepdim=True)
    last = rows.array.shape[-1] - 1
    ranks = shares.reshape(-1) * (last - missing if skip else last)
    ranks = ranks.expand(*rows.shape[:-1], shares.array.size).clamp(0)
    ranks = ranks if skip else where(missing > 0, last, ranks)  # the position of a NaN
    below, above = ranks.floor().long(), ranks.ceil().long()
    low, high = gather(rows, -1, below), gather(rows, -1, above)
    if how in ("lower", "higher", "nearest"):
        result = {"lower": low, "higher": high, "nearest": gather(rows, -1, ranks.round().long())}[how]
    elif how in ("linear", "midpoint"):
        middle = low.lerp(high, ranks - below if how == "linear" else ranks.new_full((), 0.5))
        result = where(low == high, low, middle)
    else:
        raise RuntimeError(
            f"quantile() interpolation must be one of linear, lower, higher, midpoint or nearest, not {how!r}"
        )
    result = result.movedim(-1, 0)
    if keepdim and input.array.ndim:
        result = result.reshape(-1, *(1,) * input.array.ndim) if dim is None else result.unsqueeze(place + 1)
    return result if shares.array.ndim else result[0]


@along_an_axis
def cummax(input: Tensor, dim: int) -> return_types.ValuesIndices[Tensor]:
    """Return (values, indices) of the running maxima along ``dim``. For equal values, the last index is returned."""
    return _running(input, dim, True, return_types.cummax)


@along_an_axis
def cummin(input: Tensor, dim: int) -> return_types.ValuesIndices[Tensor]:
    """Return (values, indices) of the running minima along ``dim``. For equal values, the last index is returned."""
    return _running(input, dim, False, return_types.cummin)


def _running(input: Tensor, dim: int, largest: bool, kind: Any) -> Any:
    place = axis(dim, input.array.ndim)
    host = _host(input)
    best = (np.maximum if largest else np.minimum).accumulate(host, axis=place)
    shape = [1] * host.ndim
    shape[place] = -1
    reached = (host == best) | (host != host)
    places = np.maximum.accumulate(np.where(reached, np.arange(host.shape[place]).reshape(shape), 0), axis=place)
    indices = tensor_on(counted(places), input.device)
    return kind(apply(i.gather, (input, place, indices)), indices)


@method
@scalars_as_vectors
def logcumsumexp(input: Tensor, dim: int) -> Tensor:
    """The logarithm of the running sums of eˣ along ``dim``."""
    return apply(cumulative_ops.logcumsumexp, (input, axis(dim, input.array.ndim)))


@method
def aminmax(input: Tensor, *, dim: int | None = None, keepdim: bool = False) -> return_types.aminmax[Tensor]:
    """Return (min, max), the smallest and largest elements over ``dim``."""
    return return_types.aminmax(amin(input, dim, keepdim), amax(input, dim, keepdim))


@function
def std_mean(
    input: Tensor, dim: Dims = None, unbiased: bool = True, keepdim: bool = False, *, correction: float | None = None
) -> tuple[Tensor, Tensor]:
    """Return (standard deviation, mean) over ``dim``."""
    dim, unbiased = (None, dim) if isinstance(dim, bool) else (dim, unbiased)
    return std(input, dim, unbiased, keepdim, correction=correction), mean(input, dim, keepdim)


@function
def var_mean(
    input: Tensor, dim: Dims = None, unbiased: bool = True, keepdim: bool = False, *, correction: float | None = None
) -> tuple[Tensor, Tensor]:
    """Return (variance, mean) over ``dim``."""
    dim, unbiased = (None, dim) if isinstance(dim, bool) else (dim, unbiased)
    return var(input, dim, unbiased, keepdim, correction=correction), mean(input, dim, keepdim)


@method
def nansum(input: Tensor, dim: Dims = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The sum over ``dim``, treating NaN as 0."""
    return sum(where(isnan(input), 0, input), dim, keepdim, dtype=dtype)


@method
def nanmean(input: Tensor, dim: Dims = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The mean over ``dim``, ignoring NaN."""
    return _nanmean(input if dtype is None else input.to(dtype), dim, keepdim)


@rounded_once
def _nanmean(input: Tensor, dim: Dims, keepdim: bool) -> Tensor:
    return nansum(input, dim, keepdim) / sum(~isnan(input), dim, keepdim)


@method
def dist(input: Tensor, other: Tensor, p: float = 2) -> Tensor:
    """The p-norm of the difference between two tensors."""
    return norm(input - other, p)


@method
@rounded_once
def cov(input: Tensor, *, correction: int = 1, fweights: Any = None, aweights: Any = None) -> Tensor:
    """The covariance matrix of the rows, which are variables. The columns are observations.

    Args:
        fweights: (N,) integers, the number of times each observation occurs.
        aweights: (N,) floats, the weight of each observation.

    Raises RuntimeError for more than two axes, or weights with the wrong shape, dtype or sign.
    """
    if input.array.ndim > 2:
        raise RuntimeError(f"cov(): expected input to have two or fewer dimensions but got {input.array.ndim}")
    rows = input if input.array.ndim == 2 else input.reshape(1, -1)
    rows = rows if kind_of(rows.array) in "fc" else rows.to(get_default_dtype())
    count = rows.array.shape[1]
    weights = None
    for name, kinds, factors in (("fweights", "iu", fweights), ("aweights", "f", aweights)):
        if factors is None:
            continue
        if factors.array.shape != (count,) or kind_of(factors.array) not in kinds or (count and factors.min() < 0):
            raise RuntimeError(f"cov(): {name} must be {count} non-negative {'ints' if kinds == 'iu' else 'floats'}")
        weights = factors if weights is None else weights * factors
    if weights is None:
        centred = rows - mean(rows, 1, True)
        return (centred @ centred.mH / max(count - correction, 0)).squeeze()
    total = weights.sum()
    centred = rows - sum(rows * weights, 1, True) / total
    lost_weight = correction * (sum(weights * aweights) / total if aweights is not None else 1)
    return (centred @ (centred * weights).mH / (total - lost_weight).clamp(min=0)).squeeze()


@method
@rounded_once
def corrcoef(input: Tensor) -> Tensor:
    """The correlation matrix of the rows, which are variables. The columns are observations."""
    c = cov(input)
    if not c.array.ndim:
        return c / c
    spread = c.diagonal().sqrt()
    c = c / spread.unsqueeze(1) / spread.unsqueeze(0)
    return complex(c.real.clamp(-1, 1), c.imag.clamp(-1, 1)) if c.is_complex() else c.clamp(-1, 1)


@method
def bincount(input: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """Count how often each of 0, 1, 2, ... occurs in a vector of integers, or sum the ``weights`` of its occurrences.

    >>> mg.tensor([0, 1, 1, 3]).bincount()
    tensor([1, 2, 0, 1])
    """
    if input.array.ndim != 1 or input.array.dtype.kind not in "iu" or (input.array.size and input.min() < 0):
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    factors = None if weights is None else raw(weights)
    counts = xp(input.array).bincount(input.array.astype(np.intp), factors, minlength)
    dtype = np.int64 if factors is None else np.float32 if factors.dtype == np.float32 else np.float64
    return wrap(counts.astype(dtype))


@method
@ordered
def histc(input: Tensor, bins: int = 100, min: float = 0, max: float = 0) -> Tensor:
    """The number of elements in each of ``bins`` equally wide bins from ``min`` to ``max``, in the tensor's dtype. If
    both bounds are 0, the bins range from the smallest to the largest element."""
    host = _host(input).reshape(-1)
    low, high = (float(host.min()), float(host.max())) if min == max == 0 and host.size else (min, max)
    ends = (low - 1, high + 1) if low == high else (low, high)
    return tensor_on(np.histogram(host, bins, ends)[0].astype(input.array.dtype), input.device)


@method
@ordered
def histogram(
    input: Tensor, bins: Any = 100, *, range: Any = None, weight: Tensor | None = None, density: bool = False
) -> return_types.histogram[Tensor]:
    """Return (the number of elements in each bin, the bin edges). ``bins`` is a tensor of edges, or the number of
    equally wide bins from ``range[0]`` to ``range[1]``. By default, ``range`` contains the tensor's extremes."""
    hist, (edges,) = histogramdd(input.reshape(-1, 1), [bins], range, weight, density)
    return return_types.histogram(hist, edges)


@function
def histogramdd(
    input: Tensor, bins: Any, range: Any = None, weight: Tensor | None = None, density: bool = False
) -> return_types.histogramdd[Tensor]:
    """The number of points (..., D) in each cell of a grid, and the grid edges along each axis.

    Args:
        bins: one number of cells for all axes, or a list with the number or the edges of the cells for each axis.
        range: the first and last edges along each axis, in a flat list; by default, the extremes of the points.
        weight: the weight of each point, (...).
        density: divide the counts by their sum and by the volumes of the cells.

    Raises RuntimeError if there are no axes, an axis has no cells, or ``bins`` or ``range`` has the wrong length.
    """
    host = _host(input)
    if host.ndim < 2:
        raise RuntimeError("histogramdd: input tensor should have at least 2 dimensions")
    points = host.reshape(-1, host.shape[-1])
    axes = points.shape[1]
    each = [bins] * axes if isinstance(bins, int) else [_host(b) for b in bins]
    if len(each) != axes:
        raise RuntimeError(f"histogramdd: expected bins for each of {axes} dimensions but got {len(each)}")
    if range is not None and len(range) != 2 * axes:
        raise RuntimeError(f"histogramdd: for a {axes}-dimensional histogram range should have {2 * axes} elements")
    limits = [None] * axes if range is None else [*zip(range[::2], range[1::2], strict=True)]
    try:
        edges = [
            np.asarray(cells) if np.ndim(cells) else np.histogram_bin_edges(x, cells, ends)
            for x, cells, ends in zip(points.T, each, limits, strict=True)
        ]
    except ValueError as error:
        raise RuntimeError(f"histogram: {error}") from error
    if points.dtype.kind == "f":
        edges = [some.astype(points.dtype) for some in edges]
    shape = tuple(len(some) - 1 for some in edges)
    if not shape or not all(n > 0 for n in shape):
        raise RuntimeError(f"histogram: bins must be > 0 along each axis, but are {list(shape)}")
    inside = np.all([(x >= some[0]) & (x <= some[-1]) for x, some in zip(points.T, edges, strict=True)], 0)
    places = [_bin(some, x) for x, some in zip(points[inside].T, edges, strict=True)]
    weights = None if weight is None else _host(weight).reshape(-1)[inside]
    counts = np.bincount(np.ravel_multi_index(places, shape), weights, math.prod(shape)).reshape(shape)
    if density:
        with np.errstate(all="ignore"):
            counts = counts / counts.sum() / reduce(np.multiply.outer, map(np.diff, edges))
    hist, *ends = (tensor_on(part.astype(input.array.dtype), input.device) for part in (counts, *edges))
    return return_types.histogramdd(hist, tuple(ends))


def _bin(edges: Any, x: Any) -> Any:
    """The bin of each x, computed by bisection as in PyTorch, even for decreasing edges."""
    first, count = np.zeros(x.shape, np.int64), np.full(x.shape, len(edges))
    for _ in np.binary_repr(len(edges)):
        half = count // 2
        middle = np.minimum(first + half, len(edges) - 1)
        is_above = (count > 0) & ~(x < edges[middle])
        first, count = np.where(is_above, middle + 1, first), np.where(is_above, count - half - 1, half)
    return np.minimum(first - 1, len(edges) - 2)  # the last interval includes its upper edge


def _host(value: Any) -> Any:
    """Convert a tensor to a NumPy array, with bfloat16 widened to float32. Other values are returned unchanged."""
    return widened(of(value.array).to_numpy(value.array)) if isinstance(value, Variable) else value


@function
@ordered
def searchsorted(
    sorted_sequence: Tensor,
    input: Any,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Tensor | None = None,
) -> Tensor:
    """The indices at which to insert values into sequences sorted along the last axis. Values go before equal elements,
    or after them if ``right``. Raises RuntimeError if multi-dimensional sequences and values differ in leading axes."""
    rows = _host(sorted_sequence)
    if sorter is not None:
        rows = np.take_along_axis(rows, _host(sorter), -1)
    values = np.asarray(_host(input))
    after: Any = "right" if right or side == "right" else "left"
    if rows.ndim == 1:
        places = np.asarray(np.searchsorted(rows, values, after))
    elif not rows.ndim or not values.ndim or rows.shape[:-1] != values.shape[:-1]:
        expected = "boundaries tensor should be 1 dimension or its leading axes must match the input's"
        raise RuntimeError(f"searchsorted(): {expected}, but got {list(rows.shape)} and {list(values.shape)}")
    else:
        places = np.empty(values.shape, np.int64)
        for row in np.ndindex(rows.shape[:-1]):
            places[row] = np.searchsorted(rows[row], values[row], after)
    return tensor_on(places.astype(np.int32 if out_int32 else np.int64), sorted_sequence.device)


@function
def bucketize(input: Any, boundaries: Tensor, *, out_int32: bool = False, right: bool = False) -> Tensor:
    """The index of the interval between ``boundaries`` that contains each value."""
    if boundaries.array.ndim != 1:
        raise RuntimeError(f"boundaries tensor must be 1 dimension, but got dim({boundaries.array.ndim})")
    return searchsorted(boundaries, input, out_int32=out_int32, right=right)


@function
def isin(elements: Any, test_elements: Any, *, assume_unique: bool = False, invert: bool = False) -> Tensor:
    """Whether each element is in ``test_elements``.

    >>> mg.isin(mg.tensor([1, 2, 3]), mg.tensor([2, 3]))
    tensor([False,  True,  True])
    """
    like = elements if isinstance(elements, Variable) else test_elements
    elements, tested = as_tensor_like(elements, like), as_tensor_like(test_elements, like)
    return wrap(xp(like.array).isin(widened(elements.array), widened(tested.array), invert=invert))


@overload
def unique_consecutive(input: Tensor, *, dim: int | None = None) -> Tensor: ...
@overload
def unique_consecutive(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any: ...


@method
def unique_consecutive(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """The values without consecutive repeats. Optionally return each element's index among them, and their counts."""
    host = _host(input)
    rows = host.reshape(-1) if dim is None else np.moveaxis(host, dim, 0)
    flat = rows.reshape(len(rows), math.prod(rows.shape[1:]))
    first = np.ones(len(rows), bool)
    first[1:] = (flat[1:] != flat[:-1]).any(1)
    starts = np.flatnonzero(first)
    inverse = counted(np.cumsum(first) - 1).reshape(host.shape if dim is None else -1)
    rows = rows.astype(input.array.dtype, copy=False)
    values = rows[first] if dim is None else np.moveaxis(rows[first], 0, dim)
    counts = counted(np.diff(np.append(starts, len(rows))))
    parts = [values] + [inverse] * return_inverse + [counts] * return_counts
    results = tuple(tensor_on(np.array(part, order="C"), input.device) for part in parts)
    return results if len(results) > 1 else results[0]


@method
def msort(input: Tensor) -> Tensor:
    """The tensor sorted along the first axis."""
    return sort(input, 0).values
