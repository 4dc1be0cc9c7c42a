"""Reading and writing elements by index, under PyTorch's names."""

from __future__ import annotations

import math
from typing import Any, Literal, overload

import numpy as np

from ..autograd.inplace import at_once, bump, check_mutable, mutate, repeats
from ..autograd.tape import Variable, wrap
from ..autograd.tracebacks import border, met, shorten
from ..backend import check_indices, dtype as dt, is_array, of, xp
from ..ops import elementwise as e, indexing as i
from ..tensor import Tensor, apply
from . import return_types
from .arguments import (
    Axis,
    Scalar,
    as_tensor_like,
    axis,
    common_shape,
    index_tensor,
    operand,
    ordered,
    raw,
    same_device,
    scalars_as_vectors,
    scaled,
)
from .define import brief, function, method


def index_of(input: Tensor, key: Any) -> tuple[Any, ...]:
    """The index in brackets as a tuple, with tensors, lists and ranges converted to arrays of the tensor's backend."""
    if key.__class__ in _PLAIN:
        return (key,)
    is_old = isinstance(key, list) and any(  # a list of one index for each axis, as in x[[slice(2), 0]]
        p is None or p is Ellipsis or isinstance(p, (slice, Variable, list, tuple, range)) for p in key
    )
    parts = key if isinstance(key, tuple) or is_old else (key,)
    return tuple(p if p.__class__ in _PLAIN else _part(p, input.array) for p in parts)


_INT64 = np.dtype(np.int64)
_PLAIN = frozenset({int, slice, type(None), type(Ellipsis)})


def _part(part: Any, like: Any) -> Any:
    """One index in the form that all array libraries accept."""
    if isinstance(part, slice) or part is None or part is Ellipsis:
        return part
    if isinstance(part, Variable) or is_array(part):
        array = raw(part)
        if array.dtype is _INT64 and array.ndim and type(array) is type(like):
            return array
        if array.dtype == np.uint8:
            array = array.astype(bool)  # PyTorch's old uint8 masks
        elif array.ndim == 0 and array.dtype.kind == "i":
            return int(array)
        if array.dtype.kind not in "ib":
            raise IndexError(f"tensors used as indices must be long, int, byte or bool tensors, not {array.dtype}")
        if isinstance(array, np.ndarray) and type(like) is not np.ndarray:
            return of(like).asarray(array, of(like).device_of(like))
        return same_device(array, like, "index")
    if isinstance(part, (bool, np.bool_)):
        return xp(like).asarray(bool(part))
    if isinstance(part, (list, tuple, range)):
        items = [p.array.item() if isinstance(p, Variable) else p for p in part]
        array = np.array(items) if items else np.array([], np.int64)
        return of(like).asarray(array, of(like).device_of(like))
    if hasattr(part, "__index__"):
        return part.__index__()
    valid = "integers, slices (`:`), ellipsis (`...`), None and integer or bool tensors"
    raise IndexError(f"only {valid} are valid indices (got {type(part).__name__})")


def _check(input: Tensor, index: tuple[Any, ...]) -> None:
    """Raise PyTorch's errors for too many indices, an index out of range, or a negative step."""
    if len(index) == 1 and index[0].__class__ is int and input.array.ndim:
        n = input.array.shape[0]
        if -n <= index[0] < n:
            return
    if len(index) <= input.array.ndim and all(getattr(p, "dtype", None) is _INT64 for p in index):
        return
    counts = [p.ndim if _is_mask(p) else 1 for p in index if p is not None and p is not Ellipsis]
    if sum(counts) > input.array.ndim:
        if not input.array.ndim and isinstance(index[0], int):
            raise IndexError("invalid index of a 0-dim tensor. Use `tensor.item()` to convert it to a number")
        raise IndexError(f"too many indices for tensor of dimension {input.array.ndim}: {sum(counts)} were given")
    place, after = 0, sum(counts)
    for part in index:
        if part is Ellipsis:
            place = input.array.ndim - after
            continue
        if part is None:
            continue
        if isinstance(part, int) and not -input.array.shape[place] <= part < input.array.shape[place]:
            raise IndexError(f"index {part} is out of bounds for dimension {place} with size {input.shape[place]}")
        if _is_mask(part) and part.shape != input.array.shape[place : place + part.ndim]:
            lengths = zip(part.shape, input.array.shape[place:], strict=False)
            i = next(i for i, (a, b) in enumerate(lengths) if a != b)
            tensor = f"the shape of the indexed tensor {list(input.array.shape)} at index {place + i}"
            raise IndexError(f"getitem: The shape of the mask {list(part.shape)} at index {i} does not match {tensor}")
        if isinstance(part, slice) and part.step is not None and part.step <= 0:
            raise ValueError("step must be greater than zero: reverse an axis with .flip()")
        step = part.ndim if _is_mask(part) else 1
        place, after = place + step, after - step


def _in_two_steps(index: tuple[Any, ...]) -> tuple[tuple[Any, ...], tuple[Any, ...]] | None:
    """Split an index of ints, arrays and slices in two, as PyTorch applies the ints first. Returns None if NumPy, which
    treats ints as arrays, produces the same axis order."""
    if not (any(map(is_array, index)) and any(isinstance(p, int) for p in index)):
        return None
    if all(is_array(p) or isinstance(p, int) for p in index):
        return None
    first: list[Any] = []
    second: list[Any] = []
    for part in index:
        if is_array(part):
            first += [slice(None)] * (part.ndim if part.dtype.kind == "b" else 1)
            second.append(part)
        else:
            first.append(part)
            if not isinstance(part, int):
                second.append(Ellipsis if part is Ellipsis else slice(None))
    return tuple(first), tuple(second)


def _is_mask(part: Any) -> bool:
    return part.__class__ not in _PLAIN and is_array(part) and part.dtype.kind == "b"


def getitem(input: Tensor, key: Any) -> Tensor:
    """Return input[key], which is a view for ints, slices, None and ..., or a copy for index tensors and masks."""
    try:
        index = index_of(input, key)
        _check(input, index)
        if not _PLAIN.issuperset(map(type, index)):
            if (steps := _in_two_steps(index)) is not None:
                input, index = apply(i.getitem, (input, steps[0])), steps[1]
            if input._needs:  # the gradient rule saves copies, as the program may change the arrays
                index = tuple(p.copy() if is_array(p) else p for p in index)
        return apply(i.getitem, (input, index))
    except Exception as error:
        if met(key, error=error):
            return input[key]
        shorten(error)
        raise


@border
def setitem(input: Tensor, key: Any, value: Any) -> None:
    """Set input[key] = value in place. Gradients flow to the value and to the rest of the tensor."""
    index = index_of(input, key)
    _check(input, index)
    if (steps := _in_two_steps(index)) is not None:
        return setitem(apply(i.getitem, (input, steps[0])), steps[1], value)
    source = operand(value, input)
    if source is NotImplemented:
        source = as_tensor_like(value, input)
    part = _written(input.array, index)
    check_mutable(input, "put", part)
    is_wanted = input._wanted() or getattr(source, "_needs", False)
    if is_wanted and part is not None and _PLAIN.issuperset(map(type, index)):
        return setitem(apply(i.getitem, (input, index)), Ellipsis, source)
    stored = raw(source)  # an array on the tensor's device, or a number
    if hasattr(stored, "dtype") and stored.ndim:
        same_device(stored, input.array, "setitem")
    elif hasattr(stored, "dtype"):
        same = type(stored) is type(input.array)
        stored = stored.astype(input.array.dtype) if same else stored.item()
    try:
        input.array[index] = stored
    except (ValueError, TypeError) as error:
        extra = getattr(source, "ndim", 0) - input.array[index].ndim
        if extra > 0 and source.shape[:extra] == (1,) * extra:  # a value with extra leading axes of length 1
            return setitem(input, key, source.reshape(source.shape[extra:]))
        value_is = f"value tensor of shape {list(getattr(raw(source), 'shape', []))}"
        goal = f"indexing result of shape {list(input.array[index].shape)}"
        raise RuntimeError(f"shape mismatch: {value_is} cannot be broadcast to {goal}") from error
    except IndexError as error:
        raise IndexError(f"setitem: {error} (for a tensor of shape {tuple(input.array.shape)})") from error
    if is_wanted:
        mutate(input, i.put, (input, source, tuple(p.copy() if is_array(p) else p for p in index)), input.array)
    else:
        bump(input, "put")


def _written(array: Any, index: tuple[Any, ...]) -> Any:
    """If elements share memory (after ``expand``), the part of an array that an assignment changes, else None."""
    if 0 not in array.strides or not repeats(array):
        return None
    try:
        return array[index if any(p is Ellipsis for p in index) else (*index, Ellipsis)]  # a view, even if 0-d
    except IndexError:
        return None


def _along(input: Tensor, dim: int, index: Any, name: str) -> tuple[int, Any]:
    place, index = axis(dim, input.array.ndim), index_tensor(index, input.array, name)
    length = input.array.shape[place] if input.array.ndim else 1
    error = IndexError if name.startswith("index") else RuntimeError  # as in PyTorch
    check_indices(index.array, length, name, error, f" along dimension {place}")
    return place, index


@method
@scalars_as_vectors
def gather(input: Tensor, dim: int, index: Tensor, *, sparse_grad: bool = False) -> Tensor:
    """out[i, j] = input[index[i, j], j] if dim is 0, and likewise for other axes.

    >>> logits = mg.tensor([[0.1, 0.9], [0.8, 0.2]])
    >>> logits.gather(1, mg.tensor([[1], [0]]))
    tensor([[0.9000],
            [0.8000]])
    """
    place, index = _along(input, dim, index, "gather")
    if not index.array.size:
        return input.reshape(-1)[:0].reshape(index.array.shape)
    if index.array.ndim != input.array.ndim:
        raise RuntimeError(f"gather: index needs the same number of dimensions as input: {index.ndim}, {input.ndim}")
    return apply(i.gather, (input, place, index))


@method
@scalars_as_vectors
def take_along_dim(input: Tensor, indices: Tensor, dim: Axis = None) -> Tensor:
    """Like ``gather``, but broadcasts the input and indices along the other axes. Without ``dim``, both are flattened.
    Raises RuntimeError if the indices are not integers, the numbers of axes differ, or the shapes do not broadcast."""
    if indices.array.dtype.kind not in "iu":
        raise RuntimeError(f"take_along_dim(): dtype of indices should be Long but got {indices.dtype}")
    if dim is None:
        return gather(input.reshape(-1), 0, indices.reshape(-1))
    place = axis(dim, input.array.ndim)
    if input.array.ndim != indices.array.ndim:
        counts = f"{input.array.ndim} and {indices.array.ndim}"
        raise RuntimeError(f"take_along_dim(): input and indices should have the same number of dimensions: {counts}")
    shape = common_shape(*((*t.array.shape[:place], 1, *t.array.shape[place + 1 :]) for t in (input, indices)))
    input, indices = (t.expand((*shape[:place], t.array.shape[place], *shape[place + 1 :])) for t in (input, indices))
    return gather(input, place, indices + (indices < 0) * input.array.shape[place])


@method(in_place=True)
@scalars_as_vectors
def scatter(
    input: Tensor,
    dim: int,
    index: Tensor,
    src: Tensor | Scalar | None = None,
    *,
    value: Scalar | None = None,
    reduce: str | None = None,
) -> Tensor:
    """The tensor with out[index[i, j], j] = src[i, j] if dim is 0, and likewise for other axes. src may be a number. If
    ``reduce`` is "add" or "multiply", src is combined with the existing elements.

    >>> mg.zeros(2, 3).scatter(1, mg.tensor([[2], [0]]), 1.0)
    tensor([[0., 0., 1.],
            [1., 0., 0.]])
    """
    args = scatter_arguments(input, dim, index, value if src is None else src)
    if reduce is None:
        return apply(i.scatter, args)
    if reduce not in ("add", "multiply"):
        raise RuntimeError(f"reduce argument must be either add or multiply, not {reduce!r}")
    source = args[3] if hasattr(args[3], "array") else input.new_full(args[2].array.shape, args[3])
    return scatter_reduce(input, dim, index, source, "sum" if reduce == "add" else "prod")


def scatter_arguments(input: Tensor, dim: int, index: Tensor, src: Any) -> tuple[Any, ...]:
    """The checked arguments of the ``scatter`` op."""
    place, index = _along(input, dim, index, "scatter")
    if index.array.size and index.array.ndim != input.array.ndim:
        raise RuntimeError(f"scatter: index needs the same number of dimensions as self: {index.ndim}, {input.ndim}")
    if isinstance(src, Variable) and src.array.dtype != input.array.dtype:
        raise RuntimeError(f"scatter(): Expected self.dtype {input.dtype} to be equal to src.dtype {dt.of(src.array)}")
    return input, place, index, operand(src, input)


@method(in_place=True)
@scalars_as_vectors
def scatter_add(input: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """out[index[i, j], j] += src[i, j] if dim is 0, and likewise for other axes; duplicates accumulate.

    >>> mg.zeros(3).scatter_add(0, mg.tensor([0, 2, 2]), mg.ones(3))
    tensor([1., 0., 2.])
    """
    return apply(i.scatter_add, scatter_arguments(input, dim, index, src))


@method
@scalars_as_vectors
def index_select(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """The slices along an axis at the given indices (a vector).

    >>> mg.tensor([[1, 2], [3, 4], [5, 6]]).index_select(0, mg.tensor([2, 0]))
    tensor([[5, 6],
            [1, 2]])
    """
    place, index = _along(input, dim, index, "index_select")
    return apply(i.index_select, (input, place, index.reshape(-1)))


def _check_slices(input: Tensor, dim: int, index: Tensor, source: Tensor, name: str) -> None:
    """Raise PyTorch's errors unless ``source`` has the input's dtype and one slice along ``dim`` for each index."""
    if index.array.ndim > 1:
        raise IndexError(f"{name}(): Index is supposed to be a vector, but got one of shape {list(index.shape)}")
    if source.array.dtype != input.array.dtype:
        raise RuntimeError(f"{name}(): self ({input.dtype}) and source ({source.dtype}) must have the same dtype")
    if source.array.ndim and source.array.shape[dim] != index.array.size:
        raise RuntimeError(
            f"{name}(): Number of indices ({index.array.size}) should be equal to source.size(dim): "
            f"({source.array.shape[dim]}), for dim: {dim}"
        )
    others = [[n for d, n in enumerate(t.array.shape) if d != dim] for t in (input, source)]
    if others[0] != others[1]:
        raise RuntimeError(f"{name}(): source {list(source.shape)} does not fit {list(input.shape)} along dim {dim}")


@method(in_place=True)
@scalars_as_vectors
def index_add(input: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: Scalar = 1) -> Tensor:
    """The tensor with slice i of ``source`` added to slice index[i] along ``dim``."""
    place, index = _along(input, dim, index, "index_add")
    _check_slices(input, place, index, source, "index_add")
    added: Tensor = apply(i.index_add, (input.array.shape, place, index, scaled(source, alpha)))
    return input + added


@method(in_place=True)
@scalars_as_vectors
def index_fill(input: Tensor, dim: int, index: Tensor, value: Scalar) -> Tensor:
    """The tensor with every slice index[i] along ``dim`` set to ``value``."""
    place, index = _along(input, dim, index, "index_fill")
    mask = xp(input.array).zeros(input.array.shape[place], bool)
    mask[index.array] = True
    mask = mask.reshape((-1, *(1,) * (input.array.ndim - place - 1)))
    one = isinstance(value, Variable) and value.array.size == 1
    return masked_fill(input, wrap(mask), value.reshape(()) if one else value)  # type: ignore[union-attr]


@method(in_place=True)
@scalars_as_vectors
def index_copy(input: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    """The tensor with slice index[i] along ``dim`` set to slice i of ``source``."""
    place, index = _along(input, dim, index, "index_copy")
    _check_slices(input, place, index, source, "index_copy")
    where = (*(slice(None),) * place, index.array.copy())
    return apply(i.put, (input, source, where))


@method(in_place=True)
def masked_fill(input: Tensor, mask: Tensor, value: Any) -> Tensor:
    """The tensor with ``value`` (a number or a 0-d tensor) where the bool mask is True.

    >>> x = mg.tensor([1.0, 2.0, 3.0])
    >>> x.masked_fill(x > 1.5, 0.0)
    tensor([1., 0., 0.])
    """
    _check_mask(mask, input, "masked_fill")
    if isinstance(value, Variable):
        if value.array.ndim:
            raise RuntimeError("masked_fill only supports a 0-dimensional value tensor")
        if value._needs:
            return value.where(mask, input)  # type: ignore[attr-defined]
        value = value.array.item()
    elif isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, complex) and input.array.dtype.kind != "c":
        raise RuntimeError(f"value cannot be converted to type {input.dtype} without overflow: {value}")
    if isinstance(value, float) and input.array.dtype.kind in "iub" and not math.isfinite(value):
        raise RuntimeError(f"value cannot be converted to type {input.dtype} without overflow: {value}")
    return apply(i.masked_fill, (input, mask, value))


def _check_mask(mask: Tensor, like: Tensor, name: str) -> None:
    """Raise RuntimeError for a mask that is not bool or is on another device."""
    if mask.array.dtype.kind != "b":
        raise RuntimeError(f"{name} only supports boolean masks, but got mask with dtype {mask.dtype}: use .bool()")
    same_device(mask.array, like.array, name)


@method
def masked_select(input: Tensor, mask: Tensor) -> Tensor:
    """The elements where the broadcast bool mask is True, as a vector.

    >>> x = mg.tensor([1, 2, 3])
    >>> x.masked_select(x > 1)
    tensor([2, 3])
    """
    _check_mask(mask, input, "masked_select")
    shape = common_shape(input.array.shape, mask.array.shape)
    where = xp(mask.array).broadcast_to(mask.array, shape).copy()
    return apply(i.getitem, (input.expand(shape), (where,)))


@overload
def nonzero(input: Tensor, *, as_tuple: Literal[False] = False) -> Tensor: ...
@overload
def nonzero(input: Tensor, *, as_tuple: Literal[True]) -> tuple[Tensor, ...]: ...


@method
def nonzero(input: Tensor, *, as_tuple: bool = False) -> Any:
    """The indices of the nonzero elements, as an (N, ndim) tensor, or as a tuple with a vector for each axis.

    >>> mg.tensor([0, 3, 0, 5]).nonzero()
    tensor([[1],
            [3]])
    """
    places = apply(i.nonzero, (input if input.array.ndim else input.reshape(1),))
    if as_tuple:
        return places
    return wrap(xp(input.array).stack([p.array for p in places], axis=1)[:, : input.array.ndim])


@method
@scalars_as_vectors
def topk(input: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> return_types.topk[Tensor]:
    """The k largest (or smallest) elements along ``dim``, sorted, as (values, indices).

    >>> values, indices = mg.tensor([1.0, 5.0, 3.0]).topk(2)
    >>> values, indices
    (tensor([5., 3.]), tensor([1, 2]))
    """
    return return_types.topk(*apply(i.topk, (input, int(k), axis(dim, input.array.ndim), largest)))


@method
@scalars_as_vectors
def sort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = True) -> return_types.sort[Tensor]:
    """The elements sorted along ``dim``, as (values, indices). Equal elements keep their order.

    >>> values, indices = mg.tensor([3, 1, 2]).sort()
    >>> values, indices
    (tensor([1, 2, 3]), tensor([1, 2, 0]))
    """
    return return_types.sort(*apply(i.sort, (input, axis(dim, input.array.ndim), descending)))


@method
@ordered
def argsort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """The indices (int64) that sort the tensor along ``dim``.

    >>> mg.tensor([3, 1, 2]).argsort()
    tensor([1, 2, 0])
    """
    return sort(input.detach(), dim, descending).indices


@overload
def unique(input: Tensor, sorted: bool = True, *, dim: Axis = None) -> Tensor: ...
@overload
def unique(
    input: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, dim: Axis = None
) -> Any: ...


@method
@ordered
def unique(
    input: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, dim: Axis = None
) -> Any:
    """The distinct values in ascending order. Optionally returns each element's index among them, and their counts.

    >>> mg.tensor([2, 1, 2, 3]).unique()
    tensor([1, 2, 3])
    """
    if dim is not None and of(input.array).device_type not in ("cpu", "meta"):
        # CuPy orders rows by their differences, which may overflow, and waits for each comparison.
        there: Any = unique(input.cpu(), sorted, return_inverse, return_counts, dim)
        return tuple(t.to(input.device) for t in there) if isinstance(there, tuple) else there.to(input.device)
    m = xp(input.array)
    parts = m.unique(dt.widened(input.array), return_inverse=True, return_counts=True, axis=dim, equal_nan=False)
    values = parts[0].astype(input.array.dtype, copy=False)
    inverse, counts = map(dt.counted, (parts[1].reshape(input.array.shape if dim is None else -1), parts[2]))
    extra = ([wrap(inverse)] if return_inverse else []) + ([wrap(counts)] if return_counts else [])
    return (wrap(values), *extra) if extra else wrap(values)


@method(in_place=True)
def put(input: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """The tensor with elements at flat indices set to ``source`` or, with ``accumulate``, increased by ``source``."""
    flat = index_put_(input.reshape(-1).clone(), (index.reshape(-1),), source.reshape(-1), accumulate)
    return flat.reshape(input.array.shape)


@method(free=False)
def index_put_(input: Tensor, indices: Any, values: Tensor, accumulate: bool = False) -> Tensor:
    """In place: set input[indices] = values. With ``accumulate``, add the values instead, even at repeated indices."""
    key = tuple([slice(None) if part is None else part for part in indices])
    if not accumulate:
        setitem(input, key, values)
        return input
    check_mutable(input, "index_put")
    index = index_of(input, key)
    if values.array.dtype != input.array.dtype:
        goal, source = dt.of(input.array), dt.of(values.array)
        raise RuntimeError(f"index_put: expected values of the tensor's dtype, {goal}, not {source}")
    _check(input, index)
    shape = input.array[index].shape
    is_one = not values.array.ndim and len(index) == input.array.ndim  # it is added at each index
    values = values if is_one or values.array.shape == shape else values.expand(shape)
    added = apply(i.put_back, (values, input.array.shape, index))
    return input if at_once(input, e.add, (added,)) else mutate(input, e.add, (input, added))


@method(in_place=True)
def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """The tensor with its elements replaced by elements of ``source``, in order, wherever the bool mask is True."""
    _check_mask(mask, input, "masked_scatter")
    where = mask.expand(common_shape(mask.array.shape, input.array.shape))
    count = int(where.array.sum())
    if count > source.array.size:
        raise RuntimeError(f"masked_scatter: the mask has {count} True elements, but source has {source.array.size}")
    out = input.expand(where.array.shape).clone()
    setitem(out, where, source.reshape(-1)[:count])
    return out


@method(in_place=True)
@scalars_as_vectors
def scatter_reduce(
    input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, *, include_self: bool = True
) -> Tensor:
    """Reduce all elements of ``src`` that share an index, together with the existing element if ``include_self``, with
    "sum", "mean", "prod", "amax" or "amin". For the last two, tied elements share the gradient."""
    place, index = _along(input, dim, index, "scatter_reduce")
    neutral = {"sum": 0, "mean": 0, "prod": 1, "amax": extreme(input, "min"), "amin": extreme(input, "max")}
    if reduce not in neutral:
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}.")
    part = src[tuple(slice(0, n) for n in index.array.shape)]
    start = input if include_self else scatter(input, place, index, neutral[reduce])
    if reduce in ("sum", "mean"):
        total = scatter_add(start, place, index, part)
        if reduce == "sum":
            return total
        before = input.new_ones(input.array.shape)
        before = before if include_self else scatter(before, place, index, 0)
        counts = scatter_add(before, place, index, part.new_ones(part.array.shape)).clamp(min=1)
        return total / counts if input.is_floating_point() else total // counts
    from ..ops import scattering  # imported here, as few programs need it

    if reduce == "prod":
        return apply(scattering.scatter_prod, (start, place, index, part))
    return apply(scattering.scatter_extreme, (start, place, index, part, reduce == "amax"))


def extreme(input: Tensor, which: str) -> Any:
    """The smallest or largest value of a dtype."""
    kind = input.array.dtype
    if input.is_floating_point():
        return float("-inf") if which == "min" else float("inf")
    if kind.kind == "b":
        return which == "max"
    return int(getattr(np.iinfo(kind), which)) if kind.kind != "c" else 0  # complex numbers have no extremes


@method
def nonzero_static(input: Tensor, *, size: int, fill_value: int = -1) -> Tensor:
    """``nonzero`` truncated to ``size`` rows, or padded with ``fill_value``."""
    places: Tensor = nonzero(input)
    out = places.new_full((size, input.array.ndim), fill_value)
    count = min(size, len(places))
    out[:count] = places[:count]
    return out


@method(in_place=True)
@scalars_as_vectors
def index_reduce(
    input: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, *, include_self: bool = True
) -> Tensor:
    """Like ``scatter_reduce``, but combines whole slices, and ``reduce`` is "prod", "mean", "amax" or "amin"."""
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise RuntimeError(f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got {reduce}.")
    shape = [1] * source.array.ndim
    shape[axis(dim, source.array.ndim)] = -1
    places = index.reshape(shape).expand(source.array.shape)
    return scatter_reduce(input, dim, places, source, reduce, include_self=include_self)


@function
def unravel_index(indices: Tensor, shape: Any) -> tuple[Tensor, ...]:
    """Convert flat indices to indices along each axis. Raises TypeError if they are not integers."""
    if indices.array.dtype.kind not in "iu":
        raise TypeError(f"unravel_index: expected 'indices' to be integer dtype, but got {indices.dtype}")
    lengths = (shape,) if isinstance(shape, int) else tuple(shape)
    places: list[Tensor] = []
    indices = indices.long()
    for length in reversed(lengths):
        places.append(indices % length)
        indices = indices // length
    return tuple(reversed(places))


_METHODS = {
    "argwhere": (lambda input: nonzero(input), "The indices of the nonzero elements, as an (N, ndim) tensor."),
    "take": (
        lambda input, index: getitem(input.reshape(-1), (index_tensor(index, input.array, "take"),)),
        "The elements at these indices of the flattened tensor.",
    ),
    "index_put": (
        lambda input, indices, values, accumulate=False: index_put_(input.clone(), indices, values, accumulate),
        "A copy with out[indices] = values. With ``accumulate``, adds the values, even at repeated indices.",
    ),
}
globals().update(brief(method, _METHODS))
