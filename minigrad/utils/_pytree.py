"""Nested values as a list of leaves and a spec that tells how they were nested, by PyTorch's names.

Gone through are dicts, lists, tuples, named tuples, deques, tensors' sizes, and what is registered. All else,
None too, is a leaf.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from types import UnionType
from typing import Any, NamedTuple

from ..tensor import Size

__all__ = [
    "LeafSpec",
    "PyTree",
    "TreeSpec",
    "is_namedtuple",
    "register_pytree_node",
    "tree_all",
    "tree_all_only",
    "tree_any",
    "tree_any_only",
    "tree_flatten",
    "tree_is_leaf",
    "tree_iter",
    "tree_leaves",
    "tree_map",
    "tree_map_",
    "tree_map_only",
    "tree_map_only_",
    "tree_structure",
    "tree_unflatten",
]

PyTree = Any
Chosen = type[Any] | tuple[type[Any], ...] | UnionType | Callable[[Any], bool]
IsLeaf = Callable[[PyTree], bool] | None


class _Node(NamedTuple):
    """How values of one type are taken apart and put together."""

    flatten: Callable[[Any], tuple[Iterable[Any], Any]]
    unflatten: Callable[[Iterable[Any], Any], Any]


def _dict_flatten(tree: Any) -> tuple[Iterable[Any], Any]:
    return tree.values(), list(tree)


def _dict_unflatten(values: Iterable[Any], context: Any) -> dict[Any, Any]:
    return dict(zip(context, values, strict=True))


def _default_dict(values: Iterable[Any], context: Any) -> Any:
    factory, keys = context
    return defaultdict(factory, zip(keys, values, strict=True))


_NODES: dict[Any, _Node] = {
    namedtuple: _Node(lambda tree: (tree, type(tree)), lambda values, kind: kind(*values)),
    tuple: _Node(lambda tree: (tree, None), lambda values, _: tuple(values)),
    list: _Node(lambda tree: (tree, None), lambda values, _: list(values)),
    dict: _Node(_dict_flatten, _dict_unflatten),
    OrderedDict: _Node(_dict_flatten, lambda values, keys: OrderedDict(zip(keys, values, strict=True))),
    defaultdict: _Node(lambda tree: (tree.values(), [tree.default_factory, list(tree)]), _default_dict),
    deque: _Node(lambda tree: (tree, tree.maxlen), lambda values, longest: deque(values, longest)),
    Size: _Node(lambda tree: (tree, None), lambda values, _: Size(values)),
}
_DICTS = (dict, OrderedDict, defaultdict)


def register_pytree_node(
    cls: type[Any],
    flatten_fn: Callable[[Any], tuple[Iterable[Any], Any]],
    unflatten_fn: Callable[[Iterable[Any], Any], Any],
    *,
    serialized_type_name: str | None = None,
    to_dumpable_context: Any = None,
    from_dumpable_context: Any = None,
    flatten_with_keys_fn: Any = None,
) -> None:
    """Let values of a type be gone through.

    Args:
        cls: the type itself; types derived from it stay leaves.
        flatten_fn: gives a value's children, and a context.
        unflatten_fn: makes a value of children and context.
        serialized_type_name, to_dumpable_context, from_dumpable_context, flatten_with_keys_fn: taken for
            PyTorch's signature, without effect.

    Raises:
        ValueError: the type is registered already.
    """
    if cls in _NODES:
        raise ValueError(f"{cls} is already registered as pytree node.")
    _NODES[cls] = _Node(flatten_fn, unflatten_fn)


def _register_pytree_node(
    cls: type[Any],
    flatten_fn: Callable[[Any], tuple[Iterable[Any], Any]],
    unflatten_fn: Callable[[Iterable[Any], Any], Any],
    to_str_fn: Any = None,
    maybe_from_str_fn: Any = None,
    **kwargs: Any,
) -> None:
    """``register_pytree_node`` by the name that Transformers calls it by; a second time it replaces."""
    _NODES.pop(cls, None)
    register_pytree_node(cls, flatten_fn, unflatten_fn, **kwargs)


def is_namedtuple(obj: Any) -> bool:
    """Whether a value is a named tuple, or a type of them."""
    kind = obj if isinstance(obj, type) else type(obj)
    return issubclass(kind, tuple) and isinstance(getattr(kind, "_fields", None), tuple)


def _node_type(tree: Any) -> Any:
    """What a value is registered as, ``namedtuple`` for any of these; None for a leaf."""
    kind = type(tree)
    if kind in _NODES:
        return kind
    return namedtuple if is_namedtuple(kind) else None


@dataclass
class TreeSpec:
    """How values were nested.

    Attributes:
        type: of the outermost one, None for a leaf.
        context: what makes it again beside its children: a dict's keys.
        children_specs: the specs of its children.
    """

    type: Any
    context: Any
    children_specs: list[TreeSpec]

    def is_leaf(self) -> bool:
        """Whether nothing was nested."""
        return self.type is None

    def children(self) -> list[TreeSpec]:
        """The specs of the children."""
        return list(self.children_specs)

    def child(self, index: int) -> TreeSpec:
        """The spec of one child."""
        return self.children_specs[index]

    @property
    def num_children(self) -> int:
        """How many children the outermost value has."""
        return len(self.children_specs)

    @property
    def num_leaves(self) -> int:
        """How many leaves there are at all depths."""
        return 1 if self.is_leaf() else sum(child.num_leaves for child in self.children_specs)

    @property
    def num_nodes(self) -> int:
        """How many values there are at all depths, leaves included."""
        return 1 + sum(child.num_nodes for child in self.children_specs)

    def unflatten(self, leaves: Iterable[Any]) -> PyTree:
        """Nest leaves in this way. Raises ValueError if there are too many or too few."""
        values = list(leaves)
        if len(values) != self.num_leaves:
            raise ValueError(
                f"treespec.unflatten(leaves): `leaves` has length {len(values)} but the spec "
                f"refers to a pytree that holds {self.num_leaves} items ({self})."
            )
        return self._made(iter(values))

    def _made(self, leaves: Iterator[Any]) -> PyTree:
        if self.is_leaf():
            return next(leaves)
        children = [child._made(leaves) for child in self.children_specs]
        return _NODES[self.type].unflatten(children, self.context)

    def flatten_up_to(self, tree: PyTree) -> list[PyTree]:
        """What stands in another tree where this one has leaves: values of any depth.

        Raises:
            ValueError: the other is nested otherwise above there.
        """
        if self.is_leaf():
            return [tree]
        return [
            leaf
            for child, value in zip(self.children_specs, self._children_of(tree), strict=True)
            for leaf in child.flatten_up_to(value)
        ]

    def _children_of(self, tree: PyTree) -> list[PyTree]:
        """The other tree's children in this one's order: kinds of dict stand for each other."""
        kind = _node_type(tree)
        if kind is not self.type and not (kind in _DICTS and self.type in _DICTS):
            raise ValueError(f"Node type mismatch; expected {self.type}, but got {type(tree)}.")
        if kind in _DICTS:
            keys = self.context[1] if self.type is defaultdict else self.context
            missing, extra = set(keys) - set(tree), set(tree) - set(keys)
            if missing or extra:
                raise ValueError(
                    f"Node keys mismatch; missing key(s): {missing or '{}'}; extra key(s): {extra or '{}'}."
                )
            return [tree[key] for key in keys]
        children, context = _NODES[kind].flatten(tree)
        values = list(children)
        if len(values) != self.num_children:
            raise ValueError(f"Node arity mismatch; expected {self.num_children}, but got {len(values)}.")
        if kind is not deque and context != self.context:
            raise ValueError(f"Node context mismatch; expected {self.context}, but got {context}.")
        return values

    def __hash__(self) -> int:
        return hash((self.type, repr(self.context), tuple(self.children_specs)))

    def __repr__(self, indent: int = 0) -> str:
        if self.is_leaf():
            return "*"
        between = ",\n" + " " * (indent + 2)
        children = between.join(child.__repr__(indent + 2) for child in self.children_specs)
        return f"TreeSpec({self.type.__name__}, {self.context}, [{children}])"


class LeafSpec(TreeSpec):
    """The spec of a single leaf."""

    def __init__(self) -> None:
        super().__init__(None, None, [])


_LEAF = LeafSpec()


def _walk(tree: PyTree, is_leaf: IsLeaf, leaves: list[Any]) -> TreeSpec:
    """The spec of a tree, whose leaves are added to a list."""
    kind = None if is_leaf and is_leaf(tree) else _node_type(tree)
    if kind is None:
        leaves.append(tree)
        return _LEAF
    children, context = _NODES[kind].flatten(tree)
    return TreeSpec(kind, context, [_walk(child, is_leaf, leaves) for child in children])


def tree_flatten(tree: PyTree, is_leaf: IsLeaf = None) -> tuple[list[Any], TreeSpec]:
    """The leaves, and how they were nested.

    Args:
        tree: any value.
        is_leaf: tells of further values that are not to be gone through.
    """
    leaves: list[Any] = []
    return leaves, _walk(tree, is_leaf, leaves)


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> PyTree:
    """Nest leaves as a spec tells. Raises ValueError if there are too many or too few."""
    if not isinstance(treespec, TreeSpec):
        raise TypeError(f"tree_unflatten expected a TreeSpec, but got a {type(treespec).__name__}")
    return treespec.unflatten(leaves)


def tree_leaves(tree: PyTree, is_leaf: IsLeaf = None) -> list[Any]:
    """The leaves."""
    return tree_flatten(tree, is_leaf)[0]


def tree_iter(tree: PyTree, is_leaf: IsLeaf = None) -> Iterator[Any]:
    """The leaves, one after another."""
    return iter(tree_leaves(tree, is_leaf))


def tree_structure(tree: PyTree, is_leaf: IsLeaf = None) -> TreeSpec:
    """How the leaves are nested."""
    return tree_flatten(tree, is_leaf)[1]


def tree_is_leaf(tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Whether a value is a leaf."""
    return bool(is_leaf and is_leaf(tree)) or _node_type(tree) is None


def tree_map(func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: IsLeaf = None) -> PyTree:
    """What a function makes of each leaf (and of what other trees hold in its place), nested as they were.

    Raises:
        ValueError: the other trees are nested otherwise.
    """
    leaves, spec = tree_flatten(tree, is_leaf)
    return spec.unflatten(map(func, leaves, *(spec.flatten_up_to(rest) for rest in rests)))


def tree_map_(func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: IsLeaf = None) -> PyTree:
    """Call a function with each leaf, for what it does to it. Returns the tree as it was."""
    tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


def _choice(which: Any) -> Callable[[Any], bool]:
    """Whether a leaf is of some types, or passes a test."""
    if isinstance(which, (type, tuple, UnionType)):
        return lambda leaf: isinstance(leaf, which)
    if callable(which):
        return which
    raise TypeError("Argument must be a type, a tuple of types, or a callable.")


def tree_map_only(
    type_or_types_or_pred: Chosen, /, func: Callable[[Any], Any], tree: PyTree, is_leaf: IsLeaf = None
) -> PyTree:
    """``tree_map`` for leaves of some types, or that pass a test; the others stay as they are."""
    chosen = _choice(type_or_types_or_pred)
    return tree_map(lambda leaf: func(leaf) if chosen(leaf) else leaf, tree, is_leaf=is_leaf)


def tree_map_only_(
    type_or_types_or_pred: Chosen, /, func: Callable[[Any], Any], tree: PyTree, is_leaf: IsLeaf = None
) -> PyTree:
    """``tree_map_`` for leaves of some types, or that pass a test."""
    tree_map_only(type_or_types_or_pred, func, tree, is_leaf)
    return tree


def tree_all(pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Whether all leaves pass a test."""
    return all(map(pred, tree_iter(tree, is_leaf)))


def tree_any(pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Whether a leaf passes a test."""
    return any(map(pred, tree_iter(tree, is_leaf)))


def tree_all_only(type_or_types: Chosen, /, pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Whether all leaves of some types pass a test."""
    return all(map(pred, filter(_choice(type_or_types), tree_iter(tree, is_leaf))))


def tree_any_only(type_or_types: Chosen, /, pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Whether a leaf of some types passes a test."""
    return any(map(pred, filter(_choice(type_or_types), tree_iter(tree, is_leaf))))
