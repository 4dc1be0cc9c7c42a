"""The model on HIPS autograd: a function of a dictionary of arrays, differentiated as it is."""

from __future__ import annotations

import math
from typing import Any

import autograd.numpy as np
from autograd import value_and_grad

from ..workloads import Work
from . import EPS, AdamW, Array, batch, causal, weights

Weights = dict[str, Any]


class Model:
    """See ``Peer``."""

    def __init__(self, work: Work, dtype: Any) -> None:
        self.work, self.weights = work, weights(work, dtype)
        self.given, self.wanted = batch(work)
        self.mask = causal(work.length, dtype)
        self.derive = value_and_grad(self.loss)
        self.adam = AdamW(self.weights.values(), work.weight_decay)

    def loss_and_gradients(self) -> tuple[float, list[Array]]:
        loss, gradients = self.derive(self.weights)
        return float(loss), list(gradients.values())

    def step(self) -> float:
        loss, gradients = self.loss_and_gradients()
        self.adam.step(gradients)
        return loss

    def loss(self, w: Weights) -> Any:
        """The mean cross-entropy."""
        x = (w["tokens"][self.given] + w["places"]).reshape(-1, self.work.width)  # (B·T, D)
        for i in range(self.work.layers):
            x = x + self.attention(w, f"{i}.", norm(w, f"{i}.norm1", x))
            x = x + linear(w, f"{i}.down", gelu(linear(w, f"{i}.up", norm(w, f"{i}.norm2", x))))
        logits = np.dot(norm(w, "norm", x), w["head"].T)
        logits = logits - np.max(logits, axis=-1, keepdims=True)
        log_p = logits - np.log(np.sum(np.exp(logits), axis=-1, keepdims=True))
        return -np.mean(log_p[np.arange(len(self.wanted)), self.wanted])

    def attention(self, w: Weights, block: str, x: Any) -> Any:
        """(B·T, D) -> (B·T, D)"""
        work = self.work
        size = work.width // work.heads
        qkv = linear(w, block + "qkv", x).reshape(work.batch, work.length, 3, work.heads, size)
        q, k, v = np.transpose(qkv, (2, 0, 3, 1, 4))  # each (B, H, T, D/H)
        scores = np.matmul(q, np.swapaxes(k, -1, -2)) / math.sqrt(size) + self.mask
        exps = np.exp(scores - np.max(scores, axis=-1, keepdims=True))
        y = np.matmul(exps / np.sum(exps, axis=-1, keepdims=True), v)
        return linear(w, block + "out", np.transpose(y, (0, 2, 1, 3)).reshape(-1, work.width))


def linear(w: Weights, name: str, x: Any) -> Any:
    """(N, K) -> (N, M)"""
    return np.dot(x, w[name].T) + w[name + ".bias"]


def norm(w: Weights, name: str, x: Any) -> Any:
    """Layer norm."""
    centred = x - np.mean(x, axis=-1, keepdims=True)
    variance = np.mean(centred * centred, axis=-1, keepdims=True)
    return centred / np.sqrt(variance + EPS) * w[name] + w[name + ".bias"]


def gelu(x: Any) -> Any:
    """GPT-2's, with tanh."""
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))
