"""Layers that keep the keys and values of the tokens so far, so that a new token costs one position and no more.

Keys and values do not change when a token is added. Decoding needs no gradients: the steps call minigrad's ops on bare
arrays, and nothing is recorded.

Shapes: N rows (sentences, or beams of sentences), T new tokens, D model width, H heads. A mask is True where attention
is allowed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from minigrad import Tensor, nn
from minigrad.autograd.tape import wrap
from minigrad.backend import xp
from minigrad.backend.dtype import Array
from minigrad.backend.products import matmul
from minigrad.ops.attention import scaled_dot_product_attention
from minigrad.ops.linear import linear
from minigrad.ops.normalization import layer_norm

from ..architectures.layers import ACTIVATIONS, FeedForward, MultiHeadAttention, Residual, TransformerLayer, allowed

INITIAL_CAPACITY = 32  # tokens in a new cache
Norm = tuple[Array, Array, float]  # weight, bias, ε


class CachedLinear:
    """A linear layer, or several that read the same, side by side."""

    def __init__(self, *layers: nn.Linear) -> None:
        weights, biases = zip(*map(parameters, layers), strict=True)
        module = xp(weights[0])
        self.weight = module.concatenate(weights) if len(layers) > 1 else weights[0]
        self.bias = module.concatenate(biases) if len(layers) > 1 else biases[0]

    def __call__(self, x: Array) -> Array:
        """(N, T, D) -> (N, T, the layers' widths)"""
        if not isinstance(x, np.ndarray):
            return linear(x, self.weight, self.bias)
        out = matmul(x.reshape(-1, x.shape[-1]), self.weight.T, self.bias)
        return out.reshape(*x.shape[:-1], len(self.weight))


class CachedAttention:
    """Self-attention over the tokens so far, whose keys and values ``kv_cache`` holds (N, 2, H, capacity, D/H)."""

    def __init__(self, attention: MultiHeadAttention, rows: int) -> None:
        self.joint = CachedLinear(attention.query, attention.key, attention.value)
        self.output, self.heads, self.rotary = CachedLinear(attention.output), attention.heads, attention.rotary
        self.position_scores = attention.position_scores
        weight = self.joint.weight  # (3D, D)
        self.width = len(weight) // 3 // self.heads
        self.kv_cache = xp(weight).empty((rows, 2, self.heads, INITIAL_CAPACITY, self.width), weight.dtype)

    def step(self, x: Array, position: int, mask: Array | None = None) -> Array:
        """The keys and values of new tokens join the cache, and these attend to all up to themselves: (N, T, D) -> (N,
        T, D). The first is at ``position``; a mask is (N, 1, 1 or T, position + T)."""
        n, t, d = x.shape
        qkv = self.joint(x).reshape(n, t, 3, self.heads, self.width).transpose(0, 2, 3, 1, 4)
        if self.rotary is not None:
            qkv = xp(x).concatenate((self.rotary(wrap(qkv[:, :2]), position).array, qkv[:, 2:]), 1)
        end = position + t
        while end > self.kv_cache.shape[3]:  # double the capacity
            self.kv_cache = xp(x).concatenate((self.kv_cache, xp(x).empty_like(self.kv_cache)), 3)
        self.kv_cache[:, :, :, position:end] = qkv[:, 1:]
        keys, values = (self.kv_cache[:, i, :, :end] for i in (0, 1))
        causal = t > 1
        by_position = self.position_scores(wrap(qkv[:, 0]), end)
        if by_position is not None:
            scores = allowed(by_position, None if mask is None else wrap(mask), causal)
            mask, causal = scores.array, False
        elif causal and (position or mask is not None):
            earlier = xp(x).tri(t, end, position, dtype=bool)
            mask, causal = earlier if mask is None else mask & earlier, False
        heads = attend(qkv[:, 0], keys, values, mask, causal)  # (N, H, T, D/H)
        return self.output(heads.swapaxes(1, 2).reshape(n, t, d))  # -> (N, T, D)

    def reorder(self, rows: Array, length: int) -> None:
        """Continue row rows[n] as row n, each of ``length`` tokens."""
        cache = self.kv_cache
        if 2 * length > cache.shape[3]:
            self.kv_cache = cache[rows]  # one copy of everything costs less than two of the filled part
        else:
            self.kv_cache = xp(cache).empty((len(rows), *cache.shape[1:]), cache.dtype)
            self.kv_cache[:, :, :, :length] = cache[rows, :, :, :length]


class CachedResidual:
    """LayerNorm(x + sublayer(x)), or with ``norm_first`` x + sublayer(LayerNorm(x)), without dropout."""

    def __init__(self, residual: Residual) -> None:
        self.norm: Norm = (*parameters(residual.norm), residual.norm.eps)
        self.norm_first = residual.norm_first

    def __call__(self, x: Array, sublayer: Callable[[Array], Array]) -> Array:
        if self.norm_first:
            return x + sublayer(layer_norm(x, *self.norm))
        return layer_norm(x + sublayer(x), *self.norm)


class CachedFeedForward:
    """Two linear layers with an activation between them, without dropout."""

    def __init__(self, network: FeedForward) -> None:
        self.inner, self.outer = CachedLinear(network.inner), CachedLinear(network.outer)
        self.activation = ACTIVATIONS[network.activation]

    def __call__(self, x: Array) -> Array:
        return self.outer(self.activation(wrap(self.inner(x))).array)


class CachedTransformerLayer:
    """A causal ``TransformerLayer``, token by token."""

    def __init__(self, block: TransformerLayer, rows: int) -> None:
        self.attention = CachedAttention(block.attention, rows)
        self.feed_forward = CachedFeedForward(block.feed_forward)
        self.residuals = CachedResidual(block.attention_residual), CachedResidual(block.feed_forward_residual)

    def step(self, x: Array, position: int, mask: Array | None) -> Array:
        """The states of the new tokens after this block, as ``CachedAttention.step``."""
        x = self.residuals[0](x, lambda y: self.attention.step(y, position, mask))
        return self.residuals[1](x, self.feed_forward)

    def reorder(self, rows: Array, length: int) -> None:
        self.attention.reorder(rows, length)


def attend(q: Array, k: Array, v: Array, mask: Array | None, causal: bool = False) -> Array:
    """Equation 1 of "Attention Is All You Need", without dropout."""
    return scaled_dot_product_attention(q, k, v, mask, None, causal, 1 / math.sqrt(q.shape[-1]), 0.0)


def parameters(module: nn.Linear | nn.LayerNorm | nn.Module) -> tuple[Any, Any]:
    """The arrays of weight and bias."""
    weight, bias = module.weight, module.bias
    assert isinstance(weight, Tensor) and isinstance(bias, Tensor)
    return weight.array, bias.array
