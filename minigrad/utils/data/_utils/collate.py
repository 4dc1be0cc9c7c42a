"""Collates examples into a batch by combining the values at each position of their nested structure."""

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
    """Combine a sequence of examples with the same structure, using type-specific functions.

    ``collate_fn_map`` maps types, or tuples of types, to ``function(batch, *, collate_fn_map)`` for examples of these
    types or their subclasses. Other mappings, named tuples and sequences are collated item by item. Raises TypeError if
    an example type is not in the map, and RuntimeError if sequences differ in length."""
    first, joiners = batch[0], collate_fn_map or {}
    inherited = (joiner for types, joiner in joiners.items() if isinstance(first, types))
    if join := joiners.get(type(first)) or next(inherited, None):
        return join(batch, collate_fn_map=collate_fn_map)

    def together(values: Any) -> Any:
        return collate(values, collate_fn_map=collate_fn_map)

    if isinstance(first, Mapping):
        return _like(first, {key: together([example[key] for example in batch]) for key in first})
    if not _is_sequence(first):
        raise _unknown(type(first))
    is_namedtuple = hasattr(first, "_fields")
    if not is_namedtuple and any(len(example) != len(first) for example in batch):
        raise RuntimeError("each element in list of batch should be of equal size")
    return _like(first, [together(column) for column in zip(*batch, strict=True)])


def _is_sequence(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))


def _like(template: Any, values: Any) -> Any:
    """Values in a container of the template's type, or in a list if that type is tuple or cannot be constructed."""
    if isinstance(template, tuple):
        return type(template)(*values) if hasattr(template, "_fields") else values
    try:
        if not isinstance(template, (MutableMapping, MutableSequence)):
            return type(template)(values)
        container = copy.copy(template)  # keeps a subclass's attributes
        for key, value in values.items() if isinstance(values, dict) else enumerate(values):
            container[key] = value
        return container
    except TypeError:
        return values


def _unknown(kind: Any) -> TypeError:
    return TypeError(
        f"default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {kind}"
    )


def _stacked_arrays(batch: Any, *, collate_fn_map: Joiners | None = None) -> Any:
    if batch[0].dtype.kind in "SaUO":
        raise _unknown(batch[0].dtype)
    return collate([as_tensor(array) for array in batch], collate_fn_map=collate_fn_map)


def _stacked(tensors: Any) -> Tensor:
    other = next((i for i, t in enumerate(tensors) if t.shape != tensors[0].shape), None)
    if other is not None:
        sizes = f"{list(tensors[0].shape)} at entry 0 and {list(tensors[other].shape)} at entry {other}"
        remedy = "pass the DataLoader a collate_fn that pads them (nn.utils.rnn.pad_sequence)"
        problem = f"stack expects each tensor to be equal size, but got {sizes}"
        raise RuntimeError(f"{problem}: the examples of a batch differ in shape; {remedy}")
    return stack(list(tensors), 0)


def _by(join: Callable[[Any], Any]) -> Joiner:
    return lambda batch, *, collate_fn_map=None: join(batch)


default_collate_fn_map: Joiners = {
    Tensor: _by(_stacked),
    np.ndarray: _stacked_arrays,
    (np.bool_, np.number, np.object_): _by(as_tensor),
    float: _by(lambda numbers: tensor(numbers, dtype=dt.float64)),
    int: _by(tensor),
    (str, bytes): _by(lambda texts: texts),
}


def default_collate(batch: Any) -> Any:
    """Collate a sequence of examples with the same structure into a batch. Tensors and arrays are stacked, numbers
    become a tensor (float64 for floats), and text stays a list. Dicts, lists, tuples (as lists) and named tuples are
    collated item by item. Raises the same errors as ``collate``."""
    return collate(batch, collate_fn_map=default_collate_fn_map)


def default_convert(data: Any) -> Any:
    """Convert NumPy arrays and numbers to tensors, even inside dicts, lists and tuples. Other values are unchanged."""
    if isinstance(data, (np.ndarray, np.generic)) and data.dtype.kind not in "SaUO":
        return as_tensor(data)
    if isinstance(data, Mapping):
        return _like(data, {key: default_convert(value) for key, value in data.items()})
    return _like(data, [default_convert(value) for value in data]) if _is_sequence(data) else data
