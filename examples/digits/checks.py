"""The claims in the lesson: how well each network reads, and the limits of its architecture."""

from __future__ import annotations

import copy
from typing import Any, cast

import numpy as np

import minigrad as mg
from minigrad import Tensor, nn
from minigrad_models.viz.blocks import Checked

from ..lesson.markdown import Fields
from .classifiers import FullyConnected, PatchTransformer, Recurrent
from .digits_data import SIDE, Array
from .insight import feature_maps
from .results import Results
from .shifts import shifted

BARS = {"fully-connected": 96, "convolutional": 98, "recurrent": 96, "transformer": 97}  # percent of held-out digits
NEAR = 1e-3  # for logits of about 10, computed in a different order


def claims(results: Results) -> Fields:
    """All claims, each checked."""
    sizes = [one.parameters for one in results.in_place.values()]
    models = {name: one.model.eval() for name, one in results.in_place.items()}
    images = results.held_out.images[:50]
    in_place = [one for one, _ in results.shifted.values()]
    after = {name: other[2] for name, (_, other) in results.shifted.items()}
    bars = [
        Checked(
            f"the {name} network reads at least {bar} % of the held-out digits", 100 * results.repeated[name][0] >= bar
        )
        for name, bar in BARS.items()
    ]
    with mg.no_grad():
        return {
            "bars": bars,
            "not_elsewhere": max(one[1] for one in in_place) <= 0.8,
            "elsewhere": min(after.values()) >= 0.75 and max(after.values()) == after["convolutional"],
            "of_one_size": max(sizes) < 1.02 * min(sizes),
            "pixels": any_order_of_pixels(models["fully-connected"], images),
            "moves": moves_along(models["convolutional"], images),
            "downwards": reads_downwards(models["recurrent"], images),
            "patches": any_order_of_patches(models["transformer"], images),
        }


def any_order_of_pixels(model: nn.Module, images: Array) -> bool:
    """Whether a fully-connected network ignores the order of pixels if its weights are permuted in the same way."""
    order = np.random.default_rng(0).permutation(SIDE * SIDE)
    other = cast(FullyConnected, copy.deepcopy(model))
    other.hidden.weight.copy_(other.hidden.weight[:, mg.tensor(order)])
    mixed = images.reshape(-1, SIDE * SIDE)[:, order].reshape(images.shape)
    return _near(other(mg.tensor(mixed)), model(mg.tensor(images)))


def moves_along(model: nn.Module, images: Array) -> bool:
    """Whether the feature maps of the first convolution follow a shift to the right."""
    moved = shifted(images, np.tile([0, 1], (len(images), 1)))
    before, after = feature_maps(model, images), feature_maps(model, moved)
    return bool(np.abs(after[..., 2:-1] - before[..., 1:-2]).max() < NEAR)


def reads_downwards(model: nn.Module, images: Array) -> bool:
    """Whether the states of the upper rows are independent of the lower rows."""
    network, half = cast(Recurrent, model), SIDE // 2
    erased = images.copy()
    erased[:, half:] = 0
    states = [network.states(mg.tensor(one))[:, :half] for one in (images, erased)]
    return _near(*states)


def any_order_of_patches(model: nn.Module, images: Array) -> bool:
    """Whether the transformer ignores the order of patches if its positions are permuted in the same way."""
    network, other = cast(PatchTransformer, model), cast(Any, copy.deepcopy(model))
    order = mg.tensor(np.random.default_rng(0).permutation(network.across**2))
    other.patches = lambda x: network.patches(x)[:, order]
    other.positions[1:] = network.positions[1:][order]
    return _near(other(mg.tensor(images)), network(mg.tensor(images)))


def _near(one: Tensor, other: Tensor) -> bool:
    return bool((one - other).abs().max() < NEAR)
