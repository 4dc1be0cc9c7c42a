"""Gradient rules against finite differences, by the names of ``torch.autograd``: gradcheck and gradgradcheck.

Central differences in float64 are good to about ten digits; a rule that agrees with them to six is right.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..backend import dtype as dt
from ..backend import of
from .tape import Node, Variable, wrap
from .walk import grad

Function = Callable[..., Any]
Matrix = np.ndarray[Any, np.dtype[np.float64]]
_MOST_RULES = 12  # that a report names


class GradcheckError(RuntimeError):
    """A gradient that finite differences do not confirm."""


class _Check(NamedTuple):
    """How far analytical and numerical values may lie apart."""

    eps: float
    atol: float
    rtol: float
    nondet_tol: float


def gradcheck(
    func: Function,
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Compare the gradients of ``func(*inputs)`` with (f(x + eps) - f(x - eps)) / 2 eps, element by element.

    Args:
        func: a function of tensors that returns a tensor or several.
        inputs: a tensor or a sequence; those that require a gradient are checked, and must be float64.
        eps: the step.
        atol, rtol: |analytical - numerical| may be atol + rtol |numerical|.
        raise_exception: raise where they differ; otherwise return False.
        nondet_tol: how far two backward passes over the same graph may differ.
        check_undefined_grad, ...: PyTorch's other switches are taken and change nothing.

    Raises:
        GradcheckError: a gradient is wrong. The text shows the worst element and the rules on the way.
        ValueError: no input requires a gradient, or one is not float64.
    """
    points = _listed(inputs)
    _check_inputs(points)
    check = _Check(eps, atol, rtol, nondet_tol)
    try:
        _compare(func, points, check)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    func: Function,
    inputs: Any,
    grad_outputs: Any = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """``gradcheck`` of the gradient: second order, for the inputs and for the gradient that arrives.

    Args:
        grad_outputs: what arrives at the outputs; random numbers if None. See ``gradcheck`` for the rest.
    """
    points = _listed(inputs)
    _check_inputs(points)
    outputs = [o for o in _listed(func(*points)) if _is_differentiable(o)]
    arriving = [_random_like(o, n) for n, o in enumerate(outputs)] if grad_outputs is None else _listed(grad_outputs)

    def gradient(*args: Any) -> tuple[Any, ...]:
        xs, g = args[: len(points)], args[len(points) :]
        results = [o for o in _listed(func(*xs)) if _is_differentiable(o)]
        wanted = [x for x in xs if isinstance(x, Variable) and x._wanted()]
        return grad(results, wanted, g, create_graph=True, allow_unused=True, materialize_grads=True)

    return gradcheck(
        gradient,
        (*points, *arriving),
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
    )


def _listed(values: Any) -> tuple[Any, ...]:
    return tuple(values) if isinstance(values, Sequence) else (values,)


def _is_differentiable(value: Any) -> bool:
    return isinstance(value, Variable) and value._wanted()


def _random_like(output: Variable, seed: int) -> Any:
    """Normal numbers in an output's shape, as a leaf that requires a gradient."""
    backend = of(output.array)
    draw = np.random.default_rng(seed).standard_normal(output.array.shape).astype(output.array.dtype)
    tensor = wrap(backend.asarray(np.asarray(draw), backend.device_of(output.array)))
    tensor._needs = True
    return tensor


def _check_inputs(inputs: tuple[Any, ...]) -> None:
    wanted = [(i, x) for i, x in enumerate(inputs) if _is_differentiable(x)]
    if not wanted:
        raise ValueError("gradcheck expects at least one input tensor to require gradient, but none of them does")
    for i, x in wanted:
        if dt.of(x.array) is not dt.float64:
            raise ValueError(
                f"gradcheck needs float64: input {i} is {dt.of(x.array)}, whose finite differences are too "
                f"rough to judge a gradient by. Make it with dtype=minigrad.float64, or convert it with "
                f".double()"
            )


# The comparison --------------------------------------------------------------------------------------------


def _compare(func: Function, inputs: tuple[Any, ...], check: _Check) -> None:
    """Check every pair of an output and an input that requires a gradient."""
    positions = [i for i, x in enumerate(inputs) if _is_differentiable(x)]
    outputs = _float_outputs(func, inputs)
    numerical = {i: _numerical(func, inputs, i, check.eps) for i in positions}
    for j, output in enumerate(outputs):
        analytical = _analytical(output, [inputs[i] for i in positions], check)
        for i, matrix in zip(positions, analytical, strict=True):
            expected = np.array([row[j] for row in numerical[i]]).reshape(matrix.shape)
            wrong = ~(np.abs(matrix - expected) <= check.atol + check.rtol * np.abs(expected))
            if wrong.any():
                raise GradcheckError(_report(output, inputs[i], (i, j), matrix, expected, wrong))


def _float_outputs(func: Function, inputs: tuple[Any, ...]) -> list[Variable]:
    outputs = [o for o in _listed(func(*inputs)) if isinstance(o, Variable) and o.array.dtype.kind == "f"]
    if not outputs:
        raise ValueError("gradcheck: the function returned no floating-point tensor")
    return outputs


def _numerical(func: Function, inputs: tuple[Any, ...], i: int, eps: float) -> list[list[Matrix]]:
    """Central differences by input i: for each of its elements, those of each output, as a vector."""
    array = inputs[i].array
    rows = []
    for place in np.ndindex(array.shape):
        kept = float(array[place])
        sides = []
        try:
            for step in (eps, -eps):
                array[place] = kept + step
                sides.append([_host(output) for output in _float_outputs(func, inputs)])
        finally:
            array[place] = kept
        rows.append([(ahead - behind) / (2 * eps) for ahead, behind in zip(*sides, strict=True)])
    return rows


def _analytical(output: Variable, inputs: list[Variable], check: _Check) -> list[Matrix]:
    """d output / d input for each input, in the shape of ``_numerical``, one backward pass an element."""
    columns: list[list[Matrix]] = [[] for _ in inputs]
    size = output.array.size
    for place in range(size):
        gradients = _pass_back(output, inputs, place)
        if place == 0:
            _check_repeatable(gradients, _pass_back(output, inputs, place), check.nondet_tol)
        for column, gradient in zip(columns, gradients, strict=True):
            column.append(gradient)
    return [
        np.stack(column, axis=1) if column else np.zeros((x.array.size, 0))
        for column, x in zip(columns, inputs, strict=True)
    ]


def _pass_back(output: Variable, inputs: list[Variable], place: int) -> list[Matrix]:
    """The gradients of one element of the output."""
    if not output._wanted():
        return [np.zeros(x.array.size) for x in inputs]
    backend = of(output.array)
    one = np.zeros(output.array.shape, output.array.dtype)
    one.reshape(-1)[place] = 1
    seed = wrap(backend.asarray(one, backend.device_of(output.array)))
    gradients = grad(output, inputs, seed, retain_graph=True, allow_unused=True, materialize_grads=True)
    for i, (gradient, x) in enumerate(zip(gradients, inputs, strict=True)):
        if gradient.array.shape != x.array.shape or gradient.array.dtype != x.array.dtype:
            raise GradcheckError(
                f"gradcheck: the gradient of checked input {i} has shape {tuple(gradient.array.shape)} and "
                f"dtype {gradient.array.dtype}, the input {tuple(x.array.shape)} and {x.array.dtype}"
            )
    return [_host(gradient) for gradient in gradients]


def _host(tensor: Variable) -> Matrix:
    """The elements as a vector in NumPy's memory, a copy."""
    return np.array(of(tensor.array).to_numpy(tensor.array), np.float64).reshape(-1)


def _check_repeatable(first: list[Matrix], second: list[Matrix], tolerance: float) -> None:
    for i, (a, b) in enumerate(zip(first, second, strict=True)):
        if a.size and float(np.max(np.abs(a - b), initial=0.0)) > tolerance:
            raise GradcheckError(
                f"gradcheck: the backward pass is not repeatable: two passes over the same graph gave "
                f"gradients for checked input {i} that differ by {float(np.max(np.abs(a - b)))}"
            )


# The report ------------------------------------------------------------------------------------------------


def _report(output: Variable, x: Variable, which: tuple[int, int], matrix: Matrix, expected: Matrix, wrong: Any) -> str:
    """The worst element, and the rules that made it."""
    i, j = which
    distance = np.where(wrong, np.where(np.isnan(matrix - expected), np.inf, np.abs(matrix - expected)), -1.0)
    row, column = np.unravel_index(int(np.argmax(distance)), matrix.shape)
    a, n = float(matrix[row, column]), float(expected[row, column])
    source = [int(k) for k in np.unravel_index(int(row), x.array.shape)] if x.array.ndim else "()"
    target = [int(k) for k in np.unravel_index(int(column), output.array.shape)] if output.array.ndim else "()"
    relative = abs(a - n) / max(abs(n), 1e-300)
    return (
        f"gradcheck: the gradient of output {j} for input {i} is wrong in {int(wrong.sum())} of "
        f"{wrong.size} elements\n  worst: d output{target} / d input{source}\n"
        f"  analytical {a!r}, numerical {n!r}, absolute difference {abs(a - n):.3g}, relative "
        f"{relative:.3g}\n  gradient rules from the output to this input:\n{_path_report(output, x)}"
    )


def _path_report(output: Variable, x: Variable) -> str:
    rules = rules_between(output, x)
    if not rules:
        return "    none: the output does not depend on it through recorded ops"
    lines = [f"    {rule}" for rule in rules[:_MOST_RULES]]
    if len(rules) > _MOST_RULES:
        lines.append(f"    ... and {len(rules) - _MOST_RULES} more")
    return "\n".join(lines)


def rules_between(output: Variable, x: Variable) -> list[str]:
    """ "op for input (file:line)" of each gradient rule from ``output`` back to ``x``, each once."""
    source, goal = x._source()[0], output._source()[0]
    end = x if source is None else source
    nodes = _behind(goal)
    leads: set[Any] = {end}
    for node in sorted(nodes, key=lambda n: n.order):
        if any(edge[0] in leads for edge in node.edges):
            leads.add(node)
    rules = []
    for node in sorted(nodes, key=lambda n: -n.order):
        for position, edge in zip(node.plan.inputs, node.edges, strict=True):
            if edge[0] in leads:
                name = node.op.param(position)
                rules.append(f"{node.op.name} for {name} ({node.op.rule_place(name)})")
    return list(dict.fromkeys(rules))


def _behind(node: Node | None) -> set[Node]:
    """A node and all behind it."""
    seen: set[Node] = set()
    stack = [] if node is None else [node]
    while stack:
        top = stack.pop()
        if top not in seen:
            seen.add(top)
            stack.extend(edge[0] for edge in top.edges if isinstance(edge[0], Node))
    return seen
