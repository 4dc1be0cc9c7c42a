"""Every gradient rule against PyTorch, finite differences, other dtypes, layouts and extreme values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minigrad
from minigrad.autograd import gradcheck, gradgradcheck
from minigrad.autograd.walk import nodes_behind
from minigrad.ops.op import Op
from minigrad.ops.registry import REGISTRY
from tests.ops.cases import CASES, Case
from tests.support.cupy_numbers import as_read
from tests.support.parity import assert_close, assert_same_dtype, gradients, host, listed, ours, theirs, torch
from tests.support.plain_checks import without_kernel
from tests.support.slopes import check_slopes

each = pytest.mark.parametrize("case", CASES, ids=str)
NUMERIC = [c for c in CASES if c.numeric]


def test_every_op_with_a_gradient_has_a_case() -> None:
    tested = {case.op for case in CASES}
    assert {name for name, op in REGISTRY.items() if op.differentiable} - tested == set()
    assert tested <= set(REGISTRY)


# Their results are bools or integers, or change by steps alone; of airy_ai the function refuses to be differentiated.
WITHOUT_GRADIENT = {
    "airy_ai",
    "zeros_of",
    "floor_divide",
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "bitwise_left_shift",
    "bitwise_right_shift",
    "bitwise_not",
    "gcd",
    "lcm",
    "logical_and",
    "logical_or",
    "logical_xor",
    "logical_not",
    "isnan",
    "isinf",
    "isfinite",
    "any",
    "all",
    "argmax",
    "argmin",
    "count_nonzero",
    "nonzero",
    "largest_cells",
    "largest_cells_at",
    "largest_cells_of_bins",
}
FUSED = [case for case in CASES if REGISTRY[case.op].kernel]


def test_every_op_has_rules_and_formulas() -> None:
    for name, op in REGISTRY.items():
        assert bool(op.rules) != (name in WITHOUT_GRADIENT), f"{name}: no gradient rule stands beside its forward"
        for key in op.rules:
            assert op.formula(key).startswith("d"), f"{name}: its rule for {key} has no formula"


def test_a_formula_is_one_line_for_each_rule() -> None:
    def forward(a: Any, b: Any) -> Any:
        return a * b

    scaled = Op(forward).gradient("da = g b; db = g a", a=lambda g, b: g * b, b=lambda g, a: g * a)
    assert (scaled.formula("a"), scaled.formula("b"), scaled.formula("c")) == ("da = g b", "db = g a", "")
    with pytest.raises(TypeError, match="has 2 rules and 1 formulas"):
        Op(forward).gradient("da = g b", a=lambda g, b: g * b, b=lambda g, a: g * a)


@pytest.mark.parametrize("case", FUSED, ids=str)
def test_the_rules_of_fused_ops_agree_with_torch(case: Case, device: str) -> None:
    """Without the kernel: forward and rules in ordinary ops."""
    mine, others = prepared(case, device)
    with without_kernel(REGISTRY[case.op]):
        results, expected = listed(case.ours(minigrad, *mine)), listed(case.theirs(torch, *others))
        drawn = arriving(floats(results))
        first = gradients(floats(results), wanting(mine), [ours(d, device=device) for d in drawn])
    first_expected = gradients(floats(expected), wanting(others), [theirs(d) for d in drawn])
    for a, b in zip([*results, *first], [*expected, *first_expected], strict=True):
        assert_close(a, b, what="value or gradient")


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


@each
def test_agrees_with_torch_in_float64(case: Case, device: str) -> None:
    mine, others = prepared(case, device)
    found, expected = case.ours(minigrad, *mine), case.theirs(torch, *others)
    for f, e in zip(listed(found), listed(expected), strict=True):
        assert_close(f, e, what="value")
        assert f.dtype.name == str(e.dtype).removeprefix("torch.")
    drawn = arriving(floats(found))
    g, h = [ours(d, True, device) for d in drawn], [theirs(d, True) for d in drawn]
    first = gradients(floats(found), wanting(mine), g, create_graph=case.second)
    first_expected = gradients(floats(expected), wanting(others), h, create_graph=case.second)
    for f, e in zip(first, first_expected, strict=True):
        assert_close(f, e, what="gradient")
    if not case.second or not floats(first):
        return
    both = [(f, e) for f, e in zip(first, first_expected, strict=True) if e.requires_grad]
    drawn = arriving([e for _, e in both], 2)
    second = gradients(
        [f for f, _ in both if f.requires_grad],
        wanting(mine) + g,
        [ours(d, device=device) for d, (f, _) in zip(drawn, both, strict=True) if f.requires_grad],
    )
    second_expected = gradients([e for _, e in both], wanting(others) + h, [theirs(d) for d in drawn])
    for f, e in zip(second, second_expected, strict=True):
        assert_close(f, e, what="second order")


@each
def test_keeps_float32(case: Case, device: str) -> None:
    mine, others = prepared(case, device, np.float32)
    found, expected = case.ours(minigrad, *mine), case.theirs(torch, *others)
    if case.op == "cast":
        return
    for f, e in zip(listed(found), listed(expected), strict=True):
        if e.dtype.is_floating_point:
            assert f.dtype is minigrad.float32
            assert_close(f, e, case.float32, "value")
    drawn = arriving(floats(found))
    first = gradients(floats(found), wanting(mine), [ours(d.astype(np.float32), device=device) for d in drawn])
    first_expected = gradients(floats(expected), wanting(others), [theirs(d) for d in drawn])
    for f, e in zip(first, first_expected, strict=True):
        assert f.dtype is minigrad.float32
        assert_close(f, e, case.float32, "gradient")


@pytest.mark.parametrize("case", NUMERIC, ids=str)
def test_agrees_with_finite_differences(case: Case, device: str) -> None:
    """On the CPU each element; elsewhere, where each is compared with PyTorch's as well, a direction."""
    mine = inputs(case, device, seed=3)
    function = lambda *a: case.ours(minigrad, *a)
    if device != "cpu":
        check_slopes(function, mine, case.second)
        return
    assert gradcheck(function, mine)
    if case.second:
        assert gradgradcheck(function, mine, atol=1e-4)


def laid_out(array: Any, layout: str) -> Any:
    """The same elements, otherwise laid out in memory."""
    if layout == "transposed":
        return np.array(array.T, order="C").T
    if layout == "strided":
        wide = np.zeros(tuple(2 * n for n in array.shape), array.dtype)
        every = wide[tuple(slice(1, None, 2) for _ in array.shape)] if array.ndim else wide
        every[...] = array
        return every
    return np.broadcast_to(array[..., :1], array.shape) if array.ndim else array  # "expanded": along the last axis


@each
def test_memory_layout_makes_no_difference(case: Case) -> None:
    for layout in ("transposed", "strided", "expanded"):
        if layout == "expanded" and case.op in ("sort", "topk", "gather"):
            continue  # ties: which of the equal elements is taken is not defined
        arrays = [
            laid_out(a, layout) if a.dtype.kind == "f" and not isinstance(s, np.ndarray) else a
            for s, a in zip(case.inputs, case.arrays(5), strict=True)
        ]
        plain = [np.array(a, order="C", copy=True) for a in arrays]
        for f, e in zip(results(case, arrays), results(case, plain), strict=True):
            assert_close(f, e, 1e-12, layout)


def results(case: Case, arrays: list[Any]) -> list[Any]:
    """The values and gradients of a case on the CPU, in the very memory of ``arrays``."""
    mine = [minigrad.from_numpy(a) for a in arrays]
    for spec, tensor in zip(case.inputs, mine, strict=True):
        tensor.requires_grad_(not isinstance(spec, np.ndarray))
    found = listed(case.ours(minigrad, *mine))
    g = [ours(d) for d in arriving(floats(found))]
    return [host(f) for f in found] + [host(f) for f in gradients(floats(found), wanting(mine), g)]


@pytest.mark.parametrize(
    "case", [c for c in CASES if sum(not isinstance(i, np.ndarray) for i in c.inputs) > 1], ids=str
)
def test_computes_no_gradient_that_nobody_asked_for(case: Case) -> None:
    full = inputs(case, "cpu")
    found = listed(case.ours(minigrad, *full))
    g = [ours(d) for d in arriving(floats(found))]
    expected = dict(zip(map(id, wanting(full)), gradients(floats(found), wanting(full), g), strict=True))
    for wanted in wanting(full):
        for tensor in full:
            tensor.requires_grad = tensor is wanted
        outputs = listed(case.ours(minigrad, *full))
        for output in floats(outputs):
            for node in nodes_behind((output,)):
                for target, *_ in node.edges:  # a rule runs for an edge, and for nothing else
                    assert target is wanted or not isinstance(target, minigrad.Tensor)
        kept = [d for f, d in zip(found, iter(g), strict=False) if f.requires_grad]
        (alone,) = gradients(floats(outputs), [wanted], kept[: len(floats(outputs))])
        if len(floats(outputs)) == len(g):
            assert_close(alone, expected[id(wanted)], 1e-12)


LARGE = {np.float64: (1e-310, 1e-300, 1e150, 1e300), np.float32: (1e-42, 1.3e-38, 1e-30, 1e15, 1e30)}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("case", [c for c in CASES if c.extreme], ids=str)
def test_extreme_values(case: Case, dtype: Any, device: str) -> None:
    """As torch: values everywhere, gradients where torch's are finite and the element is. A device that takes
    subnormal numbers for 0 has torch's results for 0. Of tails that torch loses, test_tails.py knows more."""
    tiny = [0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 2.5, 88.0, -104.0, 700.0, -745.0]
    values = np.array([*tiny, *LARGE[dtype], *(-v for v in LARGE[dtype]), np.inf, -np.inf, np.nan], dtype)
    arrays = [values] if len(case.inputs) == 1 else [values[:, None], values[None, :]]
    mine = [ours(a, True, device) for a in arrays]
    others = [theirs(as_read(a, device), True) for a in arrays]
    found, expected = case.ours(minigrad, *mine), case.theirs(torch, *others)
    assert_same_dtype(found, expected)
    rtol = 1e-12 if dtype is np.float64 else 2e-6
    least = 4 * np.finfo(dtype).smallest_normal  # the device or torch may take what is smaller for 0 on the way
    np.testing.assert_allclose(host(found), host(expected), rtol=rtol, atol=least)
    if len(mine) > 1:
        return
    found.backward(ours(np.ones(values.shape, dtype), device=device))
    expected.backward(theirs(np.ones(values.shape, dtype)))
    known = np.isfinite(host(others[0].grad)) & np.isfinite(values)
    known &= (host(others[0].grad) != 0) | (abs(host(mine[0].grad)) > np.finfo(dtype).eps)
    np.testing.assert_allclose(host(mine[0].grad)[known], host(others[0].grad)[known], rtol=rtol, atol=least)
