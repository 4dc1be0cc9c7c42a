"""Dropout behind max(x, 0): see dropout.cu."""

from __future__ import annotations

from typing import Any

from ..dtype import Array
from . import Gradients, Needs
from .dropout_cuda import dropped, rectified_gradient


def forward(needs: Needs, x: Array, keep: Any, scale: float) -> tuple[Array, Array]:
    out = dropped(x, keep, scale, rectify=True)
    return out, out


def backward(needs: Needs, y: Array, g: Array, x: None, keep: None, scale: float) -> Gradients:
    return rectified_gradient(needs, y, g, scale)
