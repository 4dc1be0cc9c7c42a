"""The decoder-only model on libraries that stand on NumPy: MyGrad, HIPS autograd and PyDyNet.

What all three write alike stands in ``Model``, and what each has in its own way in a class of its own.
"""

from __future__ import annotations

import math
from importlib import import_module
from typing import Any

import numpy as np

from ..workloads import Work
from . import EPS, AdamW, Array, batch, causal, weights

Weights = dict[str, Any]


class Model:
    """The model on one library, and how it is trained.

    Attributes:
        library: has ``sqrt`` and ``tanh``.
    """

    library: Any

    def __init__(self, work: Work, dtype: type[np.floating[Any]]) -> None:
        arrays = weights(work, dtype)
        self.work, self.adam = work, AdamW(arrays.values(), work.weight_decay)
        self.tokens, self.targets = batch(work)
        self.mask: Any = causal(work.length, dtype)
        self.weights: Weights = {name: self.leaf(array) for name, array in arrays.items()}

    def leaf(self, array: Array) -> Any:
        """Weights that get gradients, in the array's own memory, which AdamW changes."""
        return array

    def step(self) -> float:
        """One step of training; the loss before it."""
        loss, gradients = self.loss_and_gradients()
        self.adam.step(gradients)
        return loss

    def loss_and_gradients(self) -> tuple[float, list[Array]]:
        """The mean cross-entropy of the batch, and its gradient for each array of weights."""
        loss = self.loss(self.weights)
        value = loss.item()
        loss.backward()
        return value, [w.grad for w in self.weights.values()]

    def loss(self, w: Weights) -> Any:
        """The mean cross-entropy."""
        work = self.work
        tanh, slope = self.library.tanh, math.sqrt(2 / math.pi)
        x = (self.embed(w["tokens"]) + w["places"]).reshape(-1, work.width)  # (B·T, D)
        for i in range(work.layers):
            x = x + self.attention(w, f"{i}.", self.norm(w, f"{i}.norm1", x))
            up = linear(w, f"{i}.up", self.norm(w, f"{i}.norm2", x))
            gelu = 0.5 * up * (1 + tanh(slope * (up + 0.044715 * up * up * up)))  # GPT-2's
            x = x + linear(w, f"{i}.down", gelu)
        return self.cross_entropy(self.norm(w, "norm", x) @ w["head"].T)

    def embed(self, table: Any) -> Any:
        """The tokens' rows (B, T, D)."""
        return table[self.tokens]

    def attention(self, w: Weights, block: str, x: Any) -> Any:
        """(B·T, D) -> (B·T, D)"""
        work = self.work
        size = work.width // work.heads
        qkv = linear(w, block + "qkv", x).reshape(work.batch, work.length, 3, work.heads, size)
        qkv = self.library.transpose(qkv, (2, 0, 3, 1, 4))
        q, k, v = qkv[0], qkv[1], qkv[2]  # each (B, H, T, D/H)
        scores = q @ k.swapaxes(-1, -2) / math.sqrt(size) + self.mask
        y = self.softmax(scores) @ v
        return linear(w, block + "out", self.library.transpose(y, (0, 2, 1, 3)).reshape(-1, work.width))

    def norm(self, w: Weights, name: str, x: Any) -> Any:
        """Layer norm."""
        centred = x - x.mean(-1, keepdims=True)
        variance = (centred * centred).mean(-1, keepdims=True)
        return centred / self.library.sqrt(variance + EPS) * w[name] + w[name + ".bias"]

    def softmax(self, scores: Any) -> Any:
        """Along the last axis."""
        raise NotImplementedError

    def cross_entropy(self, logits: Any) -> Any:
        """The mean over the targets; logits (N, V)."""
        raise NotImplementedError


def linear(w: Weights, name: str, x: Any) -> Any:
    """(N, K) -> (N, M)"""
    return x @ w[name].T + w[name + ".bias"]


class MyGrad(Model):
    """With its own softmax and its own cross-entropy."""

    def __init__(self, *arguments: Any) -> None:
        self.library = import_module("mygrad")
        self.library.turn_memory_guarding_off()  # its manual's advice for speed
        super().__init__(*arguments)

    def leaf(self, array: Array) -> Any:
        return self.library.tensor(array, copy=False)

    def softmax(self, scores: Any) -> Any:
        return import_module("mygrad.nnet.activations").softmax(scores, axis=-1)

    def cross_entropy(self, logits: Any) -> Any:
        return import_module("mygrad.nnet.losses").softmax_crossentropy(logits, self.targets)


class Autograd(Model):
    """HIPS autograd differentiates a function of a dictionary of arrays as it is."""

    def __init__(self, *arguments: Any) -> None:
        self.library = import_module("autograd.numpy")
        self.derive = import_module("autograd").value_and_grad(self.loss)
        super().__init__(*arguments)

    def loss_and_gradients(self) -> tuple[float, list[Array]]:
        loss, gradients = self.derive(self.weights)
        return float(loss), list(gradients.values())

    def softmax(self, scores: Any) -> Any:
        exps = self.library.exp(scores - scores.max(-1, keepdims=True))
        return exps / exps.sum(-1, keepdims=True)

    def cross_entropy(self, logits: Any) -> Any:
        logits = logits - logits.max(-1, keepdims=True)
        log_p = logits - self.library.log(self.library.exp(logits).sum(-1, keepdims=True))
        return -log_p[np.arange(len(self.targets)), self.targets].mean()


class PyDyNet(Model):
    """The gradient of its index overwrites where rows repeat, and its layer norm is taken over the batch: so embeddings
    are products with one-hot rows here, and norms are written out."""

    def __init__(self, work: Work, dtype: type[np.floating[Any]]) -> None:
        self.library = import_module("pydynet")
        super().__init__(work, dtype)
        self.mask = self.library.Tensor(self.mask, dtype=dtype)
        rows = np.eye(work.vocabulary, dtype=dtype)[self.tokens.reshape(-1)]
        self.tokens = self.library.Tensor(rows, dtype=dtype)

    def leaf(self, array: Array) -> Any:
        return self.library.Tensor(array, dtype=array.dtype.type, copy=False, requires_grad=True)

    def loss_and_gradients(self) -> tuple[float, list[Array]]:
        for weight in self.weights.values():
            weight.zero_grad()
        return super().loss_and_gradients()

    def embed(self, table: Any) -> Any:
        return (self.tokens @ table).reshape(self.work.batch, self.work.length, self.work.width)

    def softmax(self, scores: Any) -> Any:
        return import_module("pydynet.nn.functional").softmax(scores, axis=-1)

    def cross_entropy(self, logits: Any) -> Any:
        return import_module("pydynet.nn.functional").cross_entropy_loss(logits, self.targets)
