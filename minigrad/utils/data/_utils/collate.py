"""A batch out of examples: equal places of the examples are put together, at every depth."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

import numpy as np

from ....backend import dtype as dt
from ....functions.creation import as_tensor, tensor
from ....functions.shaping import stack
from ....tensor import Tensor

Joiner = Callable[..., Any]
Joiners = dict[type | tuple[type, ...], Joiner]


def collate(batch: Any, *, collate_fn_map: Joiners | None = None) -> Any:
    """Put examples together with functions of one's own for some types.

    Args:
        batch: a sequence of examples of one structure.
        collate_fn_map: by type, or tuple of types: ``function(batch, *, collate_fn_map)`` for examples of it.
            Mappings, named tuples and sequences that are not in it are gone through.

    Raises:
        TypeError: examples of a type that is not in the map. RuntimeError: sequences of different lengths.
    """
    first = batch[0]
    join = _joiner(type(first), collate_fn_map or {})
    if join is not None:
        return join(batch, collate_fn_map=collate_fn_map)

    def together(values: Any) -> Any:
        return collate(values, collate_fn_map=collate_fn_map)

    if isinstance(first, Mapping):
        return _like_mapping(first, {key: together([example[key] for example in batch]) for key in first})
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return type(first)(*map(together, zip(*batch, strict=True)))
    if isinstance(first, Sequence) and not isinstance(first, (str, bytes)):
        if any(len(example) != len(first) for example in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        columns = [together(column) for column in zip(*batch, strict=True)]
        return columns if isinstance(first, tuple) else _like_sequence(first, columns)
    raise _unknown(type(first))


def _joiner(kind: type, joiners: Joiners) -> Joiner | None:
    """The function for a type: its own, else that of the first type in the map that it derives from."""
    found = joiners.get(kind)
    return found or next((joiner for types, joiner in joiners.items() if issubclass(kind, types)), None)


def _like_mapping(given: Any, values: dict[Any, Any]) -> Any:
    """Values in a mapping of the same type, where that can be made."""
    try:
        if not isinstance(given, MutableMapping):
            return type(given)(values)
        made = copy.copy(given)  # keeps what a subclass knows beside its items
        made.update(values)
        return made
    except TypeError:
        return values


def _like_sequence(given: Any, values: list[Any]) -> Any:
    """Values in a sequence of the same type, where that can be made."""
    try:
        if not isinstance(given, MutableSequence):
            return type(given)(values)
        made = copy.copy(given)
        for i, value in enumerate(values):
            made[i] = value
        return made
    except TypeError:
        return values


def _unknown(found: Any) -> TypeError:
    return TypeError(
        f"default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {found}"
    )


def collate_tensor_fn(batch: Any, *, collate_fn_map: Joiners | None = None) -> Tensor:
    """Tensors of one shape, stacked along a new first axis."""
    return stack(list(batch), 0)


def collate_numpy_array_fn(batch: Any, *, collate_fn_map: Joiners | None = None) -> Any:
    """Arrays of one shape, stacked as tensors. Raises TypeError for text and objects."""
    if batch[0].dtype.kind in "SaUO":
        raise _unknown(batch[0].dtype)
    return collate([as_tensor(array) for array in batch], collate_fn_map=collate_fn_map)


def collate_numpy_scalar_fn(batch: Any, *, collate_fn_map: Joiners | None = None) -> Tensor:
    """NumPy's numbers as one tensor of their dtype."""
    return as_tensor(batch)


def collate_float_fn(batch: Any, *, collate_fn_map: Joiners | None = None) -> Tensor:
    """Floats as a float64 tensor."""
    return tensor(batch, dtype=dt.float64)


def collate_int_fn(batch: Any, *, collate_fn_map: Joiners | None = None) -> Tensor:
    """Ints as an int64 tensor, bools as a bool tensor."""
    return tensor(batch)


def collate_str_fn(batch: Any, *, collate_fn_map: Joiners | None = None) -> Any:
    """Text stays a list."""
    return batch


default_collate_fn_map: Joiners = {
    Tensor: collate_tensor_fn,
    np.ndarray: collate_numpy_array_fn,
    (np.bool_, np.number, np.object_): collate_numpy_scalar_fn,
    float: collate_float_fn,
    int: collate_int_fn,
    str: collate_str_fn,
    bytes: collate_str_fn,
}


def default_collate(batch: Any) -> Any:
    """A batch out of a sequence of examples of one structure.

    Tensors and arrays are stacked, numbers become a tensor (floats a float64 one), text stays a list;
    dicts, lists, tuples (as lists) and named tuples of these are gone through.

    Raises:
        TypeError: examples of another type. RuntimeError: sequences or tensors of different lengths.
    """
    return collate(batch, collate_fn_map=default_collate_fn_map)


def default_convert(data: Any) -> Any:
    """NumPy's arrays and numbers as tensors, inside dicts, lists and tuples too; all else as it is."""
    if isinstance(data, (np.ndarray, np.generic)) and data.dtype.kind not in "SaUO":
        return as_tensor(data)
    if isinstance(data, Mapping):
        return _like_mapping(data, {key: default_convert(value) for key, value in data.items()})
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*map(default_convert, data))
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        values = [default_convert(value) for value in data]
        return values if isinstance(data, tuple) else _like_sequence(data, values)
    return data
