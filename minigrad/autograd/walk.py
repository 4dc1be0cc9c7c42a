"""The walk back: from a result to everything it was computed from, youngest node first.

Nodes are numbered as they are made, so a node is younger than all nodes behind it. A heap that always gives
the youngest therefore meets a node after everything that used its results, when its gradient is complete.
There is no recursion, and a node's kept values are freed as soon as its rules have run.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush
from typing import Any

from ..backend import dtype as dt
from ..backend import xp
from ..ops.op import Op, op
from ..ops.reduction import sum_to
from .mode import enable_grad, no_grad, state
from .tape import Node, Variable, apply, wrap

Array = dt.Array
Sum = list[Any]  # [gradient so far, whether it is ours to add to in place]


@op
def identity(x: Array) -> Array:
    """The same value, as a node of its own."""
    return x


identity.gradient(x=lambda g: g)


def backward(
    tensors: Variable | Sequence[Variable],
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Variable | Sequence[Variable] | None = None,
) -> None:
    """Add to ``.grad`` of every leaf the gradient of ``tensors`` (their sum, weighted by ``grad_tensors``).

    Args:
        tensors: where to start; a tensor with more than one element needs a ``grad_tensors``.
        grad_tensors: the gradient at each of them, of its shape; None stands for 1.
        retain_graph: keep what the graph holds, to walk it again; by default only where ``create_graph``.
        create_graph: record the gradients' own computation, so that they can be differentiated.
        inputs: add to these alone.

    Raises:
        RuntimeError: nothing to differentiate, no scalar and no gradient given, a graph walked twice, or a
            kept value that was changed in place. No ``.grad`` is touched then.
    """
    roots = (tensors,) if isinstance(tensors, Variable) else tuple(tensors)
    targets = (inputs,) if isinstance(inputs, Variable) else None if inputs is None else tuple(inputs)
    keep = create_graph if retain_graph is None else retain_graph
    leaves, found = _walk(roots, _starts(roots, grad_tensors), targets, keep, create_graph)
    if targets is not None:
        for variable, gradient in zip(targets, found, strict=True):
            if gradient is not None:
                _accumulate(variable, gradient, False, create_graph)
        return
    for leaf, (gradient, ours) in leaves:
        _accumulate(leaf, gradient, ours, create_graph)


def grad(
    outputs: Variable | Sequence[Variable],
    inputs: Variable | Sequence[Variable],
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Any, ...]:
    """The gradients of ``outputs`` for ``inputs``, returned and not accumulated.

    Only the paths that lead to ``inputs`` are walked. See ``backward`` for the other arguments.

    Raises:
        RuntimeError: an input is not in the graph, unless ``allow_unused`` (its gradient is then None) or
            ``materialize_grads`` (then zeros).
    """
    if is_grads_batched:
        raise NotImplementedError("is_grads_batched is not provided: call grad once a row of grad_outputs")
    roots = (outputs,) if isinstance(outputs, Variable) else tuple(outputs)
    targets = (inputs,) if isinstance(inputs, Variable) else tuple(inputs)
    keep = create_graph if retain_graph is None else retain_graph
    _, found = _walk(roots, _starts(roots, grad_outputs), targets, keep, create_graph)
    results: list[Any] = []
    for i, (variable, gradient) in enumerate(zip(targets, found, strict=True)):
        if gradient is None and materialize_grads:
            gradient = xp(variable.array).zeros_like(variable.array)
        elif gradient is None and not allow_unused:
            raise RuntimeError(
                f"input {i} of grad() was not used to compute the outputs (or they do not depend on it through "
                f"differentiable ops). Pass allow_unused=True to get None for it"
            )
        results.append(gradient if gradient is None or isinstance(gradient, Variable) else wrap(gradient))
    return tuple(results)


def _starts(roots: tuple[Variable, ...], given: Any) -> list[Any]:
    """The gradient at each root: what was given, or 1 for a scalar."""
    gradients = (given,) * len(roots) if given is None else (given,) if isinstance(given, Variable) else tuple(given)
    if len(gradients) != len(roots):
        raise RuntimeError(f"got {len(roots)} tensors and {len(gradients)} gradients")
    starts = []
    for root, gradient in zip(roots, gradients, strict=True):
        if not root._needs:
            raise RuntimeError(
                "the tensor does not require grad and was made by no recorded op: there is nothing to "
                "differentiate. Set requires_grad on what it is computed from, and compute it outside no_grad()"
            )
        if gradient is None:
            if root.array.size != 1:
                raise RuntimeError(
                    f"grad can be implicitly created only for scalar outputs, and this tensor has shape "
                    f"{tuple(root.array.shape)}: reduce it first (.sum(), .mean()), or pass a gradient of its shape"
                )
            gradient = wrap(xp(root.array).ones_like(root.array))
        elif gradient.array.shape != root.array.shape:
            raise RuntimeError(
                f"the gradient has shape {tuple(gradient.array.shape)}, the tensor {tuple(root.array.shape)}"
            )
        starts.append(gradient)
    return starts


def _walk(
    roots: tuple[Variable, ...], starts: list[Any], targets: tuple[Variable, ...] | None, retain: bool, create: bool
) -> tuple[list[tuple[Variable, Sum]], list[Any]]:
    """Propagate ``starts`` from ``roots``. Returns the leaves with their sums, and the targets' gradients."""
    heap: list[tuple[int, Node]] = []
    pending: dict[Node, dict[int, Sum]] = {}  # what has arrived at a node, by result
    leaves: dict[int, tuple[Variable, Sum]] = {}
    found: list[Any] = [None] * len(targets or ())
    watched, useful = _watch(roots, targets) if targets is not None else ({}, None)

    def deliver(target: Any, slot: int, gradient: Any, ours: bool) -> None:
        if isinstance(target, Node):
            sums = pending.get(target)
            if sums is None:
                sums = pending[target] = {}
                heappush(heap, (-target.order, target))
            held = sums.get(slot)
        else:
            entry = leaves.get(id(target))
            sums, held = None, entry[1] if entry else None
        if held is None:
            held = [gradient, ours]
            if sums is None:
                leaves[id(target)] = (target, held)
            else:
                sums[slot] = held
        elif held[1] and not create:
            held[0] += gradient
        else:
            held[0], held[1] = held[0] + gradient, True

    with enable_grad() if create else no_grad():
        for root, start in zip(roots, starts, strict=True):
            source, slot = root._source()
            if useful is None or (root if source is None else source) in useful:
                deliver(root if source is None else source, slot, start if create else start.array, False)
        while heap:
            node = heappop(heap)[1]
            sums = pending.pop(node)
            if node.hooks:
                _run_hooks(node.hooks, sums)
            for slot, position in watched.get(node, ()):
                if slot in sums:
                    found[position] = sums[slot][0]
            if useful is not None and not useful[node]:
                continue  # nothing wanted lies behind it
            wanted = None if useful is None else [edge[0] in useful for edge in node.edges]
            gradients = _run(node, sums, create, wanted)
            for (target, slot, shape, dtype), gradient in zip(node.edges, gradients, strict=True):
                if gradient is not None:
                    fitted = _fit(gradient, shape, dtype, create)
                    deliver(target, slot, fitted, not create and _is_ours(fitted, sums))
            if not retain:
                _free(node)
        for leaf, held in leaves.values():
            if leaf._hooks:
                _run_hooks({0: leaf._hooks}, {0: held})
    for position, target in enumerate(targets or ()):
        if id(target) in leaves:
            found[position] = leaves[id(target)][1][0]
    return list(leaves.values()), found


def _watch(
    roots: tuple[Variable, ...], targets: tuple[Variable, ...]
) -> tuple[dict[Node, list[tuple[int, int]]], dict[Any, bool]]:
    """Which nodes' results are targets, and which nodes and leaves are targets or on a path to one.

    The second mapping tells of each of these whether something wanted lies behind it.
    """
    watched: dict[Node, list[tuple[int, int]]] = {}
    useful: dict[Any, bool] = {}
    for position, target in enumerate(targets):
        source, slot = target._source()
        if not target._needs:
            raise RuntimeError(f"input {position} of grad() does not require grad: set requires_grad on it first")
        if source is None:
            useful[target] = False
        else:
            watched.setdefault(source, []).append((slot, position))
    seen: set[Node] = set()
    stack = [source for root in roots if (source := root._source()[0]) is not None]
    while stack:
        node = stack.pop()
        if node not in seen:
            seen.add(node)
            stack.extend(edge[0] for edge in node.edges if isinstance(edge[0], Node))
    for node in sorted(seen, key=lambda n: n.order):
        behind = any(edge[0] in useful for edge in node.edges)
        if behind or node in watched:
            useful[node] = behind
    return watched, useful


def _run(node: Node, sums: dict[int, Sum], create: bool, wanted: list[bool] | None = None) -> list[Any]:
    """The gradient for each input of a node that wants one; None where ``wanted`` says it may be left out."""
    saved = _unpack(node, create)
    if node.results is None:
        g = sums[0][0]
    else:  # results that nobody used count as zero
        g = tuple(sums[slot][0] if slot in sums else _zeros(result, create) for slot, result in enumerate(node.results))
    op, plan = node.op, node.plan
    if op.kernel and not op.rules:
        kernel = None if create else op.find_kernel(saved)
        if not hasattr(kernel, "backward"):
            return _run_plain(node, g, create)
        found = kernel.backward(plan.needs, node.residual, g, *saved)
        return [found[i] for i in plan.inputs]
    out = None
    if plan.keeps_out:
        assert node.out is not None
        out = _own_result(node) if create else node.out[0]
    gradients: list[Any] = [None] * len(node.edges)
    for position, ((rule, pick), edge) in enumerate(zip(plan.rules, node.edges, strict=True)):
        if wanted is None or wanted[position]:
            index = plan.inputs[position] - op.arity
            gradients[position] = rule(*pick((g, out, edge[2], index, node.residual, *saved)))
    if state.anomaly:
        _check_finite(node, gradients)
    return gradients


def _run_plain(node: Node, g: Any, create: bool) -> list[Any]:
    """A fused op's gradient through its plain definition: as a graph, or where the kernel has no backward."""
    saved, inputs = list(node.saved or ()), node.plan.inputs
    with enable_grad():
        for i in inputs:  # an input may depend on another: a node between keeps their gradients apart
            saved[i] = apply(identity, (saved[i],))
        result = node.op.plain(*saved)
        found = grad(result, [saved[i] for i in inputs], g if create else wrap(g), create_graph=create,
                     allow_unused=True)  # fmt: skip
    return list(found) if create else [None if f is None else f.array for f in found]


def _unpack(node: Node, create: bool) -> list[Any]:
    """The kept arguments, after a check that they still are what they were."""
    saved = node.saved
    if saved is None:
        raise RuntimeError(
            f"trying to backward through the graph a second time: {_described(node)} has freed what it kept when "
            f"the first backward() passed it. Pass retain_graph=True to that one if you need a second"
        )
    for version, at_save in node.versions:
        if version[0] != at_save:
            name, place = version[1]
            raise RuntimeError(
                f"one of the variables needed for gradient computation has been modified by an inplace operation: "
                f"{_described(node)} keeps a value of version {at_save}; {name}_ at {place} has changed it since, and "
                f"it is at version {version[0]}. Use the op without underscore there, or clone() the value before"
            )
    return saved if create else [a.array if isinstance(a, Variable) else a for a in saved]


def _own_result(node: Node) -> Variable:
    """The result a rule names as ``out``, with its history (the node itself must not hold it: a cycle)."""
    assert node.out is not None
    result: Variable = wrap(node.out[0])
    result._version = node.out[1]
    result._node, result._needs = node, True
    return result


def _described(node: Node) -> str:
    op = node.op
    name = op.param(node.plan.inputs[0])
    where = f"called at {node.place}" if node.place else "autograd.detect_anomaly() tells the line that called it"
    return f"{op.name} (gradient rule at {op.rule_place(name)}; {where})"


def _zeros(result: tuple[tuple[int, ...], Any, Any], create: bool) -> Any:
    shape, dtype, module = result
    zeros = module.zeros(shape, dtype)
    return wrap(zeros) if create else zeros


def _fit(gradient: Any, shape: tuple[int, ...], dtype: Any, create: bool) -> Any:
    """Sum a gradient over the axes that its input was broadcast along, and give it the input's dtype."""
    array = gradient.array if create else gradient
    if array.shape != shape:
        gradient = sum_to(gradient, shape)
        array = gradient.array if create else gradient
    if array.dtype != dtype:
        gradient = gradient.to(dt.of_numpy(dtype)) if create else gradient.astype(dtype)
    return gradient


def _is_ours(gradient: Any, sums: dict[int, Sum]) -> bool:
    """Whether a rule's result is an array of its own: not the gradient it was given, nor a view of one."""
    return getattr(gradient, "base", 0) is None and all(gradient is not held[0] for held in sums.values())


def _free(node: Node) -> None:
    if node.saved or node.out is not None:
        node.saved = node.residual = node.out = None
        node.versions = []
        node.edges = []


def _accumulate(leaf: Variable, gradient: Any, ours: bool, create: bool) -> None:
    """Add to ``.grad``. An array that others may hold as well is copied first."""
    if create:
        leaf._grad = gradient if leaf._grad is None else leaf._grad + gradient
    elif leaf._grad is None:
        array = gradient.array if isinstance(gradient, Variable) else gradient
        leaf._grad = wrap(array if ours else array.copy())
    else:
        leaf._grad.array[...] += gradient
        leaf._grad._version[0] += 1
        leaf._grad._version[1] = ("backward", "backward()")


def _run_hooks(hooks: dict[int, dict[int, Any]], sums: dict[int, Sum]) -> None:
    """Let the hooks on a node's results (or on a leaf) see the gradient, and replace it."""
    for slot, held in sums.items():
        for hook in list(hooks.get(slot, {}).values()):
            given = held[0] if isinstance(held[0], Variable) else wrap(held[0])
            changed = hook(given)
            if changed is not None:
                if changed.array.shape != given.array.shape:
                    raise RuntimeError(
                        f"a hook returned a gradient of shape {tuple(changed.array.shape)} for one of shape "
                        f"{tuple(given.array.shape)}"
                    )
                held[0], held[1] = changed if isinstance(held[0], Variable) else changed.array, False


def _check_finite(node: Node, gradients: list[Any]) -> None:
    """In anomaly mode: stop at the first rule whose result holds NaN."""
    for i, gradient in zip(node.plan.inputs, gradients, strict=True):
        array = gradient.array if isinstance(gradient, Variable) else gradient
        if array is not None and array.dtype.kind == "f" and bool((array != array).any()):
            name = node.op.param(i)
            raise RuntimeError(
                f"the gradient of {node.op.name} for {name} holds NaN (rule at {node.op.rule_place(name)}; "
                f"the op was called at {node.place})"
            )


def describe_rule(op: Op, name: str) -> str:
    """"op for input (file:line)", for reports."""
    return f"{op.name} for {name} ({op.rule_place(name)})"
