"""Functions that change shapes, as views or rearrangements, under PyTorch's names."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from ..backend import xp
from ..backend.dtype import DType, as_dtype, contiguous_format, get_default_dtype, kind_of, result_type
from ..ops import indexing as indexing_ops, joining as joining_ops, shape as s
from ..ops.op import Op
from ..ops.reduction import sum_to
from ..tensor import Tensor, apply, wrap
from .arguments import axis, common_shape, raw, rounded_once, sizes
from .define import attribute, brief, function, method, named, reshaping


@method
def reshape(input: Tensor, *lengths: Any, shape: Any = None) -> Tensor:
    """The same elements in another shape, without copying if possible. A length of -1 is inferred.

    >>> mg.arange(6).reshape(2, 3)
    tensor([[0, 1, 2],
            [3, 4, 5]])
    >>> mg.arange(6).reshape(3, -1).shape
    minigrad.Size([3, 2])
    """
    return apply(s.reshape, (input, _resolved(input, sizes(lengths if shape is None else shape))))


def _resolved(input: Tensor, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape with -1 inferred, after checking the number of elements."""
    size, product, unknown = input.array.size, prod(n for n in shape if n != -1), shape.count(-1)
    if product == size and not unknown:
        return shape
    if unknown == 1 and product and size % product == 0:
        return tuple(size // product if n == -1 else n for n in shape)
    if unknown or product != size:
        raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {size} (shape {tuple(input.shape)})")
    return shape


@method(free=False)
def view(input: Tensor, *shape: Any, size: Any = None, dtype: Any = None) -> Tensor:
    """Like ``reshape``, but never copies. If ``dtype`` is passed, reinterprets the bytes as that dtype; this has no
    gradient. Raises RuntimeError if the memory order does not allow a view; use ``reshape`` in that case.

    >>> x = mg.zeros(4)
    >>> x.view(2, 2)[0, 0] = 1
    >>> x
    tensor([1., 0., 0., 0.])
    """
    if size is not None or dtype is not None:
        shape = (dtype if size is None else size,)
    if len(shape) == 1 and isinstance(shape[0], (DType, type)):
        return _bytes_read_as(input, as_dtype(shape[0]))
    out: Tensor = apply(s.reshape, (input, _resolved(input, sizes(shape))))
    if out._changes is not input._changes and input.array.size:
        problem = "at least one dimension spans across two contiguous subspaces"
        sizes_are = f"view size is not compatible with input tensor's size and stride ({problem})"
        raise RuntimeError(f"{sizes_are}. Use .reshape(...) instead.")
    return out


def _bytes_read_as(input: Tensor, dtype: DType) -> Tensor:
    """Reinterpret the memory as another dtype, which changes the length of the last axis."""
    old, new = input.dtype.itemsize, dtype.itemsize
    steps = input.stride()
    problem, k = "", max(new // old, 1)
    if old != new and not steps:
        problem = "self.dim() cannot be 0"
    elif old != new and steps[-1] != 1:
        problem = f"self.stride(-1) must be 1, not {steps[-1]},"
    elif k > 1:
        parts = {"size(-1)": input.array.shape[-1], "storage_offset()": input.storage_offset()}
        parts |= {f"stride({place})": step for place, step in enumerate(steps[:-1])}
        wrong = [f"self.{name} must be divisible by {k}, and {n} is not," for name, n in parts.items() if n % k]
        problem = wrong[0] if wrong else ""
    if problem:
        raise RuntimeError(f"{problem} to view {input.dtype} as {dtype} (different element sizes)")
    read: Tensor = wrap(input.array.view(dtype.numpy))
    read._changes = input._changes
    return read


@method
def permute(input: Tensor, *order: Any, dims: Any = None) -> Tensor:
    """The tensor with its axes in the order ``dims``, passed as separate numbers or one sequence.

    >>> mg.zeros(2, 3, 4).permute(2, 0, 1).shape
    minigrad.Size([4, 2, 3])
    """
    order = tuple(axis(d, input.array.ndim) for d in sizes(order if dims is None else dims))
    if sorted(order) != list(range(input.array.ndim)):
        ndim = input.array.ndim
        raise RuntimeError(f"permute: {len(order)} dims {order} must name each of the {ndim} axes once")
    return apply(s.permute, (input, order))


@method(in_place=reshaping)
def transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """The tensor with two axes swapped.

    >>> mg.tensor([[1, 2, 3], [4, 5, 6]]).transpose(0, 1)
    tensor([[1, 4],
            [2, 5],
            [3, 6]])
    """
    n = input.array.ndim
    first, second = axis(dim0, n), axis(dim1, n)
    return apply(s.transpose, (input, first, second)) if n else input


swapaxes = swapdims = transpose


@method(in_place=reshaping)
def t(input: Tensor) -> Tensor:
    """The transpose of a matrix. Vectors and scalars are returned unchanged.

    >>> mg.tensor([[1, 2], [3, 4]]).t()
    tensor([[1, 3],
            [2, 4]])
    """
    if input.array.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {input.array.ndim}D")
    return transpose(input, 0, 1) if input.array.ndim == 2 else input


@method
def movedim(input: Tensor, source: Any, destination: Any) -> Tensor:
    """The tensor with axes moved to other positions. Raises RuntimeError if axes repeat or their numbers differ.

    >>> mg.zeros(2, 3, 4).movedim(0, -1).shape
    minigrad.Size([3, 4, 2])
    """
    n = input.array.ndim
    sources = [axis(d, n) for d in sizes((source,))]
    places = [axis(d, n) for d in sizes((destination,))]
    if len(sources) != len(places):
        raise RuntimeError(f"movedim: source {sources} and destination {places} must name the same number of axes")
    for name, dims in (("source", sources), ("destination", places)):
        if len(set(dims)) < len(dims):
            raise RuntimeError(f"movedim: repeated dim in `{name}` ({dims})")
    order = [d for d in range(n) if d not in sources]
    if not n:
        return permute(input, ())
    for place, moved in sorted(zip(places, sources, strict=True)):
        order.insert(place, moved)
    return permute(input, order)


@method(in_place=reshaping)
def unsqueeze(input: Tensor, dim: int) -> Tensor:
    """The tensor with a new axis of length 1 at ``dim``.

    >>> mg.tensor([1, 2, 3]).unsqueeze(0).shape
    minigrad.Size([1, 3])
    """
    return apply(s.unsqueeze, (input, axis(dim, input.array.ndim + 1)))


@method(in_place=reshaping)
def squeeze(input: Tensor, dim: Any = None, *dims: int) -> Tensor:
    """Remove all axes of length 1, or only those in ``dim``, passed as separate numbers or one sequence.

    >>> mg.zeros(1, 3, 1).squeeze().shape
    minigrad.Size([3])
    >>> mg.zeros(1, 3, 1).squeeze(0).shape
    minigrad.Size([3, 1])
    """
    if dim is not None:
        dim = (dim, *dims) if isinstance(dim, int) else dim
        dim = tuple(d for d in (axis(d, input.array.ndim) for d in dim) if input.array.ndim)
    return apply(s.squeeze, (input, dim))


@method
def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """The tensor with the axes from ``start_dim`` to ``end_dim`` merged into one.

    >>> mg.zeros(2, 3, 4).flatten(1).shape
    minigrad.Size([2, 12])
    """
    n = input.array.ndim
    first, last = axis(start_dim, n), axis(end_dim, n)
    if first > last:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if n and first == last:
        return input
    shape = input.array.shape
    count = int(np.prod(shape[first : last + 1], dtype=np.int64))
    return reshape(input, (*shape[:first], count, *shape[last + 1 :]))


@method
def unflatten(input: Tensor, dim: int, sizes: Sequence[int]) -> Tensor:
    """The tensor with one axis split into several.

    >>> mg.zeros(2, 12).unflatten(1, (3, 4)).shape
    minigrad.Size([2, 3, 4])
    """
    place, shape = axis(dim, input.array.ndim), tuple(input.array.shape)
    parts = [n.__index__() for n in sizes]
    if -1 in parts:
        rest = int(np.prod([n for n in parts if n != -1], dtype=np.int64))
        parts[parts.index(-1)] = shape[place] // max(rest, 1)
    if prod(parts) != shape[place]:
        raise RuntimeError(f"unflatten: sizes {list(sizes)} don't multiply up to axis {place}'s size {shape[place]}")
    return reshape(input, shape[:place] + tuple(parts) + shape[place + 1 :])


@method(free=False)
def expand(input: Tensor, *shape: Any, size: Any = None, implicit: bool = False) -> Tensor:
    """The tensor with axes of length 1 repeated without copying. A length of -1 keeps the axis unchanged.

    >>> mg.tensor([[1], [2]]).expand(-1, 3)
    tensor([[1, 1, 1],
            [2, 2, 2]])
    """
    target, source = sizes(shape if size is None else size), input.array.shape
    if len(target) < len(source):
        least = f"greater or equal to the number of dimensions in the tensor ({len(source)})"
        raise RuntimeError(f"expand: the number of sizes provided ({len(target)}) must be {least}")
    if any(n < 0 for n in target[: len(target) - len(source)]):
        problem = f"but the first axes of {list(target)} are new: the tensor has shape {list(source)}"
        raise RuntimeError(f"expand: -1 keeps an axis unchanged, {problem}")
    padded = (1,) * (len(target) - len(source)) + tuple(source)
    full = tuple(old if new == -1 else new for new, old in zip(target, padded, strict=True))
    for i, (new, old) in enumerate(zip(full, padded, strict=True)):
        if old not in (1, new):
            place = f"non-singleton dimension {i}. Target sizes: {list(target)}. Tensor sizes: {list(source)}"
            raise RuntimeError(
                f"The expanded size of the tensor ({new}) must match the existing size ({old}) at {place}"
            )
    return apply(s.broadcast_to, (input, full))


@function
def broadcast_tensors(*tensors: Tensor) -> tuple[Tensor, ...]:
    """The tensors expanded to their common shape."""
    shape = common_shape(*(t.array.shape for t in tensors))
    return tuple(expand(t, shape) for t in tensors)


@method(free=False)
def repeat(input: Tensor, *counts: Any, repeats: Any = None) -> Tensor:
    """Repeat the tensor along each axis, as often as ``repeats`` specifies. Extra numbers add leading axes.

    >>> mg.tensor([1, 2]).repeat(2, 2)
    tensor([[1, 2, 1, 2],
            [1, 2, 1, 2]])
    """
    counts = sizes(counts if repeats is None else repeats)
    if len(counts) < input.array.ndim:
        raise RuntimeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    return apply(joining_ops.repeat, (input, counts))


@method
def tile(input: Tensor, *repeats: Any, dims: Any = None) -> Tensor:
    """Like ``repeat``, but if there are fewer numbers than axes, ones are prepended."""
    dims = sizes(repeats if dims is None else dims)
    return repeat(input, (1,) * (input.array.ndim - len(dims)) + tuple(dims))


@method
def repeat_interleave(
    input: Tensor, repeats: Any = None, dim: int | None = None, *, output_size: int | None = None
) -> Tensor:
    """Repeat elements along ``dim``, or of the flattened tensor if None. If only counts are passed, repeat the indices.

    >>> mg.tensor([1, 2]).repeat_interleave(3)
    tensor([1, 1, 1, 2, 2, 2])
    """
    if repeats is None:
        m = xp(input.array)
        input, repeats = wrap(m.arange(input.array.size, dtype=np.int64)), input
    if dim is None:
        input, dim = flatten(input), 0
    args = (input, raw(repeats), axis(dim, input.array.ndim))
    return apply(joining_ops.repeat_interleave, args)


@method
def flip(input: Tensor, *places: Any, dims: Any = None) -> Tensor:
    """The tensor reversed along ``dims`` (separate numbers or one sequence). Raises RuntimeError if an axis repeats.

    >>> mg.tensor([1, 2, 3]).flip(0)
    tensor([3, 2, 1])
    """
    places = tuple(axis(d, input.array.ndim) for d in sizes(places if dims is None else dims))
    if len(set(places)) < len(places):
        raise RuntimeError(f"flip: an axis appears twice in dims {places}")
    return apply(s.flip, (input, places if input.array.ndim else ()))


@method
def roll(input: Tensor, shifts: Any, dims: Any = None) -> Tensor:
    """Elements shifted along ``dims`` with wraparound. Raises RuntimeError if the numbers of shifts and axes differ.

    >>> mg.arange(5).roll(2)
    tensor([3, 4, 0, 1, 2])
    """
    shifts = tuple(shifts) if isinstance(shifts, (tuple, list)) else (shifts,)
    if dims is None and len(shifts) == 1:
        return apply(s.roll, (input, shifts[0], None))
    dims = sizes((dims,)) if dims is not None else ()
    if len(shifts) != len(dims) or not shifts:
        raise RuntimeError(f"roll: shifts and dimensions must align. shifts: {len(shifts)}, dims: {len(dims)}")
    if not input.array.ndim:
        raise IndexError(f"roll: dimension specified as {dims[0]} but tensor has no dimensions")
    return apply(s.roll, (input, shifts, tuple(axis(d, input.array.ndim) for d in dims)))


def _together(tensors: Sequence[Tensor], name: str) -> tuple[Tensor, ...]:
    listed = tuple(tensors)
    if not listed:
        kind = ValueError if name == "cat" else RuntimeError  # as in PyTorch
        raise kind(f"{name}(): expected a non-empty list of Tensors")
    if any(t.array.dtype != listed[0].array.dtype for t in listed):
        common = result_type(*(t.array for t in listed))
        listed = tuple(t.to(common) for t in listed)
    return listed


@function
def cat(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """The tensors joined along an existing axis. Their other axes must have equal lengths.

    >>> mg.cat([mg.zeros(1, 2), mg.ones(2, 2)])
    tensor([[0., 0.],
            [1., 1.],
            [1., 1.]])
    """
    if isinstance(tensors, Tensor):
        raise TypeError("cat(): argument 'tensors' must be tuple of Tensors, not Tensor")
    listed = _together(tensors, "cat")
    if scalars := [n for n, t in enumerate(listed) if not t.array.ndim]:
        raise RuntimeError(f"zero-dimensional tensor (at position {scalars[0]}) cannot be concatenated")
    listed = tuple(t for t in listed if t.array.shape != (0,)) or listed
    place = axis(dim, listed[0].array.ndim)
    for n, other in enumerate(listed):
        shape, first = other.array.shape, listed[0].array.shape
        if len(shape) != len(first) or shape[:place] + shape[place + 1 :] != first[:place] + first[place + 1 :]:
            shapes = f"tensor 0 has shape {tuple(first)}, tensor {n} has shape {tuple(shape)}"
            raise RuntimeError(f"cat: sizes of tensors must match except in dimension {place}: {shapes}")
    return apply(joining_ops.concatenate, (place, *listed))


concat = concatenate = cat


@function
def stack(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Tensors of the same shape joined along a new axis.

    >>> mg.stack([mg.tensor([1, 2]), mg.tensor([3, 4])])
    tensor([[1, 2],
            [3, 4]])
    """
    listed = _together(tensors, "stack")
    for n, other in enumerate(listed):
        if other.array.shape != listed[0].array.shape:
            sizes = f"{list(listed[0].array.shape)} at entry 0 and {list(other.array.shape)} at entry {n}"
            raise RuntimeError(f"stack expects each tensor to be equal size, but got {sizes}")
    return apply(joining_ops.stack, (axis(dim, listed[0].array.ndim + 1), *listed))


@function
def hstack(tensors: Sequence[Tensor]) -> Tensor:
    """Join tensors along axis 1, or along axis 0 for vectors."""
    if not tensors:
        raise RuntimeError("hstack expects a non-empty TensorList")
    tensors = [t if t.array.ndim else reshape(t, 1) for t in tensors]
    return cat(tensors, 0 if tensors[0].array.ndim < 2 else 1)


@function
def vstack(tensors: Sequence[Tensor]) -> Tensor:
    """Join tensors along axis 0. Vectors are treated as rows."""
    return cat([t if t.array.ndim > 1 else reshape(t, 1, -1) for t in tensors], 0)


@method
def split(input: Tensor, split_size_or_sections: int | Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """Split an axis into pieces of equal length (the last may be shorter), or of the listed lengths.

    >>> [part.tolist() for part in mg.arange(5).split(2)]
    [[0, 1], [2, 3], [4]]
    """
    place = axis(dim, input.array.ndim)
    length = input.array.shape[place]
    if isinstance(split_size_or_sections, int):
        step = split_size_or_sections
        if step < 0 or (step == 0 and length):
            raise RuntimeError(f"split expects split_size be positive, but got split_size={step}")
        parts = tuple(min(step, length - start) for start in range(0, length, step or 1)) or (0,)
    else:
        parts = tuple(split_size_or_sections)
        if sum(parts) != length:
            total = f"{length} (input tensor's size at dimension {place}), but got split_sizes={list(parts)}"
            raise RuntimeError(f"split_with_sizes expects split_sizes to sum exactly to {total}")
    return apply(joining_ops.split, (input, parts, place))


@method
def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """At most ``chunks`` pieces of equal length (the last may be shorter). An empty axis gives ``chunks`` empty pieces.

    >>> [part.tolist() for part in mg.arange(6).chunk(3)]
    [[0, 1], [2, 3], [4, 5]]
    """
    if chunks < 1:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    length = input.array.shape[axis(dim, input.array.ndim)]
    return split(input, -(-length // chunks) or [0] * chunks, dim)


@method
def unbind(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """A tuple of the slices along an axis.

    >>> a, b = mg.tensor([[1, 2], [3, 4]]).unbind()
    >>> b
    tensor([3, 4])
    """
    if input.array.ndim == 0:
        raise RuntimeError("unbind: a 0-d tensor cannot be split")
    return apply(joining_ops.unbind, (input, axis(dim, input.array.ndim)))


@method
def narrow(input: Tensor, dim: int, start: int, length: int) -> Tensor:
    """``length`` elements along an axis, starting at ``start``."""
    if not input.array.ndim:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    if isinstance(start, Tensor) and (start.array.ndim or start.array.dtype.kind not in "iu"):
        raise RuntimeError("narrow(): start must be an 0-dim integral Tensor.")
    place = axis(dim, input.array.ndim)
    n = input.array.shape[place]
    if length < 0:
        raise RuntimeError(f"narrow(): length must be non-negative, not {length}")
    if not -n <= (start := int(start)) <= n:
        raise IndexError(f"narrow(): start out of range (expected to be in range of [{-n}, {n}], but got {start})")
    start = start + n if start < 0 else start
    if start + length > n:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({n}).")
    return input[(*(slice(None),) * place, slice(start, start + length))]


@method
def select(input: Tensor, dim: int, index: int) -> Tensor:
    """The slice at ``index`` along an axis."""
    return input[(*(slice(None),) * axis(dim, input.array.ndim), index)]


@method
def diagonal(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """The elements with indices (i, i + offset) along two axes, as a new last axis.

    >>> mg.tensor([[1, 2], [3, 4]]).diagonal()
    tensor([1, 4])
    """
    return apply(s.diagonal, (input, offset, *_two_axes(dim1, dim2, input.array.ndim)))


def _two_axes(dim1: int, dim2: int, ndim: int) -> tuple[int, int]:
    first, second = axis(dim1, ndim), axis(dim2, ndim)
    if first == second:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    return first, second


def _triangle(op: Op, doc: str) -> Callable[..., Tensor]:
    def triangle(input: Tensor, diagonal: int = 0, *, out: Tensor | None = None) -> Tensor:
        if input.array.ndim < 2:
            raise RuntimeError(f"{op.name}: input tensor must have at least 2 dimensions, it has {input.array.ndim}")
        return apply(op, (input, diagonal))

    return method(in_place=True)(named(triangle, op.name, doc))


tril = _triangle(
    s.tril,
    """The lower triangle of the last two axes, up to and including diagonal number ``diagonal`` (0 is the main one).

    >>> mg.ones(3, 3).tril().tolist()
    [[1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [1.0, 1.0, 1.0]]
    """,
)
triu = _triangle(s.triu, "The upper triangle of the last two axes, starting with diagonal number ``diagonal``.")


@function
def meshgrid(*tensors: Any, indexing: str = "ij") -> tuple[Tensor, ...]:
    """Coordinate grids from vectors. Grid i varies along axis i; with "xy", the first two axes are swapped. Raises
    RuntimeError if there are no tensors, a tensor has more than one axis, dtypes differ, or ``indexing`` is invalid.

    >>> rows, columns = mg.meshgrid(mg.arange(2), mg.arange(3), indexing="ij")
    >>> rows
    tensor([[0, 0, 0],
            [1, 1, 1]])
    """
    listed = list(tensors[0]) if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else list(tensors)
    if not listed:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    if indexing not in ("ij", "xy"):
        raise RuntimeError(f"meshgrid: indexing must be one of 'xy' or 'ij', but received: {indexing}")
    if any(t.array.ndim > 1 for t in listed):
        raise RuntimeError(f"meshgrid: expected scalars or vectors, got shapes {[tuple(t.shape) for t in listed]}")
    if len({t.array.dtype for t in listed}) > 1:
        raise RuntimeError("meshgrid expects all tensors to have the same dtype")
    places = [*range(len(listed))]
    if indexing == "xy" and len(listed) > 1:
        places[:2] = [1, 0]
    shape = [0] * len(listed)
    for place, t in zip(places, listed, strict=True):
        shape[place] = t.array.size
    along = [[-1 if d == place else 1 for d in range(len(listed))] for place in places]
    return tuple(expand(reshape(t, lengths), shape) for t, lengths in zip(listed, along, strict=True))


@method(free=False)
def contiguous(input: Tensor, memory_format: Any = None) -> Tensor:
    """The tensor itself if its memory is contiguous (or in the order of a memory format), else a contiguous copy.

    >>> x = mg.zeros(2, 3).t()
    >>> x.is_contiguous(), x.contiguous().is_contiguous()
    (False, True)
    """
    kind = memory_format or contiguous_format
    return input if input.is_contiguous(kind) else input.clone(memory_format=kind)


moveaxis = movedim
split_with_sizes = unsafe_split = unsafe_split_with_sizes = split
unsafe_chunk = chunk


@method
def diff(
    input: Tensor, n: int = 1, dim: int = -1, prepend: Tensor | None = None, append: Tensor | None = None
) -> Tensor:
    """Differences between adjacent elements along ``dim``, taken ``n`` times. If n is 0, returns a copy of ``input``.

    >>> mg.tensor([1, 4, 9]).diff()
    tensor([3, 5])
    """
    if n < 0:
        raise RuntimeError(f"diff: order must be non-negative but got {n}")
    if not input.array.ndim:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if n == 0:
        return input.clone()
    parts = [part for part in (prepend, input, append) if part is not None]
    out, place = cat(parts, dim) if len(parts) > 1 else input, axis(dim, input.array.ndim)
    for _ in range(n):
        length = max(out.array.shape[place] - 1, 0)
        earlier, later = (narrow(out, place, start if length else 0, length) for start in (0, 1))
        out = later ^ earlier if input.array.dtype.kind == "b" else later - earlier
    return out


@function
@rounded_once
def gradient(input: Tensor, *, spacing: Any = None, dim: Any = None, edge_order: int = 1) -> tuple[Tensor, ...]:
    """Derivatives along axes (by default all), by central differences. The ends use one-sided differences of order
    ``edge_order``. ``spacing`` is the distance between points (by default 1), or a distance or coordinates for each
    axis. Raises RuntimeError if an axis has at most ``edge_order`` elements, or the order or spacings are invalid."""
    n = input.array.ndim
    places = [axis(d, n) for d in (range(n) if dim is None else sizes((dim,)))]
    if len(set(places)) < len(places):
        raise RuntimeError(f"gradient: a dim appears multiple times in the list of dims {places}")
    steps = list(spacing) if isinstance(spacing, (tuple, list)) else [1 if spacing is None else spacing] * len(places)
    if len(steps) != len(places):
        raise RuntimeError(f"gradient expected spacing for {len(places)} dimensions, got {len(steps)}")
    if edge_order not in (1, 2):
        raise RuntimeError("gradient only supports edge_order=1 and edge_order=2.")
    if short := [d for d in places if input.array.shape[d] <= edge_order]:
        least = f"at least edge_order+1: axis {short[0]} of {list(input.shape)}"
        raise RuntimeError(f"gradient expected each dimension size to be {least}")
    return tuple(_grads(input, d, step, edge_order) for d, step in zip(places, steps, strict=True))


def _grads(x: Tensor, place: int, step: Any, edge_order: int) -> Tensor:
    """The derivatives along an axis, for points at equal distances or at given coordinates."""
    count, column = x.array.shape[place], [1] * x.array.ndim
    column[place] = -1
    x = x if kind_of(x.array) in "fc" else x.to(get_default_dtype())
    if isinstance(step, Tensor) and step.array.ndim:
        if step.array.shape != (count,):
            raise RuntimeError(f"gradient expected {count} positions along axis {place}, got {list(step.shape)}")
        widths = reshape(diff(step), column)
    else:
        widths = x.detach().new_ones(count - 1).reshape(column) * step
    grads = diff(x, dim=place) / widths
    if count == 2:
        return cat([grads, grads], place)
    near, far = (narrow(widths, place, start, count - 2) for start in (0, 1))
    before, after = (narrow(grads, place, start, count - 2) for start in (0, 1))
    if isinstance(step, Tensor) and step.array.ndim:
        inner = (before * far + after * near) / (near + far)
    else:  # the middle point has weight 0, even if infinite
        inner = (narrow(x, place, 2, count - 2) - narrow(x, place, 0, count - 2)) / (near + far)
    first, last = (narrow(grads, place, start, 1) for start in (0, count - 2))
    if edge_order == 2:  # a parabola through three points: its derivatives at equal steps have equal differences
        first, last = 2 * first - narrow(inner, place, 0, 1), 2 * last - narrow(inner, place, count - 3, 1)
    return cat([first, inner, last], place)


@method
def diag_embed(input: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Matrices whose diagonals are the input's last axis. ``dim1`` and ``dim2`` are the axes of the matrices."""
    n, shape = input.array.ndim + 1, list(input.array.shape[:-1])
    first, second = _two_axes(dim1, dim2, n)
    size = input.array.shape[-1] + abs(offset)
    for place in sorted((first, second)):
        shape.insert(place, size)
    return apply(s.diagonal_scatter, (input, tuple(shape), offset, first, second))


@method
def diag(input: Tensor, diagonal: int = 0) -> Tensor:
    """A matrix with a vector as its diagonal, or the diagonal of a matrix.

    >>> mg.diag(mg.tensor([1, 2]))
    tensor([[1, 0],
            [0, 2]])
    """
    if input.array.ndim not in (1, 2):
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {input.array.ndim}D")
    if input.array.ndim == 1:
        return diag_embed(input, diagonal)
    return apply(s.diagonal, (input, diagonal, 0, 1)).clone()


@method
def trace(input: Tensor) -> Tensor:
    """The sum of a matrix's diagonal."""
    if input.array.ndim != 2:
        raise RuntimeError("trace: expected a matrix")
    return diagonal(input).sum()


@method
def flipud(input: Tensor) -> Tensor:
    """The tensor reversed along axis 0."""
    if not input.array.ndim:
        raise RuntimeError("flipud: Input must be >= 1-d.")
    return flip(input, 0)


@method
def rot90(input: Tensor, k: int = 1, dims: Sequence[int] = (0, 1)) -> Tensor:
    """The tensor rotated ``k`` times by 90 degrees, from the first axis in ``dims`` towards the second."""
    if len(dims) != 2:
        raise RuntimeError(f"rot90: expected total rotation dims == 2, but got dims = {len(dims)}")
    if input.array.ndim < 2:
        raise RuntimeError(f"rot90: expected total dims >= 2, but got total dims = {input.array.ndim}")
    first, second = (axis(d, input.array.ndim) for d in dims)
    if first == second:
        raise RuntimeError(f"rot90: expected rotation dims to be different, but got {tuple(dims)}")
    turned = {
        0: lambda: input.clone(),
        1: lambda: transpose(flip(input, second), first, second),
        2: lambda: flip(input, first, second),
        3: lambda: flip(transpose(input, first, second), second),
    }
    return turned[k % 4]()


@method
def tensor_split(input: Tensor, indices_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Split an axis into pieces whose lengths differ by at most one, or at the given indices."""
    if not input.array.ndim:
        raise RuntimeError("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
    place, parts = axis(dim, input.array.ndim), raw(indices_or_sections)
    if isinstance(parts, str) or (isinstance(parts, int) and parts < 1):
        kind = TypeError if isinstance(parts, str) else RuntimeError
        raise kind(f"tensor_split: indices_or_sections must be ints, or a number larger than 0, not {parts!r}")
    n = input.array.shape[place]
    if not isinstance(parts, (tuple, list)) and getattr(parts, "ndim", 0) == 0:
        count = int(parts)
        starts = [i * (n // count) + min(i, n % count) for i in range(count + 1)]
    else:
        starts = [0, *(min(max(int(i) + (n if i < 0 else 0), 0), n) for i in parts), n]
    return tuple(narrow(input, place, a, max(b - a, 0)) for a, b in itertools.pairwise(starts))


def _split_along(name: str, place: int, least: int, where: str) -> Callable[..., tuple[Tensor, ...]]:
    """A function like ``tensor_split`` for one axis, where all pieces must have exactly the same length."""

    def split(input: Tensor, indices_or_sections: Any) -> tuple[Tensor, ...]:
        parts, n = indices_or_sections, input.array.ndim
        if n < least:
            raise RuntimeError(f"{name} requires a tensor with at least {least} dimension, but got one with {n}!")
        dim = 0 if n == 1 else place
        if isinstance(parts, int) and (parts < 1 or input.array.shape[dim] % parts):
            raise RuntimeError(f"{name}: the size {input.shape[dim]} of dimension {dim} is not divisible by {parts}!")
        return tensor_split(input, parts, dim)

    return method(named(split, name, f"``tensor_split`` along {where}."))


hsplit = _split_along("hsplit", 1, 1, "axis 1, or axis 0 for vectors")
vsplit, dsplit = _split_along("vsplit", 0, 2, "axis 0"), _split_along("dsplit", 2, 3, "axis 2")


def _at_least(n: int, lift: Callable[[Tensor], Tensor], doc: str) -> Callable[..., Any]:
    """A function that adds axes to tensors that have fewer than ``n``. It accepts separate tensors or a sequence."""

    def at_least(*tensors: Any) -> Any:
        if len(tensors) == 1 and not isinstance(tensors[0], (tuple, list)):
            return tensors[0] if tensors[0].array.ndim >= n else lift(tensors[0])
        return tuple(at_least(t) for t in (tensors[0] if len(tensors) == 1 else tensors))

    return function(named(at_least, f"atleast_{n}d", doc))


atleast_1d = _at_least(1, lambda t: reshape(t, 1), "Convert 0-d tensors to vectors.")
atleast_2d = _at_least(2, lambda t: reshape(t, 1, -1), "Add leading axes to tensors with fewer than two.")
atleast_3d = _at_least(
    3,
    lambda t: unsqueeze(atleast_2d(t), -1),
    "Add axes to tensors with fewer than three: a vector becomes (1, N, 1), and a matrix (M, N, 1).",
)
row_stack = vstack


@function
def block_diag(*tensors: Tensor) -> Tensor:
    """A matrix with these matrices along its diagonal and zeros elsewhere."""
    listed = [atleast_2d(t) for t in _together(tensors, "block_diag")]
    width, left, rows = sum(t.array.shape[1] for t in listed), 0, []
    for block in listed:
        after = width - left - block.array.shape[1]
        rows.append(apply(joining_ops.pad, (block, ((0, 0), (left, after)))))
        left += block.array.shape[1]
    return cat(rows, 0)


@function
def cartesian_prod(*tensors: Tensor) -> Tensor:
    """The Cartesian product of vectors, one combination per row."""
    if len(tensors) == 1:
        return tensors[0]
    return stack([reshape(grid, -1) for grid in meshgrid(*tensors, indexing="ij")], 1)


@function
def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """All combinations of ``r`` elements of a vector, in order, one per row."""
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    size = input.array.size
    count = math.comb(size + r - 1 if with_replacement and size else size, r)
    places = np.empty((count, r), np.int64)  # first, so that MemoryError is raised before tuples fill the memory
    places[:] = np.array(list(choose(range(size), r)), np.int64).reshape(count, r)
    return input[wrap(places)]


@method(free=False)
def unfold(input: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """Copy windows of ``size`` elements along an axis to a new last axis. A window starts every ``step`` elements."""
    place, scalar = axis(dimension, input.array.ndim), not input.array.ndim
    input = reshape(input, 1) if scalar else input
    if size < 0:
        raise RuntimeError(f"unfold: size is {size} but must be >= 0")
    if step <= 0:
        raise RuntimeError(f"unfold: step is {step} but must be > 0")
    if size > input.array.shape[place]:
        raise RuntimeError(f"maximum size at dimension {dimension} is {input.shape[place]} but size is {size}")
    windows: Tensor = apply(joining_ops.unfold, (input, place, size, step))
    return windows[0] if scalar else windows


@method(in_place=reshaping)
def as_strided(input: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None) -> Tensor:
    """Elements of the tensor's whole memory, selected by sizes and strides (in elements). The result is a view if the
    tensor is on the CPU and covers its memory in order, else a copy. Gradients flow only to elements of the tensor, and
    not at all after an in-place change. ``storage_offset`` is the index of the first element (by default, the
    tensor's). Raises RuntimeError if elements would be outside the memory, or elements of the tensor share memory."""
    place = _in_memory(input, size, stride, storage_offset)
    return apply(joining_ops.as_strided, (input, *place))


def _in_memory(input: Tensor, size: Any, stride: Any, offset: int | None) -> tuple[Any, ...]:
    """Check and return the sizes, strides and start of elements in a tensor's memory."""
    shape, steps = sizes((tuple(size),)), sizes((tuple(stride),))
    start, length = joining_ops.place_in_memory(input.array)
    start = start if offset is None else int(offset)
    if len(shape) != len(steps):
        raise RuntimeError(f"as_strided: mismatch in length of strides {list(steps)} and shape {list(shape)}")
    numbers = f"as_strided: sizes {list(shape)}, strides {list(steps)} and offset {start}"
    if any(n < 0 for n in (*shape, *steps, start)):
        raise RuntimeError(f"{numbers} must not be negative")
    if any(step == 0 and n > 1 for step, n in zip(input.array.strides, input.array.shape, strict=True)):
        raise RuntimeError("as_strided: elements of the tensor share memory (expand() causes this): clone() it first")
    last = start + sum((n - 1) * step for n, step in zip(shape, steps, strict=True))
    if 0 not in shape and last >= length:
        raise RuntimeError(f"{numbers} extend past the {length} elements of the tensor's memory")
    return shape, steps, start


@method
def as_strided_scatter(
    input: Tensor, src: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None
) -> Tensor:
    """A copy in which ``src`` replaces the elements selected by ``as_strided``. Raises RuntimeError if the input is not
    contiguous or is part of larger memory, ``src`` does not have shape ``size``, or two elements would share memory."""
    shape, steps, start = _in_memory(input, size, stride, storage_offset)
    if not input.array.flags.c_contiguous or joining_ops.place_in_memory(input.array)[1] != input.array.size:
        raise RuntimeError("as_strided_scatter: the tensor must be contiguous and span its storage: use .clone()")
    if src.array.shape != shape:
        sizes = f"src size = {list(src.shape)}, slice size = {list(shape)}"
        raise RuntimeError(f"expected src to have a size equal to the slice of self. {sizes}")
    places = joining_ops.strided_places(xp(input.array), shape, steps, start)
    if np.unique(places).size < places.size:
        raise RuntimeError("as_strided_scatter: two elements of src would be written to the same memory")
    return apply(indexing_ops.put, (reshape(input, -1), src, (places,))).reshape(input.array.shape)


@function
def broadcast_shapes(*shapes: Any) -> tuple[int, ...]:
    """The common shape to which these shapes broadcast."""
    shape = common_shape(*((n,) if isinstance(n, int) else tuple(n) for n in shapes))
    size: tuple[int, ...] = wrap(np.broadcast_to(np.float32(0), shape)).shape  # a Size
    return size


@method(free=False)
def sum_to_size(input: Tensor, *lengths: Any, size: Any = None) -> Tensor:
    """The tensor summed over the axes along which ``size`` would be broadcast to the tensor's shape."""
    shape, full = sizes(lengths if size is None else size), input.array.shape
    try:
        fits = np.broadcast_shapes(shape, full) == full
    except ValueError:
        fits = False
    if not fits:
        raise RuntimeError(f"sum_to_size: size {list(shape)} is not expandable to size {list(full)}.")
    return sum_to(input, shape) if full else input.sum()  # int64 for bools, as in PyTorch


@method
def select_scatter(input: Tensor, src: Tensor, dim: int, index: int) -> Tensor:
    """A copy with the slice at ``index`` along an axis set to ``src``."""
    return _with(input, src, lambda x: select(x, dim, index))


@method
def slice_scatter(
    input: Tensor, src: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Tensor:
    """A copy with the slice ``start:end:step`` along an axis set to ``src``."""
    lead = (slice(None),) * axis(dim, input.array.ndim)
    return _with(input, src, lambda x: x[(*lead, slice(start, end, step))])


def _with(input: Tensor, src: Tensor, view_of: Any) -> Tensor:
    out = input.clone()
    view_of(out).copy_(src)
    return out


@attribute
def mT(input: Tensor) -> Tensor:
    """The tensor with its last two axes swapped."""
    if input.array.ndim < 2:
        raise RuntimeError(f"tensor.mT is only supported on matrices or batches of matrices, not a {input.ndim}-D one")
    return transpose(input, -2, -1)


@attribute
def H(input: Tensor) -> Tensor:
    """The conjugate transpose of a matrix. Raises RuntimeError unless the tensor has 0 or 2 axes."""
    if input.array.ndim not in (0, 2):
        raise RuntimeError(f"tensor.H is only supported on matrices. Got {input.ndim}-D tensor.")
    return mT(input).conj() if input.array.ndim else input.conj()


_METHODS = {
    "ravel": (lambda input: reshape(input, -1), "All elements as a vector."),
    "broadcast_to": (lambda input, size: expand(input, *size), "Like ``expand``, with the shape as one argument."),
    "fliplr": (lambda input: flip(input, 1), "The tensor reversed along axis 1."),
    "diagflat": (lambda input, offset=0: diag(reshape(input, -1), offset), "A matrix with these diagonal elements."),
    "narrow_copy": (lambda input, dim, start, length: narrow(input, dim, start, length).clone(), "``narrow``, copied."),
    "diagonal_scatter": (
        lambda input, src, offset=0, dim1=0, dim2=1: _with(input, src, lambda x: diagonal(x, offset, dim1, dim2)),
        "A copy with its diagonal set to ``src``.",
    ),
}
_OF_SEVERAL = {
    "dstack": (lambda tensors: cat([*atleast_3d(tensors)], 2), "Join tensors along axis 2, after ``atleast_3d``."),
    "column_stack": (
        lambda tensors: cat([t if t.array.ndim > 1 else reshape(t, -1, 1) for t in tensors], 1),
        "Join tensors along axis 1. Vectors are treated as columns.",
    ),
}
_PROPERTIES = {
    "T": (lambda input: permute(input, tuple(range(input.array.ndim))[::-1]), "The tensor with axes in reverse order."),
    "mH": (lambda input: mT(input).conj(), "The conjugate transpose of the last two axes."),
}
_OF_TENSORS = {
    "adjoint": (lambda input: mT(input).conj(), "``mH`` as a method."),
    "expand_as": (lambda input, other: expand(input, other.shape), "Expand to another tensor's shape."),
    "reshape_as": (lambda input, other: reshape(input, other.shape), "Reshape to another tensor's shape."),
    "view_as": (lambda input, other: view(input, other.shape), "View in another tensor's shape."),
}
globals().update(brief(method, _METHODS) | brief(function, _OF_SEVERAL))
globals().update(brief(attribute, _PROPERTIES) | brief(method(free=False), _OF_TENSORS))
