"""Digits through two numbers (Hinton and Salakhutdinov 2006): what comes back, and where they lie in the plane."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import minigrad as mg
from minigrad import nn
from minigrad_models.architectures.autoencoder import Autoencoder, Config

from ..digits.digits_data import SIDE, Digits, split
from ..lesson.blocks import Array, Block, Checked, Dense, Picture, Pictures, Plane, Section, Steps, Text
from .baselines import Principal, agreement, principal, squared_error
from .learning import PictureBatches, picture_loss, train

CONFIG = Config(SIDE * SIDE, (128, 64, 32), 2)
RATE = 3e-3
SHOWN = (0, 2, 4, 6, 8)  # of each of these the first held-out digit is shown; plain text has room for five


class Codes(NamedTuple):
    """The trained autoencoder, and its baseline of the same two numbers.

    Attributes:
        known, unseen: the digits learned from, and those held out.
    """

    model: Autoencoder
    principal: Principal
    known: Digits
    unseen: Digits

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
    model = Autoencoder(CONFIG)
    batches = PictureBatches(mg.tensor(flat(known)), seed)
    train(model, batches, picture_loss, updates, RATE, seed, "digits through two numbers")
    return Codes(model, principal(flat(known), CONFIG.code), known, unseen)


def sections(computed: Codes) -> list[Section]:
    """What came of it."""
    return [_numbers(computed), _plane(computed)]


def _numbers(computed: Codes) -> Section:
    known, unseen, linear = computed.known, computed.unseen, computed.principal
    errors = [squared_error(computed.back(digits), flat(digits)) for digits in (known, unseen)]
    baseline = [squared_error(linear.back(flat(digits)), flat(digits)) for digits in (known, unseen)]
    widths = " → ".join(map(str, (CONFIG.pixels, *CONFIG.widths, CONFIG.code)))
    return Section(
        "Two numbers for a digit",
        (
            Text(
                f"A handwritten digit of {SIDE} × {SIDE} pixels goes through layers of {widths} numbers, and back by "
                f"layers of the same widths. The two numbers in the middle are its code. The network learned from "
                f"{len(known.labels):,} digits; the {len(unseen.labels)} measured here were held out."
            ),
            Text(
                "The best linear code is that of the first two principal components. Hinton and Salakhutdinov (2006) "
                "showed that a deep autoencoder keeps more in as many numbers. The error is the sum of the squared "
                "differences of the pixels, from 0 to 1, on average over the digits."
            ),
            Steps(
                ("two numbers by", "error on those learned from", "error on those held out"),
                (
                    ("the autoencoder", *(f"{error:.2f}" for error in errors)),
                    ("principal components", *(f"{error:.2f}" for error in baseline)),
                ),
                numbers=(1, 2),
            ),
            _returned(computed),
            Checked(
                "held-out digits come back with less error than from two principal components", errors[1] < baseline[1]
            ),
        ),
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


def _plane(computed: Codes) -> Section:
    known, unseen = computed.known, computed.unseen
    codes = computed.encode(unseen)
    agree = agreement(codes, unseen.labels, computed.encode(known), known.labels)
    linear = [computed.principal.encode(flat(digits)) for digits in (unseen, known)]
    base = agreement(linear[0], unseen.labels, linear[1], known.labels)
    linears = [layer for layer in computed.model.decoder if isinstance(layer, nn.Linear)]
    weights = [(layer.weight.detach().numpy(), layer.bias.detach().numpy()) for layer in linears]
    layers = [*(Dense(*pair, "tanh") for pair in weights[:-1]), Dense(*weights[-1], "sigmoid")]
    return Section(
        "The plane of codes",
        (
            Text(
                "Two numbers are a place in a plane. Each held-out digit stands at its code. Point anywhere, or move "
                "with the arrow keys: the page runs the decoder's layers on the place, and draws what they make of "
                "it. Between two kinds of digits one turns into the other."
            ),
            Plane("Held-out digits at their codes", codes, [str(i) for i in unseen.labels], unseen.images, layers),
            Text(
                f"Nobody told the network which digit is which, and yet they lie together: of the five digits learned "
                f"from that are nearest, the commonest label is that of the held-out digit {100 * agree:.0f} % of the "
                f"time. In the plane of the principal components it is {100 * base:.0f} %."
            ),
            Checked("digits of one kind lie together more often than by principal components", agree > base),
        ),
    )
