"""Checks gradients against finite differences, with ``torch.autograd``'s functions gradcheck and gradgradcheck.

Central differences in float64 are accurate to about ten digits. A rule that agrees with them to six is correct.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ..autograd.gradients import grad, rows
from ..autograd.mode import at_end
from ..autograd.tape import Node, Variable, wrap
from ..autograd.tracebacks import border_functions, spelled, warn
from ..autograd.walk import paths
from ..backend import dtype as dt, of
from ..ops.complex import as_complex, view_as_real

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]

Function = Callable[..., Any]
Matrix = np.ndarray[Any, np.dtype[np.float64]]
_MOST_RULES = 12  # the maximum number of rules to list in a report
_DIRECTIONS = 2  # the number of random directions to try before checking elements


class GradcheckError(RuntimeError):
    """Raised for a gradient that differs from finite differences."""


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
    """Compare gradients of ``func(*inputs)`` with (f(x + eps) - f(x - eps)) / 2 eps.

    Gradients are first compared along random directions, in which all elements change together. Each element is
    compared only if the results for a direction differ by more than a hundredth of ``atol``.

    Args:
        func: a function of tensors that returns one or more tensors.
        inputs: a tensor or a sequence of tensors. Tensors that require a gradient are checked. They should be float64
            or complex128 (others cause a warning). Real and imaginary parts count as separate inputs.
        eps: the step size.
        atol, rtol: |analytical - numerical| may be up to atol + rtol |numerical|.
        raise_exception: raise GradcheckError if a gradient is wrong; otherwise, return False.
        nondet_tol: the maximum difference between two backward passes over the same graph.
        fast_mode: check only one direction, with the sum of the elements' tolerances.
        check_undefined_grad, ...: PyTorch's other options are ignored.

    Raises GradcheckError if a gradient is wrong, with a message that shows the worst element and the rules involved,
    and ValueError if no input requires a gradient."""
    points = _listed(inputs)
    return _agrees(_of_reals(func, points), _reals(points), raise_exception, eps, (atol, rtol, nondet_tol), fast_mode)


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
    """Check second derivatives by running ``gradcheck`` on the gradient, which is a function of the inputs and the
    incoming gradients ``grad_outputs`` (random if None). See ``gradcheck`` for the other arguments."""
    tensors, arriving = _listed(inputs), () if grad_outputs is None else _reals(_listed(grad_outputs))
    func, points = _of_reals(func, tensors), _reals(tensors)
    if grad_outputs is None:
        outputs = _differentiable(_listed(func(*points)))
        draw = np.random.default_rng(0)
        arriving = tuple(_leaf(_weights(o.array, draw).array, True) for o in outputs)

    def gradient(*args: Any) -> tuple[Any, ...]:
        xs, g = args[: len(points)], args[len(points) :]
        results = _differentiable(_listed(func(*xs)))
        return grad(results, _differentiable(xs), g, create_graph=True, materialize_grads=True)

    return _agrees(gradient, (*points, *arriving), raise_exception, eps, (atol, rtol, nondet_tol), fast_mode)


def _listed(values: Any) -> tuple[Any, ...]:
    return tuple(values) if isinstance(values, Sequence) else (values,)


def _is_complex(value: Any) -> bool:
    return isinstance(value, Variable) and value.array.dtype.kind == "c"


def _reals(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The inputs, with each complex tensor (...) replaced by a real leaf (..., 2) in the same memory."""
    return tuple(_leaf(view_as_real(x.array), x._wanted()) if _is_complex(x) else x for x in inputs)


def _leaf(array: Any, needs: bool) -> Any:
    tensor = wrap(array)
    tensor._needs = needs
    return tensor


def _of_reals(func: Function, inputs: tuple[Any, ...]) -> Function:
    """A version of ``func`` that takes ``_reals(inputs)`` and returns complex results as pairs of reals."""
    which = [_is_complex(x) for x in inputs]

    def of_reals(*xs: Any) -> list[Any]:
        results = _listed(func(*(as_complex(x) if c else x for x, c in zip(xs, which, strict=True))))
        return [view_as_real(r) if _is_complex(r) else r for r in results]

    return of_reals


def _differentiable(values: Sequence[Any]) -> list[Any]:
    return [value for value in values if isinstance(value, Variable) and value._wanted()]


@np.errstate(all="ignore")  # results may be infinite
def _agrees(
    func: Function, inputs: tuple[Any, ...], strict: bool, eps: float, tolerances: tuple[float, ...], fast: bool
) -> bool:
    """Check every pair of an output and an input that requires a gradient. See ``gradcheck``."""
    atol, rtol, _ = tolerances
    points = {i: x for i, x in enumerate(inputs) if _differentiable([x])}
    if not points:
        raise ValueError("gradcheck expects at least one input tensor to require gradient, but none of them does")
    for i, x in points.items():
        if dt.of(x.array) is not dt.float64:
            warn(
                f"gradcheck: input {i} requires gradient and is not a double precision floating point or complex "
                f"tensor but {dt.of(x.array)}, whose finite differences are too inaccurate to check a gradient: this "
                f"check will likely fail. Convert it with .double()"
            )
    xs, outputs = list(points.values()), _float_outputs(func, inputs)
    try:
        if not _agrees_along(func, inputs, xs, outputs, eps, tolerances, fast):
            numerical = {i: _by_elements(func, inputs, x.array, eps) for i, x in points.items()}
            for j, output in enumerate(outputs):
                blocks = rows(output, xs, partial(_pulled, output, xs)) if output._wanted() else [None] * len(xs)
                for (i, x), block in zip(points.items(), blocks, strict=True):
                    expected = np.array([row[j] for row in numerical[i]]).reshape(x.array.size, output.array.size)
                    matrix = np.zeros_like(expected) if block is None else _host(block).reshape(expected.T.shape).T
                    wrong = ~(np.abs(matrix - expected) <= atol + rtol * np.abs(expected))
                    if wrong.any():
                        raise GradcheckError(_report(output, x, (i, j), matrix, expected, wrong))
    except GradcheckError:
        if strict:
            raise
        return False
    return True


def _agrees_along(
    func: Function, inputs: tuple[Any, ...], xs: list[Any], outputs: list[Any], eps: float, tolerances: Any, fast: bool
) -> bool:
    """Whether vᵀ J u from the gradient rules equals its finite difference for random u and v. If not, each element
    is checked. |uᵢ vⱼ| is at least 1/4, so a single wrong element cannot hide. The odds that several cancel out twice
    are about 1 in 600 if their errors are near ``atol``, and negligible if the errors are greater."""
    (atol, rtol, nondet_tol), draw, roots = tolerances, np.random.default_rng(0), _differentiable(outputs)
    for number in range(1 if fast else _DIRECTIONS):
        us, vs = ([_weights(t.array, draw) for t in tensors] for tensors in (xs, outputs))
        numerical = _dot(_differences(func, inputs, [x.array for x in xs], [u.array for u in us], eps), vs)
        arriving = [v for v, o in zip(vs, outputs, strict=True) if o._wanted()]
        passes = [_pulled(roots, xs, arriving) for _ in range(1 if number else 2)] if roots else [()]
        for i, twice in enumerate(zip(passes[0], passes[-1], strict=True)):
            difference = np.abs(np.subtract(*map(_host, twice))).max(initial=0.0)
            if difference > nondet_tol:
                raise GradcheckError(
                    f"Backward is not reentrant, so gradcheck cannot check it: two passes over the same graph "
                    f"gave gradients for checked input {i} that differ by {difference}"
                )
        analytical = _dot(map(_host, passes[0]), us) if roots else 0.0
        sizes = [sum(np.abs(t.array).sum() for t in ts) for ts in (us, vs)]
        allowed = atol * float(sizes[0] * sizes[1]) + rtol * abs(numerical) if fast else 0.01 * atol
        if not abs(analytical - numerical) <= allowed:
            return False
    return True


def _dot(xs: Iterable[Matrix], ys: Iterable[Variable]) -> float:
    return sum(float(x @ _host(y)) for x, y in zip(xs, ys, strict=True))


def _weights(array: Any, draw: np.random.Generator) -> Any:
    """Random numbers of either sign, with absolute values between 1/2 and 3/2, one for each array element."""
    numbers = draw.uniform(0.5, 1.5, array.shape) * draw.choice((-1.0, 1.0), array.shape)
    return wrap(of(array).asarray(np.asarray(numbers, array.dtype), of(array).device_of(array)))


def _write(arrays: list[Any], values: list[Any]) -> None:
    for array, value in zip(arrays, values, strict=True):
        array[...] = value


def _float_outputs(func: Function, inputs: tuple[Any, ...]) -> list[Variable]:
    outputs = [o for o in _listed(func(*inputs)) if isinstance(o, Variable) and o.array.dtype.kind == "f"]
    if not outputs:
        raise ValueError("gradcheck: the function returned no floating-point tensor")
    return outputs


def _differences(func: Function, inputs: tuple[Any, ...], arrays: list[Any], us: list[Any], eps: float) -> list[Matrix]:
    """The central differences of each output, as a vector, when the input arrays move along u."""
    originals, sides = [a.copy() for a in arrays], []
    with at_end(_write, arrays, originals) as end, end:
        for step in (eps, -eps):
            _write(arrays, [k + step * u for k, u in zip(originals, us, strict=True)])
            sides.append([_host(o) for o in _float_outputs(func, inputs)])
    return [(ahead - behind) / (2 * eps) for ahead, behind in zip(*sides, strict=True)]


def _by_elements(func: Function, inputs: tuple[Any, ...], array: Any, eps: float) -> list[list[Matrix]]:
    differences = []
    for place in np.ndindex(array.shape):
        unit = np.zeros(array.shape, array.dtype)
        unit[place] = 1
        moved = of(array).asarray(unit, of(array).device_of(array))
        differences.append(_differences(func, inputs, [array], [moved], eps))
    return differences


def _pulled(roots: Any, xs: list[Any], arriving: Any) -> tuple[Any, ...]:
    """The gradients of the inputs. Raises GradcheckError if a shape or dtype differs from the input's."""
    gradients = grad(roots, xs, arriving, retain_graph=True, materialize_grads=True)
    for i, (gradient, x) in enumerate(zip(gradients, xs, strict=True)):
        if gradient.array.shape != x.array.shape or gradient.array.dtype != x.array.dtype:
            raise GradcheckError(
                f"gradcheck: the gradient of checked input {i} has shape {tuple(gradient.array.shape)} and "
                f"dtype {gradient.array.dtype}, but the input has {tuple(x.array.shape)} and {x.array.dtype}"
            )
    return gradients


def _host(tensor: Variable) -> Matrix:
    """The elements, copied to a NumPy vector."""
    return np.array(of(tensor.array).to_numpy(tensor.array), np.float64).reshape(-1)


def _report(output: Variable, x: Variable, which: tuple[int, int], matrix: Matrix, expected: Matrix, wrong: Any) -> str:
    """A report of the worst element, and the gradient rules from the output back to the input."""
    i, j = which
    distance = np.where(wrong, np.where(np.isnan(matrix - expected), np.inf, np.abs(matrix - expected)), -1.0)
    row, column = np.unravel_index(int(np.argmax(distance)), matrix.shape)
    a, n = float(matrix[row, column]), float(expected[row, column])
    source = [int(k) for k in np.unravel_index(int(row), x.array.shape)] if x.array.ndim else "()"
    target = [int(k) for k in np.unravel_index(int(column), output.array.shape)] if output.array.ndim else "()"
    relative = abs(a - n) / max(abs(n), 1e-300)
    useful, rules = paths((output,), (x,))[1], dict[str, None]()
    for node in sorted((n for n in useful if isinstance(n, Node)), key=lambda n: -n.order):
        for position, edge in zip(node.plan.inputs, node.edges, strict=True):
            if edge[0] in useful:
                name = node.op.param(position)
                rules[f"{node.op.name} for {name} ({spelled(node.op.rule_place(name))})"] = None  # each listed once
    more = [f"... and {len(rules) - _MOST_RULES} more"] if len(rules) > _MOST_RULES else []
    lines = [*list(rules)[:_MOST_RULES], *more] or ["none: no recorded ops connect this input to the output"]
    return (
        f"Jacobian mismatch for output {j} with respect to input {i} in {int(wrong.sum())} "
        f"of {wrong.size} elements\n  worst: d output{target} / d input{source}\n"
        f"  analytical {a!r}, numerical {n!r}, absolute difference {abs(a - n):.3g}, relative "
        f"{relative:.3g}\n  gradient rules from the output to this input:\n"
        + "\n".join(f"    {line}" for line in lines)
    )


border_functions(globals(), "minigrad.autograd")
