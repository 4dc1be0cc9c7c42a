"""Denoising (Vincent et al. 2008): the network reads a damaged digit and learns to reconstruct the original."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

import minigrad as mg
from minigrad_models.viz.blocks import Array, Block, Chart, Choice, Number, Pictures, Section, Series

from ..digits.digits_data import SIDE, Digits, split
from ..lesson import markdown
from .baselines import least_squares, principal, squared_error
from .codes import SHOWN, flat, picture, some
from .learning import PictureBatches, picture_loss, train
from .network import Autoencoder, mask

SIZES = (SIDE * SIDE, 256, 32)  # from the pixels to the code
RATE = 2e-3
SHARES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)  # shares of pixels to erase
MOST = SHARES[-1]
FIRST = 0.4  # the share shown first
COPIES = 40  # noisy copies of each digit for fitting the linear map
NETWORK, NOTHING, LINEAR = "the network", "nothing done", "linear map"
EQUAL, FEW = f"{SIZES[-1]} components", "2 components"
Method = Callable[[Array], Array]  # noisy pictures (N, P) -> cleaned pictures


class Denoised(NamedTuple):
    """The results of every method on the same noisy digits."""

    unseen: Digits  # the held-out digits
    noisy: Mapping[float, Array]  # by share of noise (N, P)
    cleaned: Mapping[str, Mapping[float, Array]]  # by method and share (N, P)

    def errors(self, method: str) -> list[float]:
        """The squared error at each share."""
        return [squared_error(self.cleaned[method][share], flat(self.unseen)) for share in SHARES]


def trained(updates: int, seed: int) -> Denoised:
    """Train the network, fit the baselines, and clean held-out digits. Raises the errors of ``learning.train``."""
    train_set, unseen = split(seed)
    mg.manual_seed(seed)
    model, clean = Autoencoder(*SIZES), flat(train_set)
    batches = PictureBatches(mg.tensor(clean), seed, MOST)
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
    shares = MOST * mg.rand(len(copies), 1, generator=generator)
    linear = least_squares(mask(copies, shares, generator).numpy(), copies.numpy())
    return {LINEAR: linear, EQUAL: principal(clean, SIZES[-1]).back, FEW: principal(clean, 2).back}


def sections(computed: Denoised) -> list[Section]:
    """The sections of the lesson."""
    errors = {name: computed.errors(name) for name in computed.cleaned}
    others = [name for name in errors if name != NETWORK]
    best = all(errors[NETWORK][i] < min(errors[name][i] for name in others) for i in range(1, len(SHARES)))
    erased = [f"{Number(share):.0%}" for share in SHARES]
    pictures = [_pictures(computed, share) for share in SHARES]
    first = SHARES.index(FIRST)
    lines = [Series(name, SHARES, values) for name, values in errors.items()]
    title, across = "Error of held-out digits against the noise", "share of the pixels that are erased"
    return markdown.sections(
        globals(),
        noise=Choice("erased", erased, pictures, start=first, slider=True),
        curves=Chart(title, across, "squared error", lines, digits=2),
        linear_error=errors[EQUAL][0],
        error=errors[NETWORK][0],
        best=best,
    )


def _pictures(computed: Denoised, share: float) -> Block:
    """The first digits in their original, noisy and cleaned form, for each method."""
    methods = (NETWORK, LINEAR, EQUAL, FEW)
    rows = [flat(computed.unseen), computed.noisy[share], *(computed.cleaned[name][share] for name in methods)]
    pictures = [picture(x) for row in rows for x in some(Digits(row, computed.unseen.labels)).images]
    title = f"From the top: original, {Number(share):.0%} erased, cleaned by {', '.join(methods)}"
    return Pictures(title, pictures, across=len(SHOWN))
