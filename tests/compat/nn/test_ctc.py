"""The CTC loss against PyTorch, and against an enumeration of all paths."""

import itertools
from typing import Any

import numpy as np

import minigrad
import minigrad.nn.functional as F
from tests.support.both import agree
from tests.support.cases import cases, raises, rng
from tests.support.parity import assert_close, host, ours

TARGETS = np.array([[1, 1, 2], [3, 2, 2], [2, 3, 1]])
FRAMES, LENGTHS = (7, 6, 5), (3, 1, 2)
REDUCTIONS = ["none", "mean", "sum"]


def spelled(path: tuple[int, ...], blank: int) -> tuple[int, ...]:
    return tuple(c for c, _ in itertools.groupby(path) if c != blank)


@cases("target, blank", [((1, 1), 0), ((1, 2), 0), ((), 0), ((0, 2), 1), ((1, 2, 1), 0)])
def test_all_paths(target: tuple[int, ...], blank: int, device: str) -> None:
    scores = np.log(rng.dirichlet(np.ones(3), 4))
    paths = [p for p in itertools.product(range(3), repeat=4) if spelled(p, blank) == target]
    total = sum(np.exp(scores[np.arange(4), p].sum()) for p in paths)
    labels = minigrad.tensor(target, dtype=minigrad.int64, device=device)
    lengths = (minigrad.tensor(4), minigrad.tensor(len(target)))
    loss = F.ctc_loss(ours(scores, device=device), labels, *lengths, blank, reduction="sum")
    np.testing.assert_allclose(host(loss), -np.log(total))


@cases("form, reduction", itertools.product(["rows", "one row", "tensors", "blank 3"], REDUCTIONS))
def test_agrees_with_torch(form: str, reduction: str, device: str) -> None:
    target, blank = (TARGETS % 3, 3) if form == "blank 3" else (TARGETS, 0)
    if form == "one row":
        target = np.concatenate([row[:n] for row, n in zip(target, LENGTHS, strict=True)])
    lengths = [np.array(n) if form == "tensors" else n for n in (FRAMES, LENGTHS)]
    program = lambda t, x, *rest: t.nn.CTCLoss(blank, reduction)(x.log_softmax(-1), *rest)
    agree(program, rng.standard_normal((7, 3, 4)), target, *lengths, device=device)


def test_one_sequence_and_unnormalised_numbers(device: str) -> None:
    for reduction in REDUCTIONS:
        loss = lambda t, *args, r=reduction: t.nn.functional.ctc_loss(*args, reduction=r)
        one = lambda t, x, *rest, loss=loss: loss(t, x.log_softmax(-1), *rest)
        if reduction != "sum":
            agree(one, rng.standard_normal((7, 4)), np.array([1, 2, 2]), np.array(6), np.array(3), device=device)
        agree(loss, rng.standard_normal((7, 3, 4)), TARGETS, FRAMES, LENGTHS, device=device)


def test_targets_and_lengths_may_be_on_the_cpu(device: str) -> None:
    x, t = ours(rng.standard_normal((5, 2, 4)), device=device).log_softmax(-1), ours(TARGETS[:2])
    ends = (minigrad.tensor([5, 4]), minigrad.tensor([2, 3]))
    expected = F.ctc_loss(x.cpu(), t, *ends)
    assert_close(F.ctc_loss(x, t, *ends), expected)
    assert_close(F.ctc_loss(x, t.to(device), *ends), expected)


def test_second_order(device: str) -> None:
    x, t = ours(rng.standard_normal((3, 2, 3)), True, device), ours(np.array([[1, 2], [2, 0]]), device=device)
    f = lambda x: F.ctc_loss(x.log_softmax(-1), t, (3, 3), (2, 1))
    assert minigrad.autograd.gradcheck(f, [x]) and minigrad.autograd.gradgradcheck(f, [x])


def test_a_target_too_long_for_its_frames(device: str) -> None:
    scores, target = np.log(rng.dirichlet(np.ones(4), (5, 3))), np.array([[1, 2], [3, 3], [0, 0]])
    ends: Any = ((5, 2, 0), (2, 2, 0))
    for zero in (False, True):
        how: dict[str, Any] = {"reduction": "none", "zero_infinity": zero}
        program = lambda t, x, y, how=how: t.nn.functional.ctc_loss(x, y, *ends, **how)
        agree(program, scores, target, gradient=False, device=device)
    x = ours(scores, True, device)
    F.ctc_loss(x, ours(target, device=device), *ends, **how).sum().backward()
    assert x.grad is not None and np.isfinite(host(x.grad)).all() and not host(x.grad)[:, 1:].any()


@cases("reduction", REDUCTIONS)
def test_the_gradient_of_an_impossible_target_is_nan(reduction: str, device: str) -> None:
    """It is NaN within the input length and in no other sample, unless infinite losses are replaced by 0."""
    labels = np.array([[1, 1, 2], [1, 2, 3], [3, 3, 1], [1, 0, 0]])
    for zero in (False, True):

        def program(t: Any, x: Any, y: Any, zero: bool = zero) -> list[Any]:
            how: dict[str, Any] = {"reduction": reduction, "zero_infinity": zero}
            loss = t.nn.functional.ctc_loss(x.log_softmax(-1), y, (2, 1, 5, 0), (3, 3, 2, 1), **how)
            (derivative,) = t.autograd.grad(loss.sum(), x)
            assert derivative.isnan().sum() == (0 if zero else 12)
            return [loss, derivative]

        agree(program, np.random.default_rng(2).standard_normal((5, 4, 4)), labels, gradient=False, device=device)


def test_impossible_classes_and_float32(device: str) -> None:
    scores = np.log(rng.dirichlet(np.ones(4), (5, 1)))
    scores[2, 0, 1] = -np.inf
    x = ours(scores.astype(np.float32), True, device)
    loss = F.ctc_loss(x, ours(np.array([[1, 2]]), device=device), (5,), (2,))
    loss.backward()
    assert np.isfinite(loss.item()) and x.grad is not None and np.isfinite(host(x.grad)).all()
    assert loss.dtype is x.grad.dtype is minigrad.float32


def test_errors() -> None:
    x, t, f = minigrad.zeros(5, 2, 4), minigrad.tensor([[1, 2], [3, 3]]), F.ctc_loss
    raises(RuntimeError, "at most 5, but got value 6", lambda: f(x, t, (6, 4), (2, 2)))
    raises(RuntimeError, "S at least 3", lambda: f(x, t, (5, 4), (2, 3)))
    raises(RuntimeError, "input_lengths must be of size batch_size", lambda: f(x, t, (5,), (2, 2)))
    raises(RuntimeError, "target_lengths must be of size batch_size", lambda: f(x, t, (5, 5), (2,)))
    raises(RuntimeError, "to have size 4", lambda: f(x, minigrad.tensor([1, 2, 3]), (5, 5), (2, 2)))
    raises(RuntimeError, "blank must be in label range", lambda: f(x, t, (5, 5), (2, 2), blank=4))
    raises(RuntimeError, "must be integral", lambda: f(x, t, minigrad.tensor([5.0, 4.0]), (2, 2)))
    raises(IndexError, "ctc_loss: targets", lambda: f(x, t + 1, (5, 5), (2, 2)))
    raises(RuntimeError, "log_probs must be", lambda: f(minigrad.zeros(5), t, (5, 5), (2, 2)))
