"""The graph as PyTorch presents it: node names, the next functions of a node, and a leaf's AccumulateGrad."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from ..extension import layer
from ..ops.op import Op
from . import tape
from .tape import Variable

if TYPE_CHECKING:  # ``compat`` defines the rest of PyTorch's names

    def __getattr__(name: str) -> Any: ...


class Node(tape.Node):
    """The class of ``Tensor.grad_fn`` (``torch.autograd.graph.Node``).

    As in PyTorch, the name of a node is the name of its class. A node gets that class when a program first accesses it.
    If a function consists of several ops here but is one op in PyTorch, the function sets the class (``as_one``).
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<{self.name()} of {self.op.name}>"

    if TYPE_CHECKING:  # only on the classes that programs see, as it would slow down the backward pass here

        def __getattr__(self, name: str) -> Any: ...

    def name(self) -> str:
        """PyTorch's name for the node: "MulBackward0", or "CubeBackward" for a user's Function."""
        return _names[type(shown(self))]

    @property
    def next_functions(self) -> tuple[tuple[tape.Node | AccumulateGrad | None, int], ...]:
        """The nodes of the inputs: an AccumulateGrad for a leaf, or None for an input that needs no gradient."""
        behind = [(end_of(t), slot) for t, slot, _, _ in self.edges]
        return tuple((None, 0) if i is None else behind[i] for i in layer().inputs_of(self))


def name_by_op(op: Op) -> str:
    """The name of an op's nodes: "LinearBackward0". (PyTorch's name may depend on the operands: "AddmmBackward0".)"""
    name = "".join(part[:1].upper() + part[1:] for part in op.name.split("_"))
    return f"{name}Backward0" if op.backward is None else f"{op.name}Backward"


def _of_node(self: Any, name: str) -> Any:
    """Hooks, saved values, and other attributes that few programs read."""
    return layer().of_node(self, name)


_names: dict[type[Node], str] = {}


@cache
def _class_of(name: str) -> type[Node]:
    members = {"__slots__": (), "__module__": __name__, "__getattr__": _of_node}
    cls = type(name.rpartition("::")[2], (Node,), members)
    _names[cls] = name
    return cls


def shown(node: Any) -> Any:
    """Give a node the class named after its op, and return the node."""
    if node.__class__ is Node:
        node.__class__ = _class_of(layer().node_name(node))
    return node


def as_one(result: Any, name: str) -> Any:
    """Give the result of several ops the node name that PyTorch uses for the whole function. Returns the result."""
    if result._node is not None:
        result._node.__class__ = _class_of(name)
    return result


def end_of(target: Any) -> Any:
    """The target of an edge as a program sees it: a node, or a leaf's AccumulateGrad."""
    return shown(target) if isinstance(target, tape.Node) else AccumulateGrad.of(target)


class AccumulateGrad:
    """Represents a leaf as a graph node. A leaf keeps the same object for as long as anything refers to the object.

    Attributes:
        variable: the leaf.
    """

    next_functions: tuple[tuple[Any, int], ...] = ()
    _instances: WeakValueDictionary[int, AccumulateGrad] = WeakValueDictionary()

    def __init__(self, variable: Variable) -> None:
        self.variable = variable

    @classmethod
    def of(cls, variable: Variable) -> AccumulateGrad:
        """The AccumulateGrad object of a leaf."""
        return cls._instances.get(id(variable)) or cls._instances.setdefault(id(variable), cls(variable))

    __getattr__ = _of_node

    def name(self) -> str:
        """PyTorch's name for the node."""
        return "torch::autograd::AccumulateGrad"


tape.classes_are(node=Node)
