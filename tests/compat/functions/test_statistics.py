"""Order statistics and histograms against PyTorch: values, indices, gradients, dtypes, NaN, and errors."""

import math
from typing import Any

import numpy as np
import pytest

import minigrad
from tests.support.both import agree, refuse
from tests.support.cases import cases, raises
from tests.support.expressions import evaluate, split
from tests.support.parity import assert_close, in_torch_words, ours, theirs, torch

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
    x = np.random.default_rng(3).standard_normal((4, 5))
    for dtype, near in ((np.float64, 1e-6 if "renorm" in expression else 1e-10), (np.float32, 1e-3)):
        agree(lambda t, x: evaluate(expression, t=t, x=x), x.astype(dtype), near=near, device=device)


def test_counts(device: str) -> None:
    """On the tensor's device; test_names.py has more cases for the CPU."""
    x = minigrad.tensor([[3, 0, 2], [2, 2, 7]], device=device)
    assert x.reshape(-1).bincount(minlength=9).tolist() == [1, 0, 3, 1, 0, 0, 0, 1, 0]
    assert x[0].bincount(weights=x[1].double() / 2).tolist() == [1, 0, 3.5, 1]
    assert x.double().histc(4, min=0, max=8).tolist() == [1, 4, 0, 1]
    assert minigrad.unique_consecutive(x.reshape(-1)).tolist() == [3, 0, 2, 7]


@cases("name", ["median", "nanmedian", "cummax", "cummin", "nansum", "nanmean"])
def test_nan(name: str) -> None:
    data = np.array([[1.0, np.nan, 3.0, 2.0], [4.0, 1.0, 0.0, -1.0]])
    agree(lambda t, x: getattr(t, name)(x.detach(), 1), data)


def test_printing_of_named_tuples() -> None:
    for t in (minigrad, torch):
        text = repr(t.tensor([3.0, 1.0, 2.0]).median(0))
        assert in_torch_words(text) == "torch.return_types.median(\nvalues=tensor(2.),\nindices=tensor(2))"


def test_refusals() -> None:
    x = minigrad.ones(2, 3)
    raises(RuntimeError, "out of range", lambda: x.kthvalue(4))
    raises(RuntimeError, "non-negative integral", lambda: minigrad.bincount(minigrad.tensor([-1])))
    raises(RuntimeError, "interpolation must be one of", lambda: minigrad.quantile(x, 0.5, interpolation="cubic"))
    raises(RuntimeError, "scalar or 1D", lambda: minigrad.quantile(x, x))
    raises(RuntimeError, "fweights must be 3 non-negative ints", lambda: minigrad.cov(x, fweights=x))


@cases("x", [[0.0, 100.0], [0.0, 1000.0, -3.0], [-np.inf, -np.inf, 2.0, 900.0, 1.0], [5.0]])
def test_gradient_of_logcumsumexp_of_distant_numbers(x: list[float]) -> None:
    g = np.linspace(-1, 2, len(x))
    leaf = ours(np.array(x), True)
    expected = theirs(np.array(x), True)
    leaf.logcumsumexp(0).backward(ours(g))
    expected.logcumsumexp(0).backward(theirs(g))
    numbers = np.nan_to_num(expected.grad.numpy())  # PyTorch has NaN where the output is -inf
    np.testing.assert_allclose(leaf.grad.numpy(), numbers, rtol=1e-12)


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
        for result, expected in zip(*results, strict=True):
            assert_close(result, expected, 1e-6)
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
    def program(t: Any, points: Any, *edges: Any) -> Any:
        points, edges = points.detach(), [e.detach() for e in edges]
        counts = t.histogramdd(points, [*edges], density=density).hist
        return *t.histogram(points, edges[0], density=density), counts

    rng = np.random.default_rng(seed)
    agree(program, rng.integers(0, 9, (40, 2)) / 2, *(rng.integers(0, 9, n) / 2 for n in (2 + seed, 7)))


@cases("dim", [None, 0, -1])
@cases("keepdim", [False, True])
def test_quantiles_of_one_number(dim: int | None, keepdim: bool) -> None:
    for name in ("quantile", "nanquantile"):
        for q in (0.5, [0.25, 0.75]):
            result, expected = (getattr(t, name)(t.tensor(3.0), t.tensor(q), dim, keepdim) for t in (minigrad, torch))
            assert_close(result, expected)


def test_runs_along_an_empty_axis(device: str) -> None:
    x = minigrad.ones(5, 0, 2, device=device)
    values, inverse, counts = minigrad.unique_consecutive(x, return_inverse=True, return_counts=True, dim=1)
    assert values.shape == (5, 0, 2)
    assert inverse.shape == counts.shape == (0,)


@cases("shapes", [((0, 0), (0, 0)), ((0, 3), (0, 2)), ((2, 0), (2, 3)), ((2, 3, 4), (2, 3, 5))])
def test_searchsorted_row_by_row(shapes: tuple[Any, Any]) -> None:
    rows, values = (np.random.default_rng(0).standard_normal(shape) for shape in shapes)
    agree(lambda t, rows, values: t.searchsorted(rows.detach(), values.detach()), np.sort(rows), values)


@cases("shapes", [((2, 3), (3, 3)), ((2, 3), (3,)), ((2, 3), ()), ((), (2,))])
def test_searchsorted_with_mismatched_rows(shapes: tuple[Any, Any]) -> None:
    refuse(lambda t: t.searchsorted(t.zeros(shapes[0]), t.zeros(shapes[1])))
    raises(RuntimeError, "boundaries", lambda: minigrad.searchsorted(*map(minigrad.zeros, shapes)))


@cases("name", ["median", "nanmedian"])
@cases("dtype", ["float32", "int64", "int32", "uint8"])
def test_the_median_of_nothing(name: str, dtype: str) -> None:
    result, expected = (getattr(t.empty(0, dtype=getattr(t, dtype)), name)() for t in (minigrad, torch))
    assert (in_torch_words(result), str(result.dtype).split(".")[-1]) == (str(expected), dtype)


@cases("name, missing", [("median", 2.0), ("nanmedian", 2.0), ("median", math.nan)])
def test_equal_elements_share_the_gradient_of_a_median(name: str, missing: float) -> None:
    """All of them share it, as in PyTorch; along an axis the indices say which one gets it."""
    x = minigrad.tensor([1.0, missing, missing, 3.0], requires_grad=True)
    getattr(x, name)().backward()
    assert x.grad is not None and x.grad.tolist() == [0.0, 0.5, 0.5, 0.0]


def test_rows_of_nan_are_not_scaled_down() -> None:
    x = minigrad.tensor([[math.nan, 1.0], [0.1, 0.2]], requires_grad=True)
    minigrad.renorm(x, 2, 0, 1.0).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [[1.0, 1.0]] * 2
