"""``torch.autograd.graph``: gradient edges, and hooks for tensors saved by nodes.

Observers of the tape replace the saved tensors, so nodes without hooks have no extra cost.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

from ..autograd.graph import AccumulateGrad, end_of
from ..autograd.mode import at_end, no_grad
from ..autograd.observer import Observer, attach, detach
from ..autograd.origin import note_change
from ..autograd.tape import Lost, Node, Variable, record, wrap
from ..backend import ARRAY_TYPES, xp
from ..ops.elementwise import clone
from ..ops.op import Op, watch
from ..utils.checkpoint import Region
from .function import _Result


class GradientEdge(NamedTuple):
    """Where a tensor's gradient arrives: the node that created the tensor, and its index among the node's results."""

    node: Any
    output_nr: int
    ownership_token: Any = None  # an array with the tensor's shape that does not take up memory

    def tensor(self) -> Variable:
        """The leaf, or a tensor with the history of the node's result."""
        if isinstance(self.node, AccumulateGrad):
            return self.node.variable
        result = wrap(0)
        result.array = self.ownership_token
        result._node, result._slot, result._needs = self.node, self.output_nr, True
        return result


def get_gradient_edge(tensor: Variable) -> GradientEdge:
    """The gradient edge of a tensor. For a leaf, the edge's node is an AccumulateGrad. Raises RuntimeError if the
    tensor does not require a gradient.

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
    """Record a change that autograd cannot detect, so that backward passes that need the old values raise an error."""
    for one in (tensor,) if isinstance(tensor, Variable) else tensor:
        note_change(one._changes, "increment_version", "increment_version()")


class _Refused(threading.local):
    reason: str | None = None  # set by this thread's ``disable_saved_tensors_hooks``


_refused = _Refused()


class saved_tensors_hooks(Observer):
    """A context in which nodes save the result of ``pack_hook``, of any type, instead of a tensor. When the backward
    pass needs the tensor, ``unpack_hook`` gets this result and returns a tensor of the same shape.

    A node's own result is detached before it is packed. Only the innermost context applies; a checkpoint counts as one.

    >>> sizes = []
    >>> x = mg.ones(3, requires_grad=True)
    >>> with mg.autograd.graph.saved_tensors_hooks(lambda t: sizes.append(t.shape) or t, lambda t: t):
    ...     y = x * x
    >>> len(sizes)
    2
    """

    packs = True

    def __init__(self, pack_hook: Callable[[Any], Any], unpack_hook: Callable[[Any], Any]) -> None:
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook

    def __enter__(self) -> None:
        if _refused.reason is not None:
            raise RuntimeError(_refused.reason)
        attach(self)

    def __exit__(self, *raised: object) -> None:
        detach(self)

    def applied(self, op: Op, args: tuple[Any, ...], result: Any, node: Node | None) -> None:
        """Pack the tensors that a new node saves."""
        innermost = [o for o in watch.observers if isinstance(o, (saved_tensors_hooks, Region))][-1]
        if node is not None and innermost is self and node.versions and not isinstance(node.saved, Lost):
            pack(node, self)


def pack(node: Node, hooks: saved_tensors_hooks, index: int | None = None) -> None:
    """Pack everything that a node saves, or only the argument at ``index`` (the result if it is -1)."""
    packed = node.saved if isinstance(node.saved, Packed) else Packed(node)
    whole, hand = index is None, partial(_Handed, hooks)
    places = [i for i, v in enumerate(packed.saved) if isinstance(v, (Variable, _Result, _Handed))]
    places += [-1] * (0 if node.out is None else len(node.out) if isinstance(node.out, tuple) else 1)
    for i, value in enumerate(packed.saved):
        if isinstance(value, (Variable, _Result)) and index in (None, i):
            packed.saved[i] = hand(value)
    if index in (None, -1):
        packed.out = _mapped(packed.out, hand)
    if whole and node.op.backward is None:  # a Function's residual is its context, which is unchanged
        packed.residual = _mapped(packed.residual, hand)
    packed.used(node)
    pairs = zip(places, node.versions, strict=True)
    node.versions = [([0, None], 0) if whole or place == index else version for place, version in pairs]


class Packed(Lost):
    """The packed values of a node, unpacked by each backward pass that needs them."""

    def __init__(self, node: Node) -> None:
        self.saved: list[Any] = list(node.saved)  # type: ignore[arg-type]
        self.out, self.residual = node.out, node.residual

    def restore(self, node: Node) -> None:
        """Unpack all values, or none if a hook raises an error."""
        saved = [value.unpacked() if isinstance(value, _Handed) else value for value in self.saved]
        out, residual = (_mapped(value, _Handed.unpacked, _Handed) for value in (self.out, self.residual))
        node.saved, node.out, node.residual = saved, out, residual

    def used(self, node: Node) -> None:
        node.saved, node.out, node.residual = self, self.out, self.residual


class _Handed:
    """The packed form of a tensor, a node's result or an array, and how to unpack it."""

    def __init__(self, hooks: saved_tensors_hooks, value: Any) -> None:
        self._hooks = hooks
        self._slot = value.slot if isinstance(value, _Result) else None
        self._history: Any = None  # node, result index, whether it needs a gradient, and for a leaf the leaf itself
        if isinstance(value, Variable):
            node, slot = value._source()
            self._history = node, slot, value._needs, value if node is None and value._needs else None
        tensor = value if isinstance(value, Variable) else wrap(getattr(value, "array", value))
        before = tensor._changes[0]
        with no_grad():
            self._kept = hooks.pack_hook(tensor)
        if tensor._changes[0] != before:
            raise RuntimeError("A saved tensor pack hook is modifying its input in place: work on a copy")

    def unpacked(self) -> Any:
        tensor = self._hooks.unpack_hook(self._kept)
        if not isinstance(tensor, Variable):
            kind = type(tensor).__name__
            raise TypeError(f"Output of saved tensor unpack_hook expected to be a Tensor but got result of type {kind}")
        array = tensor.array
        if self._slot is not None:
            return _Result(array, [0, None], self._slot)
        if self._history is None:
            return array
        node, slot, needs, leaf = self._history
        if leaf is not None:
            return record(clone, (leaf,), 1, array)
        result = wrap(array)
        result._node, result._slot, result._needs = node, slot, needs
        return result


def _mapped(value: Any, function: Callable[[Any], Any], kinds: Any = tuple(ARRAY_TYPES)) -> Any:
    """Apply a function to the arrays in a value, at any depth of tuples and lists."""
    if isinstance(value, kinds):
        return function(value)
    if value.__class__ in (tuple, list):
        return value.__class__(_mapped(part, function, kinds) for part in value)
    return value


class SavedTensor:
    """A tensor saved by a node, such as ``grad_fn._raw_saved_self``. It can have hooks."""

    def __init__(self, *args: Any) -> None:
        if not args:
            raise RuntimeError("Trying to create a SavedTensor object from Python is forbidden: get one from a node")
        self._node, self._place = args

    def register_hooks(self, pack_hook: Callable[[Any], Any], unpack_hook: Callable[[Any], Any]) -> None:
        """Pack the tensor now; see ``saved_tensors_hooks``. Raises RuntimeError if it was freed or has hooks."""
        if self._node.saved is None:
            raise RuntimeError(
                "Calling register_hooks on a saved tensor after it has been freed: set hooks before the backward pass"
            )
        node, place = self._node, self._place
        if isinstance(node.saved, Packed):
            part = node.out if place == -1 else node.saved.saved[place]
            if isinstance(part[0] if isinstance(part, tuple) else part, _Handed):
                raise RuntimeError("Calling register_hooks on a saved tensor whose hooks have already been set")
        pack(node, saved_tensors_hooks(pack_hook, unpack_hook), place)


class save_on_cpu(saved_tensors_hooks):
    """A context in which nodes save tensors in CPU memory, and restore them to their device when needed. ``pin_memory``
    and ``device_type`` are ignored.

    >>> x = mg.ones(3, requires_grad=True)
    >>> with mg.autograd.graph.save_on_cpu():
    ...     y = (x * x).sum()
    >>> y.backward()
    >>> x.grad
    tensor([2., 2., 2.])
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        super().__init__(lambda tensor: (tensor.device, tensor.cpu()), lambda pair: pair[1].to(pair[0]))


@contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
    """A context in which ``saved_tensors_hooks`` raises RuntimeError with this message. It cannot be within hooks."""
    if any(isinstance(o, saved_tensors_hooks) for o in watch.observers):
        raise RuntimeError(error_message)
    with at_end(setattr, _refused, "reason", _refused.reason) as end, end:
        _refused.reason = error_message
        yield
