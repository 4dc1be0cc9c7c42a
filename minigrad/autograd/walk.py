"""The backward pass, a walk from a result to everything it was computed from, youngest node first.

Nodes are numbered as they are recorded, so a node is younger than all nodes it depends on. A heap that always yields
the youngest node therefore reaches each node after all users of its results, when its gradient is complete. There is no
recursion, and a node's saved values are freed as soon as its rules have run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..backend import dtype as dt, xp
from ..ops.elementwise import add, cast
from ..ops.op import Arguments, bare, watch
from ..ops.reduction import sum_to
from .hooks import AROUND, accumulate, errors, run_hooks
from .mode import state
from .observer import span
from .tape import Lost, Node, Variable, source, wrap

Array = dt.Array
Targets = tuple[Variable, ...]
Sum = list[Any]  # [gradient so far, whether it may be added to in place]


def backward(
    tensors: Variable | Sequence[Variable],
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Variable | Sequence[Variable] | None = None,
) -> None:
    """Add the gradient of ``tensors`` (their sum, weighted by ``grad_tensors``) to the ``.grad`` of every leaf.

    Args:
        grad_tensors: the gradient at each tensor, with its shape. None means 1 and requires a one-element tensor.
        retain_graph: keep the graph's saved values for another backward pass. Defaults to ``create_graph``.
        create_graph: record the computation of the gradients, so that they can be differentiated.
        inputs: only add to the ``.grad`` of these tensors.

    Raises RuntimeError if there is nothing to differentiate, no gradient is passed for a tensor with several elements,
    the graph was freed, or a saved value was changed in place. In these cases, no ``.grad`` is changed.
    """
    roots, targets = listed(tensors), None if inputs is None else listed(inputs)
    if targets == ():
        raise RuntimeError("inputs argument to backward() cannot be empty: omit it to reach all leaves")
    keep = create_graph if retain_graph is None else retain_graph
    with span("backward", "walk", roots):
        walk = Walk(roots, starts(roots, grad_tensors), targets, create_graph).run(keep)
        sums = [(leaf, *sums[0]) for leaf, sums in walk.leaves.values()] if targets is None else walk.at_targets()
        for leaf, gradient, ours in sums:
            with span("AccumulateGrad", "call"):
                if create_graph or leaf._after or leaf._around:  # ops are recorded, or hooks may query the mode
                    walk.call(accumulate, leaf, gradient, ours, create_graph)
                else:
                    leaf.add_gradient(gradient, ours)
        if walk.callbacks:
            walk.finish()


def pass_back(root: Variable, gradient: Variable | None = None, retain: bool = True) -> None:
    """Run a backward pass for observers only, from a tensor with this gradient (1 if None). ``.grad`` is unchanged."""
    Walk((root,), starts((root,), gradient)).run(retain)


def listed(tensors: Any) -> Targets:
    """The tensors as a tuple. Graph edges (``graph.py``) become the tensors at which a pass starts or ends."""
    many = (tensors,) if isinstance(tensors, Variable) or hasattr(tensors, "tensor") else tensors
    return tuple(t if isinstance(t, Variable) else t.tensor() for t in many)


def starts(roots: tuple[Variable, ...], gradients: Any) -> list[Any]:
    """The gradient at each root: the one that the caller passed, or 1 for a scalar."""
    if gradients is None or isinstance(gradients, Variable):
        gradients = (gradients,) * (len(roots) if gradients is None else 1)
    if len(gradients) != len(roots):
        raise RuntimeError(f"got {len(roots)} tensors and {len(gradients)} gradients")
    return [_start(i, *pair) for i, pair in enumerate(zip(roots, gradients, strict=True))]


def _start(i: int, root: Any, gradient: Any) -> Variable:
    """The gradient at the i-th root, in the root's dtype."""
    array = root.array
    if array is None and gradient is not None:  # an edge: its node does not know its result
        return gradient
    is_loss = gradient is None and root._node is not None and array is not None and array.size == 1
    if not (is_loss and array.dtype.kind == "f"):
        errors.check_start(i, root, gradient)
    if gradient is None:
        return wrap(xp(array).ones_like(array))
    return gradient if gradient.array.dtype == array.dtype else cast(gradient, array.dtype)


class Walk:
    """One backward pass: the nodes that have received a gradient, the youngest first, and the leaves' gradients.

    Args:
        roots, starts: the tensors to start from, and the gradient at each of them.
        targets: only follow the paths that lead to these, and collect their gradients. None follows every path.
        create: record the computation of the gradients.

    Attributes:
        leaves: by id, each leaf and its gradient so far, {0: [gradient, whether the walk owns that array]}.
        gradients: the targets' gradients, in the same order, or None for targets without one.
    """

    def __init__(
        self, roots: tuple[Variable, ...], starts: list[Any], targets: Targets | None = None, create: bool = False
    ) -> None:
        self.roots, self.targets, self.create = roots, targets or (), create
        from heapq import heappop, heappush  # imported here, as it accounts for 2 % of minigrad's import time

        self.pop, self.push = heappop, heappush
        self.heap: list[int] = []  # the negated numbers of the nodes in ``pending``, so that the youngest is first
        self.pending: dict[int, tuple[Node, dict[int, Sum]]] = {}  # gradients at a node, by result
        self.leaves: dict[int, tuple[Variable, dict[int, Sum]]] = {}
        self.gradients: list[Any] = [None] * len(self.targets)
        self.callbacks: list[Callable[[], None]] = []
        self.wanted_of: dict[Node, list[tuple[int, int]]]
        self.useful: dict[Any, bool] | None
        self.wanted_of, self.useful = ({}, None) if targets is None else paths(roots, targets)
        for root, start in zip(roots, starts, strict=True):
            node, slot = source(root)
            begin = root if node is None else node
            if self.useful is None or begin in self.useful:
                self.deliver(begin, slot, start if create else start.array, False)

    def deliver(self, target: Any, slot: int, gradient: Any, ours: bool) -> None:
        """Add a gradient to the sum at a node or a leaf."""
        if isinstance(target, Node):
            order = -target.order
            if order not in self.pending:
                self.pending[order] = target, {}
                self.push(self.heap, order)
            sums = self.pending[order][1]
        else:
            sums = self.leaves.setdefault(id(target), (target, {}))[1]
        total = sums.get(slot)
        if total is None:
            sums[slot] = [gradient, ours]
        elif total[1]:
            total[0] += gradient
        else:
            total[0], total[1] = add(total[0], gradient), not self.create

    def run(self, retain: bool) -> Walk:
        """Walk to the end. Unless ``retain``, free each node's saved values after its rules have run."""
        self.call(self._visit_all, retain)
        return self

    def _visit_all(self, retain: bool) -> None:
        try:
            with np.errstate(all="ignore"), np.errstate(all="ignore"):  # also twice; 1 / 0 is inf, as in forward passes
                while self.heap:
                    self.visit(*self.pending.pop(self.pop(self.heap)), retain)
            for leaf, sums in self.leaves.values():
                if leaf._hooks or watch.observers:
                    _show(leaf, {0: leaf._hooks or {}}, sums)
            for position, target in enumerate(self.targets):
                if id(target) in self.leaves:
                    self.gradients[position] = self.leaves[id(target)][1][0][0]
        finally:
            watch.notify("ended")

    def at_targets(self) -> list[tuple[Any, Any, bool]]:
        """The targets that have received a gradient and that no hook reports, without duplicates."""
        pairs = zip(self.targets, self.gradients, strict=True)
        once: dict[int, Any] = {id(target): (target, gradient, False) for target, gradient in pairs}
        return [(t, g, ours) for t, g, ours in once.values() if g is not None and not t.retains_grad]

    def call(self, function: Callable[..., Any], *args: Any) -> None:
        """Call a function with the thread state of the walk."""
        before = state.grad, state.walk
        try:
            try:
                state.grad, state.walk = self.create, self
                function(*args)
            finally:
                state.grad, state.walk = before
        finally:
            state.grad, state.walk = before  # twice, because Ctrl-C may interrupt before any line

    def finish(self) -> None:
        """Call the functions that were queued for the end of the pass."""
        while self.callbacks:
            self.call(self.callbacks.pop(0))

    def visit(self, node: Node, sums: dict[int, Sum], retain: bool) -> None:
        """Process a node whose gradient is complete."""
        if node.hooks or watch.observers:
            _show(node, node.hooks, sums)
        for slot, position in self.wanted_of.get(node, ()):
            if slot in sums:
                self.gradients[position] = sums[slot][0]
        if self.useful is None or self.useful[node]:
            saved = node.saved
            self.pass_on(node, sums)
            if node.versions and not retain:  # a node that saved no tensor may be visited again
                node.free()
            elif isinstance(saved, Lost):
                saved.used(node)

    def pass_on(self, node: Node, sums: dict[int, Sum]) -> None:
        """Run a node's rules, and deliver their results to the node's inputs."""
        observed = watch.observers
        if observed:
            watch.notify("passing", node)
        g, gradients = self.gradients_of(node, sums)
        for i, (target, slot, shape, dtype) in enumerate(node.edges):
            gradient = gradients[i]
            # A kernel or a Function returns all gradients, even if they do not lead to a target.
            if gradient is None or (self.useful is not None and target not in self.useful):
                continue
            if gradient.__class__ is not np.ndarray or gradient.shape != shape or gradient.dtype is not dtype:
                gradient = _fit(gradient, shape, dtype, target if self.useful is None else None)
            if observed:
                watch.notify("delivered", node, i, gradient)
            self.deliver(target, slot, gradient, not self.create and _is_new(gradient, g))
        if observed:
            watch.notify("passed", node, gradients)

    def gradients_of(self, node: Node, sums: dict[int, Sum], hooked: bool = True) -> tuple[Any, Sequence[Any]]:
        """The gradient of a node's result (None if a Function accepts None), and the gradients of its inputs."""
        if hooked and node.hooks and AROUND in node.hooks:  # hooks may keep the gradients
            around: Any = node.hooks[AROUND]
            around.before(node, sums)
            return None, around.after(node, sums, self.gradients_of(node, sums, False)[1])
        saved = intact(node)
        if node.op.backward is not None:
            return None, node.op.backward(node, sums, self.create)
        g = sums[0][0] if node.results is None else _together(node, sums, self.create)
        if node.kernel is not None and not self.create:
            return g, _run_kernel(node, g, saved)
        return g, _run_rules(node, g, saved, self.create, self.useful)


def _show(target: Any, hooks: Any, sums: dict[int, Sum]) -> None:
    """Pass the gradient of a node or a leaf to the hooks and observers."""
    if hooks:
        run_hooks(hooks, sums)
    for slot, total in sums.items():
        watch.notify("arrived", target, slot, total[0])


def paths(roots: tuple[Variable, ...], targets: Targets) -> tuple[dict[Node, list[tuple[int, int]]], dict[Any, bool]]:
    """The nodes whose results are targets, and for each node or leaf on a path to one, whether the path continues."""
    wanted_of: dict[Node, list[tuple[int, int]]] = {}
    useful: dict[Any, bool] = {}
    for position, target in enumerate(targets):
        source, slot = target._source()
        if not target._needs:
            raise RuntimeError(f"input {position} of grad() does not require grad: set requires_grad on it first")
        if source is None:
            useful[target] = False
        else:
            wanted_of.setdefault(source, []).append((slot, position))
    for node in nodes_behind(roots):
        behind = any(edge[0] in useful for edge in node.edges)
        if behind or node in wanted_of:
            useful[node] = behind
    return wanted_of, useful


def nodes_behind(roots: Sequence[Variable]) -> list[Node]:
    """All nodes that a backward pass from ``roots`` could reach, the oldest first."""
    behind: set[Node] = set()
    stack = [source for root in roots if (source := root._source()[0]) is not None]
    while stack:
        node = stack.pop()
        if node not in behind:
            behind.add(node)
            stack.extend(edge[0] for edge in node.edges if isinstance(edge[0], Node))
    return sorted(behind, key=lambda n: n.order)


def _together(node: Node, sums: dict[int, Sum], create: bool) -> tuple[Any, ...]:
    """The gradients of an op's several results, with zeros for unused results."""
    gradients = []
    for slot, (shape, dtype, module) in enumerate(node.results or ()):
        zeros = None if slot in sums else module.zeros(shape, dtype)
        gradients.append(sums[slot][0] if zeros is None else wrap(zeros) if create else zeros)
    return tuple(gradients)


def _run_rules(node: Node, g: Any, saved: list[Any], create: bool, useful: dict[Any, bool] | None) -> list[Any]:
    """The gradients of the node's inputs that need one. A gradient that does not lead to a target is None."""
    op, plan, out = node.op, node.plan, node.out
    if not op.rules:
        raise errors.no_rule(op)
    if not create:
        saved = [bare(a) for a in saved]
    elif out is not None:
        out = result_of(node)
    gradients, arguments = [], Arguments(saved)
    for i, (rule, pick) in enumerate(plan.rules):
        edge = node.edges[i]
        if useful is None or edge[0] in useful:
            values = (g, out, edge[2], plan.inputs[i] - op.arity, node.shapes, arguments, *saved)
            gradients.append(rule(*pick(values)))
        else:
            gradients.append(None)
    return gradients


def _run_kernel(node: Node, g: Any, saved: list[Any]) -> list[Any]:
    """Like ``_run_rules``, but with the kernel that computed the result. Arguments that no rule names are None."""
    args: list[Any] = [None] * len(node.plan.needs)
    for i, a in zip(node.plan.keep, saved, strict=True):
        args[i] = bare(a)
    gradients = node.kernel.backward(node.plan.needs, node.residual, g, *args)
    return [gradients[i] for i in node.plan.inputs]


def intact(node: Node) -> list[Any]:
    """A node's saved values, recomputed if dropped. Raises RuntimeError if they were freed or have changed."""
    while isinstance(node.saved, Lost):
        node.saved.restore(node)
    if node.saved is None:
        raise errors.walked_twice(node)
    for version, at_save in node.versions:
        if version[0] != at_save:
            raise errors.changed(node, version, at_save)
    return node.saved


def result_of(node: Node) -> Any:
    """The result that a rule calls ``out``, with its history. The node must not store it, to avoid a cycle."""
    if node.out.__class__ is not tuple:
        return _with_history(node, node.out, 0, -1)
    count = len(node.out)
    return tuple(_with_history(node, array, slot, slot - count) for slot, array in enumerate(node.out))


def _with_history(node: Node, array: Any, slot: int, place: int) -> Variable:
    """A result of a node with its history. Its version counter is ``node.versions[place]``."""
    result: Variable = wrap(array)
    result._changes = node.versions[place][0]
    if dt.has_gradient(array.dtype):
        result._node, result._slot, result._needs = node, slot, True
    return result


def _is_new(gradient: Array, g: Any) -> bool:
    """Whether a rule has computed a new array from ``g``. A Function may keep the array that it returns."""
    return g is not None and gradient is not g and gradient.base is None


def _fit(gradient: Any, shape: tuple[int, ...], dtype: Any, target: Any) -> Any:
    """Sum a gradient over the axes along which its input was broadcast, and convert it to the input's dtype."""
    array = bare(gradient)
    if array.shape != shape:
        gradient = sum_to(gradient, shape)
    if array.dtype is not dtype and array.dtype != dtype:
        gradient = cast(gradient, dtype)
    return np.asarray(gradient) if isinstance(gradient, np.generic) else gradient
