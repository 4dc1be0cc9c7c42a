"""The logarithm of softmax in blocks of rows that stay in cache, and its gradient from the result."""

from __future__ import annotations

import math

import numpy as np

from ..dtype import Array
from . import Gradients, Needs
from ._rows import along, row_max, row_sum


def forward(needs: Needs, x: Array, dim: int) -> tuple[Array, Array]:
    out = along(_log_softmax, dim, x)
    return out, out


def _log_softmax(x: Array, out: Array) -> None:
    np.subtract(x, row_max(x)[:, None], out=out)
    powers, rows = np.exp(out), np.arange(len(out))
    largest = out.argmax(axis=1)
    one = powers[rows, largest]  # 0 in a row that is all -inf
    powers[rows, largest] = 0  # the others have digits that 1 would take
    with np.errstate(divide="ignore", invalid="ignore"):
        out -= np.log1p(row_sum(powers) + (one - 1))[:, None]


def backward(needs: Needs, out: Array, g: Array, x: None, dim: int) -> Gradients:
    return along(_slope, dim, g, out), None


def _slope(g: Array, y: Array, out: Array) -> None:
    np.exp(y, out=out)
    total = row_sum(g)
    out *= -total[:, None]
    out += g
    bound = np.where(np.isfinite(total), y.dtype.type(-math.log(2)), np.inf)
    large = np.nonzero(y > bound[:, None])  # eʸ - 1 has digits there that eʸ has not
    out[large] = (g[large] - total[large[0]]) - np.expm1(y[large]) * total[large[0]]
