"""Softmax and log-softmax, one row at a time, and their gradients from the result."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from ..compiled.functions import exp
from ..compiled.loops import Loop, Rows, fits, grain, inline, laid, loop
from ..compiled.native import fma
from ..dtype import Array
from . import Gradients, Needs
from ._softmax_numba import INFINITY, log, log1p, top

F = np.float32


@loop
def rows(start: int, stop: int, x: Rows, out: Rows) -> None:
    """y = e^(x - max) / Σ e^(x - max), or zeros for a row that is all -inf. The sum has a separate loop, since a loop
    that also writes adds in a different order if x and y are close together in memory."""
    width = x.shape[1]
    for i in range(start, stop):
        level, total = top(x[i]), F(0.0)
        for j in range(width):
            out[i, j] = exp(x[i, j] - level)
        for j in range(width):
            total += out[i, j]
        share = F(1.0) / (F(1.0) if total == F(0.0) else total)
        for j in range(width):
            out[i, j] *= share


@loop
def grad(start: int, stop: int, g: Rows, y: Rows, out: Rows) -> None:
    """dx = y (d - Σ d y), where d = g - Σ g y. d is stored in ``out``, as the compiler may add in any order. An
    infinite Σ d y counts as 0, as in the op's rule."""
    width = y.shape[1]
    for i in range(start, stop):
        total = F(0.0)
        for j in range(width):
            total += g[i, j] * y[i, j]
        again = F(0.0)
        for j in range(width):
            out[i, j] = g[i, j] - total
        for j in range(width):
            again += out[i, j] * y[i, j]
        again = again if abs(again) < INFINITY else F(0.0)
        for j in range(width):
            out[i, j] = y[i, j] * (out[i, j] - again)


@loop
def log_rows(start: int, stop: int, x: Rows, out: Rows) -> None:
    """y = x - max - ln Σ e^(x - max). x - max is stored in ``out``, as the compiler may add in any order."""
    width = x.shape[1]
    for i in range(start, stop):
        most, total, others = top(x[i]), F(0.0), F(0.0)
        for j in range(width):
            out[i, j] = x[i, j] - most
        for j in range(width):  # a separate loop, as in softmax
            total += exp(out[i, j])
        if is_one(total):
            for j in range(width):
                others += exp(out[i, j]) if out[i, j] < F(0.0) else F(0.0)
        level = log1p(others) if is_one(total) else log(total)
        for j in range(width):
            out[i, j] -= level


@inline
def is_one(total: np.float32) -> Any:
    """Whether a sum of exponentials is so close to its largest term, 1, that the digits of the other terms are lost."""
    return F(0.9) < total < F(1.4)


@inline
def element_grad(g: np.float32, y: np.float32, total: np.float32) -> np.float32:
    """g - e^y Σ g, computed from 1 - e^y if e^y exceeds ½, as in the op's rule."""
    large = y > F(-0.6931)
    half = F(0.5) * y if large else F(0.0)
    p = fma(half, F(1 / 5040), F(1 / 720))
    p = fma(p, half, F(1 / 120))
    p = fma(p, half, F(1 / 24))
    p = fma(p, half, F(1 / 6))
    p = fma(p, half, F(0.5))
    root = fma(p, half * half, half)  # e^(y/2) - 1
    return fma(-root * (root + F(2.0)), total, g - total) if large else g - exp(y) * total


@inline
def infinite_grad(g: np.float32, y: np.float32, total: np.float32) -> np.float32:
    """g - e^y Σ g for an infinite or NaN Σ g, where e^y must not be split, as (e^y - 1) Σ g + Σ g is NaN."""
    return g - (exp(y) if y > F(-104.0) else F(0.0)) * total


@loop
def log_grad(start: int, stop: int, g: Rows, y: Rows, out: Rows) -> None:
    """dx = g - e^y Σ g."""
    width = y.shape[1]
    for i in range(start, stop):
        total = F(0.0)
        for j in range(width):
            total += g[i, j]
        for j in range(width):
            out[i, j] = element_grad(g[i, j], y[i, j], total)
        if not abs(total) < INFINITY:
            for j in range(width):
                out[i, j] = infinite_grad(g[i, j], y[i, j], total)


def along(by_rows: Loop, grad: Loop) -> SimpleNamespace:
    """A kernel along any axis, which is moved to the end. ``by_rows`` gets the rows of the input and the result.
    ``grad`` gets the rows of the result's gradient, the result, and the input's gradient."""

    def run(loop: Loop, dim: int, *inputs: Array) -> Any:
        if not inputs[0].ndim or not fits(*inputs):
            return NotImplemented
        turned = [laid(a.swapaxes(dim, -1)) for a in inputs]
        out, length = np.empty_like(turned[0]), turned[0].shape[-1]
        loop(out.size // length, grain(out.size // length, (len(inputs) + 1) * 4 * length), *turned, out)
        return np.ascontiguousarray(out.swapaxes(dim, -1))

    def forward(needs: Needs, x: Array, dim: int) -> Any:
        out = run(by_rows, dim, x)
        return NotImplemented if out is NotImplemented else (out, out)

    def backward(needs: Needs, out: Array, g: Array, x: None, dim: int) -> Gradients:
        return run(grad, dim, g, out), None

    return SimpleNamespace(forward=forward, backward=backward)


KERNELS = {"softmax": along(rows, grad), "log_softmax": along(log_rows, log_grad)}
