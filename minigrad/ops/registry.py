"""All ops of the core, by their names. A program loads only the files of those that it needs."""

from __future__ import annotations

from . import (  # noqa: F401 (each registers its ops)
    activation,
    attention,
    complex,
    convolution,
    cumulative,
    elementwise,
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
)
from .op import REGISTRY as REGISTRY
