"""Losses against PyTorch in float64: every reduction, weights, ignored targets, shapes, errors."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minigrad
import minigrad.nn.functional as F
from minigrad import nn
from tests.support.parity import assert_close, gradients, host, ours, theirs, torch
from tests.support.twins import compare_gradients, pair, twinned

rng = np.random.default_rng(1)
SHAPES = [(7,), (6, 7), (4, 7, 3), (2, 7, 3, 2)]  # classes in axis 1 (0 of a vector)


def logits_and_classes(shape: tuple[int, ...]) -> tuple[Any, Any]:
    rest = () if len(shape) == 1 else (shape[0], *shape[2:])
    target = rng.integers(0, 7, rest)
    if target.size > 2:
        target.reshape(-1)[[0, 2]] = 3
    return rng.standard_normal(shape) * 2, target


def compare(mine: Any, other: Any, arrays: list[Any], device: str) -> None:
    """The loss of both libraries and its gradient for the first array."""
    x, tx = pair(arrays[0], device, requires_grad=True)
    rest = [pair(a, device) for a in arrays[1:]]
    loss, expected = mine(x, *(a for a, _ in rest)), other(tx, *(b for _, b in rest))
    assert_close(loss, expected)
    g, tg = pair(rng.standard_normal(host(loss).shape), device)
    loss.backward(g)
    expected.backward(tg)
    assert_close(x.grad, tx.grad)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("ignore", [-100, 3])
@pytest.mark.parametrize("smoothing", [0, 0.1])
def test_cross_entropy(
    shape: tuple[int, ...], reduction: str, weighted: bool, ignore: int, smoothing: float, device: str
) -> None:
    logits, target = logits_and_classes(shape)
    if ignore == 3 and len(shape) == 1:
        target = np.array(2)
    weight, tweight = pair(rng.uniform(0.5, 2, 7), device) if weighted else (None, None)
    options: dict[str, Any] = {"ignore_index": ignore, "reduction": reduction, "label_smoothing": smoothing}
    mine = nn.CrossEntropyLoss(weight=weight, **options)
    other = torch.nn.CrossEntropyLoss(weight=tweight, **options)
    compare(mine, other, [logits, target], device)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("weighted", [False, True])
def test_nll_loss(shape: tuple[int, ...], reduction: str, weighted: bool, device: str) -> None:
    logits, target = logits_and_classes(shape)
    weight, tweight = pair(rng.uniform(0.5, 2, 7), device) if weighted else (None, None)
    ignore = -100 if len(shape) == 1 else 3
    mine = nn.NLLLoss(weight, ignore_index=ignore, reduction=reduction)
    compare(mine, torch.nn.NLLLoss(tweight, ignore_index=ignore, reduction=reduction), [logits, target], device)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_cross_entropy_of_probabilities(shape: tuple[int, ...], reduction: str, smoothing: float, device: str) -> None:
    logits = rng.standard_normal(shape)
    target = np.abs(rng.standard_normal(shape))
    weight, tweight = pair(rng.uniform(0.5, 2, 7), device)
    mine = nn.CrossEntropyLoss(weight, reduction=reduction, label_smoothing=smoothing)
    other = torch.nn.CrossEntropyLoss(tweight, reduction=reduction, label_smoothing=smoothing)
    compare(mine, other, [logits, target / target.sum()], device)


def test_the_mean_over_no_target_is_nan(device: str) -> None:
    loss = F.cross_entropy(minigrad.ones(2, 3, device=device), minigrad.tensor([-100, -100], device=device))
    assert math.isnan(loss.item())


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("smoothing", [0, 0.1])
def test_the_gradient_of_the_mean_over_no_target_is_0(
    shape: tuple[int, ...], weighted: bool, smoothing: float, device: str
) -> None:
    logits, target = logits_and_classes(shape)
    weight, tweight = pair(rng.uniform(0.5, 2, 7), device) if weighted else (None, None)
    mine, other = (
        library.nn.CrossEntropyLoss(w, label_smoothing=smoothing)
        for library, w in ((minigrad, weight), (torch, tweight))
    )
    compare(mine, other, [logits, np.full_like(target, -100)], device)
    x = ours(logits, True, device)
    loss = mine(x, minigrad.full(target.shape, -100, device=device))
    (slope,) = minigrad.autograd.grad(loss, x, create_graph=True)  # by the rule, not by the kernel
    (curve,) = minigrad.autograd.grad(slope.sum(), x)
    assert not slope.any() and not curve.any()


def test_cross_entropy_of_extreme_logits(device: str) -> None:
    logits = ours(np.array([[1e4, -1e4, 0.0], [-1e4, 1e4, 0.0]]), True, device)
    loss = F.cross_entropy(logits, minigrad.tensor([0, 0], device=device), reduction="none")
    np.testing.assert_allclose(host(loss), [0, 2e4])
    loss.sum().backward()
    np.testing.assert_allclose(host(logits.grad), [[0, 0, 0], [-1, 1, 0]], atol=1e-12)


def test_cross_entropy_errors() -> None:
    x = minigrad.ones(2, 3)
    with pytest.raises(IndexError, match="cross_entropy: target: index 3 is out of range"):
        F.cross_entropy(x, minigrad.tensor([0, 3]))
    with pytest.raises(ValueError, match=r"the target must have shape \(2,\), not \(3,\)"):
        F.cross_entropy(x, minigrad.tensor([0, 1, 2]))
    with pytest.raises(RuntimeError, match=r"must have shape \(2,\), not \(2, 1\)"):
        F.nll_loss(x, minigrad.tensor([[0], [1]]))
    with pytest.raises(RuntimeError, match=r"must have shape \(2, 4\), not \(2, 5\)"):
        F.cross_entropy(minigrad.ones(2, 3, 4), minigrad.zeros(2, 5, dtype=minigrad.int64))
    with pytest.raises(RuntimeError, match="must have the shape of the input"):
        F.cross_entropy(x, minigrad.ones(2))
    with pytest.warns(UserWarning, match="elementwise_mean"):
        old = F.mse_loss(minigrad.ones(2), minigrad.zeros(2), reduction="elementwise_mean")
    assert old.item() == 1
    with pytest.raises(ValueError, match="avg is not a valid value for reduction"):
        F.cross_entropy(x, minigrad.tensor([0, 1]), reduction="avg")
    with pytest.raises(RuntimeError, match="label_smoothing must be between"):
        F.cross_entropy(x, minigrad.tensor([0, 1]), label_smoothing=2.0)
    with pytest.raises(RuntimeError, match="either for all 3 classes or no classes"):
        F.cross_entropy(x, minigrad.tensor([0, 1]), weight=minigrad.ones(2))
    with pytest.raises(RuntimeError, match="integer dtype"):
        F.nll_loss(x, minigrad.ones(2))
    with pytest.raises(RuntimeError, match="ignore_index is not supported for floating point target"):
        F.cross_entropy(x, minigrad.ones(2, 3), ignore_index=1)
    with pytest.raises(ValueError, match=r"batch_size \(2\) to match target batch_size \(4\)"):
        F.cross_entropy(x, minigrad.ones(4, 3))
    with pytest.raises(RuntimeError, match="does not fit target"):
        F.linear_cross_entropy(x, minigrad.ones(2, 3), minigrad.zeros(2, 2).long())
    with pytest.raises(RuntimeError, match=r"expected weight shape to be \(2,\), got \(3,\)"):
        nn.LinearCrossEntropyLoss(3, 2, weight=minigrad.ones(3))
    with pytest.raises(RuntimeError, match=r"label_smoothing to be in range \[0, 1\], got 2.0"):
        nn.LinearCrossEntropyLoss(3, 2, label_smoothing=2.0)
    with pytest.raises(TypeError, match="delta must be a float or int, got: <class 'complex'>"):
        nn.HuberLoss(delta=1j)  # type: ignore[arg-type]


def test_the_variance_of_a_normal_distribution_may_be_that_of_all_samples(device: str) -> None:
    for shape in ((1, 3), (4, 1), (4,), (4, 3)):
        x, tx = pair(rng.standard_normal((4, 3)), device)
        var, tvar = pair(rng.uniform(0.5, 2, shape), device)
        assert_close(F.gaussian_nll_loss(x, x * 2, var), torch.nn.functional.gaussian_nll_loss(tx, tx * 2, tvar))
    with pytest.raises(ValueError, match="var is of incorrect size"):
        F.gaussian_nll_loss(x, x, minigrad.ones(1, 1))


def test_old_reduction_flags() -> None:
    x, y = minigrad.ones(2, 3), minigrad.zeros(2, 3)
    assert nn.MSELoss(size_average=False)(x, y).item() == 6
    assert nn.MSELoss(reduce=False)(x, y).shape == (2, 3)
    assert F.mse_loss(x, y, size_average=True).item() == 1


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("reduction", ["mean", "sum"])
@pytest.mark.parametrize("biased", [False, True])
def test_linear_cross_entropy(smoothing: float, reduction: str, biased: bool, device: str) -> None:
    x, tx = pair(rng.standard_normal((2, 5, 4)), device, True)
    w, tw = pair(rng.standard_normal((7, 4)), device, True)
    b, tb = pair(rng.standard_normal(7), device, True) if biased else (None, None)
    target, ttarget = pair(np.array([[0, 6, 3, 3, 1], [2, 3, 3, 5, 4]]), device)
    options: dict[str, Any] = {"ignore_index": 3, "label_smoothing": smoothing, "reduction": reduction}
    loss = F.linear_cross_entropy(x, w, target, linear_bias=b, **options)
    logits = torch.nn.functional.linear(tx, tw, tb).flatten(0, 1)
    expected = torch.nn.functional.cross_entropy(
        logits, ttarget.flatten(), ignore_index=3, label_smoothing=smoothing, reduction=reduction
    )
    assert_close(loss, expected)
    (loss * 3).backward()
    (expected * 3).backward()
    for mine, other in ((x, tx), (w, tw), *([(b, tb)] if biased else [])):
        assert_close(mine.grad, other.grad)


def test_linear_cross_entropy_errors() -> None:
    x, w = minigrad.ones(2, 4), minigrad.ones(3, 4)
    with pytest.raises(RuntimeError, match="last dimensions"):
        F.linear_cross_entropy(x, minigrad.ones(3, 5), minigrad.tensor([0, 1]))
    with pytest.raises(ValueError, match=r"does not fit target"):
        F.linear_cross_entropy(x, w, minigrad.tensor([0]))
    with pytest.raises(ValueError, match="not a valid value for reduction"):
        F.linear_cross_entropy(x, w, minigrad.tensor([0, 1]), reduction="avg")
    with pytest.raises(RuntimeError, match="label_smoothing must be between"):
        F.linear_cross_entropy(x, w, minigrad.tensor([0, 1]), label_smoothing=2.0)
    with pytest.raises(RuntimeError, match=r"linear_bias must have shape \(3,\)"):
        F.linear_cross_entropy(x, w, minigrad.tensor([0, 1]), linear_bias=minigrad.ones(2))
    with pytest.raises(RuntimeError, match="ignore_index cannot be specified"):
        F.linear_cross_entropy(x, w, minigrad.ones(2, 3), ignore_index=1)
    with pytest.raises(RuntimeError, match=r"requires batched input, \(N, 4\), got unbatched input of shape \(4,\)"):
        F.linear_cross_entropy(x[0], minigrad.ones(2, 3, 4), minigrad.ones(2, 3))
    with pytest.raises(RuntimeError, match="dimensionality 1 or 2"):
        F.linear_cross_entropy(x[None], w, minigrad.tensor([[0, 1]]), reduction="none")
    with pytest.raises(IndexError, match="linear_cross_entropy: target"):
        F.linear_cross_entropy(x, w, minigrad.tensor([0, 3]))


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("form", ["classes", "one", "weights", "probabilities", "more axes"])
def test_linear_cross_entropy_loss(form: str, reduction: str, device: str) -> None:
    if not hasattr(torch.nn, "LinearCrossEntropyLoss"):
        pytest.skip("new in PyTorch 2.13")
    more = (2, 3) if form == "more axes" else ()
    w, tw = pair(rng.uniform(0.5, 2, 7), device) if form == "weights" else (None, None)
    options: dict[str, Any] = {"out_features": more, "bias": True, "reduction": reduction}
    mine, other = twinned(
        nn.LinearCrossEntropyLoss(4, 7, weight=w, **options),
        torch.nn.LinearCrossEntropyLoss(4, 7, weight=tw, **options),
        device,
    )
    assert repr(mine) == repr(other)
    target = rng.dirichlet(np.ones(7), 5) if form == "probabilities" else rng.integers(0, 7, (5, *more))
    one = form == "one"
    compare(mine, other, [rng.standard_normal(4 if one else (5, 4)), target[0] if one else target], device)
    compare_gradients(mine, other)


def numbers() -> list[Any]:
    return [rng.standard_normal((4, 3)) * 2, rng.standard_normal((4, 3))]


def probabilities() -> list[Any]:
    return [rng.uniform(0.02, 0.98, (4, 3)), rng.uniform(0, 1, (4, 3))]


def distributions() -> list[Any]:
    target = rng.dirichlet(np.ones(3), 4)
    target[0] = [0, 1, 0]
    return [np.log(rng.dirichlet(np.ones(3), 4)), target]


LOSSES: dict[str, tuple[Callable[[Any, str], Any], Callable[[], list[Any]]]] = {
    "MSELoss": (lambda n, r: n.MSELoss(reduction=r), numbers),
    "L1Loss": (lambda n, r: n.L1Loss(reduction=r), numbers),
    "SmoothL1Loss": (lambda n, r: n.SmoothL1Loss(reduction=r, beta=0.7), numbers),
    "SmoothL1Loss beta 0": (lambda n, r: n.SmoothL1Loss(reduction=r, beta=0.0), numbers),
    "HuberLoss": (lambda n, r: n.HuberLoss(reduction=r, delta=0.7), numbers),
    "BCELoss": (lambda n, r: n.BCELoss(reduction=r), probabilities),
    "BCEWithLogitsLoss": (lambda n, r: n.BCEWithLogitsLoss(reduction=r), lambda: [numbers()[0], probabilities()[1]]),
    "KLDivLoss": (lambda n, r: n.KLDivLoss(reduction=r), distributions),
    "KLDivLoss log_target": (lambda n, r: n.KLDivLoss(reduction=r, log_target=True), numbers),
}


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.filterwarnings("ignore:reduction. 'mean' divides")
def test_loss(name: str, reduction: str, device: str) -> None:
    make, arrays = LOSSES[name]
    compare(make(nn, reduction), make(torch.nn, reduction), arrays(), device)


def test_kl_div_batchmean(device: str) -> None:
    compare(nn.KLDivLoss(reduction="batchmean"), torch.nn.KLDivLoss(reduction="batchmean"), distributions(), device)


@pytest.mark.parametrize("log_target", [False, True])
def test_kl_div_at_the_ends(log_target: bool, device: str) -> None:
    """In a target of 0 its slope is 0 / 0. First and second gradients are PyTorch's in all places."""
    ends = [0.0, -0.0, 1.0, -1.0, 0.5, np.inf, -np.inf, np.nan, 1e-310, 1e300]
    places = [np.array(axis).reshape(-1) for axis in np.meshgrid(ends, ends)]

    def results(leaves: Any, library: Any) -> list[Any]:
        loss = library.nn.functional.kl_div(*leaves, reduction="none", log_target=log_target)
        slopes = library.autograd.grad(loss.sum(), leaves, create_graph=True)
        seconds = [library.autograd.grad(s.sum(), leaves[1], retain_graph=True)[0] for s in slopes]
        return [host(r) for r in (loss, *slopes, *seconds)]

    mine = results([ours(a, True, device) for a in places], minigrad)
    for found, expected in zip(mine, results([theirs(a, True) for a in places], torch), strict=True):
        np.testing.assert_allclose(found, expected, 1e-9)


def test_weights(device: str) -> None:
    w, tw = pair(rng.uniform(0.5, 2, 3), device)
    compare(nn.BCELoss(w), torch.nn.BCELoss(tw), probabilities(), device)
    compare(
        nn.BCEWithLogitsLoss(w, pos_weight=w),
        torch.nn.BCEWithLogitsLoss(tw, pos_weight=tw),
        [numbers()[0], probabilities()[1]],
        device,
    )


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("name", ["mse_loss", "l1_loss", "huber_loss"])
def test_weighted_functions(name: str, reduction: str, device: str) -> None:
    w, tw = pair(rng.uniform(0.5, 2, (4, 3)), device)
    compare(
        lambda x, y: getattr(F, name)(x, y, weight=w, reduction=reduction),
        lambda x, y: getattr(torch.nn.functional, name)(x, y, weight=tw, reduction=reduction),
        numbers(),
        device,
    )


def test_binary_losses_at_their_ends(device: str) -> None:
    x = ours(np.array([0.0, 1.0, 0.0, 1.0]), True, device)
    target = ours(np.array([0.0, 1.0, 1.0, 0.0]), device=device)
    loss = F.binary_cross_entropy(x, target, reduction="none")
    np.testing.assert_allclose(host(loss), [0, 0, 100, 100], atol=1e-12)
    loss.sum().backward()
    assert np.isfinite(host(x.grad)).all()
    far = ours(np.array([-1e4, 1e4, -1e4, 1e4]), True, device)
    loss = F.binary_cross_entropy_with_logits(far, target, reduction="none")
    np.testing.assert_allclose(host(loss), [0, 0, 1e4, 1e4], atol=1e-12)


def test_sizes_that_differ() -> None:
    with pytest.warns(UserWarning, match="mse_loss: Using a target size .*Please ensure they have the same size"):
        F.mse_loss(minigrad.ones(3, 1), minigrad.ones(3))
    with pytest.raises(ValueError, match="must be the same as input size"):
        F.binary_cross_entropy(minigrad.ones(3, 1), minigrad.ones(3))
    with pytest.raises(RuntimeError, match="negative values for beta"):
        F.smooth_l1_loss(minigrad.ones(1), minigrad.ones(1), beta=-1)
    with pytest.raises(RuntimeError, match="non-positive values for delta"):
        F.huber_loss(minigrad.ones(1), minigrad.ones(1), delta=0)


@pytest.mark.parametrize("name", LOSSES)
def test_losses_keep_float32(name: str, device: str) -> None:
    make, arrays = LOSSES[name]
    x, y = (a.astype(np.float32) for a in arrays())
    given = ours(x, True, device)
    loss = make(nn, "mean")(given, ours(y, device=device))
    loss.backward()
    assert loss.dtype is minigrad.float32
    assert given.grad is not None and given.grad.dtype is minigrad.float32


def test_cross_entropy_keeps_float32(device: str) -> None:
    x = ours(rng.standard_normal((3, 4)).astype(np.float32), True, device)
    target = minigrad.tensor([0, 1, -100], device=device)
    for loss in (F.cross_entropy(x, target), F.nll_loss(x, target), F.cross_entropy(x, target, label_smoothing=0.1)):
        x.grad = None
        loss.backward()
        assert loss.dtype is minigrad.float32
        assert x.grad is not None and x.grad.dtype is minigrad.float32


# Losses of margins, distances, counts and sequences --------------------------------------------------------


def signs(*shape: int) -> Any:
    return np.where(rng.uniform(size=shape) < 0.5, -1.0, 1.0)


def vectors(count: int) -> list[Any]:
    return [rng.standard_normal((5, 4)) for _ in range(count)]


def classes(*shape: int) -> Any:
    return rng.integers(0, 4, shape)


def labels() -> Any:
    return np.array([[0, 2, -1, 1], [3, -1, 0, 0], [-1, 1, 1, 1], [2, 2, -1, 0], [3, 2, 1, 0]])


# A loss, its inputs, and how many of these have a gradient in PyTorch.
Arrays = Callable[[], list[Any]]
OTHERS: dict[str, tuple[Callable[[Any, str], Any], Arrays, int]] = {
    "MarginRankingLoss": (lambda n, r: n.MarginRankingLoss(0.3, reduction=r), lambda: [*vectors(2), signs(5, 4)], 3),
    "MarginRankingLoss of integers": (
        lambda n, r: n.MarginRankingLoss(reduction=r),
        lambda: [*vectors(2), signs(5, 4).astype(int)],
        2,
    ),
    "HingeEmbeddingLoss": (lambda n, r: n.HingeEmbeddingLoss(0.5, reduction=r), lambda: [*vectors(1), signs(5, 4)], 1),
    "HingeEmbeddingLoss of integers": (
        lambda n, r: n.HingeEmbeddingLoss(reduction=r),
        lambda: [*vectors(1), classes(5, 4) - 1],
        1,
    ),
    "CosineEmbeddingLoss": (lambda n, r: n.CosineEmbeddingLoss(0.1, reduction=r), lambda: [*vectors(2), signs(5)], 2),
    "CosineEmbeddingLoss of one": (
        lambda n, r: n.CosineEmbeddingLoss(-0.9, reduction=r),
        lambda: [rng.standard_normal(4), rng.standard_normal(4), np.array(-1)],
        2,
    ),
    "SoftMarginLoss": (lambda n, r: n.SoftMarginLoss(reduction=r), lambda: [*vectors(1), signs(5, 4)], 1),
    "MultiMarginLoss": (lambda n, r: n.MultiMarginLoss(reduction=r), lambda: [*vectors(1), classes(5)], 1),
    "MultiMarginLoss p 2": (
        lambda n, r: n.MultiMarginLoss(p=2, margin=0.6, reduction=r),
        lambda: [*vectors(1), classes(5)],
        1,
    ),
    "MultiMarginLoss of one": (
        lambda n, r: n.MultiMarginLoss(reduction=r),
        lambda: [rng.standard_normal(4), classes()],
        1,
    ),
    "MultiLabelMarginLoss": (lambda n, r: n.MultiLabelMarginLoss(reduction=r), lambda: [*vectors(1), labels()], 1),
    "MultiLabelMarginLoss of one": (
        lambda n, r: n.MultiLabelMarginLoss(reduction=r),
        lambda: [rng.standard_normal(4), labels()[0]],
        1,
    ),
    "MultiLabelSoftMarginLoss": (
        lambda n, r: n.MultiLabelSoftMarginLoss(reduction=r),
        lambda: [*vectors(1), rng.uniform(size=(5, 4))],
        2,
    ),
    "TripletMarginLoss": (lambda n, r: n.TripletMarginLoss(reduction=r), lambda: vectors(3), 3),
    "TripletMarginLoss swap": (
        lambda n, r: n.TripletMarginLoss(2.0, p=1.5, swap=True, reduction=r),
        lambda: vectors(3),
        3,
    ),
    "TripletMarginWithDistanceLoss": (
        lambda n, r: n.TripletMarginWithDistanceLoss(swap=True, reduction=r),
        lambda: vectors(3),
        3,
    ),
    "TripletMarginWithDistanceLoss of a function": (
        lambda n, r: n.TripletMarginWithDistanceLoss(
            distance_function=lambda a, b: 1 - n.functional.cosine_similarity(a, b), reduction=r
        ),
        lambda: vectors(3),
        3,
    ),
    "PoissonNLLLoss": (lambda n, r: n.PoissonNLLLoss(reduction=r), lambda: vectors(2), 2),
    "PoissonNLLLoss full": (
        lambda n, r: n.PoissonNLLLoss(log_input=False, full=True, reduction=r),
        lambda: [rng.uniform(0.1, 4, (5, 4)), classes(5, 4).astype(float)],
        1,
    ),
    "GaussianNLLLoss": (
        lambda n, r: n.GaussianNLLLoss(reduction=r),
        lambda: [*vectors(2), rng.uniform(0.1, 2, (5, 4))],
        3,
    ),
    "GaussianNLLLoss full": (
        lambda n, r: n.GaussianNLLLoss(full=True, eps=0.5, reduction=r),
        lambda: [*vectors(2), rng.uniform(0.1, 2, (5, 1))],
        3,
    ),
    "GaussianNLLLoss of rows": (
        lambda n, r: n.GaussianNLLLoss(reduction=r),
        lambda: [*vectors(2), rng.uniform(0.1, 2, 5)],
        3,
    ),
    "BCELoss of both": (lambda n, r: n.BCELoss(reduction=r), probabilities, 2),
}
NO_SECOND = ("MultiMarginLoss", "MultiLabelMarginLoss")  # PyTorch has no second order of these


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("name", OTHERS)
def test_other_loss(name: str, reduction: str, device: str) -> None:
    make, arrays, wanted = OTHERS[name]
    mine, other = make(nn, reduction), make(torch.nn, reduction)
    assert ("<lambda>" in repr(mine)) or repr(mine) == repr(other)
    pairs = [pair(a, device, i < wanted) for i, a in enumerate(arrays())]
    loss, expected = mine(*(a for a, _ in pairs)), other(*(b for _, b in pairs))
    assert_close(loss, expected)
    g, tg = pair(rng.standard_normal(host(expected).shape), device, True)
    inputs, others = [a for a, _ in pairs[:wanted]], [b for _, b in pairs[:wanted]]
    second = not name.startswith(NO_SECOND)
    first, first_expected = (
        gradients([loss], inputs, [g], create_graph=second),
        gradients([expected], others, [tg], create_graph=second),
    )
    for f, e in zip(first, first_expected, strict=True):
        assert_close(f, e)
    if second:
        drawn = [pair(rng.standard_normal(host(e).shape), device) for e in first_expected]
        found = gradients(first, [*inputs, g], [a for a, _ in drawn])
        wished = gradients(first_expected, [*others, tg], [b for _, b in drawn])
        for f, e in zip(found, wished, strict=True):
            assert_close(f, e, 1e-9)


@pytest.mark.parametrize("name", OTHERS)
def test_other_losses_keep_float32(name: str, device: str) -> None:
    make, arrays, _ = OTHERS[name]
    made = [ours(a.astype(np.float32) if a.dtype.kind == "f" else a, i == 0, device) for i, a in enumerate(arrays())]
    loss = make(nn, "mean")(*made)
    loss.backward()
    assert loss.dtype is minigrad.float32
    assert made[0].grad is not None and made[0].grad.dtype is minigrad.float32


@pytest.mark.parametrize("name", ["multi_margin_loss", "multilabel_margin_loss"])
def test_second_order_that_pytorch_has_not(name: str, device: str) -> None:
    target = ours(classes(5) if name == "multi_margin_loss" else labels(), device=device)
    options = {"p": 2} if name == "multi_margin_loss" else {}
    scores = ours(rng.standard_normal((5, 4)), True, device)
    assert minigrad.autograd.gradcheck(lambda x: getattr(F, name)(x, target, **options), [scores])
    assert minigrad.autograd.gradgradcheck(lambda x: getattr(F, name)(x, target, **options), [scores])


def test_class_weights_of_margins(device: str) -> None:
    w, tw = pair(rng.uniform(0.5, 2, 4), device)
    for p in (1, 2):
        compare(
            nn.MultiMarginLoss(p, weight=w), torch.nn.MultiMarginLoss(p, weight=tw), [*vectors(1), classes(5)], device
        )
    mine, other = nn.MultiLabelSoftMarginLoss(w), torch.nn.MultiLabelSoftMarginLoss(tw)
    compare(mine, other, [*vectors(1), rng.uniform(size=(5, 4))], device)
    assert list(mine.state_dict()) == list(other.state_dict()) == ["weight"]


def test_empty_batches_of_margins(device: str) -> None:
    x = minigrad.zeros(0, 3, device=device)
    none = minigrad.zeros(0, dtype=minigrad.int64, device=device)
    assert F.multi_margin_loss(x, none, reduction="none").shape == (0,)
    assert F.multi_margin_loss(minigrad.tensor(2.0), minigrad.tensor(0), reduction="none").shape == ()
    assert F.multilabel_margin_loss(x, x.long(), reduction="none").shape == (0,)
    assert F.multilabel_margin_loss(x, x.long(), reduction="sum").item() == 0


def test_soft_margin_of_extreme_scores(device: str) -> None:
    x = ours(np.array([1e4, -1e4, 1e4, -1e4]), True, device)
    loss = F.soft_margin_loss(x, ours(np.array([1.0, 1, -1, -1]), device=device), reduction="none")
    np.testing.assert_allclose(host(loss), [0, 1e4, 1e4, 0])
    loss.sum().backward()
    np.testing.assert_allclose(host(x.grad), [0, -1, 1, 0])


def test_a_variance_as_a_number(device: str) -> None:
    (x, tx), (y, ty) = (pair(a, device) for a in numbers())
    assert_close(F.gaussian_nll_loss(x, y, 0.3), torch.nn.functional.gaussian_nll_loss(tx, ty, 0.3))


def test_binary_cross_entropy_takes_probabilities_alone() -> None:
    for bad in (1.5, -0.1, math.nan):
        with pytest.raises(RuntimeError, match="between 0 and 1"):
            F.binary_cross_entropy(minigrad.tensor([bad]), minigrad.ones(1))
    with pytest.raises(RuntimeError, match="same dtype"):
        F.binary_cross_entropy(minigrad.ones(1), minigrad.tensor([1]))
    with pytest.raises(RuntimeError, match="can't be cast"):
        F.binary_cross_entropy_with_logits(minigrad.ones(1), minigrad.tensor([1]))


def test_binary_cross_entropy_has_pytorchs_gradient_at_its_ends(device: str) -> None:
    x, tx = pair(np.array([0.0, 1.0, 0.0, 1.0, 1e-20]), device, True)
    y, ty = pair(np.array([1.0, 0.0, 0.0, 1.0, 1.0]), device, True)
    F.binary_cross_entropy(x, y, reduction="sum").backward()
    torch.nn.functional.binary_cross_entropy(tx, ty, reduction="sum").backward()
    assert_close(x.grad, tx.grad, 1e-8)  # its least divisor, 1e-12, is a float32
    assert np.isfinite(host(y.grad)).all()  # PyTorch's is infinite, though the loss is not


def test_the_old_name_of_nll_loss() -> None:
    with pytest.warns(FutureWarning, match="NLLLoss2d is deprecated"):
        layer = nn.NLLLoss2d(ignore_index=1, reduction="sum")
    assert isinstance(layer, nn.NLLLoss) and (layer.ignore_index, layer.reduction) == (1, "sum")


def test_errors_of_margins() -> None:
    x, one, long = minigrad.ones(3, 2), minigrad.ones(3), minigrad.tensor
    with pytest.raises(RuntimeError, match="should have same dimension"):
        F.margin_ranking_loss(one, one, minigrad.ones(3, 1))
    with pytest.raises(RuntimeError, match="multi-target not supported"):
        F.cosine_embedding_loss(x, x, x)
    with pytest.raises(RuntimeError, match="1D target tensor expects 2D input tensors"):
        F.cosine_embedding_loss(one, one, one)
    with pytest.raises(RuntimeError, match="target out of range"):
        F.multi_margin_loss(x, long([0, 1, 2]))
    with pytest.raises(ValueError, match="only p == 1 and p == 2"):
        F.multi_margin_loss(x, long([0, 1, 1]), p=3)
    with pytest.raises(ValueError, match="only p == 1 and p == 2"):
        nn.MultiMarginLoss(p=3)
    with pytest.raises(RuntimeError, match="inconsistent weight size"):
        F.multi_margin_loss(x, long([0, 1, 1]), weight=one)
    with pytest.raises(RuntimeError, match="should be 1-D"):
        F.multi_margin_loss(x, long([0, 1]))
    with pytest.raises(RuntimeError, match="inconsistent target size"):
        F.multilabel_margin_loss(x, long([0, 1]))
    with pytest.raises(RuntimeError, match="target out of range"):
        F.multilabel_margin_loss(x, long([[0, 2], [0, 1], [0, 1]]))
    with pytest.raises(RuntimeError, match="integer dtype"):
        F.multilabel_margin_loss(x, x)
    with pytest.raises(RuntimeError, match="same number of dimensions"):
        F.triplet_margin_loss(x, x, one)
    with pytest.raises(ValueError, match="margin must be greater than 0"):
        F.triplet_margin_loss(x, x, x, margin=0)
    with pytest.raises(ValueError, match="TripletMarginLoss: expected margin"):
        nn.TripletMarginLoss(margin=0)
    with pytest.raises(ValueError, match="negative entry"):
        F.gaussian_nll_loss(x, x, -x)
    with pytest.raises(ValueError, match="incorrect size"):
        F.gaussian_nll_loss(x, x, minigrad.ones(3, 3))
    with pytest.raises(ValueError, match="not a valid value for reduction"):
        F.poisson_nll_loss(x, x, reduction="avg")
