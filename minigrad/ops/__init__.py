"""Every primitive: its forward and its gradient rules side by side. ``op.py`` tells how to read them."""

from . import (
    activation,
    attention,
    complex,
    convolution,
    device,
    dropout,
    elementwise,
    fourier,
    indexing,
    linear,
    loss,
    normalization,
    pooling,
    recurrent,
    reduction,
    rotary,
    shape,
    softmax,
    special,
)

__all__ = ["activation", "attention", "complex", "convolution", "device", "dropout", "elementwise",
           "fourier", "indexing", "linear", "loss", "normalization", "pooling", "recurrent", "reduction",
           "rotary", "shape", "softmax", "special"]  # fmt: skip
