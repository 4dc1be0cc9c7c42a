"""Autoencoders: a picture goes through a narrow code, and comes back.

Read it beside Hinton and Salakhutdinov 2006 ("Reducing the dimensionality of data with neural networks", Science 313,
doi 10.1126/science.1127647) and Vincent et al. 2008 ("Extracting and composing robust features with denoising
autoencoders", ICML, doi 10.1145/1390156.1390294). Differences from both:

- All layers are trained at once, from Xavier's weights and by Adam. Back-propagation from random weights did not get
  there then: each layer was first trained alone, as a restricted Boltzmann machine (2006) or an autoencoder (2008).
- Units inside are tanh; theirs are logistic. The code is linear and the pixels are logistic, as in 2006.
- Encoder and decoder share no weights; those of 2008 may.
- Masking noise draws for each pixel; that of 2008 erases a fixed number of them.

Shapes: B batch, P pixels of a picture, K numbers of a code.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import minigrad as mg
from minigrad import Tensor, nn


class Autoencoder(nn.Module):
    """Encoder and decoder, of fully-connected layers. Sizes are those of the encoder: P pixels, hidden units, the K
    numbers of the code; the decoder has them backwards."""

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
        """Pictures -> what comes back of them (B, P)."""
        return self.decode(self.encode(x))

    def loss(self, x: Tensor, read: Tensor | None = None) -> Tensor:
        """The squared error, summed over the pixels and averaged over the pictures; a scalar. ``x`` (B, P) should come
        back; the encoder reads ``read`` (B, P), pictures with noise (Vincent et al., section 2.3), or by default x."""
        error = self(x if read is None else read) - x
        return (error * error).sum(-1).mean()


def mask(x: Tensor, share: float | Tensor, generator: Any = None) -> Tensor:
    """Masking noise (Vincent et al., section 2.3): each pixel of (B, P) becomes 0 with the probability ``share``, one
    number, or one for each picture (B, 1)."""
    return x * (mg.rand(*x.shape, generator=generator, dtype=x.dtype) >= share)


def _layers(sizes: tuple[int, ...]) -> nn.Sequential:
    """Layers from size to size, with Xavier's weights, and biases of 0; tanh between them."""
    layers = [nn.Linear(a, b) for a, b in pairwise(sizes)]
    for layer in layers:
        nn.init.xavier_uniform_(layer.weight)
        nn.init.zeros_(layer.bias)
    return nn.Sequential(*(part for layer in layers for part in (layer, nn.Tanh())))[:-1]
