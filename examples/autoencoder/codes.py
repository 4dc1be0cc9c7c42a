"""Digits through two numbers (Hinton and Salakhutdinov 2006): what comes back, and where they lie in the plane."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import minigrad as mg
from minigrad import nn

from ..digits.digits_data import SIDE, Digits, split
from ..lesson import markdown
from ..lesson.blocks import Array, Block, Dense, Picture, Pictures, Plane, Section
from .baselines import Principal, agreement, principal, squared_error
from .learning import PictureBatches, picture_loss, train
from .network import Autoencoder

SIZES = (SIDE * SIDE, 128, 64, 32, 2)  # from the pixels to the code
RATE = 3e-3
SHOWN = (0, 2, 4, 6, 8)  # of each of these the first held-out digit is shown


class Codes(NamedTuple):
    """The trained autoencoder, and its baseline of the same two numbers."""

    model: Autoencoder
    principal: Principal
    known: Digits  # the digits learned from
    unseen: Digits  # those held out

    @mg.no_grad()
    def encode(self, digits: Digits) -> Array:
        """Codes (N, 2)."""
        codes: Array = self.model.encode(mg.tensor(flat(digits))).numpy()
        return codes

    @mg.no_grad()
    def back(self, digits: Digits) -> Array:
        """What comes back (N, P)."""
        pictures: Array = self.model(mg.tensor(flat(digits))).numpy()
        return pictures


def flat(digits: Digits) -> Array:
    """Images (N, 8, 8) -> (N, P)."""
    return digits.images.reshape(len(digits.images), -1)


def trained(updates: int, seed: int) -> Codes:
    """Train the autoencoder. Raises as ``learning.train``."""
    known, unseen = split(seed)
    mg.manual_seed(seed)
    model = Autoencoder(*SIZES)
    batches = PictureBatches(mg.tensor(flat(known)), seed)
    train(model, batches, picture_loss, updates, RATE, seed, "digits through two numbers")
    return Codes(model, principal(flat(known), SIZES[-1]), known, unseen)


def sections(computed: Codes) -> list[Section]:
    """What came of it."""
    known, unseen, linear = computed.known, computed.unseen, computed.principal
    errors = [squared_error(computed.back(digits), flat(digits)) for digits in (known, unseen)]
    baseline = [squared_error(linear.back(flat(digits)), flat(digits)) for digits in (known, unseen)]
    codes = computed.encode(unseen)
    agree = agreement(codes, unseen.labels, computed.encode(known), known.labels)
    base = agreement(linear.encode(flat(unseen)), unseen.labels, linear.encode(flat(known)), known.labels)
    linears = [layer for layer in computed.model.decoder if isinstance(layer, nn.Linear)]
    weights = [(layer.weight.detach().numpy(), layer.bias.detach().numpy()) for layer in linears]
    layers = [*(Dense(*pair, "tanh") for pair in weights[:-1]), Dense(*weights[-1], "sigmoid")]
    title = "Held-out digits at their codes"
    return markdown.sections(
        globals(),
        widths=" → ".join(map(str, SIZES)),
        known=len(known.labels),
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
    """The first of each kind that is shown. Raises IndexError: there is none."""
    places = [int(np.flatnonzero(digits.labels == kind)[0]) for kind in SHOWN]
    return Digits(digits.images[places], digits.labels[places])


def picture(pixels: Array, caption: str = "") -> Picture:
    """Pixels (P,) as a square; what is no ink at all, or more than there is, is cut off."""
    return Picture(np.clip(pixels, 0, 1).reshape(SIDE, SIDE), caption)


def _returned(computed: Codes) -> Block:
    """Some held-out digits, what came back of their codes, and of their components."""
    shown = some(computed.unseen)
    original = flat(shown)
    pictures = [picture(x, str(label)) for x, label in zip(original, shown.labels, strict=True)]
    for row in (computed.back(shown), computed.principal.back(original)):
        pictures += [picture(y, f"{((y - x) ** 2).sum():.2f}") for y, x in zip(row, original, strict=True)]
    title = "Held-out digits; what comes back through two numbers, and its error; the same by two components"
    return Pictures(title, pictures, across=len(SHOWN))
