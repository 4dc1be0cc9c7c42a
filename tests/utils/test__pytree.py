"""Flattening and unflattening of nested values, as in PyTorch."""

from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable
from typing import Any

import pytest

import minigrad
from minigrad.utils import _pytree as ours
from tests.support.cases import raises
from tests.support.parity import torch

Point = namedtuple("Point", "x y")


class _Theirs:
    """PyTorch's module, imported on demand: if it is missing, only comparisons are skipped."""

    def __getattr__(self, name: str) -> Any:
        return getattr(torch.utils._pytree, name)


theirs: Any = _Theirs()
TREES: dict[str, Any] = {
    "leaf": 1,
    "none": None,
    "text": "abc",
    "empty": [],
    "list": [1, [2, 3]],
    "tuple": (1, (2,), ()),
    "dict": {"b": 1, "a": {"c": [2]}},
    "ordered": OrderedDict(z=1, a=2),
    "default": defaultdict(list, k=[7], j=[]),
    "deque": deque([1, (2, 3)], maxlen=4),
    "named": Point(1, [2, 3]),
    "many": {"b": [1, (2, Point(3, 4))], "a": OrderedDict(z=5, c=None), "d": deque([6]), 3: {"e": ()}},
    "subclass is a leaf": type("Sub", (list,), {})([1, 2]),
}


def test_trees() -> None:
    numbers = ("num_leaves", "type", "context")
    for name, tree in TREES.items():
        (leaves, spec), (expected, reference) = ours.tree_flatten(tree), theirs.tree_flatten(tree)
        assert leaves == expected and repr(spec) == repr(reference), name
        assert [getattr(spec, n) for n in numbers] == [getattr(reference, n) for n in numbers], name
        assert spec.is_leaf() == reference.is_leaf(), name
        again = ours.tree_unflatten(leaves, spec)
        assert again == tree and type(again) is type(tree), name
        assert spec == ours.tree_structure(tree) and hash(spec) == hash(ours.tree_structure(tree)), name
        assert ours.tree_is_leaf(tree) == (leaves == [tree]), name
        assert ours.tree_leaves(tree) == leaves, name
        assert ours.tree_map(str, tree) == theirs.tree_map(str, tree), name


def test_specs_differ() -> None:
    specs = [ours.tree_structure(tree) for tree in ([1], (1,), [1, 2], [[1]], {"a": 1}, {"b": 1}, 1)]
    assert all(a != b for i, a in enumerate(specs) for b in specs[:i])
    assert isinstance(specs[-1], ours.LeafSpec) and specs[0].children_specs == [ours.LeafSpec()]


def test_tensors_and_results() -> None:
    x = minigrad.tensor([[1.0, 2], [4, 3]])
    doubled = ours.tree_map(lambda t: t * 2, {"x": x, "best": x.max(1)})
    assert doubled["best"].values.tolist() == [4.0, 8.0] and type(doubled["best"]) is type(x.max(1))
    assert ours.tree_leaves(x.shape) == [2, 2]
    assert type(ours.tree_map(lambda n: n + 1, x.shape)) is minigrad.Size


RESTS: list[tuple[Any, tuple[Any, ...]]] = [
    ([1, [2]], ([3, [4]],)),
    ([1, 2], ([3, [4]], [7, 8])),
    ({"a": 1, "b": 2}, ({"b": 3, "a": 4},)),
    ({"a": 1, "b": 2}, (OrderedDict(b=3, a=4),)),
    (OrderedDict(a=1), ({"a": 2},)),
    ([1, [2]], ([3, 4],)),
    ([1, 2], ((3, 4),)),
    ([1, 2], ([3],)),
    ({"a": 1, "b": 2}, ({"b": 3, "c": 4},)),
    (Point(1, 2), (Point(3, [4]),)),
    (Point(1, 2), ((3, 4),)),
]


def mapped(library: Any, tree: Any, rests: tuple[Any, ...]) -> Any:
    try:
        return library.tree_map(lambda *leaves: leaves, tree, *rests)
    except ValueError as error:
        return str(error).partition(";")[0]


def test_several_trees_at_once() -> None:
    for tree, rests in RESTS:
        assert mapped(ours, tree, rests) == mapped(theirs, tree, rests), tree


CALLS: dict[str, Callable[[Any], Any]] = {
    "is_leaf": lambda p: p.tree_leaves([1, [2, 3], [4]], is_leaf=lambda x: x == [2, 3]),
    "only a type": lambda p: p.tree_map_only(int, lambda x: x + 1, [1, "a"]),
    "only types": lambda p: p.tree_map_only((int, str), lambda x: x * 2, [1, "a", 2.5]),
    "only a union": lambda p: p.tree_map_only(int | str, lambda x: x * 2, [1, "a", 2.5]),
    "only where": lambda p: p.tree_map_only(lambda x: x == 1, lambda x: x * 2, [1, 2]),
    "named": lambda p: [p.is_namedtuple(x) for x in (Point(1, 2), Point, (1, 2), 3)],
}


def test_functions() -> None:
    assert {name: call(ours) for name, call in CALLS.items()} == {name: call(theirs) for name, call in CALLS.items()}


class Pair:
    """A type to register."""

    def __init__(self, *values: Any) -> None:
        self.values = values


def test_a_registered_type(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ours, "SUPPORTED_NODES", dict(ours.SUPPORTED_NODES))
    ours.register_pytree_node(Pair, lambda pair: (pair.values, "kept"), lambda values, _: Pair(*values))
    assert ours.tree_map(lambda x: x + 1, [Pair(1, 2)])[0].values == (2, 3)
    with pytest.raises(ValueError, match="already registered"):
        ours.register_pytree_node(Pair, lambda pair: ((), None), lambda values, _: Pair())
    ours._register_pytree_node(Pair, lambda pair: (pair.values[:1], None), lambda values, _: Pair(*values))
    assert ours.tree_map(lambda x: x + 1, Pair(1, 2)).values == (2,)


def test_wrong_leaves() -> None:
    spec = ours.tree_structure([1, [2]])
    for leaves in ([1], [1, 2, 3]):
        with pytest.raises(ValueError, match=f"has length {len(leaves)} but the spec .* holds 2 items"):
            ours.tree_unflatten(leaves, spec)
    raises(TypeError, "TreeSpec", lambda: ours.tree_unflatten([1], 3))
    raises(TypeError, "callable", lambda: ours.tree_map_only(3, str, [1]))
