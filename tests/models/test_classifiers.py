"""The four readers of small images: sizes, gradients, PyTorch's numbers, learning by heart, resuming."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad import nn
from minigrad.models.classifiers import Convolutional, FullyConnected, PatchTransformer, Recurrent
from minigrad.nn import functional as F
from minigrad.training import Settings, Trainer
from tests.support.in_torch import in_torch
from tests.support.parity import assert_close, ours, theirs, torch

KINDS = [FullyConnected, Convolutional, Recurrent, PatchTransformer]
SMALL: dict[type[nn.Module], dict[str, Any]] = {  # for images of 4 × 4 pixels, and 3 classes
    FullyConnected: {"hidden": 5},
    Convolutional: {"first": 2, "second": 3},
    Recurrent: {"hidden": 4},
    PatchTransformer: {"patch": 2, "width": 8, "heads": 2, "d_ff": 6},
}
each = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)


def small(kind: Callable[..., nn.Module], **options: Any) -> nn.Module:
    mg.manual_seed(1)
    return kind(side=4, classes=3, dropout=0.0, **SMALL[kind], **options)  # type: ignore[index]


def images(*shape: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(0).random(shape)


@each
def test_the_defaults_are_for_digits(kind: Callable[..., nn.Module], device: str) -> None:
    model = kind().to(device)
    assert model(mg.zeros(3, 8, 8, device=device)).shape == (3, 10)
    assert sum(p.numel() for p in model.parameters()) == pytest.approx(9880, rel=0.01)


@each
def test_gradients(kind: Callable[..., nn.Module]) -> None:
    model = small(kind).double()
    x = ours(images(2, 4, 4), requires_grad=True)
    parameters = list(model.parameters())
    assert mg.autograd.gradcheck(lambda x, *_: model(x), [x, *parameters])


@each
def test_the_same_program_gives_pytorchs_numbers(kind: Callable[..., nn.Module]) -> None:
    one = small(kind).double()
    other = getattr(in_torch("classifiers"), kind.__name__)(side=4, classes=3, dropout=0.0, **SMALL[kind]).double()  # type: ignore[index]
    other.load_state_dict({name: theirs(value) for name, value in one.state_dict().items()})
    x, labels = images(6, 4, 4), np.arange(6) % 3
    loss = F.cross_entropy(one(ours(x)), ours(labels))
    their_loss = torch.nn.functional.cross_entropy(other(theirs(x)), theirs(labels))
    loss.backward()
    their_loss.backward()
    assert_close(loss, their_loss)
    gradients = dict(other.named_parameters())
    for name, parameter in one.named_parameters():
        assert_close(parameter.grad, gradients[name].grad, 1e-8, name)


@each
def test_a_batch_is_learned_by_heart(kind: Callable[..., nn.Module]) -> None:
    model = small(kind)
    x, labels = mg.tensor(images(8, 4, 4).astype(np.float32)), mg.tensor(np.arange(8) % 3)
    adam = mg.optim.Adam(model.parameters(), lr=0.02)
    for _ in range(600):
        loss = F.cross_entropy(model(x), labels)
        adam.zero_grad()
        loss.backward()
        adam.step()
    assert loss < 1e-2


class Rows:
    """Batches of four images, the same in each epoch."""

    def epoch(self, number: int, start: int = 0) -> Iterator[tuple[mg.Tensor, mg.Tensor]]:
        for i in range(start, 3):
            yield mg.tensor(images(3, 4, 4, 4)[i].astype(np.float32)), mg.tensor(np.arange(4) % 3)


@each
def test_a_training_resumes_to_the_bit(kind: Callable[..., nn.Module], tmp_path: Path) -> None:
    def fit(folder: str, steps: int) -> dict[str, Any]:
        mg.manual_seed(1)
        model = kind(side=4, classes=3, dropout=0.2, **SMALL[kind])  # type: ignore[index]
        adam = mg.optim.Adam(model.parameters(), lr=0.01)
        settings = Settings(steps, progress=False)
        loss = lambda model, batch: (F.cross_entropy(model(batch[0]), batch[1]), len(batch[1]))
        Trainer(model, adam, Rows(), loss, folder=tmp_path / folder, settings=settings).fit()
        return {name: value.numpy() for name, value in model.state_dict().items()}

    whole = fit("whole", 8)
    half = fit("parts", 5)
    parts = fit("parts", 8)
    assert all(np.array_equal(whole[name], parts[name]) for name in whole)
    assert not all(np.array_equal(half[name], parts[name]) for name in half)


def test_states_and_patches() -> None:
    x = mg.arange(2 * 4 * 4).view(2, 4, 4).float()
    patches = PatchTransformer(side=4, classes=3, **SMALL[PatchTransformer]).patches(x)
    assert patches[0].tolist() == [[0, 1, 4, 5], [2, 3, 6, 7], [8, 9, 12, 13], [10, 11, 14, 15]]
    overlapping = PatchTransformer(side=4, classes=3, patch=2, stride=1).patches(x)
    assert overlapping.shape == (2, 9, 4) and overlapping[1, 4].tolist() == [21, 22, 25, 26]
    network = Recurrent(side=4, classes=3, hidden=4).eval()
    states = network.states(x)
    assert states.shape == (2, 4, 4) and mg.equal(network.output(states[:, -1]), network(x))


def test_sides_that_do_not_fit() -> None:
    with pytest.raises(ValueError, match="images of 7 × 7 pixels cannot be halved"):
        Convolutional(side=7)
    for patch, stride in ((3, 2), (9, 1)):
        with pytest.raises(
            ValueError, match=f"patches of {patch} × {patch} pixels, {stride} apart, do not fill images of 8"
        ):
            PatchTransformer(patch=patch, stride=stride)
