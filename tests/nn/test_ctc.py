"""The CTC loss against PyTorch and against all paths counted one by one."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import minigrad
import minigrad.nn.functional as F
from minigrad import nn
from tests.support.cases import cases, raises, rng
from tests.support.parity import assert_close, host, ours, torch
from tests.support.twins import pair

TARGETS = np.array([[1, 1, 2], [3, 2, 2], [2, 3, 1]])
FRAMES, LENGTHS = (7, 6, 5), (3, 1, 2)


def spelled(path: tuple[int, ...], blank: int) -> tuple[int, ...]:
    return tuple(c for c, _ in itertools.groupby(path) if c != blank)


@cases("target, blank", [((1, 1), 0), ((1, 2), 0), ((), 0), ((0, 2), 1), ((1, 2, 1), 0)])
def test_all_paths(target: tuple[int, ...], blank: int, device: str) -> None:
    scores = np.log(rng.dirichlet(np.ones(3), 4))
    paths = [p for p in itertools.product(range(3), repeat=4) if spelled(p, blank) == target]
    total = sum(np.exp(scores[np.arange(4), p].sum()) for p in paths)
    given = minigrad.tensor(target, dtype=minigrad.int64, device=device)
    lengths = (minigrad.tensor(4), minigrad.tensor(len(target)))
    loss = F.ctc_loss(ours(scores, device=device), given, *lengths, blank, reduction="sum")
    np.testing.assert_allclose(host(loss), -np.log(total))


@cases("reduction", ["none", "mean", "sum"])
@cases("form", ["rows", "one row", "tensors", "blank 3"])
def test_agrees_with_torch(form: str, reduction: str, device: str) -> None:
    logits, tlogits = pair(rng.standard_normal((7, 3, 4)), device, True)
    target = TARGETS % 3 if form == "blank 3" else TARGETS
    if form == "one row":
        target = np.concatenate([row[:n] for row, n in zip(target, LENGTHS, strict=True)])
    (t, tt), blank = pair(target, device), 3 if form == "blank 3" else 0
    lengths, tlengths = [FRAMES, LENGTHS], [FRAMES, LENGTHS]
    if form == "tensors":
        lengths, tlengths = map(list, zip(*(pair(np.array(x), device) for x in lengths), strict=True))
    mine, other = nn.CTCLoss(blank, reduction), torch.nn.CTCLoss(blank, reduction)
    loss, expected = mine(logits.log_softmax(-1), t, *lengths), other(tlogits.log_softmax(-1), tt, *tlengths)
    assert_close(loss, expected)
    g, tg = pair(rng.standard_normal(expected.shape), device)
    loss.backward(g)
    expected.backward(tg)
    assert_close(logits.grad, tlogits.grad)


def test_one_sequence(device: str) -> None:
    logits, tlogits = pair(rng.standard_normal((7, 4)), device, True)
    (t, tt), ends = pair(np.array([1, 2, 2])), (np.array(6), np.array(3))
    t = t.to(device)
    for reduction in ("none", "mean"):
        loss = F.ctc_loss(logits.log_softmax(-1), t, *map(minigrad.tensor, ends), reduction=reduction)
        expected = torch.nn.functional.ctc_loss(
            tlogits.log_softmax(-1), tt, *map(torch.tensor, ends), reduction=reduction
        )
        assert_close(loss, expected)
    loss.backward()
    expected.backward()
    assert_close(logits.grad, tlogits.grad)


def test_targets_and_lengths_may_be_on_the_cpu(device: str) -> None:
    x, t = ours(rng.standard_normal((5, 2, 4)), device=device).log_softmax(-1), ours(TARGETS[:2])
    ends = (minigrad.tensor([5, 4]), minigrad.tensor([2, 3]))
    expected = F.ctc_loss(x.cpu(), t, *ends)
    assert_close(F.ctc_loss(x, t, *ends), expected)
    assert_close(F.ctc_loss(x, t.to(device), *ends), expected)


@cases("reduction", ["none", "mean", "sum"])
def test_gradient_of_numbers_that_are_not_normalised(reduction: str, device: str) -> None:
    x, tx = pair(rng.standard_normal((7, 3, 4)), device, True)
    t, tt = pair(TARGETS, device)
    loss = F.ctc_loss(x, t, FRAMES, LENGTHS, reduction=reduction)
    expected = torch.nn.functional.ctc_loss(tx, tt, FRAMES, LENGTHS, reduction=reduction)
    assert_close(loss, expected)
    loss.sum().backward()
    expected.sum().backward()
    assert_close(x.grad, tx.grad)


def test_second_order(device: str) -> None:
    x, t = ours(rng.standard_normal((3, 2, 3)), True, device), ours(np.array([[1, 2], [2, 0]]), device=device)
    f = lambda x: F.ctc_loss(x.log_softmax(-1), t, (3, 3), (2, 1))
    assert minigrad.autograd.gradcheck(f, [x])
    assert minigrad.autograd.gradgradcheck(f, [x])


def test_a_target_too_long_for_its_frames(device: str) -> None:
    x, tx = pair(np.log(rng.dirichlet(np.ones(4), (5, 3))), device, True)
    t, tt = pair(np.array([[1, 2], [3, 3], [0, 0]]), device)
    ends: Any = ((5, 2, 0), (2, 2, 0))
    for infinite in (False, True):
        options: dict[str, Any] = {"reduction": "none", "zero_infinity": infinite}
        loss = F.ctc_loss(x, t, *ends, **options)
        assert_close(loss, torch.nn.functional.ctc_loss(tx, tt, *ends, **options))
    loss.sum().backward()
    assert x.grad is not None and np.isfinite(host(x.grad)).all()
    assert not host(x.grad)[:, 1:].any()


@cases("reduction", ["none", "mean", "sum"])
def test_the_gradient_of_an_impossible_target_is_nan(reduction: str, device: str) -> None:
    """In the frames that are used, and in no other sample, unless such losses are 0."""
    labels = np.array([[1, 1, 2], [1, 2, 3], [3, 3, 1], [1, 0, 0]])
    scores = np.random.default_rng(2).standard_normal((5, 4, 4))
    (x, tx), (t, tt) = pair(scores, device, True), pair(labels, device)
    ends: Any = ((2, 1, 5, 0), (3, 3, 2, 1))
    for zero in (False, True):
        x.grad = tx.grad = None
        options: dict[str, Any] = {"reduction": reduction, "zero_infinity": zero}
        loss = F.ctc_loss(x.log_softmax(-1), t, *ends, **options)
        expected = torch.nn.functional.ctc_loss(tx.log_softmax(-1), tt, *ends, **options)
        assert_close(loss, expected)
        loss.sum().backward()
        expected.sum().backward()
        assert np.isnan(host(x.grad)).sum() == (0 if zero else 12)
        assert_close(x.grad, tx.grad)


def test_impossible_classes_have_finite_gradients(device: str) -> None:
    scores = np.log(rng.dirichlet(np.ones(4), (5, 1)))
    scores[2, 0, 1] = -np.inf
    x = ours(scores, True, device)
    loss = F.ctc_loss(x, ours(np.array([[1, 2]]), device=device), (5,), (2,))
    loss.backward()
    assert np.isfinite(loss.item())
    assert x.grad is not None and np.isfinite(host(x.grad)).all()


def test_float32(device: str) -> None:
    x = ours(rng.standard_normal((5, 2, 4)).astype(np.float32), True, device)
    loss = F.ctc_loss(x.log_softmax(-1), ours(TARGETS[:2], device=device), (5, 5), (3, 2))
    loss.backward()
    assert loss.dtype is minigrad.float32
    assert x.grad is not None and x.grad.dtype is minigrad.float32


def test_errors() -> None:
    x, t = minigrad.zeros(5, 2, 4), minigrad.tensor([[1, 2], [3, 3]])
    raises(RuntimeError, "at most 5, but got value 6", lambda: F.ctc_loss(x, t, (6, 4), (2, 2)))
    raises(RuntimeError, "S at least 3", lambda: F.ctc_loss(x, t, (5, 4), (2, 3)))
    raises(RuntimeError, "input_lengths must be of size batch_size", lambda: F.ctc_loss(x, t, (5,), (2, 2)))
    raises(RuntimeError, "target_lengths must be of size batch_size", lambda: F.ctc_loss(x, t, (5, 5), (2,)))
    raises(RuntimeError, "to have size 4", lambda: F.ctc_loss(x, minigrad.tensor([1, 2, 3]), (5, 5), (2, 2)))
    raises(RuntimeError, "blank must be in label range", lambda: F.ctc_loss(x, t, (5, 5), (2, 2), blank=4))
    with pytest.raises(RuntimeError, match="input_lengths must be integral"):
        F.ctc_loss(x, t, minigrad.tensor([5.0, 4.0]), (2, 2))
    raises(IndexError, "ctc_loss: targets", lambda: F.ctc_loss(x, t + 1, (5, 5), (2, 2)))
    raises(RuntimeError, "log_probs must be", lambda: F.ctc_loss(minigrad.zeros(5), t, (5, 5), (2, 2)))
