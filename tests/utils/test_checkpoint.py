"""Checkpointing changes only memory use."""

import tracemalloc
from typing import Any

import numpy as np
import pytest

import minigrad
import minigrad.nn.functional as F
from minigrad import nn
from minigrad.utils.checkpoint import checkpoint, checkpoint_sequential, get_device_states, set_device_states
from tests.support.cases import raises


class Block(nn.Module):
    """A region with dropout, attention, in-place changes and a view."""

    def __init__(self, nested: bool = False) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(8, 16), nn.Linear(16, 8)
        self.nested = nested

    def forward(self, x: Any) -> Any:
        y = F.dropout(F.relu(self.a(x)), 0.5)
        y += 1
        y[:, :3] = y[:, :3] * 2
        y = checkpoint(self.b, y) if self.nested else self.b(y)
        q = y.view(1, 1, *y.shape)
        return x + F.scaled_dot_product_attention(q, q, q, dropout_p=0.1)[0, 0].tanh()


def gradients(wrap: Any, nested: bool = False) -> list[Any]:
    minigrad.manual_seed(1)
    model = nn.ModuleList([Block(nested) for _ in range(3)]).double()
    x = minigrad.randn(4, 8, dtype=minigrad.float64, requires_grad=True)
    out = x
    for block in model:
        out = wrap(block, out)
    loss = (out * out).mean()
    first = minigrad.autograd.grad(loss, [x, *model.parameters()], create_graph=True)
    (second,) = minigrad.autograd.grad(sum((g * g).sum() for g in first), x)
    after = minigrad.rand(3)
    return [loss, after, second, *first]


@pytest.mark.parametrize("nested", [False, True])
def test_gradients_of_both_orders_and_random_numbers_do_not_change(nested: bool) -> None:
    expected = gradients(lambda block, x: block(x))
    actual = gradients(lambda block, x: checkpoint(block, x, use_reentrant=False), nested)
    for i, (ours, theirs) in enumerate(zip(actual, expected, strict=True)):
        exact = 0.0 if i != 2 else 1e-12  # the second order adds up in another order
        np.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), rtol=exact, atol=exact)


def test_backward_accumulates_into_the_parameters() -> None:
    model = Block()
    x = minigrad.randn(4, 8)  # that does not require a gradient
    minigrad.manual_seed(3)
    model(x).sum().backward()
    expected = [p.grad.clone() for p in model.parameters() if p.grad is not None]
    model.zero_grad()
    minigrad.manual_seed(3)
    checkpoint(model, x).sum().backward()
    for p, e in zip(model.parameters(), expected, strict=True):
        assert p.grad is not None
        assert p.grad.equal(e)


def test_the_random_state_need_not_be_restored() -> None:
    draws: list[Any] = []

    def draw(x: Any) -> Any:
        draws.append(minigrad.rand(2).tolist())
        return (x * 2).exp()

    for preserve in (True, False):
        checkpoint(draw, minigrad.ones(2, requires_grad=True), preserve_rng_state=preserve).sum().backward()
        first, second = draws[-2:]
        assert (first == second) is preserve


def test_only_the_ends_of_regions_take_memory() -> None:
    layers = [lambda x: (x.tanh().exp() * x.sin()).cos() for _ in range(8)]

    def peak(run: Any) -> int:
        x = minigrad.randn(200_000, requires_grad=True)
        tracemalloc.start()
        run(x).sum().backward()
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    def whole(x: Any) -> Any:
        for layer in layers:
            x = layer(x)
        return x

    def parts(x: Any) -> Any:
        for layer in layers:
            x = checkpoint(layer, x)
        return x

    assert peak(parts) < 0.6 * peak(whole)


def test_a_function_that_differs_the_second_time_is_reported() -> None:
    calls: list[int] = []

    def fickle(x: Any) -> Any:
        calls.append(1)
        return x.sin() if len(calls) == 1 else x.cos()

    x = minigrad.ones(2, requires_grad=True)
    raises(RuntimeError, "op 0 was sin and is now cos", lambda: checkpoint(fickle, x).sum().backward())
    assert x.grad is None


def test_sequential_and_the_parts_of_a_handwritten_checkpoint() -> None:
    model, x = nn.Sequential(*[nn.Linear(4, 4) for _ in range(5)]), minigrad.randn(2, 4)
    assert checkpoint_sequential(model, 2, x, use_reentrant=False).equal(model(x))
    raises(ValueError, "6 segments", lambda: checkpoint_sequential(model, 6, x))
    assert get_device_states(x, 3) == ([], [])
    set_device_states([], [])


def test_a_second_run_that_fails_may_be_tried_again() -> None:
    runs = 0

    def unsteady(x: Any) -> Any:
        nonlocal runs
        runs += 1
        y = x.tanh()
        if runs == 2:
            raise OSError("for once")
        return (y * y).sin()

    x = minigrad.ones(2, requires_grad=True)
    y = checkpoint(unsteady, x).sum()
    raises(OSError, "for once", y.backward)
    assert x.grad is None
    y.backward()
    expected = x.detach().requires_grad_()
    unsteady(expected).sum().backward()
    assert x.grad is not None and expected.grad is not None and x.grad.equal(expected.grad)


@pytest.mark.parametrize("nested", [False, True])
def test_a_function_that_computes_gradients_can_be_differentiated(nested: bool) -> None:
    """Its backward passes free nodes of both runs that the outer backward pass still needs."""

    def penalty(x: Any) -> Any:
        first, second = x.sin().exp().sin(), x.cos().exp()
        (derivative,) = minigrad.autograd.grad(first, x, create_graph=True)
        minigrad.autograd.grad(second, x)
        return derivative * derivative + x.sin()

    gradients = []
    for function in (penalty, lambda x: checkpoint(checkpoint if nested else penalty, *([penalty] * nested), x)):
        x = minigrad.tensor(0.3, requires_grad=True)
        (first,) = minigrad.autograd.grad(function(x), x, create_graph=True)
        (second,) = minigrad.autograd.grad(first, x)
        gradients.append((first.item(), second.item()))
    assert gradients[1] == pytest.approx(gradients[0], rel=1e-6)
