"""The decoder-only model of workloads.py in the terms of libraries that have no PyTorch names.

Each is the same model as its library's own users would write it, with products over all tokens at once and no loop over
heads or sentences. What all share is here: the first weights, the batch, and AdamW as plain NumPy,
which none of them has.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..workloads import Work

Array = np.ndarray[Any, Any]
EPS = 1e-5  # of layer norms, as in PyTorch


def weights(work: Work, dtype: type[np.floating[Any]]) -> dict[str, Array]:
    """What ``workloads.build`` sets the decoder-only model's parameters to, in its order and by its names."""
    d, hidden = work.width, work.hidden
    shapes: dict[str, tuple[int, ...]] = {"tokens": (work.vocabulary, d), "places": (work.length, d)}
    for i in range(work.layers):
        block = {"norm1": (d,), "qkv": (3 * d, d), "out": (d, d), "norm2": (d,), "up": (hidden, d), "down": (d, hidden)}
        for name, shape in block.items():
            shapes |= {f"{i}.{name}": shape, f"{i}.{name}.bias": shape[:1]}
    shapes |= {"norm": (d,), "norm.bias": (d,), "head": (work.vocabulary, d)}
    draw = np.random.default_rng(0)
    return {name: _values(draw, shape).astype(dtype) for name, shape in shapes.items()}


def _values(draw: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return draw.standard_normal(shape).astype(np.float32) * 0.05 + (len(shape) == 1)


def batch(work: Work) -> tuple[Array, Array]:
    """Tokens (B, T) and those that follow them (B·T,): the numbers of ``workloads.loss_function``."""
    draw = np.random.default_rng(1)
    draw.integers(0, work.vocabulary, (work.batch, work.length))
    target = draw.integers(0, work.vocabulary, (work.batch, work.length + 1))
    return target[:, :-1], target[:, 1:].reshape(-1)


def causal(length: int, dtype: type[np.floating[Any]]) -> Array:
    """0 where a token may look, −∞ at those after it, (T, T)."""
    return np.triu(np.full((length, length), -np.inf, dtype), 1)


class AdamW:
    """Adam with decoupled weight decay (Loshchilov & Hutter 2019) on NumPy arrays, PyTorch's defaults."""

    def __init__(self, arrays: Iterable[Array], decay: float, lr: float = 1e-4) -> None:
        self.arrays, self.decay, self.lr, self.steps = list(arrays), decay, lr, 0
        self.first = [np.zeros_like(a) for a in self.arrays]
        self.second = [np.zeros_like(a) for a in self.arrays]

    def step(self, gradients: Iterable[Array]) -> None:
        """Change the arrays in place."""
        self.steps += 1
        rate = self.lr / (1 - 0.9**self.steps)
        scale = (1 - 0.999**self.steps) ** 0.5
        for p, g, m, v in zip(self.arrays, gradients, self.first, self.second, strict=True):
            m += 0.1 * (g - m)
            v += 0.001 * (g * g - v)
            p *= 1 - self.lr * self.decay
            p -= rate * m / (np.sqrt(v) / scale + 1e-8)
