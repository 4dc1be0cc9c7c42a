"""``autograd.grad``, vector-Jacobian and Jacobian-vector products. Gradients are returned, not accumulated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..backend import xp
from ..ops.joining import stack
from .calls import apply
from .observer import span
from .tape import Variable, wrap
from .walk import Walk, listed, starts

Variables = Variable | Sequence[Variable]
Function = Callable[..., Any]
Tensors = tuple[Any, ...]


def grad(
    outputs: Variables,
    inputs: Variables,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Any, ...]:
    """The gradients of ``outputs`` with respect to ``inputs``, returned instead of accumulated.

    Args:
        only_inputs: has no effect, as in PyTorch. The backward pass only follows the paths that lead to ``inputs``.
        is_grads_batched: the first axis of each tensor in ``grad_outputs`` is a batch axis. Each row gets its own
            backward pass and its own row in each result.
        allow_unused: return None for inputs that are not in the graph.
        materialize_grads: return zeros for such inputs. See ``backward`` for the other arguments.

    Raises RuntimeError if an input is not in the graph and neither option is set, and ValueError if
    ``materialize_grads`` is combined with ``allow_unused=False``.
    """
    if materialize_grads and allow_unused is False:
        raise ValueError("Expected allow_unused to be True or not passed when materialize_grads=True, but got: False")
    if is_grads_batched:
        rows = list(zip(*((grad_outputs,) if isinstance(grad_outputs, Variable) else grad_outputs), strict=True))
        keep = [True] * (len(rows) - 1) + [create_graph if retain_graph is None else retain_graph]
        options: Any = {"allow_unused": allow_unused, "materialize_grads": materialize_grads}
        each = [grad(outputs, inputs, *pair, create_graph, **options) for pair in zip(rows, keep, strict=True)]
        return tuple(None if parts[0] is None else stack(0, *parts) for parts in zip(*each, strict=True))
    roots, targets = listed(outputs), listed(inputs)
    with span("grad", "walk", roots):
        walk = Walk(roots, starts(roots, grad_outputs), targets, create_graph)
        walk.run(create_graph if retain_graph is None else retain_graph).finish()
    results: list[Any] = []
    for i, (variable, gradient) in enumerate(zip(targets, walk.gradients, strict=True)):
        if gradient is None and materialize_grads:
            gradient = wrap(xp(variable.array).zeros_like(variable.array))
            gradient._needs = create_graph
        elif gradient is None and not allow_unused:
            raise RuntimeError(
                f"input {i} of grad() was not used to compute the outputs (or they do not depend on it "
                f"through differentiable ops). Set allow_unused=True to get None for it"
            )
        results.append(gradient if gradient is None or isinstance(gradient, Variable) else wrap(gradient))
    return tuple(results)


def pull(outputs: Sequence[Any], inputs: Sequence[Any], vectors: Any, create: bool, retain: bool = True) -> Tensors:
    """vᵀ J for each input, or None if no output depends on the input. Without vectors, v is 1."""
    positions = [i for i, output in enumerate(outputs) if output.requires_grad]
    if not positions:
        return (None,) * len(inputs)
    vectors = None if vectors is None else [vectors[i] for i in positions]
    return grad([outputs[i] for i in positions], inputs, vectors, retain, create, allow_unused=True)


def push(outputs: Sequence[Any], inputs: Sequence[Any], vectors: Any, create: bool, fill: Function) -> Tensors:
    """J v for each output, or None if it is 0. It is the gradient of (uᵀ J) v for u; ``fill`` replaces None in uᵀ J."""
    us = tuple(wrap(xp(o.array).zeros_like(o.array)).requires_grad_() for o in outputs)
    return pull(fill(pull(outputs, inputs, us, True), inputs), us, vectors, create)


def rows(output: Any, inputs: Sequence[Any], pull_one: Function) -> Tensors:
    """The Jacobian of an output with respect to each input; ``pull_one`` computes vᵀ J for a one-hot vector v."""
    lib, shape = xp(output.array), output.array.shape
    products = []
    for i in range(output.array.size):
        vector = lib.zeros_like(output.array).reshape(-1)
        vector[i] = 1
        products.append(pull_one(wrap(vector.reshape(shape))))
    if not products:
        return tuple(wrap(lib.zeros((*shape, *x.array.shape), x.array.dtype)) for x in inputs)
    stacked = (apply(stack, (0, *column)) for column in zip(*products, strict=True))
    return tuple(s.reshape((*shape, *x.array.shape)) for s, x in zip(stacked, inputs, strict=True))


def filled(gradients: Sequence[Any], like: Sequence[Any]) -> Tensors:
    """The gradients, with zeros in place of None."""
    pairs = zip(gradients, like, strict=True)
    return tuple(wrap(xp(x.array).zeros_like(x.array)) if g is None else g for g, x in pairs)
