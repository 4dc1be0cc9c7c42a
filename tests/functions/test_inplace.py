"""Changes in place inside the graph: values and gradients as PyTorch's; values alone are in test_names.py."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minigrad
from tests.support.parity import assert_close, ours, theirs, torch

RNG = np.random.default_rng(0)
X, Y = RNG.uniform(0.2, 0.8, (3, 4)), RNG.uniform(0.2, 0.8, (3, 4))
MASK, INDEX = RNG.random((3, 4)) > 0.5, RNG.integers(0, 3, (3, 4))
Change = Callable[[Any, Any, Any], Any]
CHANGES: dict[str, Change] = {
    "add_": lambda t, x, y: x.add_(y, alpha=2),
    "addcmul_": lambda t, x, y: x.addcmul_(y, y, value=3),
    "clamp_": lambda t, x, y: x.clamp_(0.3, 0.6),
    "clamp_ by tensors": lambda t, x, y: x.clamp_(min=y),
    "copysign_": lambda t, x, y: x.copysign_(y - 0.5),
    "cumsum_": lambda t, x, y: x.cumsum_(1),
    "div_ rounding": lambda t, x, y: x.div_(y, rounding_mode="floor").add_(y),
    "erfinv_": lambda t, x, y: x.erfinv_(),
    "exp_": lambda t, x, y: x.mul_(y).exp_(),
    "fill_diagonal_": lambda t, x, y: x.fill_diagonal_(2.0).mul_(y),
    "frac_": lambda t, x, y: x.mul_(3).frac_(),
    "index_add_": lambda t, x, y: x.index_add_(0, ours_or(t, [0, 0, 1]), y, alpha=2),
    "index_put_": lambda t, x, y: x.index_put_((ours_or(t, [0, 0]),), y[:2], accumulate=True),
    "lerp_": lambda t, x, y: x.lerp_(y, 0.3),
    "logit_": lambda t, x, y: x.logit_(),
    "masked_fill_": lambda t, x, y: x.masked_fill_(ours_or(t, MASK), 1.5).mul_(y),
    "masked_scatter_": lambda t, x, y: x.masked_scatter_(ours_or(t, MASK), y),
    "mul_ twice": lambda t, x, y: x.mul_(y).mul_(2),
    "put_": lambda t, x, y: x.put_(ours_or(t, [1, 5]), y[0, :2]),
    "scatter_": lambda t, x, y: x.scatter_(0, ours_or(t, INDEX[:1]), y[:1]),
    "scatter_add_": lambda t, x, y: x.scatter_add_(0, ours_or(t, INDEX), y),
    "scatter_reduce_": lambda t, x, y: x.scatter_reduce_(0, ours_or(t, INDEX), y, "mean"),
    "sinc_": lambda t, x, y: x.sinc_(),
    "squeeze_": lambda t, x, y: x.unsqueeze_(1).mul_(y[:, None]).squeeze_(1),
    "t_": lambda t, x, y: x.t_().mul_(y.t()),
    "transpose_": lambda t, x, y: x.transpose_(0, 1).add_(y.t()).exp_(),
    "unsqueeze_ of a view": lambda t, x, y: x[1:].unsqueeze_(0).mul_(2),
    "xlogy_": lambda t, x, y: x.xlogy_(y),
    "slice +=": lambda t, x, y: x[1:, ::2].__iadd__(y[1:, ::2]),
    "mask = value": lambda t, x, y: x.__setitem__(ours_or(t, MASK), y[ours_or(t, MASK)]),
}


def ours_or(t: Any, values: Any) -> Any:
    return t.tensor(np.asarray(values))


@pytest.mark.parity
@pytest.mark.parametrize("name", CHANGES)
def test_gradients_flow_as_in_torch(name: str) -> None:
    results = []
    for t, leaf in ((minigrad, ours), (torch, theirs)):
        a, b = leaf(X, True), leaf(Y, True)
        x, y = a * 1, b * 1
        CHANGES[name](t, x, y)
        (x * x).sum().backward()
        results.append((x, a.grad, b.grad))
    for found, expected in zip(*results, strict=True):
        if expected is not None:
            assert_close(ours(0 * X) if found is None else found.detach(), expected.detach())


@pytest.mark.parametrize("name", CHANGES)
def test_a_leaf_that_wants_a_gradient_is_left_alone(name: str) -> None:
    a, b = ours(X, True), ours(Y)
    with pytest.raises(RuntimeError, match="in-place"):
        CHANGES[name](minigrad, a, b)
    assert a.tolist() == X.tolist()


def test_what_does_not_fit() -> None:
    x = minigrad.zeros(2, dtype=minigrad.int64)
    with pytest.raises(RuntimeError, match="can't be cast"):
        x.clamp_(0.5, 1.5)
    with pytest.raises(RuntimeError, match="cannot change a tensor's shape"):
        minigrad.zeros(2).logical_and_(minigrad.ones(3, 2))


def test_resize_keeps_the_first_elements() -> None:
    x = minigrad.arange(4)
    assert x.resize_(2).tolist() == [0, 1]
    assert x.resize_(2, 2).shape == (2, 2)
    assert x[0].tolist() == [0, 1]
    with pytest.raises(RuntimeError, match="require grad"):
        minigrad.ones(2, requires_grad=True).resize_(3)


def test_set_shares_memory() -> None:
    x, y = minigrad.zeros(2), minigrad.ones(3)
    x.set_(y)
    y[0] = 5
    assert x.tolist() == [5, 1, 1]


def test_fill_out_of_place() -> None:
    x, value = (minigrad.tensor(v, requires_grad=True) for v in ([1.0, 2.0], 3.0))
    y = minigrad.fill(x, value)
    y.sum().backward()
    assert (x.tolist(), y.tolist(), x.grad.tolist(), value.grad.item()) == ([1, 2], [3, 3], [0, 0], 2)
    with pytest.raises(RuntimeError, match="0-dimension value tensor"):
        minigrad.fill(x, minigrad.ones(2))


def test_conjugated_in_place() -> None:
    z = minigrad.tensor([1 + 2j])
    assert z.conj_physical_() is z
    assert z.tolist() == [1 - 2j]


def test_division_by_its_old_name() -> None:
    assert minigrad.tensor([2.0]).__rdiv__(3.0).tolist() == [1.5]
