"""The two tasks are what they say, and networks of equal size learn them."""

from __future__ import annotations

import numpy as np
import pytest

import minigrad as mg
from examples.gradients import training
from examples.gradients.sequences import ALPHABET, SYMBOLS, TASKS, Adding, Copying, Task
from examples.gradients.training import NETWORKS, network, train_all
from minigrad import Tensor, nn


class Constant(nn.Module):
    """Says the same at every step."""

    def __init__(self, outputs: list[float]) -> None:
        super().__init__()
        self.outputs = mg.tensor(outputs)

    def forward(self, x: Tensor) -> Tensor:
        return self.outputs.expand(*x.shape[:2], len(self.outputs))


def test_adding() -> None:
    inputs, sums = Adding(7).draw(np.random.default_rng(0), 500)
    numbers, marks = inputs.numpy().transpose(2, 0, 1)
    assert numbers.shape == (500, 7) and 0 <= numbers.min() < 0.01 and 0.99 < numbers.max() <= 1
    np.testing.assert_array_equal(marks[:, :3].sum(1), 1)
    np.testing.assert_array_equal(marks[:, 3:].sum(1), 1)
    assert {*np.nonzero(marks)[1].tolist()} == set(range(7))
    np.testing.assert_allclose((numbers * marks).sum(1), sums.numpy(), rtol=1e-6)


def test_copying() -> None:
    task = Copying(4)
    inputs, symbols = task.draw(np.random.default_rng(0), 300)
    ids = inputs.numpy().argmax(-1)
    assert inputs.shape == (300, task.steps, task.inputs) and (inputs.sum(-1) == 1).all()
    np.testing.assert_array_equal(ids[:, :SYMBOLS] - 1, symbols.numpy())
    assert set(symbols.numpy().ravel().tolist()) == set(range(ALPHABET))
    np.testing.assert_array_equal(ids[:, SYMBOLS:], [[0, 0, 0, ALPHABET + 1, *[0] * SYMBOLS]] * 300)


@pytest.mark.parametrize(
    ("task", "guess"), [(Adding(20), Constant([1.0])), (Copying(20), Constant([0.0] * 3 + [1.0] + [0.0] * 4))]
)
def test_a_guess_has_the_score_of_a_guess(task: Task, guess: nn.Module) -> None:
    batch = task.draw(np.random.default_rng(0), 4000)
    assert task.score(guess, batch) == pytest.approx(task.guess, rel=0.1) and not task.solved(task.guess)


@pytest.mark.parametrize("task", [task(6) for task in TASKS])
@pytest.mark.parametrize("name", NETWORKS)
def test_networks_are_of_equal_size_and_look_back_alone(name: str, task: Task) -> None:
    mg.manual_seed(0)
    model = network(name, task)
    assert 17_000 <= sum(p.numel() for p in model.parameters()) <= 20_000
    inputs = mg.randn(2, task.steps, task.inputs, requires_grad=True)
    output = model(inputs)
    assert output.shape == (2, task.steps, task.outputs)
    (gradient,) = mg.autograd.grad(output[:, 3].sum(), inputs)
    assert gradient[:, 4:].abs().max() == 0 and gradient[:, 0].abs().max() > 0


@pytest.mark.nightly
def test_a_transformer_learns_both_and_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "NETWORKS", ("transformer",))
    first = train_all((5,), 300, seed=0)
    assert [one.task for one in first] == [Adding, Copying]
    assert all(one.solved and 0 < one.updates < 300 and one.updates % training.EVERY == 0 for one in first)
    monkeypatch.setattr(training, "TASKS", (Copying,))
    assert train_all((5,), 300, seed=0) == first[1:]  # a seed, whatever was trained before
    (short,) = train_all((5,), 3, seed=-1)
    assert not short.solved and short.updates == 3 and short.score < 0.9
