"""Digits as two numbers (Hinton and Salakhutdinov 2006): the reconstructions and the code plane."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import minigrad as mg
from minigrad import nn
from minigrad_models.viz.blocks import Array, Block, Dense, Picture, Pictures, Plane, Section

from ..digits.digits_data import SIDE, Digits, split
from ..lesson import markdown
from .baselines import Principal, agreement, principal, squared_error
from .learning import PictureBatches, picture_loss, train
from .network import Autoencoder

SIZES = (SIDE * SIDE, 128, 64, 32, 2)  # from the pixels to the code
RATE = 3e-3
SHOWN = (0, 2, 4, 6, 8)  # show the first held-out example of each of these


class Codes(NamedTuple):
    """The trained autoencoder, and a baseline that also encodes each digit as two numbers."""

    model: Autoencoder
    principal: Principal
    known: Digits  # the training digits
    unseen: Digits  # the held-out digits

    @mg.no_grad()
    def encode(self, digits: Digits) -> Array:
        """Codes (N, 2)."""
        codes: Array = self.model.encode(mg.tensor(flat(digits))).numpy()
        return codes

    @mg.no_grad()
    def back(self, digits: Digits) -> Array:
        """Reconstructions (N, P)."""
        pictures: Array = self.model(mg.tensor(flat(digits))).numpy()
        return pictures


def flat(digits: Digits) -> Array:
    """Images (N, 8, 8) -> (N, P)."""
    return digits.images.reshape(len(digits.images), -1)


def trained(updates: int, seed: int) -> Codes:
    """Train the autoencoder. Raises the same errors as ``learning.train``."""
    train_set, unseen = split(seed)
    mg.manual_seed(seed)
    model = Autoencoder(*SIZES)
    batches = PictureBatches(mg.tensor(flat(train_set)), seed)
    train(model, batches, picture_loss, updates, RATE, seed, "digits through two numbers")
    return Codes(model, principal(flat(train_set), SIZES[-1]), train_set, unseen)


def sections(computed: Codes) -> list[Section]:
    """The sections of the lesson."""
    train_set, unseen, linear = computed.known, computed.unseen, computed.principal
    errors = [squared_error(computed.back(digits), flat(digits)) for digits in (train_set, unseen)]
    baseline = [squared_error(linear.back(flat(digits)), flat(digits)) for digits in (train_set, unseen)]
    codes = computed.encode(unseen)
    agree = agreement(codes, unseen.labels, computed.encode(train_set), train_set.labels)
    base = agreement(linear.encode(flat(unseen)), unseen.labels, linear.encode(flat(train_set)), train_set.labels)
    linears = [layer for layer in computed.model.decoder if isinstance(layer, nn.Linear)]
    weights = [(layer.weight.detach().numpy(), layer.bias.detach().numpy()) for layer in linears]
    layers = [*(Dense(*pair, "tanh") for pair in weights[:-1]), Dense(*weights[-1], "sigmoid")]
    title = "Held-out digits at their codes"
    return markdown.sections(
        globals(),
        widths=" → ".join(map(str, SIZES)),
        known=len(train_set.labels),
        unseen=len(unseen.labels),
        errors=errors,
        baseline=baseline,
        returned=_returned(computed),
        better=errors[1] < baseline[1],
        plane=Plane(title, codes, [str(i) for i in unseen.labels], unseen.images, layers),
        agree=agree,
        base=base,
        together=agree > base,
    )


def some(digits: Digits) -> Digits:
    """The first example of each digit in SHOWN. Raises IndexError if any is missing."""
    places = [int(np.flatnonzero(digits.labels == kind)[0]) for kind in SHOWN]
    return Digits(digits.images[places], digits.labels[places])


def picture(pixels: Array, caption: str = "") -> Picture:
    """Pixels (P,) as a square picture, clipped to the range from paper to ink."""
    return Picture(np.clip(pixels, 0, 1).reshape(SIDE, SIDE), caption)


def _returned(computed: Codes) -> Block:
    """Some held-out digits, and their reconstructions from codes and components."""
    digits = some(computed.unseen)
    original = flat(digits)
    pictures = [picture(x, str(label)) for x, label in zip(original, digits.labels, strict=True)]
    for row in (computed.back(digits), computed.principal.back(original)):
        pictures += [picture(y, f"{((y - x) ** 2).sum():.2f}") for y, x in zip(row, original, strict=True)]
    title = "Held-out digits; reconstructions from two numbers, with errors; the same from two components"
    return Pictures(title, pictures, across=len(SHOWN))
