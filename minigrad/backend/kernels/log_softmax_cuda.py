"""The logarithm of softmax along ``dim``, and its gradient from the result: see softmax.cu."""

from __future__ import annotations

from ..dtype import Array
from . import Gradients, Needs
from ._launch import along


def forward(needs: Needs, x: Array, dim: int) -> tuple[Array, Array]:
    out = along(dim, "softmax", "log_softmax", x)
    return out, out


def backward(needs: Needs, out: Array, g: Array, x: None, dim: int) -> Gradients:
    return along(dim, "softmax", "log_softmax_gradient", g, out), None
