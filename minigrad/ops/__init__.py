"""Every primitive: its forward and its gradient rules side by side. ``op.py`` tells how to read them."""

from . import (
    activation,
    attention,
    convolution,
    device,
    dropout,
    elementwise,
    indexing,
    linear,
    loss,
    normalization,
    pooling,
    recurrent,
    reduction,
    shape,
    softmax,
)

__all__ = ["activation", "attention", "convolution", "device", "dropout", "elementwise", "indexing",
           "linear", "loss", "normalization", "pooling", "recurrent", "reduction", "shape",
           "softmax"]  # fmt: skip
