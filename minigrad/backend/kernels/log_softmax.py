"""The logarithm of softmax in blocks of rows that stay in cache, and its gradient from the result."""

from __future__ import annotations

import numpy as np

from ..dtype import Array
from . import Gradients, Needs
from ._rows import along, row_max, row_sum


def forward(needs: Needs, x: Array, dim: int) -> tuple[Array, Array]:
    out = along(_log_softmax, dim, x)
    return out, out


def _log_softmax(x: Array, out: Array) -> None:
    np.subtract(x, row_max(x)[:, None], out=out)
    with np.errstate(divide="ignore", invalid="ignore"):
        out -= np.log(row_sum(np.exp(out)))[:, None]


def backward(needs: Needs, out: Array, g: Array, x: None, dim: int) -> Gradients:
    return along(_slope, dim, g, out), None


def _slope(g: Array, y: Array, out: Array) -> None:
    np.exp(y, out=out)
    out *= -row_sum(g)[:, None]
    out += g
