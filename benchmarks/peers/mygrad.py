"""The model on MyGrad, with its own softmax and its own cross-entropy."""

from __future__ import annotations

import math
from typing import Any

import mygrad as mg
from mygrad.nnet.activations import softmax
from mygrad.nnet.losses import softmax_crossentropy

from ..workloads import Work
from . import EPS, AdamW, Array, batch, causal, weights

Weights = dict[str, Any]


class Model:
    """See ``Peer``."""

    def __init__(self, work: Work, dtype: Any) -> None:
        mg.turn_memory_guarding_off()  # its manual's advice for speed
        self.work = work
        self.weights = {name: mg.tensor(value) for name, value in weights(work, dtype).items()}
        self.given, self.wanted = batch(work)
        self.mask = causal(work.length, dtype)
        self.adam = AdamW([w.data for w in self.weights.values()], work.weight_decay)

    def loss_and_gradients(self) -> tuple[float, list[Array]]:
        loss = self.loss(self.weights)
        loss.backward()
        return loss.item(), [w.grad for w in self.weights.values()]

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
        return softmax_crossentropy(mg.matmul(norm(w, "norm", x), w["head"].T), self.wanted)

    def attention(self, w: Weights, block: str, x: Any) -> Any:
        """(B·T, D) -> (B·T, D)"""
        work = self.work
        size = work.width // work.heads
        qkv = linear(w, block + "qkv", x).reshape(work.batch, work.length, 3, work.heads, size)
        q, k, v = qkv.transpose(2, 0, 3, 1, 4)  # each (B, H, T, D/H)
        scores = mg.matmul(q, mg.swapaxes(k, -1, -2)) / math.sqrt(size) + self.mask
        y = mg.matmul(softmax(scores, axis=-1), v)
        return linear(w, block + "out", y.transpose(0, 2, 1, 3).reshape(-1, work.width))


def linear(w: Weights, name: str, x: Any) -> Any:
    """(N, K) -> (N, M)"""
    return mg.matmul(x, w[name].T) + w[name + ".bias"]


def norm(w: Weights, name: str, x: Any) -> Any:
    """Layer norm."""
    centred = x - mg.mean(x, axis=-1, keepdims=True)
    variance = mg.mean(centred * centred, axis=-1, keepdims=True)
    return centred / mg.sqrt(variance + EPS) * w[name] + w[name + ".bias"]


def gelu(x: Any) -> Any:
    """GPT-2's, with tanh."""
    return 0.5 * x * (1 + mg.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))
