"""``torch.autograd.graph``: edges of the graph, hooks on several gradients, and changes that autograd does not see."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any, Literal, NamedTuple
from weakref import WeakKeyDictionary

from ..autograd import tape
from ..autograd.graph import AccumulateGrad, end_of
from ..autograd.mode import state
from ..autograd.origin import note_change
from ..autograd.tape import Variable
from ..autograd.walk import Walk, nodes_behind
from ..backend import xp


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
    token = module.broadcast_to(module.zeros((), array.dtype), array.shape)
    return GradientEdge(end_of(tensor if node is None else node), slot, token)


def increment_version(tensor: Variable | Iterable[Variable]) -> None:
    """Note a change that autograd does not see, so that a backward pass which needs the old values raises an error."""
    for one in (tensor,) if isinstance(tensor, Variable) else tensor:
        note_change(one._changes, "increment_version", "increment_version()")


class _Handles(ExitStack):
    """The handles of several hooks, as one."""

    remove = ExitStack.close


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

    def hook(place: int, gradient: Any) -> None:
        if state.walk not in walks:
            reached = _reached(state.walk) if mode == "all" else ()
            walks[state.walk] = {}, sum(source in reached for source in sources)
            if mode == "any":
                fn(gradient)
        gradients, count = walks[state.walk]
        gradients[place] = gradient
        if mode == "all" and len(gradients) == count:
            fn([gradients.get(i) for i in range(len(sources))])

    handles = _Handles()
    for i, tensor in enumerate(tensors):
        handles.callback(tensor.register_hook(partial(hook, i)).remove)
    return handles
