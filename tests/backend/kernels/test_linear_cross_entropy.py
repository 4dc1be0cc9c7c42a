"""The compiled kernel ``linear_cross_entropy`` against its plain definition."""

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import minigrad
from minigrad.backend import parallel
from minigrad.backend.kernels import cross_entropy_numba as linear_cross_entropy
from minigrad.nn import functional as F
from tests.support.cases import cases
from tests.support.compiled_checks import TOLERANCE, check, close, needs_numba, run
from tests.support.plain_checks import normal, plain

pytestmark = needs_numba
NAME = "linear_cross_entropy"
SIZES = [(1, 1, 2), (5, 3, 7), (130, 16, 33), (40, 9, 300)]  # rows, width, classes
HOW = [(True, 0.0, "mean"), (False, 0.1, "sum"), (True, 0.1, "sum"), (False, 0.0, "mean"), (True, 0.1, "mean")]


def targets(rows: int, classes: int) -> Any:
    target = np.random.default_rng(2).integers(0, classes, rows)
    target[1::3] = -100
    return target


@cases("size, how", itertools.product(SIZES, HOW))
def test_values_and_gradients(
    size: tuple[int, int, int], how: tuple[bool, float, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (rows, width, classes), (biased, smoothing, reduction) = size, how
    monkeypatch.setattr(linear_cross_entropy, "CHUNK_BYTES", 4 * classes * 20)  # about twenty rows at a time
    bias = normal(classes, seed=3) if biased else None
    args = [
        normal(rows, width),
        normal(classes, width, seed=2),
        bias,
        targets(rows, classes),
        -100,
        smoothing,
        reduction,
    ]
    for needs in ([0, 1, 2] if biased else [0, 1], [0], [1]):
        check(NAME, *args, differentiable=needs, tolerance=1e-4)


@pytest.fixture(params=[1, 3, 4])
def threads(request: pytest.FixtureRequest) -> Iterator[None]:
    before = parallel.get_num_threads()
    parallel.set_num_threads(request.param)
    yield
    parallel.set_num_threads(before)


@pytest.mark.usefixtures("threads")
@cases("least", [1, 2, 7, 64])
def test_chunks_of_any_length(least: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """This includes a shorter last chunk, and one with a single row."""
    monkeypatch.setattr(linear_cross_entropy, "CHUNK_BYTES", 0)
    monkeypatch.setattr(linear_cross_entropy, "LEAST_ROWS", least)
    target = np.arange(29) % 5
    target[[3, 4, 28]] = 2
    for ignored in (-100, 2):
        args = [normal(29, 6), normal(5, 6, seed=2), normal(5, seed=3), target, ignored, 0.1, "mean"]
        check(NAME, *args, differentiable=[0, 1, 2], tolerance=1e-4)


@pytest.mark.usefixtures("threads")
@cases("size", [50.0, 79.0, 300.0, 1e4])
@cases("sign", [1, -1])
def test_large_logits(size: float, sign: int) -> None:
    """Logits of similar size, far from 0, where their exp, or the exp of their sum, is not finite."""
    classes = 9000
    x, weight = np.eye(4), normal(classes, 4, seed=2)
    bias, target = np.full(classes, sign * size), np.array([3, 0, 8999, 5])
    args: list[Any] = [x, weight, bias, target, -100, 0.0, "mean"]
    args = [a.astype(np.float32).astype(np.float64) if getattr(a, "dtype", 0) == np.float64 else a for a in args]
    expected, derivatives, g = plain(NAME, args, [0, 1, 2])
    out, gradients = run(NAME, args, [0, 1, 2], g)
    ulps = 4 * size * np.finfo(np.float32).eps  # a logit of that size is rounded by that much
    np.testing.assert_allclose(out, expected, atol=max(ulps, 1e-5), rtol=0)
    for i in range(3):
        tolerance = (TOLERANCE + 4 * ulps) * np.abs(derivatives[i]).max()
        np.testing.assert_allclose(gradients[i], derivatives[i], rtol=0, atol=tolerance)


@cases("reduction", ["mean", "sum"])
def test_ignored_rows_do_not_matter(reduction: str) -> None:
    """Their values are irrelevant, and their gradient is 0."""
    x, weight, bias = normal(9, 4), normal(5, 4, seed=2), normal(5, seed=3)
    target = np.array([0, 7, 1, 7, 7, 2, 3, 4, 7])  # 7 is not a class
    x[target == 7] = np.nan
    rest, g = [7, 0.1, reduction], np.array(0.7)
    out, gradients = run(NAME, [x, weight, bias, target, *rest], [0, 1, 2], g)
    counts = target != 7
    expected, derivatives = run(NAME, [x[counts], weight, bias, target[counts], *rest], [0, 1, 2], g)
    np.testing.assert_allclose(out, expected, rtol=1e-6)
    np.testing.assert_allclose(gradients[0][counts], derivatives[0], rtol=1e-5)
    assert not gradients[0][~counts].any()
    for i in (1, 2):
        np.testing.assert_allclose(gradients[i], derivatives[i], rtol=1e-5, atol=1e-7)


@pytest.mark.usefixtures("threads")
@cases("level", [0.0, -300.0, 300.0])
def test_impossible_classes(level: float) -> None:
    """Their bias is -inf. All classes of one thread may be impossible, and the other logits far from 0."""
    bias = np.full(5, -np.inf)
    bias[[1, 3]] = level
    args = [normal(7, 4), normal(5, 4, seed=2), bias, np.array([1, 3, 3, 1, 1, 3, 1]), -100, 0.0, "mean"]
    check(NAME, *args, differentiable=[0, 1, 2], tolerance=1e-4)


def test_where_no_row_counts() -> None:
    x, weight, target = normal(3, 4), normal(5, 4, seed=2), np.full(3, -100)
    out, gradients = run(NAME, [x, weight, None, target, -100, 0.0, "sum"], [0, 1], np.array(1.0))
    assert out == 0
    assert not gradients[0].any()
    assert not gradients[1].any()
    assert np.isnan(run(NAME, [x, weight, None, target, -100, 0.0, "mean"], [0, 1], np.array(1.0))[0])


def test_numbers_that_are_not_finite() -> None:
    x = normal(6, 4)
    x[2, 1] = np.nan
    args = [x, normal(5, 4, seed=2), None, np.arange(6) % 5, -100, 0.0, "sum"]
    out, gradients = run(NAME, args, [0, 1], np.array(1.0))
    assert np.isnan(out)
    assert np.isnan(gradients[0][2]).all()
    assert np.isfinite(np.delete(gradients[0], 2, axis=0)).all()


# Through autograd: gradients that the forward pass computed are returned more than once -------------------


def _inputs() -> tuple[list[minigrad.Tensor], minigrad.Tensor]:
    arrays = (normal(12, 6), normal(5, 6, seed=2), normal(5, seed=3))
    target = minigrad.tensor(np.arange(12) % 5)
    return [minigrad.tensor(a, dtype=minigrad.float32, requires_grad=True) for a in arrays], target


def _loss(inputs: list[minigrad.Tensor], target: minigrad.Tensor) -> minigrad.Tensor:
    return F.linear_cross_entropy(inputs[0], inputs[1], target, linear_bias=inputs[2])


def _derivatives() -> list[Any]:
    """The gradients of the loss as a composition of ops."""
    inputs, target = _inputs()
    log_p = F.log_softmax(inputs[0] @ inputs[1].T + inputs[2], -1)
    F.nll_loss(log_p, target).backward()
    return [t.grad.numpy() for t in inputs]


def test_changing_a_gradient_does_not_change_the_graph() -> None:
    inputs, target = _inputs()
    loss = _loss(inputs, target)
    loss.backward(retain_graph=True)
    for t in inputs:
        t.grad.zero_()
    for gradient in minigrad.autograd.grad(loss, inputs, retain_graph=True):
        gradient.zero_()
    for gradient, s in zip(minigrad.autograd.grad(loss, inputs), _derivatives(), strict=True):
        np.testing.assert_allclose(gradient.numpy(), s, rtol=1e-4, atol=1e-6)


@cases("factor", [1.0, 0.5])
def test_a_leaf_on_another_path(factor: float) -> None:
    """Its gradient is the sum of both paths' gradients, in either order, twice."""
    for first in (True, False):
        inputs, target = _inputs()
        loss = _loss(inputs, target) * factor
        others = sum((t * t).sum() for t in inputs)
        total = loss + others if first else others + loss
        total.backward(retain_graph=True)
        total.backward()
        for t, s in zip(inputs, _derivatives(), strict=True):
            expected = 2 * (factor * s + 2 * t.detach().numpy())
            np.testing.assert_allclose(t.grad.numpy(), expected, rtol=1e-4, atol=1e-6)


def test_logits_that_overflow_and_classes_that_are_excluded() -> None:
    x, weight, bias = 30 * normal(20, 9), 30 * normal(40, 9, seed=2), normal(40, seed=3)
    bias[7:20] = -np.inf
    args = [x, weight, bias, np.arange(20) % 7, -100, 0.0, "mean"]
    expected, derivatives, g = plain(NAME, args, [0, 1])
    out, gradients = run(NAME, args, [0, 1], g)
    assert np.isfinite(expected)
    close(np.asarray(out), np.asarray(expected), "loss", 1e-4)
    for i in (0, 1):
        close(gradients[i], derivatives[i], f"gradient {i}", 1e-4)
