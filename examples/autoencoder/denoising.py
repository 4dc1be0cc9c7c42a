"""Denoising (Vincent et al. 2008): the network reads a damaged digit, and learns to give back the one it was."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

import minigrad as mg
from minigrad_models.architectures.autoencoder import Autoencoder, Config, mask

from ..digits.digits_data import SIDE, Digits, split
from ..lesson.blocks import Array, Block, Chart, Checked, Choice, Pictures, Section, Series, Text
from .baselines import least_squares, principal, squared_error
from .codes import SHOWN, flat, picture, some
from .learning import PictureBatches, picture_loss, train

CONFIG = Config(SIDE * SIDE, (256,), 32)
RATE = 2e-3
SHARES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)  # of the pixels, that are erased
FIRST = 0.4  # that is shown
COPIES = 40  # of each digit, with noise, that the linear map is fitted to
NETWORK, NOTHING, LINEAR = "the network", "nothing done", "linear map"
EQUAL, FEW = f"{CONFIG.code} components", "2 components"
Method = Callable[[Array], Array]  # noisy pictures (N, P) -> cleaned ones


class Denoised(NamedTuple):
    """Every method on the same noisy digits.

    Attributes:
        unseen: the held-out digits.
        noisy: by share of noise (N, P).
        cleaned: by method and share (N, P).
    """

    unseen: Digits
    noisy: Mapping[float, Array]
    cleaned: Mapping[str, Mapping[float, Array]]

    def errors(self, method: str) -> list[float]:
        """The squared error at each share."""
        return [squared_error(self.cleaned[method][share], flat(self.unseen)) for share in SHARES]


def trained(updates: int, seed: int) -> Denoised:
    """Train the network, fit the baselines, and clean the held-out digits. Raises as ``learning.train``."""
    known, unseen = split(seed)
    mg.manual_seed(seed)
    model, clean = Autoencoder(CONFIG), flat(known)
    batches = PictureBatches(mg.tensor(clean), seed, SHARES[-1])
    train(model, batches, picture_loss, updates, RATE, seed, "digits with noise")
    generator = mg.Generator().manual_seed(seed)
    noisy = {share: mask(mg.tensor(flat(unseen)), share, generator).numpy() for share in SHARES}
    methods = {NETWORK: _network(model), NOTHING: lambda x: x, **_baselines(clean, generator)}
    cleaned = {name: {share: method(x) for share, x in noisy.items()} for name, method in methods.items()}
    return Denoised(unseen, noisy, cleaned)


def _network(model: Autoencoder) -> Method:
    @mg.no_grad()
    def clean(x: Array) -> Array:
        pictures: Array = model(mg.tensor(x)).numpy()
        return pictures

    return clean


def _baselines(clean: Array, generator: mg.Generator) -> dict[str, Method]:
    copies = mg.tensor(np.concatenate([clean] * COPIES))
    shares = SHARES[-1] * mg.rand(len(copies), 1, generator=generator)
    linear = least_squares(mask(copies, shares, generator).numpy(), copies.numpy())
    return {LINEAR: linear.apply, EQUAL: principal(clean, CONFIG.code).back, FEW: principal(clean, 2).back}


def percent(share: float) -> str:
    """A share as it is read."""
    return f"{100 * share:.0f} %"


def sections(computed: Denoised) -> list[Section]:
    """What came of it."""
    errors = {name: computed.errors(name) for name in computed.cleaned}
    others = [name for name in errors if name != NETWORK]
    best = all(errors[NETWORK][i] < min(errors[name][i] for name in others) for i in range(1, len(SHARES)))
    return [
        Section(
            "Noise as a teacher",
            (
                Text(
                    f"A code need not be narrow to be worth something, if copying is made impossible. Here pixels are "
                    f"erased at random, and the network, of layers of {CONFIG.pixels} → {CONFIG.widths[0]} → "
                    f"{CONFIG.code} → {CONFIG.widths[0]} → {CONFIG.pixels} numbers, has to give back the whole digit "
                    f"(Vincent et al. 2008). In training each digit loses a share of its pixels that is drawn between "
                    f"0 and {percent(SHARES[-1])}, anew every time."
                ),
                Choice(
                    "erased",
                    list(map(percent, SHARES)),
                    [_pictures(computed, share) for share in SHARES],
                    start=SHARES.index(FIRST),
                    slider=True,
                    printed=(SHARES.index(FIRST),),
                ),
                Chart(
                    "Error of held-out digits against the noise",
                    "share of the pixels that are erased",
                    "squared error",
                    [Series(name, SHARES, values) for name, values in errors.items()],
                    digits=2,
                ),
                Text(
                    f"Principal components keep what they read, noise included: as many of them as the network's code "
                    f"has numbers ({CONFIG.code}) do little against it, and two lose the digit. Without noise they are "
                    f"the better code: {CONFIG.code} components have an error of {errors[EQUAL][0]:.2f}, the network, "
                    f"which has learned to mistrust what it reads, {errors[NETWORK][0]:.2f}. The linear map was "
                    f"fitted to noisy digits as the network was, {COPIES} copies of each: it is what can be done "
                    f"without a layer in between."
                ),
                Checked(
                    f"from {percent(SHARES[1])} to {percent(SHARES[-1])} erased, the network's error is the least", best
                ),
            ),
        )
    ]


def _pictures(computed: Denoised, share: float) -> Block:
    """The first digits: as they were, noisy, and cleaned in each way."""
    methods = (NETWORK, LINEAR, EQUAL, FEW)
    rows = [flat(computed.unseen), computed.noisy[share], *(computed.cleaned[name][share] for name in methods)]
    pictures = [picture(x) for row in rows for x in some(Digits(row, computed.unseen.labels)).images]
    title = f"From the top: original, {percent(share)} erased, cleaned by {', '.join(methods)}"
    return Pictures(title, pictures, across=len(SHOWN))
