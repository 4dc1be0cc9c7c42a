"""The four image classifiers: sizes, gradients, PyTorch's numbers, overfitting, resuming."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from examples.digits.classifiers import Convolutional, FullyConnected, PatchTransformer, Recurrent
from minigrad import nn
from tests.support.parity import ours

SMALL: dict[type[nn.Module], dict[str, Any]] = {  # for images of 4 × 4 pixels and 3 classes
    FullyConnected: {"hidden": 5},
    Convolutional: {"first": 2, "second": 3},
    Recurrent: {"hidden": 4},
    PatchTransformer: {"patch": 2, "width": 8, "heads": 2, "d_ff": 6},
}
each = pytest.mark.parametrize("kind", SMALL, ids=lambda kind: kind.__name__)


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


def test_states_and_patches() -> None:
    x = mg.arange(2 * 4 * 4).view(2, 4, 4).float()
    patches = PatchTransformer(side=4, classes=3, **SMALL[PatchTransformer]).patches(x)
    assert patches[0].tolist() == [[0, 1, 4, 5], [2, 3, 6, 7], [8, 9, 12, 13], [10, 11, 14, 15]]
    overlapping = PatchTransformer(side=4, classes=3, patch=2, stride=1).patches(x)
    assert overlapping.shape == (2, 9, 4) and overlapping[1, 4].tolist() == [21, 22, 25, 26]
    network = Recurrent(side=4, classes=3, hidden=4).eval()
    states = network.states(x)
    assert states.shape == (2, 4, 4) and mg.equal(network.output(states[:, -1]), network(x))


def test_image_sides_that_do_not_fit() -> None:
    with pytest.raises(ValueError, match="images of 7 × 7 pixels cannot be halved"):
        Convolutional(side=7)
    for patch, stride in ((3, 2), (9, 1)):
        message = f"patches of {patch} × {patch} pixels, {stride} apart, do not fill images of 8"
        with pytest.raises(ValueError, match=message):
            PatchTransformer(patch=patch, stride=stride)
