"""All ops of the library, by their names. A program loads only the files of those that it needs."""

from __future__ import annotations

from . import (  # noqa: F401 (each registers its ops)
    activation,
    attention,
    complex,
    convolution,
    cumulative,
    decompositions,
    determinants,
    device,
    dropout,
    elementwise,
    fourier,
    indefinite,
    indexing,
    joining,
    linear,
    loss,
    normalization,
    pooling,
    recurrent,
    reduction,
    resampling,
    rotary,
    scattering,
    shape,
    softmax,
    special,
)
from .op import REGISTRY as REGISTRY
