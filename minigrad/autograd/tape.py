"""The tape: a ``Variable`` is an array that remembers how it was computed; a ``Node`` records the computation.

``apply`` runs an op on Variables and, if a gradient will be needed, records a Node with the values saved for the op's
rules. ``walk.py`` implements the backward pass over the nodes. Other files build on the tape: ``calls.py`` (promotion
and errors), ``views.py`` (views and in-place changes), ``graph.py`` (node names).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..backend import ARRAY_TYPES, dtype, of
from ..ops.op import Op, Plan, Traced, watch
from .mode import state
from .origin import Place, note_change, noted, order

Array = dtype.Array
_new = object.__new__
RETAINED = -1  # the number of retain_grad's hook (hooks from register_hook have positive numbers)


class Variable(Traced):
    """An array, whether it needs a gradient, and the node that created it. ``Tensor`` adds operators.

    Attributes:
        array: the NumPy or CuPy array.
    """

    array: Array
    _changes: list[Any]  # [in-place changes, op and place of the last one], shared by all views of the same memory
    _needs: bool = False
    _node: Node | None = None  # None for a leaf
    _slot: int = 0  # which of the node's results this is
    _parent: Any = None  # for a view, the tensor that it is a view of (views.py)
    _grad: Any = None
    _hooks: dict[int, Callable[..., Any]] | None = None
    _after: dict[int, Callable[..., Any]] | None = None  # hooks that run after an addition to .grad
    _around: Any = None  # hooks on a leaf's AccumulateGrad (hooks.py)
    _origin: Place | None = None  # the expression that created it, if known

    def __hash__(self) -> int:
        return id(self)

    @staticmethod
    def apply(op: Op, args: tuple[Any, ...]) -> Any:
        return apply(op, args)

    def _wanted(self) -> bool:
        """Whether the Variable needs a gradient."""
        return self._needs

    def _source(self) -> tuple[Node | None, int]:
        """The node that created the Variable, and the number of this result among the node's results."""
        return self._node, self._slot

    def add_gradient(self, gradient: Any, ours: bool) -> None:
        """Add to ``.grad``. The array is copied first unless it is ``ours``, as other code may refer to it."""
        if self._grad is None:
            self._grad = wrap(gradient if ours else gradient.copy())
        else:
            self._grad.array += gradient
            note_change(self._grad._changes, "the accumulation of gradients", "backward()")


class Node:
    """One application of an op, recorded for the backward pass.

    Attributes:
        op: the op.
        plan: the inputs that need a gradient, and their rules.
        edges: for each of these inputs, a tuple (its node, or the leaf itself; slot; shape; dtype).
        others: the arguments that need no gradient, by position, if they are kept (origin.py).
        saved: the saved arguments, None once they are freed, or Lost until they are recomputed.
        versions: for each saved tensor, its version counter and the count when it was saved.
        out: the result, or all results, if a rule needs them. Their versions are then at the end of ``versions``.
        kernel: the kernel that computed the result and will compute the gradients, or None if the op's rules do.
        residual: the values that the kernel saved for the backward pass.
        shapes: the shapes of the variadic inputs.
        results: for an op with several results, the shape, dtype and namespace of each.
        hooks: for each result, functions that receive its gradient and may replace it.
        place: the line of the program that called the op, if an observer has recorded it.
        order: its number in order of creation, which is larger than those of all nodes it depends on.
    """

    __slots__ = (
        *("__weakref__", "edges", "hooks", "kernel", "op", "order", "others", "out", "place", "plan"),
        *("residual", "results", "saved", "shapes", "versions"),
    )

    op: Op
    plan: Plan
    edges: list[tuple[Any, int, tuple[int, ...], Any]]
    others: Sequence[Any]
    saved: list[Any] | Lost | None
    versions: list[tuple[list[Any], int]]
    out: Array | tuple[Array, ...] | None
    kernel: Any
    residual: Any
    shapes: list[tuple[int, ...]] | None
    results: list[tuple[tuple[int, ...], Any, Any]] | None
    hooks: dict[int, dict[int, Callable[..., Any]]] | None
    place: str | None
    order: int

    def __repr__(self) -> str:
        return f"<node of {self.op.name}>"

    def free(self) -> None:
        """Release the saved values."""
        self.saved = self.residual = self.out = None
        self.versions = []


class Lost:
    """A placeholder for saved values that a node has dropped. ``restore`` recomputes them."""

    def restore(self, node: Node) -> None:
        """Recompute the node's saved values, and store them in the node."""
        raise NotImplementedError

    def used(self, node: Node) -> None:
        """Called when the node's rules have run and the graph is retained for another backward pass."""


_variable: Any = Variable  # the classes of the results and nodes that ops create
_node: Any = Node


def classes_are(variable: type[Variable] | None = None, node: type[Node] | None = None) -> None:
    """Let ops create instances of these subclasses of Variable and Node."""
    global _variable, _node
    _variable, _node = variable or _variable, node or _node


def wrap(array: Array) -> Any:
    """A Variable without history that wraps an array. A NumPy scalar becomes a 0-d array."""
    result = _new(_variable)
    result.array = array if type(array) in ARRAY_TYPES else np.asarray(array)
    result._changes = [0, None]
    return result


def apply(op: Op, args: tuple[Any, ...]) -> Any:
    """Run an op on Variables and attributes, and record the op if an input needs a gradient."""
    arrays = [a.array if isinstance(a, Variable) else a for a in args]
    return watched(run, op, args, arrays) if watch.observers else run(op, args, arrays)


def run(op: Op, args: tuple[Any, ...], arrays: list[Any]) -> Any:
    """``apply`` without observers, for arguments with these arrays."""
    mask = wanted(op, args) if state.grad else 0
    result = record(op, args, mask, *op.compute(arrays, op.plan(mask, len(args)).needs if mask else ()))
    if not op.rules and result.__class__ is not tuple and not dtype.has_gradient(result.array.dtype):
        result._node, result._needs = None, False  # integers have no gradient, so no rule is missing
    return result


def watched(run: Callable[..., Any], op: Op, args: tuple[Any, ...], *more: Any) -> Any:
    """Call ``run(op, args, *more)`` and notify the observers. Returns its result, or an observer's replacement."""
    watch.notify("applying", op, args)
    try:
        result = run(op, args, *more)
    except BaseException:
        watch.notify("failed", op)
        raise
    return report(op, args, result, node_of(result))


def report(op: Op, args: tuple[Any, ...], result: Any, node: Node | None) -> Any:
    """Notify the observers that an op has run. Returns its result, or an observer's replacement."""
    others = watch.notify("applied", op, args, result, node)
    return next((other for other in reversed(others) if other is not None), result)


def record_observed(op: Op, args: tuple[Any, ...], mask: int, out: Any) -> Any:
    """``apply`` for an op whose result ``out`` is already computed. Ignores the observers' replacements."""
    watch.notify("applying", op, args)
    result = record(op, args, mask, out)
    report(op, args, result, node_of(result))
    return result


def wanted(op: Op, args: tuple[Any, ...]) -> int:
    """A bit mask of the arguments that need a gradient and have a rule."""
    mask, bit = 0, 1
    for a in args:
        if isinstance(a, Variable) and (a._needs if a._parent is None else a._wanted()):
            mask |= bit
        bit <<= 1
    return mask & op.differentiable


def record(op: Op, args: tuple[Any, ...], mask: int, out: Any, kernel: Any = None, residual: Any = None) -> Any:
    """A Variable for the result ``out``, with the node that leads back to the inputs in ``mask`` (one bit each)."""
    result: Any = tuple(map(wrap, out)) if out.__class__ is tuple else wrap(out)
    if not mask:
        return result
    node = _new(_node)
    node.op, node.plan, node.order = op, (plan := op.plan(mask, len(args))), next(order)
    node.kernel, node.residual = kernel, residual
    node.out = node.results = node.hooks = node.place = None
    node.shapes = [a.array.shape for a in args[op.arity :]] if op.variadic else None
    node.edges = []
    for i in plan.inputs:
        a = args[i]
        behind, slot = source(a)
        node.edges.append((a if behind is None else behind, slot, a.array.shape, a.array.dtype))
    node.others = noted(args, plan.others) if plan.others else ()
    node.saved = [args[i] for i in plan.keep]
    node.versions = [(a._changes, a._changes[0]) for a in node.saved if isinstance(a, Variable)]
    if result.__class__ is tuple:
        _tie(result, node)
        return result
    result._node, result._needs = node, True
    if plan.keeps_out:
        node.out = result.array
        node.versions.append((result._changes, 0))
    return result


def source(a: Variable) -> tuple[Node | None, int]:
    """The node that created a Variable (None for a leaf), and the number of the result."""
    return (a._node, a._slot) if a._parent is None else a._source()


def _tie(results: tuple[Any, ...], node: Node) -> None:
    """Connect an op's results to its node if their dtypes can have a gradient."""
    module = of(results[0].array).xp if results else None
    node.results = []
    for slot, result in enumerate(results):
        array = result.array
        if dtype.has_gradient(array.dtype):
            result._node, result._slot, result._needs = node, slot, True
        node.results.append((array.shape, array.dtype, module))
    if node.plan.keeps_out:
        node.out = tuple(r.array for r in results)
        node.versions.extend((r._changes, 0) for r in results)


def node_of(result: Any) -> Node | None:
    """The node that an op has recorded, taken from any of its results."""
    if result.__class__ is not tuple:
        return result._node
    return next((r._node for r in result if r._node is not None), None)
