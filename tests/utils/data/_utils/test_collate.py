"""Batches of examples have PyTorch's types, dtypes and values."""

from collections import OrderedDict, UserDict, namedtuple
from collections.abc import Callable
from types import MappingProxyType
from typing import Any

import numpy as np

import minigrad
from minigrad.utils.data import default_collate, default_convert
from minigrad.utils.data._utils.collate import collate, default_collate_fn_map
from tests.support.cases import each, raises
from tests.support.parity import torch

Point = namedtuple("Point", "x y")


class Tagged(dict[str, Any]):
    """A dict with an additional attribute."""

    tag = "none"


BATCHES: dict[str, Callable[[Any], list[Any]]] = {
    "tensors": lambda t: [t.tensor([1.0, 2]), t.tensor([3.0, 4])],
    "tensors of no axes": lambda t: [t.tensor(1), t.tensor(2)],
    "empty tensors": lambda t: [t.zeros(0, 2), t.zeros(0, 2)],
    "bool tensors": lambda t: [t.tensor([True]), t.tensor([False])],
    "floats": lambda t: [1.5, 2.5],
    "ints": lambda t: [1, 2],
    "bools": lambda t: [True, False],
    "text": lambda t: ["a", "bc"],
    "bytes": lambda t: [b"a", b"bc"],
    **{f"numpy {d}": lambda t, d=d: [np.ones(2, d), np.zeros(2, d)] for d in ("float64", "float32", "int32", "bool")},
    **{
        f"numpy number {d}": lambda t, d=d: [np.dtype(d).type(1), np.dtype(d).type(0)]
        for d in ("float64", "float32", "int64", "uint8", "bool")
    },
    "dicts": lambda t: [{"x": 1, "y": "a"}, {"y": "b", "x": 2}],
    "ordered dicts": lambda t: [OrderedDict(x=1), OrderedDict(x=2)],
    "user dicts": lambda t: [UserDict(x=1), UserDict(x=2)],
    "read-only mappings": lambda t: [MappingProxyType({"x": 1}), MappingProxyType({"x": 2})],
    "tuples": lambda t: [(1, "a", t.zeros(2)), (2, "b", t.ones(2))],
    "named tuples": lambda t: [Point(1, 2.0), Point(3, 4.0)],
    "lists": lambda t: [[1, 2.0], [3, 4.0]],
    "ranges": lambda t: [range(2), range(2)],
    "nested": lambda t: [{"a": [(1, {"b": t.zeros(1)})]}, {"a": [(2, {"b": t.ones(1)})]}],
    "empty tuples": lambda t: [(), ()],
    "one example": lambda t: [(t.zeros(2), 1)],
}


def described(value: Any) -> Any:
    """A batch of either library, with tensors as dtype and list."""
    if hasattr(value, "detach"):
        return (str(value.dtype).rpartition(".")[2], list(value.shape), value.tolist())
    if hasattr(value, "items"):
        return (type(value), {key: described(item) for key, item in value.items()})
    if isinstance(value, (list, tuple, range)):
        return (type(value), [described(item) for item in value])
    return (type(value), value.tolist() if isinstance(value, np.generic) else value)


def test_batches_are_pytorchs() -> None:
    for name, make in BATCHES.items():
        ours, theirs, reference = make(minigrad), make(torch), torch.utils.data
        assert described(default_collate(ours)) == described(reference.default_collate(theirs)), name
        converted = [
            [described(convert(value)) for value in values]
            for convert, values in ((default_convert, ours), (reference.default_convert, theirs))
        ]
        assert converted[0] == converted[1], name


def test_a_mapping_keeps_its_attributes_and_stacking_allocates_memory() -> None:
    first, array = Tagged(x=1), np.zeros(2)
    first.tag = "first"
    batch, stacked = default_collate([first, Tagged(x=2)]), default_collate([array])
    array[0] = 5
    assert isinstance(batch, Tagged) and batch.tag == "first" and batch["x"].tolist() == [1, 2]
    assert stacked.tolist() == [[0.0, 0.0]]


class Own:
    """A type that default_collate does not know."""


class OwnChild(Own):
    """A type derived from it."""


def test_custom_functions() -> None:
    def count(batch: Any, *, collate_fn_map: Any = None) -> Any:
        return len(batch)

    both = {**default_collate_fn_map, Own: count}
    assert collate([(Own(), 1), (OwnChild(), 2)], collate_fn_map=both)[0] == 2
    assert collate([[Own()]], collate_fn_map={Own: count}) == [1]


WRONG: list[tuple[list[Any], type[Exception], str]] = [
    ([None], TypeError, "NoneType"),
    ([Own()], TypeError, "Own"),
    ([np.array(["a"])], TypeError, "<U1"),
    ([np.array([None])], TypeError, "object"),
    ([[1], [1, 2]], RuntimeError, "equal size"),
    ([{"x": 1}, {"y": 1}], KeyError, "x"),
    ([], IndexError, "out of range"),
    ([minigrad.zeros(2), minigrad.zeros(3)], RuntimeError, "shape|size"),
]


def test_examples_that_cannot_be_collated() -> None:
    each(WRONG, lambda row: raises(row[1], row[2], lambda: default_collate(row[0])))
