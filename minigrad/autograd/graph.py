"""The graph as PyTorch shows it: the names of nodes, the nodes before them, a leaf's AccumulateGrad, and hooks on
several gradients."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple
from weakref import WeakKeyDictionary, WeakValueDictionary

from ..backend import xp
from ..extension import layer
from ..ops.op import Op
from . import tape
from .hooks import inputs_of
from .mode import state
from .origin import note_change
from .tape import Variable
from .walk import Walk, nodes_behind


class Node(tape.Node):
    """What ``Tensor.grad_fn`` gives (``torch.autograd.graph.Node``).

    A node's class says its name, as in PyTorch. It gets that class when a program first looks at the node, or, where a
    function of several ops is one in PyTorch, from that function (``as_one``).
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<{self.name()} of {self.op.name}>"

    if TYPE_CHECKING:  # in the classes that a program sees: it would slow down the walk

        def __getattr__(self, name: str) -> Any: ...

    def name(self) -> str:
        """PyTorch's name for it: "MulBackward0"; of a user's Function "CubeBackward"."""
        return _names[type(shown(self))]

    @property
    def next_functions(self) -> tuple[tuple[tape.Node | AccumulateGrad | None, int], ...]:
        """The nodes of the inputs; an AccumulateGrad stands for a leaf, and None for an input that wants no gradient."""
        behind = [(_end(t), slot) for t, slot, _, _ in self.edges]
        return tuple((None, 0) if i is None else behind[i] for i in inputs_of(self))


def name_by_op(op: Op) -> str:
    """The name of the nodes of an op: "LinearBackward0", where PyTorch's may depend on the operands ("AddmmBackward0")."""
    name = "".join(part[:1].upper() + part[1:] for part in op.name.split("_"))
    return f"{name}Backward0" if op.backward is None else f"{op.name}Backward"


def _of_node(self: Any, name: str) -> Any:
    """Hooks, what a node keeps, and other things that are seldom asked for."""
    return layer().of_node(self, name)


_names: dict[type[Node], str] = {}


@cache
def _class_of(name: str) -> type[Node]:
    members = {"__slots__": (), "__module__": __name__, "__getattr__": _of_node}
    cls = type(name.rpartition("::")[2], (Node,), members)
    _names[cls] = name
    return cls


def shown(node: Any) -> Any:
    """A node, of the class that says its name."""
    if node.__class__ is Node:
        node.__class__ = _class_of(layer().node_name(node))
    return node


def as_one(result: Any, name: str) -> Any:
    """The result of a function of several ops that is one in PyTorch; its node gets the name of that."""
    if result._node is not None:
        result._node.__class__ = _class_of(name)
    return result


def _end(target: Any) -> Any:
    return shown(target) if isinstance(target, tape.Node) else AccumulateGrad.of(target)


class AccumulateGrad:
    """Stands for a leaf among the nodes of a graph: one object for each leaf, as long as something holds it.

    Attributes:
        variable: the leaf.
    """

    next_functions: tuple[tuple[Any, int], ...] = ()
    _known: WeakValueDictionary[int, AccumulateGrad] = WeakValueDictionary()

    def __init__(self, variable: Variable) -> None:
        self.variable = variable

    @classmethod
    def of(cls, variable: Variable) -> AccumulateGrad:
        """That of a leaf."""
        found = cls._known.get(id(variable))
        if found is None:
            found = cls._known[id(variable)] = cls(variable)
        return found

    __getattr__ = _of_node

    def name(self) -> str:
        """PyTorch's name of it, "struct torch::autograd::AccumulateGrad" without the namespaces."""
        return "AccumulateGrad"


class GradientEdge(NamedTuple):
    """Where a tensor's gradient arrives: the node that made it, and the number among that node's results."""

    node: Any
    output_nr: int
    ownership_token: Any = None  # an array of the tensor's shape, which takes no memory

    def tensor(self) -> Variable:
        """The leaf, or a tensor with the history of the node's result."""
        if isinstance(self.node, AccumulateGrad):
            return self.node.variable
        result = tape.wrap(0)
        result.array = self.ownership_token
        result._node, result._slot, result._needs = self.node, self.output_nr, True
        return result


def get_gradient_edge(tensor: Variable) -> GradientEdge:
    """The edge of a tensor, an AccumulateGrad for a leaf (``torch.autograd.graph.get_gradient_edge``).

    Raises:
        RuntimeError: the tensor requires no gradient.

    >>> x = mg.ones(2, requires_grad=True)
    >>> mg.autograd.graph.get_gradient_edge(x * 2).node.name()
    'MulBackward0'
    """
    node, slot = tensor._source()
    if not tensor._wanted():
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    module, array = xp(tensor.array), tensor.array
    shape = module.broadcast_to(module.zeros((), array.dtype), array.shape)
    return GradientEdge(_end(tensor if node is None else node), slot, shape)


def increment_version(tensor: Variable | Iterable[Variable]) -> None:
    """Note that tensors have been changed by something that autograd does not see, so that a backward pass which needs
    the old values raises an error."""
    for one in (tensor,) if isinstance(tensor, Variable) else tensor:
        note_change(one._changes, "increment_version", "increment_version()")


class _Handles:
    """The handles of several hooks, as one."""

    def __init__(self, handles: list[Any]) -> None:
        self.handles = handles

    def remove(self) -> None:
        for handle in self.handles:
            handle.remove()

    def __enter__(self) -> _Handles:
        return self

    def __exit__(self, *raised: object) -> None:
        self.remove()


def _reached(walk: Walk) -> set[Any]:
    """The nodes and leaves that a walk passes."""
    if walk.useful is not None:
        return set(walk.useful)
    nodes = nodes_behind(walk.roots)
    return {*nodes, *walk.roots, *(edge[0] for node in nodes for edge in node.edges)}


def register_multi_grad_hook(
    tensors: Sequence[Any], fn: Callable[..., None], *, mode: Literal["all", "any"] = "all"
) -> _Handles:
    """Call a function once for each backward pass, when the gradients of several tensors have arrived.

    Args:
        tensors: they require gradients.
        fn: in mode "all" it gets the list of the gradients, with None for tensors that the pass does not reach; in
            mode "any" the gradient that arrives first.

    Returns:
        A handle: ``remove()``, or the end of a ``with`` block, takes the hook away.

    Raises:
        ValueError: another mode. RuntimeError: a tensor requires no gradient.

    >>> a, b = (mg.ones(1, requires_grad=True) for _ in range(2))
    >>> with mg.autograd.graph.register_multi_grad_hook([a, b], lambda grads: print(len(grads))):
    ...     (a * b).sum().backward()
    2
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    sources = [tensor if (node := tensor._source()[0]) is None else node for tensor in tensors]
    walks: WeakKeyDictionary[Any, tuple[dict[int, Any], int]] = WeakKeyDictionary()

    def hook_of(place: int) -> Callable[[Any], None]:
        def hook(gradient: Any) -> None:
            if state.walk not in walks:
                reached = _reached(state.walk) if mode == "all" else ()
                walks[state.walk] = {}, sum(source in reached for source in sources)
                if mode == "any":
                    fn(gradient)
            gradients, count = walks[state.walk]
            gradients[place] = gradient
            if mode == "all" and len(gradients) == count:
                fn([gradients.get(i) for i in range(len(sources))])

        return hook

    return _Handles([tensor.register_hook(hook_of(i)) for i, tensor in enumerate(tensors)])


tape.classes_are(node=Node)
