"""Shapes: views and arrangements, by PyTorch's names."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd.tape import apply, wrap
from ..backend import xp
from ..ops import shape as s
from .arguments import axes, axis, raw, sizes

if TYPE_CHECKING:
    from ..tensor import Tensor


def reshape(input: Tensor, *shape: Any) -> Tensor:
    """The same elements in another shape, in the same memory where that is possible; one -1 is worked out."""
    return apply(s.reshape, (input, _resolved(input, sizes(shape))))


def _resolved(input: Tensor, shape: tuple[int, ...]) -> tuple[int, ...]:
    """A shape with its -1 worked out, after a check that the elements fit."""
    size, known = input.array.size, 1
    for n in shape:
        known *= n if n != -1 else 1
    unknown = shape.count(-1)
    if unknown == 1 and known and size % known == 0:
        return tuple(size // known if n == -1 else n for n in shape)
    if unknown or known != size:
        raise RuntimeError(
            f"shape '{list(shape)}' is invalid for input of size {size} (shape {tuple(input.array.shape)})"
        )
    return shape


def view(input: Tensor, *shape: Any) -> Tensor:
    """``reshape`` that never copies; given a dtype, the same bytes read as that dtype.

    Raises:
        RuntimeError: the memory's order does not allow it; use ``reshape``.
    """
    from ..backend.dtype import DType

    if len(shape) == 1 and isinstance(shape[0], DType):
        return wrap(input.array.view(shape[0].numpy))
    out = reshape(input, *shape)
    if out._version is not input._version and input.array.size:
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one dimension spans "
            "across two contiguous subspaces). Use .reshape(...) instead."
        )
    return out


def view_as(input: Tensor, other: Tensor) -> Tensor:
    """``view`` in the shape of another tensor."""
    return view(input, other.array.shape)


def reshape_as(input: Tensor, other: Tensor) -> Tensor:
    """``reshape`` to the shape of another tensor."""
    return reshape(input, other.array.shape)


def permute(input: Tensor, *order: Any, dims: Any = None) -> Tensor:
    """The axes in the order ``dims`` (numbers, or one sequence of them)."""
    order = tuple(axis(d, input.array.ndim) for d in sizes(order if dims is None else dims))
    if sorted(order) != list(range(input.array.ndim)):
        raise RuntimeError(f"permute: dims {order} must name each of the {input.array.ndim} axes once")
    return apply(s.permute, (input, order))


def transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """Two axes exchanged."""
    n = input.array.ndim
    first, second = axis(dim0, n), axis(dim1, n)
    return apply(s.transpose, (input, first, second)) if n else input


swapaxes = transpose


def t(input: Tensor) -> Tensor:
    """A matrix with its axes exchanged; vectors and scalars as they are."""
    if input.array.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {input.array.ndim}D")
    return transpose(input, 0, 1) if input.array.ndim == 2 else input


def movedim(input: Tensor, source: Any, destination: Any) -> Tensor:
    """Axes moved to other places, the rest in order."""
    n = input.array.ndim
    sources = [axis(d, n) for d in sizes((source,))]
    places = [axis(d, n) for d in sizes((destination,))]
    order = [d for d in range(n) if d not in sources]
    for place, moved in sorted(zip(places, sources, strict=True)):
        order.insert(place, moved)
    return permute(input, order)


def unsqueeze(input: Tensor, dim: int) -> Tensor:
    """A new axis of length 1 at ``dim``."""
    return apply(s.unsqueeze, (input, axis(dim, input.array.ndim + 1)))


def squeeze(input: Tensor, dim: Any = None) -> Tensor:
    """Without axes of length 1: all of them, or those in ``dim``."""
    return apply(s.squeeze, (input, axes(dim, input.array.ndim)))


def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """The axes from ``start_dim`` to ``end_dim`` as one."""
    n = input.array.ndim
    first, last = axis(start_dim, n), axis(end_dim, n)
    if first > last:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    shape = input.array.shape
    count = int(np.prod(shape[first : last + 1], dtype=np.int64))
    return reshape(input, (*shape[:first], count, *shape[last + 1 :]))


def unflatten(input: Tensor, dim: int, sizes: Sequence[int]) -> Tensor:
    """One axis as several."""
    place, shape = axis(dim, input.array.ndim), tuple(input.array.shape)
    parts = [n.__index__() for n in sizes]
    if -1 in parts:
        rest = int(np.prod([n for n in parts if n != -1], dtype=np.int64))
        parts[parts.index(-1)] = shape[place] // max(rest, 1)
    if prod(parts) != shape[place]:
        raise RuntimeError(
            f"unflatten: the sizes {list(sizes)} don't multiply up to the axis {place} of {shape[place]}"
        )
    return reshape(input, shape[:place] + tuple(parts) + shape[place + 1 :])


def expand(input: Tensor, *shape: Any) -> Tensor:
    """Axes of length 1 repeated without a copy; -1 leaves an axis as it is."""
    wanted, own = sizes(shape), input.array.shape
    if len(wanted) < len(own):
        raise RuntimeError(
            f"expand: the number of sizes provided ({len(wanted)}) must be greater or equal to the number of "
            f"dimensions in the tensor ({len(own)})"
        )
    padded = (1,) * (len(wanted) - len(own)) + tuple(own)
    full = tuple(o if w == -1 else w for w, o in zip(wanted, padded, strict=True))
    for i, (w, o) in enumerate(zip(full, padded, strict=True)):
        if o not in (1, w):
            raise RuntimeError(
                f"The expanded size of the tensor ({w}) must match the existing size ({o}) at non-singleton "
                f"dimension {i}. Target sizes: {list(wanted)}. Tensor sizes: {list(own)}"
            )
    return apply(s.broadcast_to, (input, full))


def expand_as(input: Tensor, other: Tensor) -> Tensor:
    """``expand`` to the shape of another tensor."""
    return expand(input, other.array.shape)


def broadcast_to(input: Tensor, size: Sequence[int]) -> Tensor:
    """``expand`` by its name in torch."""
    return expand(input, *size)


def broadcast_tensors(*tensors: Tensor) -> tuple[Tensor, ...]:
    """Tensors expanded to the shape that they share."""
    shape = np.broadcast_shapes(*(t.array.shape for t in tensors))
    return tuple(expand(t, shape) for t in tensors)


def repeat(input: Tensor, *repeats: Any) -> Tensor:
    """Copies laid out ``repeats`` times along each axis; more numbers than axes make new ones in front."""
    counts = sizes(repeats)
    if len(counts) < input.array.ndim:
        raise RuntimeError(
            "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor"
        )
    return apply(s.repeat, (input, counts))


def tile(input: Tensor, dims: Sequence[int]) -> Tensor:
    """``repeat`` with ones put before too few numbers."""
    return repeat(input, (1,) * (input.array.ndim - len(dims)) + tuple(dims))


def repeat_interleave(input: Tensor, repeats: Any, dim: int | None = None) -> Tensor:
    """Each element of an axis several times in a row; flattened if ``dim`` is None."""
    if dim is None:
        input, dim = flatten(input), 0
    args = (input, raw(repeats), axis(dim, input.array.ndim))
    return apply(s.repeat_interleave, args)


def flip(input: Tensor, *places: Any, dims: Any = None) -> Tensor:
    """The order of elements reversed along ``dims`` (numbers, or one sequence of them)."""
    found = tuple(axis(d, input.array.ndim) for d in sizes(places if dims is None else dims))
    return apply(s.flip, (input, found))


def roll(input: Tensor, shifts: Any, dims: Any = None) -> Tensor:
    """Elements moved along ``dims``, those that fall off coming in at the other end."""
    shifts = tuple(shifts) if isinstance(shifts, (tuple, list)) else shifts
    dims = tuple(dims) if isinstance(dims, (tuple, list)) else dims
    return apply(s.roll, (input, shifts, dims))


def _together(tensors: Sequence[Tensor], name: str) -> tuple[Tensor, ...]:
    """Tensors for cat and stack, brought to one dtype."""
    from ..backend.dtype import result_type

    listed = tuple(tensors)
    if not listed:
        raise RuntimeError(f"{name}(): expected a non-empty list of Tensors")
    if any(t.array.dtype != listed[0].array.dtype for t in listed):
        common = result_type(*(t.array for t in listed))
        listed = tuple(t.to(common) for t in listed)
    return listed


def cat(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Tensors one after another along an axis that they have; their other axes are equal."""
    listed = _together(tensors, "cat")
    listed = tuple(t for t in listed if t.array.shape != (0,)) or listed[:1]
    place = axis(dim, listed[0].array.ndim)
    for n, other in enumerate(listed):
        own, first = other.array.shape, listed[0].array.shape
        if len(own) != len(first) or own[:place] + own[place + 1 :] != first[:place] + first[place + 1 :]:
            raise RuntimeError(
                f"cat: sizes of tensors must match except in dimension {place}: tensor 0 has shape "
                f"{tuple(first)}, tensor {n} has shape {tuple(own)}"
            )
    return apply(s.concatenate, (place, *listed))


concat = cat
concatenate = cat


def stack(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Tensors of one shape side by side along a new axis."""
    listed = _together(tensors, "stack")
    for n, other in enumerate(listed):
        if other.array.shape != listed[0].array.shape:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(listed[0].array.shape)} at "
                f"entry 0 and {list(other.array.shape)} at entry {n}"
            )
    return apply(s.stack, (axis(dim, listed[0].array.ndim + 1), *listed))


def hstack(tensors: Sequence[Tensor]) -> Tensor:
    """``cat`` along axis 1, of vectors along axis 0."""
    return cat(tensors, 0 if tensors[0].array.ndim < 2 else 1)


def vstack(tensors: Sequence[Tensor]) -> Tensor:
    """``cat`` along axis 0, vectors as rows."""
    return cat([t if t.array.ndim > 1 else reshape(t, 1, -1) for t in tensors], 0)


def split(input: Tensor, split_size_or_sections: int | Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """Pieces of one length (the last may be shorter), or of the lengths listed."""
    place = axis(dim, input.array.ndim)
    length = input.array.shape[place]
    if isinstance(split_size_or_sections, int):
        step = split_size_or_sections
        if step <= 0:
            raise RuntimeError(f"split expects split_size be positive, but got split_size={step}")
        parts = tuple(min(step, length - start) for start in range(0, length, step)) or (0,)
    else:
        parts = tuple(split_size_or_sections)
        if sum(parts) != length:
            raise RuntimeError(
                f"split_with_sizes expects split_sizes to sum exactly to {length} (input tensor's size at "
                f"dimension {place}), but got split_sizes={list(parts)}"
            )
    return apply(s.split, (input, parts, place))


def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """About ``chunks`` pieces of equal length."""
    if chunks < 1:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    length = input.array.shape[axis(dim, input.array.ndim)]
    return split(input, max(1, -(-length // chunks)), dim)


def unbind(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """The slices along an axis."""
    if input.array.ndim == 0:
        raise RuntimeError("unbind: a tensor without axes cannot be taken apart")
    return apply(s.unbind, (input, axis(dim, input.array.ndim)))


def narrow(input: Tensor, dim: int, start: int, length: int) -> Tensor:
    """``length`` elements of an axis from ``start``."""
    from .indexing import getitem

    place = axis(dim, input.array.ndim)
    n = input.array.shape[place]
    start = start + n if start < 0 else start
    if start + length > n:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({n}).")
    return getitem(input, (*(slice(None),) * place, slice(start, start + length)))


def select(input: Tensor, dim: int, index: int) -> Tensor:
    """The slice ``index`` of an axis."""
    from .indexing import getitem

    return getitem(input, (*(slice(None),) * axis(dim, input.array.ndim), index))


def diagonal(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """The elements (i, i + offset) of two axes, as a last axis."""
    n = input.array.ndim
    return apply(s.diagonal, (input, offset, axis(dim1, n), axis(dim2, n)))


def tril(input: Tensor, diagonal: int = 0) -> Tensor:
    """The lower triangle of the last two axes."""
    _check_matrix(input, "tril")
    return apply(s.tril, (input, diagonal))


def triu(input: Tensor, diagonal: int = 0) -> Tensor:
    """The upper triangle of the last two axes."""
    _check_matrix(input, "triu")
    return apply(s.triu, (input, diagonal))


def _check_matrix(input: Tensor, name: str) -> None:
    if input.array.ndim < 2:
        raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions, it has {input.array.ndim}")


def meshgrid(*tensors: Any, indexing: str = "ij") -> tuple[Tensor, ...]:
    """Coordinate grids of vectors."""
    listed = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else tensors
    grids = xp(listed[0].array).meshgrid(*(t.array for t in listed), indexing=indexing)
    return tuple(wrap(g) for g in grids)


def contiguous(input: Tensor, memory_format: Any = None) -> Tensor:
    """The tensor itself where its memory is in order, else a copy that is."""
    return input if input.array.flags.c_contiguous else input.clone()
