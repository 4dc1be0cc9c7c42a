"""Autoencoders, which encode a picture as a narrow code and decode it again.

The model follows Hinton and Salakhutdinov 2006 ("Reducing the dimensionality of data with neural networks", Science
313, doi 10.1126/science.1127647) and Vincent et al. 2008 ("Extracting and composing robust features with denoising
autoencoders", ICML, doi 10.1145/1390156.1390294). Differences from both:

- All layers are trained together, with Xavier initialization and Adam. At the time this failed, so each layer was first
  trained separately, as a restricted Boltzmann machine (2006) or an autoencoder (2008).
- Hidden units use tanh instead of logistic functions. The code is linear and the pixels are logistic, as in 2006.
- The encoder and the decoder do not share weights; in 2008, sharing was optional.
- Masking noise erases each pixel with a probability; in 2008, it erased a fixed number of pixels.

Shapes: B batch, P pixels in a picture, K numbers in a code.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import minigrad as mg
from minigrad import Tensor, nn


class Autoencoder(nn.Module):
    """An encoder and a decoder made of fully-connected layers. ``sizes`` are the encoder's sizes: P pixels, hidden
    units, and the K numbers of the code. The decoder reverses them."""

    def __init__(self, *sizes: int) -> None:
        super().__init__()
        self.encoder, self.decoder = _layers(sizes), _layers(sizes[::-1]).append(nn.Sigmoid())

    def encode(self, x: Tensor) -> Tensor:
        """Pictures (B, P), from 0 to 1 -> codes (B, K)."""
        return self.encoder(x)

    def decode(self, code: Tensor) -> Tensor:
        """Codes (B, K) -> pictures (B, P), from 0 to 1."""
        return self.decoder(code)

    def forward(self, x: Tensor) -> Tensor:
        """Pictures -> reconstructions (B, P)."""
        return self.decode(self.encode(x))

    def loss(self, x: Tensor, read: Tensor | None = None) -> Tensor:
        """The squared error of the reconstruction of ``x`` (B, P), summed over pixels and averaged over pictures.
        The encoder reads ``read`` (B, P), pictures with noise (Vincent et al., section 2.3), or ``x`` by default."""
        error = self(x if read is None else read) - x
        return (error * error).sum(-1).mean()


def mask(x: Tensor, share: float | Tensor, generator: Any = None) -> Tensor:
    """Masking noise (Vincent et al., section 2.3): sets each pixel in (B, P) to 0 with probability ``share``, a single
    number or one per picture (B, 1)."""
    return x * (mg.rand(*x.shape, generator=generator, dtype=x.dtype) >= share)


def _layers(sizes: tuple[int, ...]) -> nn.Sequential:
    """Layers of these sizes with tanh between them, Xavier initialization, and biases of 0."""
    layers = [nn.Linear(a, b) for a, b in pairwise(sizes)]
    for layer in layers:
        nn.init.xavier_uniform_(layer.weight)
        nn.init.zeros_(layer.bias)
    return nn.Sequential(*(part for layer in layers for part in (layer, nn.Tanh())))[:-1]
