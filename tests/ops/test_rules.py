"""Every gradient rule against PyTorch, finite differences, other dtypes, layouts and extreme values."""

from typing import Any

import numpy as np
import pytest

import minigrad
from minigrad.autograd import gradcheck, gradgradcheck
from minigrad.autograd.walk import nodes_behind
from minigrad.compat.ops.registry import REGISTRY
from minigrad.ops.op import Op
from tests.ops.cases import CASES, Case, find
from tests.support.cases import each
from tests.support.cupy_numbers import as_read
from tests.support.derivatives import check_derivatives
from tests.support.parity import assert_close, assert_same_dtype, gradients, host, listed, ours, theirs, torch
from tests.support.plain_checks import without_kernel

OPS = sorted({case.op for case in CASES})
each_op = pytest.mark.parametrize("op", OPS)


def test_every_op_with_a_gradient_has_a_case() -> None:
    tested = {case.op for case in CASES}
    assert {name for name, op in REGISTRY.items() if op.differentiable} - tested == set()
    assert tested <= set(REGISTRY)


# Their results are bools, integers or piecewise constant.
WITHOUT_GRADIENT = """
zeros_of floor_divide eq ne lt le gt ge bitwise_and bitwise_or bitwise_xor bitwise_left_shift
bitwise_right_shift bitwise_not gcd lcm logical_and logical_or logical_xor logical_not isnan isinf isfinite any all
argmax argmin count_nonzero nonzero largest_cells largest_cells_at largest_cells_of_bins
"""


def test_every_op_has_rules_and_formulas() -> None:
    for name, op in REGISTRY.items():
        assert bool(op.rules) != (name in WITHOUT_GRADIENT.split()), f"{name}: it has no gradient rule"
        for key in op.rules:
            assert op.formula(key).startswith("d"), f"{name}: its rule for {key} has no formula"


def test_a_formula_is_one_line_for_each_rule() -> None:
    def forward(a: Any, b: Any) -> Any:
        return a * b

    scaled = Op(forward).gradient("da = g b; db = g a", a=lambda g, b: g * b, b=lambda g, a: g * a)
    assert (scaled.formula("a"), scaled.formula("b"), scaled.formula("c")) == ("da = g b", "db = g a", "")
    with pytest.raises(TypeError, match="has 2 rules and 1 formulas"):
        Op(forward).gradient("da = g b", a=lambda g, b: g * b, b=lambda g, a: g * a)


def inputs(case: Case, device: str, dtype: Any = np.float64, seed: int = 0) -> list[Any]:
    """The inputs in minigrad; drawn floats require a gradient."""
    arrays = [a.astype(dtype) if a.dtype.kind == "f" else a for a in case.arrays(seed)]
    wants = [not isinstance(spec, np.ndarray) for spec in case.inputs]
    return [ours(array, want, device) for array, want in zip(arrays, wants, strict=True)]


def prepared(case: Case, device: str, dtype: Any = np.float64, seed: int = 0) -> tuple[list[Any], list[Any]]:
    """The inputs in minigrad and in torch (always float64 there); drawn floats require a gradient."""
    others = [
        theirs(array, not isinstance(spec, np.ndarray))
        for spec, array in zip(case.inputs, case.arrays(seed), strict=True)
    ]
    return inputs(case, device, dtype, seed), others


def wanting(tensors: list[Any]) -> list[Any]:
    return [t for t in tensors if t.requires_grad]


def floats(values: Any) -> list[Any]:
    return [v for v in listed(values) if v.requires_grad]


def arriving(outputs: list[Any], seed: int = 1) -> list[Any]:
    """A random gradient for each output."""
    rng = np.random.default_rng(seed)
    return [np.asarray(rng.standard_normal(tuple(o.shape))) for o in outputs]


@each_op
def test_agrees_with_torch(op: str, device: str) -> None:
    """In float64 in both orders, also by the rules of an op with a kernel; in float32; and with extreme inputs."""
    each(find(op), lambda case: in_float64(case, device))
    each(find(op), lambda case: in_float32(case, device))
    each([case for case in find(op) if case.extreme], lambda case: at_extremes(case, device))
    if REGISTRY[op].kernel:
        with without_kernel(REGISTRY[op]):
            each(find(op), lambda case: in_float64(case, device))


def in_float64(case: Case, device: str) -> None:
    mine, others = prepared(case, device)
    results, expected = listed(case.ours(minigrad, *mine)), listed(case.theirs(torch, *others))
    for a, b in zip(results, expected, strict=True):
        assert_close(a, b, name="value")
        assert a.dtype.name == str(b.dtype).removeprefix("torch.")
    random = arriving(floats(results))
    g, h = [ours(d, True, device) for d in random], [theirs(d, True) for d in random]
    first = gradients(floats(results), wanting(mine), g, create_graph=case.second)
    first_expected = gradients(floats(expected), wanting(others), h, create_graph=case.second)
    for a, b in zip(first, first_expected, strict=True):
        assert_close(a, b, name="gradient")
    if not case.second or not floats(first):
        return
    both = [(a, b) for a, b in zip(first, first_expected, strict=True) if b.requires_grad]
    random = arriving([b for _, b in both], 2)
    second = gradients(
        [a for a, _ in both if a.requires_grad],
        wanting(mine) + g,
        [ours(d, device=device) for d, (a, _) in zip(random, both, strict=True) if a.requires_grad],
    )
    second_expected = gradients([b for _, b in both], wanting(others) + h, [theirs(d) for d in random])
    for a, b in zip(second, second_expected, strict=True):
        assert_close(a, b, name="second order")


def in_float32(case: Case, device: str) -> None:
    mine, others = prepared(case, device, np.float32)
    results, expected = listed(case.ours(minigrad, *mine)), listed(case.theirs(torch, *others))
    if case.op == "cast":
        return
    for a, b in zip(results, expected, strict=True):
        if b.dtype.is_floating_point:
            assert a.dtype is minigrad.float32
            assert_close(a, b, case.float32, "value")
    random = arriving(floats(results))
    first = gradients(floats(results), wanting(mine), [ours(d.astype(np.float32), device=device) for d in random])
    first_expected = gradients(floats(expected), wanting(others), [theirs(d) for d in random])
    for a, b in zip(first, first_expected, strict=True):
        assert a.dtype is minigrad.float32
        assert_close(a, b, case.float32, "gradient")


LARGE = {np.float64: (1e-310, 1e-300, 1e150, 1e300), np.float32: (1e-42, 1.3e-38, 1e-30, 1e15, 1e30)}


def at_extremes(case: Case, device: str) -> None:
    """As torch: values everywhere, gradients where torch's and the element are finite. A device that flushes subnormal
    numbers to 0 has torch's results for 0. test_tails.py tests tails that torch loses."""
    tiny = [0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 2.5, 88.0, -104.0, 700.0, -745.0]
    for dtype, large in LARGE.items():
        values = np.array([*tiny, *large, *(-v for v in large), np.inf, -np.inf, np.nan], dtype)
        arrays = [values] if len(case.inputs) == 1 else [values[:, None], values[None, :]]
        mine = [ours(a, True, device) for a in arrays]
        others = [theirs(as_read(a, device), True) for a in arrays]
        result, expected = case.ours(minigrad, *mine), case.theirs(torch, *others)
        assert_same_dtype(result, expected)
        rtol = 1e-12 if dtype is np.float64 else 2e-6
        least = 4 * np.finfo(dtype).smallest_normal  # the device or torch may flush smaller intermediate numbers to 0
        np.testing.assert_allclose(host(result), host(expected), rtol=rtol, atol=least)
        if len(mine) == 1:
            result.backward(ours(np.ones(values.shape, dtype), device=device))
            expected.backward(theirs(np.ones(values.shape, dtype)))
            derivative, right = host(mine[0].grad), host(others[0].grad)
            finite = np.isfinite(right) & np.isfinite(values) & ((right != 0) | (abs(derivative) > np.finfo(dtype).eps))
            np.testing.assert_allclose(derivative[finite], right[finite], rtol=rtol, atol=least)


@each_op
def test_agrees_with_finite_differences(op: str, device: str) -> None:
    """On the CPU each element in both orders; on other devices, whose elements PyTorch checks, one random direction."""

    def check(case: Case) -> None:
        mine, function = inputs(case, device, seed=3), lambda *a: case.ours(minigrad, *a)
        if device != "cpu":
            check_derivatives(function, mine)
            return
        assert gradcheck(function, mine)
        assert not case.second or gradgradcheck(function, mine, atol=1e-4)

    each([case for case in find(op) if case.numeric], check)


def laid_out(array: Any, layout: str) -> Any:
    """The same elements in a different memory layout."""
    if layout == "transposed":
        return np.array(array.T, order="C").T
    if layout == "strided":
        wide = np.zeros(tuple(2 * n for n in array.shape), array.dtype)
        every = wide[tuple(slice(1, None, 2) for _ in array.shape)] if array.ndim else wide
        every[...] = array
        return every
    return np.broadcast_to(array[..., :1], array.shape) if array.ndim else array  # "expanded": along the last axis


@each_op
def test_the_result_is_independent_of_the_layout_and_of_the_leaves_that_require_gradients(op: str) -> None:
    each(find(op), in_any_layout)
    each([case for case in find(op) if sum(not isinstance(i, np.ndarray) for i in case.inputs) > 1], alone)


def in_any_layout(case: Case) -> None:
    for layout in ("transposed", "strided", "expanded"):
        if layout == "expanded" and case.op in ("sort", "topk", "gather"):
            continue  # ties: it is undefined which of the equal elements is chosen
        arrays = [
            laid_out(a, layout) if a.dtype.kind == "f" and not isinstance(s, np.ndarray) else a
            for s, a in zip(case.inputs, case.arrays(5), strict=True)
        ]
        plain = [np.array(a, order="C", copy=True) for a in arrays]
        for a, b in zip(results(case, arrays), results(case, plain), strict=True):
            assert_close(a, b, 1e-12, layout)


def derivatives(outputs: list[Any], leaves: list[Any], g: list[Any]) -> Any:
    """The gradients of leaves, zeros for unused ones."""
    return minigrad.autograd.grad(outputs, leaves, g, retain_graph=True, materialize_grads=True)


def results(case: Case, arrays: list[Any]) -> list[Any]:
    """The values and gradients of a case on the CPU, in the memory of ``arrays``."""
    mine = [minigrad.from_numpy(a) for a in arrays]
    for spec, tensor in zip(case.inputs, mine, strict=True):
        tensor.requires_grad_(not isinstance(spec, np.ndarray))
    outputs = listed(case.ours(minigrad, *mine))
    g = [ours(d) for d in arriving(floats(outputs))]
    return [host(y) for y in (*outputs, *derivatives(floats(outputs), wanting(mine), g))]


def alone(case: Case) -> None:
    """Check that no rule runs for a gradient that is not needed."""
    full = inputs(case, "cpu")
    outputs = listed(case.ours(minigrad, *full))
    g = [ours(d) for d in arriving(floats(outputs))]
    expected = dict(zip(map(id, wanting(full)), derivatives(floats(outputs), wanting(full), g), strict=True))
    for leaf in wanting(full):
        for tensor in full:
            tensor.requires_grad = tensor is leaf
        again = listed(case.ours(minigrad, *full))
        for output in floats(again):
            for node in nodes_behind((output,)):
                for target, *_ in node.edges:  # a rule runs only for an edge
                    assert target is leaf or not isinstance(target, minigrad.Tensor)
        factors = [d for f, d in zip(outputs, iter(g), strict=False) if f.requires_grad]
        (derivative,) = derivatives(floats(again), [leaf], factors[: len(floats(again))])
        if len(floats(again)) == len(g):
            assert_close(derivative, expected[id(leaf)], 1e-12)
