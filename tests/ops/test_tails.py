"""Values and derivatives in the tails, against mpmath: if y rounds to 1, or p to q, 1 - y and p - q are tiny, but not
0. All kernels keep their digits."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minigrad
from minigrad.autograd import grad
from minigrad.nn import functional as F
from tests.support.cases import cases
from tests.support.cupy_numbers import flushes
from tests.support.parity import host, ours
from tests.support.references import Reference, derivatives, mp, normal_share, sigmoid, softplus

MANY = 5000  # number of elements from which the compiled kernels of one operand are used
FAR = {np.float64: [20.0, -20.0, 40.0, -40.0, 100.0, -100.0], np.float32: [8.0, -8.0, 17.0, -17.0, 30.0, -30.0]}
ORDERS = 2


def rows(x: Any) -> Any:
    """(N) -> (N, 2): logits x and 0"""
    return minigrad.stack([x, minigrad.zeros_like(x)], -1)


def columns(function: Any, x: Any, which: int) -> Any:
    """The same with classes in the first axis."""
    return function(minigrad.stack([x, minigrad.zeros_like(x)]), 0)[which]


def classes(x: Any, label: int) -> Any:
    return minigrad.full(x.shape, label, dtype=minigrad.int64, device=x.device)


def cross_entropy(x: Any, label: int, weight: Any = None) -> Any:
    weight = weight and minigrad.tensor(weight, dtype=x.dtype, device=x.device)
    return F.cross_entropy(rows(x), classes(x, label), weight, reduction="none")


def of_linear(x: Any, label: int) -> Any:
    """The cross-entropy of a linear layer's logits (x, 0): the mean over the rows, times their number."""
    weight = minigrad.tensor([[1.0], [0.0]], dtype=x.dtype, device=x.device)
    return F.linear_cross_entropy(x.unsqueeze(1), weight, classes(x, label), reduction="sum")


def binary(x: Any, target: float, **options: Any) -> Any:
    options = {k: minigrad.full_like(x, v) for k, v in options.items()}
    return F.binary_cross_entropy_with_logits(x, minigrad.full_like(x, target), reduction="none", **options)


def minus(function: Reference) -> Reference:
    return lambda x: function(-x)


ONE = minigrad.ones_like
CASES: dict[str, tuple[Any, Reference]] = {
    "sigmoid": (minigrad.sigmoid, sigmoid),
    "tanh": (minigrad.tanh, mp.tanh),
    "silu": (F.silu, lambda x: x * sigmoid(x)),
    "gelu": (F.gelu, lambda x: x * normal_share(x)),
    "gelu, tanh": (
        lambda x: F.gelu(x, "tanh"),
        lambda x: x * sigmoid(2 * mp.sqrt(2 / mp.pi) * (x + mp.mpf(0.044715) * x**3)),
    ),
    "mish": (F.mish, lambda x: x * mp.tanh(softplus(x))),
    "tanhshrink": (F.tanhshrink, lambda x: x - mp.tanh(x)),
    "glu": (lambda x: F.glu(minigrad.stack([ONE(x), x], -1)).squeeze(-1), sigmoid),
    "expm1": (lambda x: minigrad.expm1(-abs(x)), lambda x: mp.expm1(-abs(x))),
    "erfcx": (lambda x: minigrad.special.erfcx(abs(x)), lambda x: mp.exp(x * x) * mp.erfc(abs(x))),
    "logsigmoid": (F.logsigmoid, lambda x: -softplus(-x)),
    "softplus": (lambda x: F.softplus(x, threshold=1e9), softplus),
    "soft margin": (lambda x: F.soft_margin_loss(x, ONE(x), reduction="none"), minus(softplus)),
    "soft margins": (
        lambda x: F.multilabel_soft_margin_loss(x.unsqueeze(1), ONE(x).unsqueeze(1), reduction="none"),
        minus(softplus),
    ),
    "binary, 0": (lambda x: binary(x, 0), softplus),
    "binary, 1": (lambda x: binary(x, 1), minus(softplus)),
    "binary, 1/4": (lambda x: binary(x, 0.25), lambda x: softplus(x) - x / 4),
    "binary, weights": (lambda x: binary(x, 1, weight=2.0, pos_weight=3.0), lambda x: 6 * softplus(-x)),
    "softmax": (lambda x: minigrad.softmax(rows(x), -1)[:, 0], sigmoid),
    "softmax, 1": (lambda x: minigrad.softmax(rows(x), -1)[:, 1], minus(sigmoid)),
    "softmax, columns": (lambda x: columns(minigrad.softmax, x, 0), sigmoid),
    "log_softmax": (lambda x: minigrad.log_softmax(rows(x), -1)[:, 0], lambda x: -softplus(-x)),
    "log_softmax, 1": (lambda x: minigrad.log_softmax(rows(x), -1)[:, 1], lambda x: -softplus(x)),
    "log_softmax, columns": (lambda x: columns(minigrad.log_softmax, x, 0), lambda x: -softplus(-x)),
    "logsumexp": (lambda x: minigrad.logsumexp(rows(x), -1), softplus),
    "cross_entropy": (lambda x: cross_entropy(x, 0), minus(softplus)),
    "cross_entropy, 1": (lambda x: cross_entropy(x, 1), softplus),
    "cross_entropy, weights": (lambda x: cross_entropy(x, 1, [5.0, 2.0]), lambda x: 2 * softplus(x)),
    "cross_entropy, probabilities": (
        lambda x: F.cross_entropy(rows(x), minigrad.ones_like(rows(x)).cumsum(-1) % 2, reduction="none"),
        minus(softplus),
    ),
    "nll_loss": (
        lambda x: F.nll_loss(minigrad.log_softmax(rows(x), -1), classes(x, 0), reduction="none"),
        minus(softplus),
    ),
    "focal": (lambda x: minigrad.sigmoid(-x) ** 2 * cross_entropy(x, 0), lambda x: sigmoid(-x) ** 2 * softplus(-x)),
}


def derivatives_of(function: Any, x: Any, orders: int) -> list[Any]:
    results = [function(x)]
    for _ in range(orders):
        (slope,) = grad(results[-1].sum(), x, create_graph=True)
        results.append(slope)
    return [host(r) for r in results]


@cases("dtype", FAR)
@pytest.mark.parametrize("name", CASES)
def test_tails(name: str, dtype: Any, device: str) -> None:
    function, reference = CASES[name]
    points = FAR[dtype]
    tolerance, least = (1e-9, 1e-100) if dtype is np.float64 else (3e-5, 1e-36)
    for count in (len(points), MANY):  # few, and enough for the compiled kernels
        results = derivatives_of(function, ours(np.resize(np.array(points, dtype), count), True, device), ORDERS)
        for i, point in enumerate(points):
            expected = np.array(derivatives(reference, point, ORDERS))
            np.testing.assert_allclose([r[i] for r in results], expected, tolerance, least, err_msg=f"at {point}")


@cases("dtype", FAR)
@cases("label", [0, 1])
def test_the_cross_entropy_of_a_linear_layer(label: int, dtype: Any, device: str) -> None:
    """Its sum, and the gradients of its input and its weight, one row at a time."""
    for point in FAR[dtype]:
        x = ours(np.array([[point]], dtype), True, device)
        weight = ours(np.array([[1], [0]], dtype), True, device)
        bias = ours(np.zeros(2, dtype), True, device)
        loss = F.linear_cross_entropy(x, weight, classes(x[:, 0], label), linear_bias=bias)
        value, first = derivatives(minus(softplus) if label == 0 else softplus, point, 1)
        of_x, of_weight, of_bias = grad(loss, [x, weight, bias])
        tolerance, least = (1e-12, 1e-100) if dtype is np.float64 else (3e-5, 1e-37)
        for actual, expected in (
            (loss, value),
            (of_x, [[first]]),
            (of_weight, [[first * point], [-first * point]]),
            (of_bias, [first, -first]),
        ):
            np.testing.assert_allclose(host(actual), expected, tolerance, least)


HUGE: dict[str, Callable[[Any, Any], Any]] = {  # functions of logits (N, C) and labels, with a value for each row
    "cross_entropy": lambda x, labels: F.cross_entropy(x, labels, reduction="none"),
    "smoothing": lambda x, labels: F.cross_entropy(x, labels, reduction="none", label_smoothing=0.1),
    "weights": lambda x, labels: F.cross_entropy(x, labels, minigrad.ones_like(x[0]), reduction="none"),
    "log_softmax": lambda x, labels: F.nll_loss(minigrad.log_softmax(x, -1), labels, reduction="none"),
    "softmax": lambda x, labels: -minigrad.softmax(x, -1).gather(1, labels[:, None]).log()[:, 0],
    "probabilities": lambda x, labels: F.cross_entropy(x, F.one_hot(labels, 4).to(x.dtype), reduction="none"),
}


@cases("dtype", FAR)
@cases("top", [1e30, -1e30, 1e9])
@cases("name", HUGE)
def test_huge_logits(name: str, top: float, dtype: Any, device: str) -> None:
    """Equal logits get equal shares: the logarithm of their number is not lost in rounding."""
    smoothing = 0.1 if name == "smoothing" else 0.0
    for count in (8, MANY):
        labels = minigrad.arange(count, device=device) % 4
        x = ours(np.full((count, 4), top, dtype), True, device)
        loss = HUGE[name](x, labels)
        np.testing.assert_allclose(host(loss), np.full(count, np.log(4)), 1e-6)
        expected = 0.25 - (1 - smoothing) * np.eye(4)[np.arange(count) % 4] - smoothing / 4
        np.testing.assert_allclose(host(grad(loss.sum(), x)[0]), expected, 1e-6, 1e-7)


@cases("dtype", FAR)
@cases("smoothing", [0.0, 0.1])
@cases("top", [1e30, -1e30, 1e9])
@cases("classes", [4, 1300])
def test_huge_logits_of_a_linear_layer(classes: int, top: float, smoothing: float, dtype: Any, device: str) -> None:
    """The same for logits that are never completely in memory, even with more classes than a block has."""
    labels = minigrad.arange(600, device=device) % classes
    x, weight = (ours(np.full((n, 1), v, dtype), True, device) for n, v in ((600, 1.0), (classes, top)))
    for bias in (None, minigrad.zeros(classes, dtype=x.dtype, device=device)):
        loss = F.linear_cross_entropy(x, weight, labels, linear_bias=bias, label_smoothing=smoothing)
        np.testing.assert_allclose(host(loss), np.log(classes), 1e-5)
        counts = np.bincount(np.arange(600) % classes, minlength=classes)
        expected = 1 / classes - (1 - smoothing) * counts / 600 - smoothing / classes
        np.testing.assert_allclose(host(grad(loss, weight)[0])[:, 0], expected, 1e-4, 1e-6)


def test_a_label_far_below_huge_logits(device: str) -> None:
    x = np.full((MANY, 4), 1e9, np.float32)
    x[:, 1] -= 128
    loss = F.cross_entropy(ours(x, device=device), minigrad.ones(MANY, dtype=minigrad.int64, device=device))
    assert loss.item() == pytest.approx(128 + np.log(3), rel=1e-6)


@cases("dtype", FAR)
def test_the_second_derivative_of_log_ndtr(dtype: Any, device: str) -> None:
    points = np.array([-30.0, -1e3, -1e5], dtype)
    actual = derivatives_of(minigrad.special.log_ndtr, ours(points, True, device), 2)[2]
    np.testing.assert_allclose(actual, 1 / points**2 - 6 / points**4 - 1, 1e-6)


# Value and derivative, in units of eˣ, where e⁻ˣ overflows.
BELOW: dict[str, tuple[Any, Any, Any]] = {
    "sigmoid": (minigrad.sigmoid, lambda x: 1.0, lambda x: 1.0),
    "silu": (F.silu, lambda x: x, lambda x: 1 + x),
    "mish": (F.mish, lambda x: x, lambda x: 1 + x),
    "softplus": (F.softplus, lambda x: 1.0, lambda x: 1.0),
    "softplus of twice": (lambda x: F.softplus(x / 2, 2.0), lambda x: 0.5, lambda x: 0.5),
    "logsigmoid": (lambda x: F.logsigmoid(-x), lambda x: -1.0, lambda x: -1.0),
    "elu": (lambda x: F.elu(x) + 1, lambda x: 0.0, lambda x: 1.0),
    "soft margin": (lambda x: F.soft_margin_loss(x, -ONE(x), reduction="none"), lambda x: 1.0, lambda x: 1.0),
    "binary": (lambda x: binary(x, 0), lambda x: 1.0, lambda x: 1.0),
    "glu": (lambda x: F.glu(minigrad.stack([ONE(x), x], -1)).squeeze(-1), lambda x: 1.0, lambda x: 1.0),
}


@cases("name", BELOW)
@cases("dtype, start", [(np.float32, -88.0), (np.float64, -709.0)])
def test_down_to_the_smallest_numbers(name: str, dtype: Any, start: float, device: str) -> None:
    """To within a few of the smallest numbers; on a GPU, of the smallest normal ones, as it flushes others to 0."""
    program, value, slope = BELOW[name]
    points = (start - np.arange(0, 14, 0.5)).astype(dtype)
    power = np.exp(points.astype(np.longdouble))
    limits = np.finfo(dtype)
    least = float(limits.tiny if flushes(device, np.dtype(dtype)) else limits.smallest_subnormal) * abs(start)
    for count in (len(points), MANY):
        actual = derivatives_of(program, ours(np.resize(points, count), True, device), 1)
        for numbers, factor in zip(actual, (value, slope), strict=True):
            expected = (factor(points.astype(np.longdouble)) * power).astype(dtype)
            np.testing.assert_allclose(numbers[: len(points)], expected, 1e-5, least)
