"""The model on PyDyNet.

The gradient of its index overwrites where rows repeat, and its layer norm is taken over the batch: so
embeddings are products with one-hot rows here, and norms are written out.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pydynet as pdn
from pydynet.nn import functional as F

from ..workloads import Work
from . import EPS, AdamW, Array, batch, causal, weights

Weights = dict[str, Any]


class Model:
    """See ``Peer``."""

    def __init__(self, work: Work, dtype: Any) -> None:
        self.work = work
        arrays = weights(work, dtype)
        self.weights = {name: pdn.Tensor(a, dtype=dtype, requires_grad=True) for name, a in arrays.items()}
        given, self.wanted = batch(work)
        self.given = pdn.Tensor(np.eye(work.vocabulary, dtype=dtype)[given.reshape(-1)], dtype=dtype)
        self.mask = pdn.Tensor(causal(work.length, dtype), dtype=dtype)
        self.adam = AdamW([w.data for w in self.weights.values()], work.weight_decay)

    def loss_and_gradients(self) -> tuple[float, list[Array]]:
        for w in self.weights.values():
            w.zero_grad()
        loss = self.loss(self.weights)
        value = loss.item()
        loss.backward()
        return value, [w.grad for w in self.weights.values()]

    def step(self) -> float:
        loss, gradients = self.loss_and_gradients()
        self.adam.step(gradients)
        return loss

    def loss(self, w: Weights) -> Any:
        """The mean cross-entropy."""
        work = self.work
        embedded = (self.given @ w["tokens"]).reshape(work.batch, work.length, work.width)
        x = (embedded + w["places"]).reshape(-1, work.width)  # (B·T, D)
        for i in range(work.layers):
            x = x + self.attention(w, f"{i}.", norm(w, f"{i}.norm1", x))
            x = x + linear(w, f"{i}.down", gelu(linear(w, f"{i}.up", norm(w, f"{i}.norm2", x))))
        return F.cross_entropy_loss(norm(w, "norm", x) @ w["head"].T, self.wanted)

    def attention(self, w: Weights, block: str, x: Any) -> Any:
        """(B·T, D) -> (B·T, D)"""
        work = self.work
        size = work.width // work.heads
        qkv = linear(w, block + "qkv", x).reshape(work.batch, work.length, 3, work.heads, size)
        qkv = qkv.transpose(2, 0, 3, 1, 4)
        q, k, v = qkv[0], qkv[1], qkv[2]  # each (B, H, T, D/H)
        scores = q @ k.swapaxes(-1, -2) / math.sqrt(size) + self.mask
        y = F.softmax(scores, axis=-1) @ v
        return linear(w, block + "out", y.transpose(0, 2, 1, 3).reshape(-1, work.width))


def linear(w: Weights, name: str, x: Any) -> Any:
    """(N, K) -> (N, M)"""
    return x @ w[name].T + w[name + ".bias"]


def norm(w: Weights, name: str, x: Any) -> Any:
    """Layer norm."""
    centred = x - x.mean(-1, keepdims=True)
    variance = (centred * centred).mean(-1, keepdims=True)
    return centred / pdn.sqrt(variance + EPS) * w[name] + w[name + ".bias"]


def gelu(x: Any) -> Any:
    """GPT-2's, with tanh."""
    return 0.5 * x * (1 + pdn.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))
