"""Pytrees, under PyTorch's names: nested values are split into a list of leaves and a spec of their nesting.

Dicts, lists, tuples, named tuples, deques, Sizes and registered types are nodes. Anything else, even None, is a leaf.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from types import UnionType
from typing import Any, NamedTuple

from ..tensor import Size

PyTree = Any
Choice = type[Any] | tuple[type[Any], ...] | UnionType | Callable[[Any], bool]
IsLeaf = Callable[[PyTree], bool] | None
Flatten = Callable[[Any], tuple[Iterable[Any], Any]]
Unflatten = Callable[[Iterable[Any], Any], Any]
Context = Any  # PyTorch's name


class NodeDef(NamedTuple):
    """How to flatten values of a type into children and a context, and how to rebuild them."""

    flatten_fn: Flatten
    unflatten_fn: Unflatten


# For lists and dicts, under the names that libraries import


@dataclass(frozen=True)
class MappingKey:
    """A step from a mapping to one of its values."""

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def get(self, tree: Any) -> Any:
        return tree[self.key]


class SequenceKey(MappingKey):
    """A step from a sequence to one of its values."""

    idx = property(lambda self: self.key, doc="The index.")


_list_flatten: Flatten = lambda tree: (tree, None)
_list_flatten_with_keys: Flatten = lambda tree: ([(SequenceKey(i), value) for i, value in enumerate(tree)], None)
_list_unflatten: Unflatten = lambda values, context: list(values)
_dict_flatten: Flatten = lambda tree: (tree.values(), list(tree))
_dict_flatten_with_keys: Flatten = lambda tree: ([(MappingKey(k), value) for k, value in tree.items()], list(tree))
_dict_unflatten: Unflatten = lambda values, context: dict(zip(context, values, strict=True))
SUPPORTED_NODES: dict[Any, NodeDef] = {
    tuple: NodeDef(_list_flatten, lambda values, _: tuple(values)),
    list: NodeDef(_list_flatten, _list_unflatten),
    Size: NodeDef(_list_flatten, lambda values, _: Size(values)),
    namedtuple: NodeDef(lambda tree: (tree, type(tree)), lambda values, kind: kind(*values)),
    deque: NodeDef(lambda tree: (tree, tree.maxlen), deque),
    dict: NodeDef(_dict_flatten, _dict_unflatten),
    OrderedDict: NodeDef(_dict_flatten, lambda values, keys: OrderedDict(_dict_unflatten(values, keys))),
    defaultdict: NodeDef(
        lambda tree: (tree.values(), [tree.default_factory, list(tree)]),
        lambda values, context: defaultdict(context[0], _dict_unflatten(values, context[1])),
    ),
}
_DICTS = (dict, OrderedDict, defaultdict)


def register_pytree_node(
    cls: type[Any],
    flatten_fn: Flatten,
    unflatten_fn: Unflatten,
    *,
    serialized_type_name: str | None = None,
    to_dumpable_context: Any = None,
    from_dumpable_context: Any = None,
    flatten_with_keys_fn: Any = None,
) -> None:
    """Register a type, but not its subclasses, as a node. ``flatten_fn`` returns a value's (children, context), from
    which ``unflatten_fn`` rebuilds it. Other arguments are ignored. Raises ValueError if the type is already a node."""
    if cls in SUPPORTED_NODES:
        raise ValueError(f"{cls} is already registered as pytree node.")
    SUPPORTED_NODES[cls] = NodeDef(flatten_fn, unflatten_fn)


def _register_pytree_node(
    cls: type[Any],
    flatten_fn: Flatten,
    unflatten_fn: Unflatten,
    to_str_fn: Any = None,
    maybe_from_str_fn: Any = None,
    **kwargs: Any,
) -> None:
    """``register_pytree_node`` under the name that Transformers uses. It replaces any earlier registration."""
    SUPPORTED_NODES.pop(cls, None)
    register_pytree_node(cls, flatten_fn, unflatten_fn, **kwargs)


def is_namedtuple(obj: Any) -> bool:
    """Whether a value is a named tuple or a named-tuple type."""
    kind = obj if isinstance(obj, type) else type(obj)
    return issubclass(kind, tuple) and isinstance(getattr(kind, "_fields", None), tuple)


def is_structseq_instance(obj: Any) -> bool:
    """Whether a value is a named tuple that is defined in C, such as ``time.localtime()``."""
    return isinstance(obj, tuple) and hasattr(type(obj), "n_sequence_fields")


def _get_node_type(tree: Any) -> Any:
    """A value's key in ``SUPPORTED_NODES``, or a leaf's type."""
    kind = type(tree)
    return namedtuple if kind not in SUPPORTED_NODES and is_namedtuple(kind) else kind


@dataclass
class TreeSpec:
    """How values are nested."""

    type: Any  # the type of the outermost value; None for a leaf
    context: Any  # data to rebuild the value from its children, such as a dict's keys
    children_specs: list[TreeSpec]

    def is_leaf(self) -> bool:
        return self.type is None

    @property
    def num_leaves(self) -> int:
        return 1 if self.is_leaf() else sum(child.num_leaves for child in self.children_specs)

    def unflatten(self, leaves: Iterable[Any]) -> PyTree:
        """Nest leaves according to this spec. Raises ValueError if there are too many or too few."""
        values = list(leaves)
        if len(values) != self.num_leaves:
            count = self.num_leaves
            raise ValueError(f"`leaves` has length {len(values)} but the spec of a tree holds {count} items: {self}")
        return self._build(iter(values))

    def _build(self, leaves: Iterator[Any]) -> PyTree:
        if self.is_leaf():
            return next(leaves)
        children = [child._build(leaves) for child in self.children_specs]
        return SUPPORTED_NODES[self.type].unflatten_fn(children, self.context)

    def flatten_up_to(self, tree: PyTree) -> list[PyTree]:
        """The parts of another tree at this spec's leaves. Raises ValueError if the nesting above them differs."""
        if self.is_leaf():
            return [tree]
        kind = _get_node_type(tree)
        if kind is not self.type and not (kind in _DICTS and self.type in _DICTS):  # all dict types match each other
            raise ValueError(f"Node type mismatch; expected {self.type}, but got {type(tree)}.")
        if kind in _DICTS:
            keys = self.context[1] if self.type is defaultdict else self.context
            missing, extra = set(keys) - set(tree) or "{}", set(tree) - set(keys) or "{}"
            if missing != extra:
                raise ValueError(f"Node keys mismatch; missing key(s): {missing}; extra key(s): {extra}.")
            children = [tree[key] for key in keys]
        else:
            values, context = SUPPORTED_NODES[kind].flatten_fn(tree)
            children = list(values)
            if len(children) != len(self.children_specs):
                raise ValueError(f"Node arity mismatch; expected {len(self.children_specs)}, but got {len(children)}.")
            if kind is not deque and context != self.context:
                raise ValueError(f"Node context mismatch; expected {self.context}, but got {context}.")
        pairs = zip(self.children_specs, children, strict=True)
        return [part for child, value in pairs for part in child.flatten_up_to(value)]

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
    """Return the spec of a tree, and append its leaves to a list."""
    if tree_is_leaf(tree, is_leaf):
        leaves.append(tree)
        return _LEAF
    kind = _get_node_type(tree)
    children, context = SUPPORTED_NODES[kind].flatten_fn(tree)
    return TreeSpec(kind, context, [_walk(child, is_leaf, leaves) for child in children])


def tree_flatten(tree: PyTree, is_leaf: IsLeaf = None) -> tuple[list[Any], TreeSpec]:
    """A tree's leaves and the spec of their nesting. Values for which ``is_leaf`` is true also count as leaves."""
    leaves: list[Any] = []
    return leaves, _walk(tree, is_leaf, leaves)


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> PyTree:
    """Alias of ``treespec.unflatten(leaves)``."""
    if not isinstance(treespec, TreeSpec):
        raise TypeError(f"tree_unflatten expected a TreeSpec, but got a {type(treespec).__name__}")
    return treespec.unflatten(leaves)


def tree_leaves(tree: PyTree, is_leaf: IsLeaf = None) -> list[Any]:
    """The leaves of a tree."""
    return tree_flatten(tree, is_leaf)[0]


def tree_is_leaf(tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Whether a value is a leaf."""
    return bool(is_leaf and is_leaf(tree)) or _get_node_type(tree) not in SUPPORTED_NODES


def tree_structure(tree: PyTree, is_leaf: IsLeaf = None) -> TreeSpec:
    """The spec of a tree's nesting."""
    return tree_flatten(tree, is_leaf)[1]


def tree_map(func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: IsLeaf = None) -> PyTree:
    """Apply ``func`` to each leaf and the matching parts of ``rests``. Raises ValueError if their nesting differs."""
    leaves, spec = tree_flatten(tree, is_leaf)
    return spec.unflatten(map(func, leaves, *(spec.flatten_up_to(rest) for rest in rests)))


def tree_map_only(
    type_or_types_or_pred: Choice, /, func: Callable[[Any], Any], tree: PyTree, is_leaf: IsLeaf = None
) -> PyTree:
    """Like ``tree_map``, but only for leaves that have certain types or pass a test. Other leaves are unchanged."""
    choice: Any = type_or_types_or_pred
    if isinstance(choice, (type, tuple, UnionType)):
        return tree_map(lambda leaf: func(leaf) if isinstance(leaf, choice) else leaf, tree, is_leaf=is_leaf)
    if not callable(choice):
        raise TypeError("Argument must be a type, a tuple of types, or a callable.")
    return tree_map(lambda leaf: func(leaf) if choice(leaf) else leaf, tree, is_leaf=is_leaf)
