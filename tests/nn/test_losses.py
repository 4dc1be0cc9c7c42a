"""Losses against PyTorch in float64: every reduction, weights, ignored targets, shapes, errors."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minigrad
import minigrad.nn.functional as F
from minigrad import nn
from tests.support.both import agree
from tests.support.cases import cases, pairwise, raises, rng
from tests.support.parity import assert_close, host, ours, torch
from tests.support.twins import check_twins, pair

SHAPES = [(7,), (6, 7), (4, 7, 3), (2, 7, 3, 2)]  # classes in axis 1 (axis 0 for a vector)
REDUCTIONS = ["none", "mean", "sum"]
WEIGHTS = np.linspace(0.5, 2, 7)


def logits_and_classes(shape: tuple[int, ...]) -> tuple[Any, Any]:
    rest = () if len(shape) == 1 else (shape[0], *shape[2:])
    target = np.array(rng.randint(0, 7, rest))
    if target.size > 2:
        target.reshape(-1)[[0, 2]] = 3
    return rng.standard_normal(shape) * 2, target


@cases(
    "shape, reduction, weighted, ignore, smoothing", pairwise(SHAPES, REDUCTIONS, (False, True), (-100, 3), (0.0, 0.1))
)
def test_cross_entropy_of_classes(
    shape: tuple[int, ...], reduction: str, weighted: bool, ignore: int, smoothing: float, device: str
) -> None:
    logits, target = logits_and_classes(shape)
    if ignore == 3 and len(shape) == 1:
        target = np.array(2)

    def program(t: Any, x: Any, y: Any) -> list[Any]:
        weight = x.new_tensor(WEIGHTS) if weighted else None
        how: dict[str, Any] = {"ignore_index": ignore, "reduction": reduction}
        return [
            t.nn.CrossEntropyLoss(weight, label_smoothing=smoothing, **how)(x, y),
            t.nn.NLLLoss(weight, **how)(x, y),
        ]

    agree(program, logits, target, device=device)


@cases("shape, reduction, smoothing", pairwise(SHAPES, REDUCTIONS, (0.0, 0.2)))
def test_cross_entropy_of_probabilities(shape: tuple[int, ...], reduction: str, smoothing: float, device: str) -> None:
    def program(t: Any, x: Any, y: Any) -> Any:
        loss = t.nn.CrossEntropyLoss(x.new_tensor(WEIGHTS), reduction=reduction, label_smoothing=smoothing)
        return loss(x, y.detach())

    target = rng.uniform(size=shape)
    agree(program, rng.standard_normal(shape), target / target.sum(), device=device)


@cases("shape, weighted, smoothing", pairwise(SHAPES, (False, True), (0.0, 0.1)))
def test_the_mean_over_no_target_is_nan_and_its_gradient_0(
    shape: tuple[int, ...], weighted: bool, smoothing: float, device: str
) -> None:
    logits, target = logits_and_classes(shape)

    def program(t: Any, x: Any, y: Any) -> Any:
        return t.nn.CrossEntropyLoss(x.new_tensor(WEIGHTS) if weighted else None, label_smoothing=smoothing)(x, y)

    agree(program, logits, np.full_like(target, -100), device=device)
    x = ours(logits, True, device)
    loss = program(minigrad, x, minigrad.full(target.shape, -100, device=device))
    (derivative,) = minigrad.autograd.grad(loss, x, create_graph=True)  # by the rule, not by the kernel
    (curve,) = minigrad.autograd.grad(derivative.sum(), x)
    assert math.isnan(loss.item()) and not derivative.any() and not curve.any()


def test_cross_entropy_of_extreme_logits(device: str) -> None:
    logits = ours(np.array([[1e4, -1e4, 0.0], [-1e4, 1e4, 0.0]]), True, device)
    loss = F.cross_entropy(logits, minigrad.tensor([0, 0], device=device), reduction="none")
    np.testing.assert_allclose(host(loss), [0, 2e4])
    loss.sum().backward()
    np.testing.assert_allclose(host(logits.grad), [[0, 0, 0], [-1, 1, 0]], atol=1e-12)


def test_cross_entropy_keeps_float32(device: str) -> None:
    x = ours(rng.standard_normal((3, 4)).astype(np.float32), True, device)
    target = minigrad.tensor([0, 1, -100], device=device)
    for loss in (F.cross_entropy(x, target), F.nll_loss(x, target), F.cross_entropy(x, target, label_smoothing=0.1)):
        (derivative,) = minigrad.autograd.grad(loss, x)
        assert loss.dtype is derivative.dtype is minigrad.float32


def test_errors_of_cross_entropy() -> None:
    x, y, long = minigrad.ones(2, 3), minigrad.tensor([0, 1]), minigrad.int64
    raises(IndexError, "cross_entropy: target: index 3 is out of", lambda: F.cross_entropy(x, minigrad.tensor([0, 3])))
    raises(ValueError, r"target must have shape \(2,\), not", lambda: F.cross_entropy(x, minigrad.tensor([0, 1, 2])))
    raises(RuntimeError, r"must have shape \(2,\), not \(2, 1\)", lambda: F.nll_loss(x, minigrad.tensor([[0], [1]])))
    wide = minigrad.zeros(2, 5, dtype=long)
    raises(RuntimeError, r"shape \(2, 4\), not \(2, 5\)", lambda: F.cross_entropy(minigrad.ones(2, 3, 4), wide))
    raises(RuntimeError, "must have the shape of the input", lambda: F.cross_entropy(x, minigrad.ones(2)))
    raises(ValueError, "avg is not a valid value for reduction", lambda: F.cross_entropy(x, y, reduction="avg"))
    raises(RuntimeError, "label_smoothing must be between", lambda: F.cross_entropy(x, y, label_smoothing=2.0))
    raises(RuntimeError, "for all 3 classes or no", lambda: F.cross_entropy(x, y, weight=minigrad.ones(2)))
    raises(RuntimeError, "integer dtype", lambda: F.nll_loss(x, minigrad.ones(2)))
    raises(RuntimeError, "ignore_index is not supported for floating", lambda: F.cross_entropy(x, x, ignore_index=1))
    raises(ValueError, r"size \(2\) to match target batch_size \(4\)", lambda: F.cross_entropy(x, minigrad.ones(4, 3)))
    raises(TypeError, "delta must be a float or int, got: <class 'c", lambda: nn.HuberLoss(delta=1j))  # type: ignore[arg-type]


def test_old_names_and_flags() -> None:
    x, y = minigrad.ones(2, 3), minigrad.zeros(2, 3)
    assert nn.MSELoss(size_average=False)(x, y).item() == 6
    assert nn.MSELoss(reduce=False)(x, y).shape == (2, 3)
    assert F.mse_loss(x, y, size_average=True).item() == 1
    assert nn.NLLLoss2d is nn.NLLLoss  # type: ignore[attr-defined]


@cases("smoothing, reduction, biased", pairwise((0.0, 0.1), ("mean", "sum"), (False, True)))
def test_linear_cross_entropy(smoothing: float, reduction: str, biased: bool, device: str) -> None:
    how: dict[str, Any] = {"ignore_index": 3, "label_smoothing": smoothing, "reduction": reduction}

    def program(t: Any, x: Any, w: Any, b: Any, y: Any) -> Any:
        b = b if biased else None
        if t is minigrad:
            return F.linear_cross_entropy(x, w, y, linear_bias=b, **how) * 3
        f = t.nn.functional
        return f.cross_entropy(f.linear(x, w, b).flatten(0, 1), y.flatten(), **how) * 3

    arrays = [rng.standard_normal(shape) for shape in ((2, 5, 4), (7, 4), (7,))]
    agree(program, *arrays, np.array([[0, 6, 3, 3, 1], [2, 3, 3, 5, 4]]), device=device)


def test_errors_of_linear_cross_entropy() -> None:
    x, w, y, one = minigrad.ones(2, 4), minigrad.ones(3, 4), minigrad.tensor([0, 1]), minigrad.ones
    f = F.linear_cross_entropy
    raises(RuntimeError, "last dimensions", lambda: f(x, one(3, 5), y))
    raises(ValueError, r"does not match target", lambda: f(x, w, minigrad.tensor([0])))
    raises(RuntimeError, "does not match target", lambda: f(one(2, 3), one(2, 3), minigrad.zeros(2, 2).long()))
    raises(ValueError, "not a valid value for reduction", lambda: f(x, w, y, reduction="avg"))
    raises(RuntimeError, "label_smoothing must be between", lambda: f(x, w, y, label_smoothing=2.0))
    raises(RuntimeError, r"linear_bias must have shape \(3,\)", lambda: f(x, w, y, linear_bias=one(2)))
    raises(RuntimeError, "ignore_index cannot be specified", lambda: f(x, w, one(2, 3), ignore_index=1))
    raises(RuntimeError, r"batched input, \(N, 4\), got unbatched input", lambda: f(x[0], one(2, 3, 4), one(2, 3)))
    raises(RuntimeError, "dimensionality 1 or 2", lambda: f(x[None], w, minigrad.tensor([[0, 1]]), reduction="none"))
    raises(IndexError, "linear_cross_entropy: target", lambda: f(x, w, minigrad.tensor([0, 3])))
    words = r"weight shape to be \(2,\), got \(3,\)"
    raises(RuntimeError, words, lambda: nn.LinearCrossEntropyLoss(3, 2, weight=one(3)))
    raises(RuntimeError, r"in range \[0, 1\], got 2.0", lambda: nn.LinearCrossEntropyLoss(3, 2, label_smoothing=2.0))


@cases("form, reduction", pairwise(["classes", "one", "weights", "probabilities", "more axes"], REDUCTIONS))
def test_linear_cross_entropy_loss(form: str, reduction: str, device: str) -> None:
    if not hasattr(torch.nn, "LinearCrossEntropyLoss"):
        pytest.skip("new in PyTorch 2.13")
    more = (2, 3) if form == "more axes" else ()
    options: dict[str, Any] = {"out_features": more, "bias": True, "reduction": reduction}

    def make(n: Any) -> Any:
        weight = (minigrad if n is nn else torch).tensor(WEIGHTS) if form == "weights" else None
        return n.LinearCrossEntropyLoss(4, 7, weight=weight, **options)

    target = rng.dirichlet(np.ones(7), 5) if form == "probabilities" else rng.randint(0, 7, (5, *more))
    part = 0 if form == "one" else slice(None)
    call = lambda t, loss, x, y: loss(x, y.detach())
    check_twins(make, rng.standard_normal((5, 4))[part], np.array(target[part]), device=device, call=call)


def vectors(count: int) -> list[Any]:
    return [rng.standard_normal((5, 4)) for _ in range(count)]


def signs(*shape: int) -> Any:
    return np.where(rng.uniform(size=shape) < 0.5, -1.0, 1.0)


def shares(*shape: int) -> Any:
    return rng.uniform(0.02, 0.98, shape)


def classes(*shape: int) -> Any:
    return np.array(rng.randint(0, 4, shape))


def counts() -> Any:
    return classes(5, 4).astype(float)


def labels() -> Any:
    return np.array([[0, 2, -1, 1], [3, -1, 0, 0], [-1, 1, 1, 1], [2, 2, -1, 0], [3, 2, 1, 0]])


def distributions() -> list[Any]:
    target = rng.dirichlet(np.ones(3), 4)
    target[0] = [0, 1, 0]
    return [np.log(rng.dirichlet(np.ones(3), 4)), target]


def by_cosine(n: Any, r: str) -> Any:
    distance = lambda a, b: 1 - n.functional.cosine_similarity(a, b)
    return n.TripletMarginWithDistanceLoss(distance_function=distance, reduction=r)


# A loss of the library's nn with a reduction, its inputs, and how many of them have a gradient in PyTorch.
Row = tuple[Callable[[Any, str], Any], Callable[[], list[Any]], int]
LOSSES: list[Row] = [
    (lambda n, r: n.MSELoss(reduction=r), lambda: vectors(2), 2),
    (lambda n, r: n.L1Loss(reduction=r), lambda: vectors(2), 2),
    (lambda n, r: n.SmoothL1Loss(reduction=r, beta=0.7), lambda: vectors(2), 2),
    (lambda n, r: n.SmoothL1Loss(reduction=r, beta=0.0), lambda: vectors(2), 2),
    (lambda n, r: n.HuberLoss(reduction=r, delta=0.7), lambda: vectors(2), 2),
    (lambda n, r: n.BCELoss(reduction=r), lambda: [shares(5, 4), shares(5, 4)], 2),
    (lambda n, r: n.BCEWithLogitsLoss(reduction=r), lambda: [*vectors(1), shares(5, 4)], 2),
    (lambda n, r: n.KLDivLoss(reduction=r), distributions, 1),
    (lambda n, r: n.KLDivLoss(reduction="batchmean"), distributions, 1),
    (lambda n, r: n.KLDivLoss(reduction=r, log_target=True), lambda: vectors(2), 1),
    (lambda n, r: n.MarginRankingLoss(0.3, reduction=r), lambda: [*vectors(2), signs(5, 4)], 3),
    (lambda n, r: n.MarginRankingLoss(reduction=r), lambda: [*vectors(2), signs(5, 4).astype(int)], 2),
    (lambda n, r: n.HingeEmbeddingLoss(0.5, reduction=r), lambda: [*vectors(1), signs(5, 4)], 1),
    (lambda n, r: n.HingeEmbeddingLoss(reduction=r), lambda: [*vectors(1), classes(5, 4) - 1], 1),
    (lambda n, r: n.CosineEmbeddingLoss(0.1, reduction=r), lambda: [*vectors(2), signs(5)], 2),
    (lambda n, r: n.CosineEmbeddingLoss(-0.9, reduction=r), lambda: [*rng.standard_normal((2, 4)), np.array(-1)], 2),
    (lambda n, r: n.SoftMarginLoss(reduction=r), lambda: [*vectors(1), signs(5, 4)], 1),
    (lambda n, r: n.MultiMarginLoss(reduction=r), lambda: [*vectors(1), classes(5)], 1),
    (lambda n, r: n.MultiMarginLoss(p=2, margin=0.6, reduction=r), lambda: [*vectors(1), classes(5)], 1),
    (lambda n, r: n.MultiMarginLoss(reduction=r), lambda: [rng.standard_normal(4), classes()], 1),
    (lambda n, r: n.MultiLabelMarginLoss(reduction=r), lambda: [*vectors(1), labels()], 1),
    (lambda n, r: n.MultiLabelMarginLoss(reduction=r), lambda: [rng.standard_normal(4), labels()[0]], 1),
    (lambda n, r: n.MultiLabelSoftMarginLoss(reduction=r), lambda: [*vectors(1), shares(5, 4)], 2),
    (lambda n, r: n.TripletMarginLoss(reduction=r), lambda: vectors(3), 3),
    (lambda n, r: n.TripletMarginLoss(2.0, p=1.5, swap=True, reduction=r), lambda: vectors(3), 3),
    (lambda n, r: n.TripletMarginWithDistanceLoss(swap=True, reduction=r), lambda: vectors(3), 3),
    (by_cosine, lambda: vectors(3), 3),
    (lambda n, r: n.PoissonNLLLoss(reduction=r), lambda: vectors(2), 2),
    (lambda n, r: n.PoissonNLLLoss(False, full=True, reduction=r), lambda: [rng.uniform(0.1, 4, (5, 4)), counts()], 1),
    (lambda n, r: n.GaussianNLLLoss(reduction=r), lambda: [*vectors(2), rng.uniform(0.1, 2, (5, 4))], 3),
    (lambda n, r: n.GaussianNLLLoss(full=True, eps=0.5, reduction=r), lambda: [*vectors(2), shares(5, 1) + 0.1], 3),
    (lambda n, r: n.GaussianNLLLoss(reduction=r), lambda: [*vectors(2), rng.uniform(0.1, 2, 5)], 3),
]
NO_SECOND = (nn.MultiMarginLoss, nn.MultiLabelMarginLoss)  # PyTorch has no second-order gradients of these


@cases("make, arrays, leaves", LOSSES)
@pytest.mark.filterwarnings("ignore:reduction. 'mean' divides")
def test_losses_to_second_order(
    make: Callable[[Any, str], Any], arrays: Callable[[], list[Any]], leaves: int, device: str
) -> None:
    values, mine = arrays(), make(nn, "mean")
    assert "<lambda>" in repr(mine) or repr(mine) == repr(make(torch.nn, "mean"))
    orders = 1 if isinstance(mine, NO_SECOND) else 2
    for reduction in REDUCTIONS:

        def program(t: Any, *args: Any, reduction: str = reduction) -> Any:
            return make(t.nn, reduction)(*args[:leaves], *(a.detach() for a in args[leaves:]))

        agree(program, *values, orders=orders, device=device)
    single = [a.astype(np.float32) if a.dtype.kind == "f" else a for a in values]
    agree(lambda t, *args: make(t.nn, "mean")(args[0], *(a.detach() for a in args[1:])), *single, device=device)


@cases("log_target", [False, True])
def test_kl_div_at_the_ends(log_target: bool, device: str) -> None:
    """At a target of 0 its derivative is 0 / 0. First and second gradients equal PyTorch's everywhere."""
    ends = [0.0, -0.0, 1.0, -1.0, 0.5, np.inf, -np.inf, np.nan, 1e-310, 1e300]

    def program(t: Any, *leaves: Any) -> list[Any]:
        loss = t.nn.functional.kl_div(*leaves, reduction="none", log_target=log_target)
        derivatives = t.autograd.grad(loss.sum(), leaves, create_graph=True)
        return [loss, *derivatives, *(t.autograd.grad(s.sum(), leaves[1], retain_graph=True)[0] for s in derivatives)]

    agree(program, *(np.array(axis).reshape(-1) for axis in np.meshgrid(ends, ends)), gradient=False, device=device)


WEIGHTED: list[tuple[Callable[[Any, Any], Any], Callable[[], list[Any]]]] = [
    (lambda n, w: n.BCELoss(w), lambda: [shares(5, 4), shares(5, 4)]),
    (lambda n, w: n.BCEWithLogitsLoss(w, pos_weight=w), lambda: [*vectors(1), shares(5, 4)]),
    (lambda n, w: n.MultiMarginLoss(1, weight=w), lambda: [*vectors(1), classes(5)]),
    (lambda n, w: n.MultiMarginLoss(2, weight=w), lambda: [*vectors(1), classes(5)]),
    (lambda n, w: n.MultiLabelSoftMarginLoss(w), lambda: [*vectors(1), shares(5, 4)]),
]


@cases("make, arrays", WEIGHTED)
def test_weights(make: Callable[[Any, Any], Any], arrays: Callable[[], list[Any]], device: str) -> None:
    def program(t: Any, x: Any, y: Any) -> list[Any]:
        loss = make(t.nn, x.new_tensor(WEIGHTS[:4]))
        return [loss(x, y.detach()), list(loss.state_dict())]

    agree(program, *arrays(), device=device)


@cases("name, reduction", pairwise(["mse_loss", "l1_loss", "huber_loss"], REDUCTIONS))
def test_weighted_functions(name: str, reduction: str, device: str) -> None:
    def program(t: Any, x: Any, y: Any, w: Any) -> Any:
        return getattr(t.nn.functional, name)(x, y, weight=w.detach(), reduction=reduction)

    agree(program, *vectors(2), shares(5, 4), device=device)


def test_binary_losses_at_their_ends(device: str) -> None:
    x = ours(np.array([0.0, 1.0, 0.0, 1.0]), True, device)
    target = ours(np.array([0.0, 1.0, 1.0, 0.0]), device=device)
    loss = F.binary_cross_entropy(x, target, reduction="none")
    np.testing.assert_allclose(host(loss), [0, 0, 100, 100], atol=1e-12)
    far = ours(np.array([-1e4, 1e4, -1e4, 1e4]), True, device)
    loss = F.binary_cross_entropy_with_logits(far, target, reduction="none")
    np.testing.assert_allclose(host(loss), [0, 0, 1e4, 1e4], atol=1e-12)
    x, tx = pair(np.array([0.0, 1.0, 0.0, 1.0, 1e-20]), device, True)
    y, ty = pair(np.array([1.0, 0.0, 0.0, 1.0, 1.0]), device, True)
    F.binary_cross_entropy(x, y, reduction="sum").backward()
    torch.nn.functional.binary_cross_entropy(tx, ty, reduction="sum").backward()
    assert_close(x.grad, tx.grad, 1e-8)  # its least divisor, 1e-12, is a float32
    assert np.isfinite(host(y.grad)).all()  # PyTorch's is infinite, though the loss is not


def test_soft_margin_of_extreme_scores(device: str) -> None:
    x = ours(np.array([1e4, -1e4, 1e4, -1e4]), True, device)
    loss = F.soft_margin_loss(x, ours(np.array([1.0, 1, -1, -1]), device=device), reduction="none")
    np.testing.assert_allclose(host(loss), [0, 1e4, 1e4, 0])
    loss.sum().backward()
    np.testing.assert_allclose(host(x.grad), [0, -1, 1, 0])


@cases("variance", [0.3, (1, 3), (4, 1), (4,), (4, 3)])
def test_all_samples_may_share_the_variance_of_a_normal_distribution(variance: Any, device: str) -> None:
    var = variance if isinstance(variance, float) else rng.uniform(0.5, 2, variance)
    program = lambda t, x, v: t.nn.functional.gaussian_nll_loss(x, x * 2, v)
    agree(program, rng.standard_normal((4, 3)), var, device=device)


@cases("name", ["multi_margin_loss", "multilabel_margin_loss"])
def test_second_order_that_pytorch_lacks(name: str, device: str) -> None:
    target = ours(classes(5) if name == "multi_margin_loss" else labels(), device=device)
    options = {"p": 2} if name == "multi_margin_loss" else {}
    scores = ours(rng.standard_normal((5, 4)), True, device)
    assert minigrad.autograd.gradcheck(lambda x: getattr(F, name)(x, target, **options), [scores])
    assert minigrad.autograd.gradgradcheck(lambda x: getattr(F, name)(x, target, **options), [scores])


def test_empty_batches_of_margins(device: str) -> None:
    x = minigrad.zeros(0, 3, device=device)
    none = minigrad.zeros(0, dtype=minigrad.int64, device=device)
    assert F.multi_margin_loss(x, none, reduction="none").shape == (0,)
    assert F.multi_margin_loss(minigrad.tensor(2.0), minigrad.tensor(0), reduction="none").shape == ()
    assert F.multilabel_margin_loss(x, x.long(), reduction="none").shape == (0,)
    assert F.multilabel_margin_loss(x, x.long(), reduction="sum").item() == 0


def test_errors() -> None:
    x, one, ones, long = minigrad.ones(3, 2), minigrad.ones(3), minigrad.ones, minigrad.tensor
    with pytest.warns(UserWarning, match="mse_loss: Using a target size .*Please ensure they have the same size"):
        F.mse_loss(ones(3, 1), one)
    raises(RuntimeError, "negative values for beta", lambda: F.smooth_l1_loss(one, one, beta=-1))
    raises(RuntimeError, "non-positive values for delta", lambda: F.huber_loss(one, one, delta=0))
    for bad in (1.5, -0.1, math.nan):
        raises(RuntimeError, "between 0 and 1", lambda bad=bad: F.binary_cross_entropy(long([bad]), ones(1)))
    raises(RuntimeError, "same dtype", lambda: F.binary_cross_entropy(ones(1), long([1])))
    raises(RuntimeError, "can't be cast", lambda: F.binary_cross_entropy_with_logits(ones(1), long([1])))
    raises(RuntimeError, "should have same dimension", lambda: F.margin_ranking_loss(one, one, ones(3, 1)))
    raises(RuntimeError, "multi-target not supported", lambda: F.cosine_embedding_loss(x, x, x))
    raises(RuntimeError, "1D target tensor expects 2D input", lambda: F.cosine_embedding_loss(one, one, one))
    raises(RuntimeError, "target out of range", lambda: F.multi_margin_loss(x, long([0, 1, 2])))
    raises(ValueError, "only p == 1 and p == 2", lambda: F.multi_margin_loss(x, long([0, 1, 1]), p=3))
    raises(ValueError, "only p == 1 and p == 2", lambda: nn.MultiMarginLoss(p=3))
    raises(RuntimeError, "inconsistent weight size", lambda: F.multi_margin_loss(x, long([0, 1, 1]), weight=one))
    raises(RuntimeError, "should be 1-D", lambda: F.multi_margin_loss(x, long([0, 1])))
    raises(RuntimeError, "inconsistent target size", lambda: F.multilabel_margin_loss(x, long([0, 1])))
    raises(RuntimeError, "out of range", lambda: F.multilabel_margin_loss(x, long([[0, 2], [0, 1], [0, 1]])))
    raises(RuntimeError, "integer dtype", lambda: F.multilabel_margin_loss(x, x))
    raises(RuntimeError, "same number of dimensions", lambda: F.triplet_margin_loss(x, x, one))
    raises(ValueError, "margin must be greater than 0", lambda: F.triplet_margin_loss(x, x, x, margin=0))
    raises(ValueError, "TripletMarginLoss: expected margin", lambda: nn.TripletMarginLoss(margin=0))
    raises(ValueError, "negative entry", lambda: F.gaussian_nll_loss(x, x, -x))
    raises(ValueError, "var is of incorrect size", lambda: F.gaussian_nll_loss(x, x, ones(3, 3)))
    raises(ValueError, "not a valid value for reduction", lambda: F.poisson_nll_loss(x, x, reduction="avg"))
