"""The inner workings of trained networks as small pictures: weights, feature maps, states and attention."""

from __future__ import annotations

from typing import cast

import numpy as np

import minigrad as mg
from minigrad import nn, viz
from minigrad_models.viz.blocks import Picture, Pictures

from .classifiers import Convolutional, FullyConnected, PatchTransformer, Recurrent
from .digits_data import CLASSES, SIDE, Array, Digits
from .train_digits import read

PATCH_SIDE = 16  # side of a patch's square on the page, in pixels; nine squares are as large as a digit
UNITS = 24  # hidden units of the fully-connected network to show


def one_of_each(digits: Digits, kinds: tuple[int, ...] = tuple(range(CLASSES))) -> Digits:
    """The first example of each digit."""
    places = [int(np.flatnonzero(digits.labels == digit)[0]) for digit in kinds]
    return Digits(digits.images[places], digits.labels[places])


def weights(model: nn.Module) -> Pictures:
    """The weights of the hidden units with the most influence on the fully-connected network's result."""
    network = cast(FullyConnected, model)
    hidden, output = network.hidden.weight.detach().numpy(), network.output.weight.detach().numpy()  # (H, S²), (C, H)
    strongest = np.argsort(-np.linalg.norm(output, axis=0) * np.linalg.norm(hidden, axis=1))[:UNITS]
    pictures = []
    for unit in strongest:
        says = output[:, unit]  # the unit votes most strongly for and against these digits
        pictures.append(Picture(hidden[unit].reshape(SIDE, SIDE), f"+{says.argmax()} −{says.argmin()}"))
    title = f"{len(pictures)} of {len(hidden)} hidden units: their weights of the pixels"
    return Pictures(title, pictures, "signs")


def filters(model: nn.Module, digit: Array) -> tuple[Pictures, Pictures]:
    """The filters of the first layer (3 × 3), and the output of each for a digit (S, S)."""
    network = cast(Convolutional, model)
    kernels = network.first.weight.detach().numpy()[:, 0]  # (F, 1, 3, 3) -> (F, 3, 3)
    maps = feature_maps(network, digit[None])[0]
    units = range(len(kernels))
    first = Pictures(
        "The filters of the first layer", [Picture(kernels[i], str(i + 1)) for i in units], "signs", across=8, side=16
    )
    answers = [Picture(maps[i], str(i + 1)) for i in units]
    return first, Pictures("Where each of them answers to one digit", answers, across=8, side=6)


def feature_maps(model: nn.Module, images: Array) -> Array:
    """The feature maps of the convolutional network's first layer: images (B, S, S) -> (B, F, S, S)."""
    network = cast(Convolutional, model)
    with mg.no_grad():
        maps: Array = network.first(mg.tensor(images)[:, None]).relu().numpy()
    return maps


def states(model: nn.Module, digits: Digits) -> tuple[Pictures, Pictures]:
    """The state of the recurrent network after each row, and its answer at that point, next to each digit."""
    network = cast(Recurrent, model.eval())
    with mg.no_grad():
        after = network.states(mg.tensor(digits.images))  # (B, S, H)
        answers = network.output(after).softmax(-1).numpy()  # (B, S, C)
    pictures: list[Picture] = []
    guesses: list[Picture] = []
    for image, state, answer in zip(digits.images, after.numpy(), answers, strict=True):
        pictures += [Picture(image), Picture(state)]
        guesses += [Picture(image), Picture(answer, f"0 to {CLASSES - 1}")]
    return (
        Pictures("The digit, and the state after each of its rows", pictures, "signs", across=2, side=10),
        Pictures("The digit, and the probabilities of 0 to 9 after each of its rows", guesses, across=6, side=10),
    )


def attention(model: nn.Module, digits: Digits) -> Pictures:
    """The attention of the transformer's class token by layer and head, next to each digit: a square per patch."""
    pictures: list[Picture] = []
    for number, image in enumerate(digits.images):
        pictures.append(Picture(image / image.max(), f"a {digits.labels[number]}"))
        for layer, looks in enumerate(looked(model, image)):
            pictures += [
                Picture(one / one.max(), f"{layer + 1}.{head + 1}", PATCH_SIDE) for head, one in enumerate(looks)
            ]
    across = len(pictures) // len(digits.labels)
    return Pictures("Each digit, and where each head looks (layer.head)", pictures, across=across, side=6)


def looked(model: nn.Module, image: Array) -> Array:
    """The attention of the class token to each patch of an image (S, S): (layers, heads, √N, √N)."""
    across = cast(PatchTransformer, model).across
    layers = viz.attention(model, mg.tensor(image[None])).weights()
    first = np.stack([weights[:, 0, 1:] for weights in layers])  # (L, H, 1 + N, 1 + N) -> (L, H, N)
    grid: Array = first.reshape(*first.shape[:2], across, across)
    return grid


def misread(model: nn.Module, held_out: Digits) -> list[Picture]:
    """The held-out digits that a network misreads, with its answers."""
    answers = read(model, held_out.images)
    wrong = np.flatnonzero(answers != held_out.labels)
    return [Picture(held_out.images[i], f"{held_out.labels[i]} as {answers[i]}") for i in wrong]
