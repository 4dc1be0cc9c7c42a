"""Order and frequency against PyTorch: values, indices, gradients, dtypes, NaN, and what is refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import minigrad
from tests.support.cases import cases
from tests.support.expressions import evaluate, split
from tests.support.parity import assert_close, gradients, in_torch_words, listed, ours, theirs, torch

SMOOTH = """
x.kthvalue(2, 1) ; t.kthvalue(x, 3, dim=0, keepdim=True) ; t.median(x) ; x.median(dim=1, keepdim=True)
x.nanmedian(0) ; t.mode((x * 2).round() + 0 * x, 1).values ; t.quantile(x, 0.3)
t.quantile(x, t.tensor([0.1, 0.5, 1.0], dtype=x.dtype).to(x.device), dim=1)
x.quantile(0.7, dim=0, keepdim=True, interpolation='midpoint') ; t.nanquantile(x, 0.5, dim=1) ; t.cummax(x, 0)
x.cummin(dim=1) ; t.logcumsumexp(x, 1) ; t.aminmax(x, dim=1, keepdim=True) ; t.std_mean(x, 1)
t.var_mean(x, dim=0, keepdim=True) ; t.nansum(x, 1) ; x.nanmean(0, keepdim=True) ; t.dist(x, x * 2 + 1, 3) ; t.cov(x)
t.corrcoef(x) ; t.msort(x) ; t.trapezoid(x) ; t.trapezoid(x, dx=0.5, dim=0)
t.trapezoid(x, t.tensor([0.0, 1, 3, 4, 6]).to(x)) ; t.trapezoid(x, x.cumsum(1)) ; t.cumulative_trapezoid(x, dim=0)
t.renorm(x, 2, 0, 1.5) ; x.renorm(1, 1, 2.0)
"""


@cases("expression", split(SMOOTH))
def test_values_and_gradients(expression: str, device: str) -> None:
    data = np.random.default_rng(3).standard_normal((4, 5))
    x, y = ours(data, True, device), theirs(data, True)
    found, expected = listed(evaluate(expression, t=minigrad, x=x)), listed(evaluate(expression, t=torch, x=y))
    for f, e in zip(found, expected, strict=True):
        assert_close(f, e)
    floats = [i for i, e in enumerate(expected) if e.requires_grad]
    drawn = [np.asarray(np.random.default_rng(i).standard_normal(tuple(expected[i].shape))) for i in floats]
    got = gradients([found[i] for i in floats], [x], [ours(d, device=device) for d in drawn])
    wanted = gradients([expected[i] for i in floats], [y], [theirs(d) for d in drawn])
    assert_close(got[0], wanted[0], rtol=1e-6 if "renorm" in expression else 1e-10)
    single = listed(evaluate(expression, t=minigrad, x=ours(data.astype(np.float32), device=device)))
    assert [s.dtype for s in single] == [
        minigrad.float32 if e.is_floating_point() else minigrad.int64 for e in expected
    ]


def test_counts(device: str) -> None:
    """Where a tensor lies; on the CPU test_names.py has more."""
    x = minigrad.tensor([[3, 0, 2], [2, 2, 7]], device=device)
    assert x.reshape(-1).bincount(minlength=9).tolist() == [1, 0, 3, 1, 0, 0, 0, 1, 0]
    assert x[0].bincount(weights=x[1].double() / 2).tolist() == [1, 0, 3.5, 1]
    assert x.double().histc(4, min=0, max=8).tolist() == [1, 4, 0, 1]
    assert minigrad.unique_consecutive(x.reshape(-1)).tolist() == [3, 0, 2, 7]


@cases("name", ["median", "nanmedian", "cummax", "cummin", "nansum", "nanmean"])
def test_nan(name: str) -> None:
    data = np.array([[1.0, np.nan, 3.0, 2.0], [4.0, 1.0, 0.0, -1.0]])
    found, expected = getattr(minigrad, name)(ours(data), 1), getattr(torch, name)(theirs(data), 1)
    for f, e in zip(listed(found), listed(expected), strict=True):
        assert_close(f, e)


def test_printing_of_named_tuples() -> None:
    for t in (minigrad, torch):
        text = repr(t.tensor([3.0, 1.0, 2.0]).median(0))
        assert in_torch_words(text) == "torch.return_types.median(\nvalues=tensor(2.),\nindices=tensor(2))"


def test_refusals() -> None:
    x = minigrad.ones(2, 3)
    with pytest.raises(RuntimeError, match="out of range"):
        x.kthvalue(4)
    with pytest.raises(RuntimeError, match="non-negative integral"):
        minigrad.bincount(minigrad.tensor([-1]))
    with pytest.raises(RuntimeError, match="interpolation must be one of"):
        minigrad.quantile(x, 0.5, interpolation="cubic")
    with pytest.raises(RuntimeError, match="scalar or 1D"):
        minigrad.quantile(x, x)
    with pytest.raises(RuntimeError, match="expected fweights to be 3 numbers"):
        minigrad.cov(x, fweights=x)


@cases("x", [[0.0, 100.0], [0.0, 1000.0, -3.0], [-np.inf, -np.inf, 2.0, 900.0, 1.0], [5.0]])
def test_gradient_of_logcumsumexp_of_far_numbers(x: list[float]) -> None:
    g = np.linspace(-1, 2, len(x))
    found = ours(np.array(x), True)
    expected = theirs(np.array(x), True)
    found.logcumsumexp(0).backward(ours(g))
    expected.logcumsumexp(0).backward(theirs(g))
    numbers = np.nan_to_num(expected.grad.numpy())  # PyTorch has NaN where the output is -inf
    np.testing.assert_allclose(found.grad.numpy(), numbers, rtol=1e-12)


@cases("density", [False, True])
@cases("weighted", [False, True])
def test_histogramdd(density: bool, weighted: bool) -> None:
    points = np.random.default_rng(0).standard_normal((5, 4, 2)).astype(np.float32)
    edges = [np.array([-2.0, 0, 0.5, 3], np.float32), np.array([-1.0, 1, 2], np.float32)]
    for bins, limits in ((3, None), ([2, 3], [-1.0, 1, -2, 2]), (edges, None)):
        results = []
        for t, make in ((minigrad, ours), (torch, theirs)):
            each = [make(e) for e in bins] if bins is edges else bins
            weight = make(np.arange(20, dtype=np.float32).reshape(5, 4)) if weighted else None
            counts, at = t.histogramdd(make(points), each, range=limits, weight=weight, density=density)
            results.append((counts, *at))
        for found, expected in zip(*results, strict=True):
            assert_close(found, expected, 1e-6)
    x = ours(points)
    for call, message in (
        (lambda: minigrad.histogramdd(x[0, 0], 3), "at least 2 dimensions"),
        (lambda: minigrad.histogramdd(x, [3]), "expected bins for each of 2"),
        (lambda: minigrad.histogramdd(x, 3, range=[0.0, 1]), "should have 4 elements"),
        (lambda: minigrad.histogramdd(x, [x[0, :1, 0]] * 2), "bins must be > 0"),
        (lambda: minigrad.histogram(x, 2, range=(1.0, 0.0)), "max must be larger than min"),
    ):
        with pytest.raises(RuntimeError, match=message):
            call()


@cases("seed", range(8))
@cases("density", [False, True])
def test_edges_of_bins_in_any_order(seed: int, density: bool) -> None:
    rng = np.random.default_rng(seed)
    points, edges = rng.integers(0, 9, (40, 2)) / 2, [rng.integers(0, 9, n) / 2 for n in (2 + seed, 7)]
    found, expected = (
        [
            *t.histogram(make(points), make(edges[0]), density=density),
            t.histogramdd(make(points), [make(e) for e in edges], density=density).hist,
        ]
        for t, make in ((minigrad, ours), (torch, theirs))
    )
    for a, b in zip(found, expected, strict=True):
        assert_close(a, b)


@cases("dim", [None, 0, -1])
@cases("keepdim", [False, True])
def test_quantiles_of_one_number(dim: int | None, keepdim: bool) -> None:
    for name in ("quantile", "nanquantile"):
        for q in (0.5, [0.25, 0.75]):
            found, expected = (getattr(t, name)(t.tensor(3.0), t.tensor(q), dim, keepdim) for t in (minigrad, torch))
            assert_close(found, expected)


def test_runs_along_an_empty_axis(device: str) -> None:
    x = minigrad.ones(5, 0, 2, device=device)
    values, inverse, counts = minigrad.unique_consecutive(x, return_inverse=True, return_counts=True, dim=1)
    assert values.shape == (5, 0, 2)
    assert inverse.shape == counts.shape == (0,)


@cases("shapes", [((0, 0), (0, 0)), ((0, 3), (0, 2)), ((2, 0), (2, 3)), ((2, 3, 4), (2, 3, 5))])
def test_searchsorted_row_by_row(shapes: tuple[Any, Any]) -> None:
    rows, values = (np.random.default_rng(0).standard_normal(shape) for shape in shapes)
    rows.sort()
    assert_close(minigrad.searchsorted(ours(rows), ours(values)), torch.searchsorted(theirs(rows), theirs(values)))


@cases("shapes", [((2, 3), (3, 3)), ((2, 3), (3,)), ((2, 3), ()), ((), (2,))])
def test_searchsorted_in_rows_of_others(shapes: tuple[Any, Any]) -> None:
    for t in (minigrad, torch):
        with pytest.raises(RuntimeError, match="boundaries tensor"):
            t.searchsorted(t.zeros(shapes[0]), t.zeros(shapes[1]))


@cases("name", ["median", "nanmedian"])
@cases("dtype", ["float32", "int64", "int32", "uint8"])
def test_the_median_of_nothing(name: str, dtype: str) -> None:
    found, expected = (getattr(t.empty(0, dtype=getattr(t, dtype)), name)() for t in (minigrad, torch))
    assert (in_torch_words(found), str(found.dtype).split(".")[-1]) == (str(expected), dtype)


def gradient_of(x: minigrad.Tensor) -> Any:
    assert x.grad is not None
    return x.grad.numpy()


@cases("name", ["median", "nanmedian"])
def test_equal_elements_share_the_gradient_of_a_median(name: str) -> None:
    """Of all elements, as PyTorch's; along an axis the indices say which one has it."""
    x = minigrad.tensor([1.0, 2.0, 2.0, 3.0], requires_grad=True)
    getattr(x, name)().backward()
    np.testing.assert_array_equal(gradient_of(x), [0.0, 0.5, 0.5, 0.0])


def test_missing_values_share_the_gradient_of_a_median() -> None:
    x = minigrad.tensor([1.0, math.nan, math.nan, 3.0], requires_grad=True)
    x.median().backward()
    np.testing.assert_array_equal(gradient_of(x), [0.0, 0.5, 0.5, 0.0])


def test_rows_of_nan_are_not_scaled_down() -> None:
    x = minigrad.tensor([[math.nan, 1.0], [0.1, 0.2]], requires_grad=True)
    minigrad.renorm(x, 2, 0, 1.0).sum().backward()
    np.testing.assert_array_equal(gradient_of(x), np.ones((2, 2)))
