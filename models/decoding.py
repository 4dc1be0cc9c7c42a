"""Decoding token by token: from scratch at each step, or with a cache of keys and values.

A decoder layer treats each position alone, except in self-attention, where a token sees the keys and values
of earlier tokens. These do not change when a token is added. ``Cached`` therefore keeps them, and computes one
token per step; it computes the keys and values of the source, for cross-attention, once. Decoding needs no
gradients: the steps call minigrad's ops on bare arrays, and nothing is recorded.

Shapes: N rows, that is B sentences times W beams (W is 1 without beam search), T tokens so far, S source
length, D model width, H heads, V vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Protocol

from minigrad import Tensor, nn, no_grad
from minigrad.autograd.tape import wrap
from minigrad.backend import xp
from minigrad.backend.dtype import Array
from minigrad.nn import functional as F
from minigrad.ops.attention import attention_weights, scaled_dot_product_attention
from minigrad.ops.linear import linear
from minigrad.ops.normalization import layer_norm

from .translation import TranslationModel

INITIAL_CAPACITY = 32  # tokens in a new cache
Norm = tuple[Array, Array, float]  # weight, bias, ε


class Model(Protocol):
    """The parts of a transformer that its cache uses."""

    embedding: nn.Embedding
    decoder: nn.ModuleList
    decoder_norm: nn.Module

    def embed(self, tokens: Tensor, start: int = 0) -> Tensor:
        """Tokens (N, T), the first at position ``start`` -> inputs of the decoder (N, T, D)."""


class Plain:
    """The definition: at each step the decoder runs over all tokens so far.

    Args:
        model: any translation model.
        start: the first token of each sentence (B, 1).
        memory: the encoded sentences, indexed by sentence. mask: True at their tokens (B, 1, 1, S).
    """

    def __init__(self, model: TranslationModel, start: Tensor, memory: Any, mask: Tensor) -> None:
        self.model, self.start = model, start
        self.memory, self.mask = memory, mask  # of N rows from now on

    @no_grad()
    def next_logits(self, tokens: Tensor) -> Tensor:
        """Tokens so far (N, T) -> logits of the next token (N, V)."""
        self.tokens = tokens
        states = self.model.decode(tokens, self.memory, self.mask)
        return F.linear(states[:, -1], self.model.embedding.weight)

    def reorder(self, rows: Tensor, beam_size: int) -> None:
        """Continue row rows[n] as row n."""
        self.memory, self.mask = self.memory[rows], self.mask[rows]

    def attention(self) -> Tensor:
        """The attention of the last token to each source token (N, S): the mean over the last layer's heads."""
        weights = self.model.cross_attention(self.tokens, self.memory, self.mask)
        return weights[-1, :, :, -1].mean(0)

    def source_mask(self) -> Tensor:
        """True at source tokens, False at padding (N, S)."""
        return self.mask[:, 0, 0]


class Cached:
    """The same logits with a cache: each call of ``next_logits`` must add one token."""

    @no_grad()
    def __init__(self, model: Model, start: Tensor, memory: Tensor, mask: Tensor) -> None:
        self.model, self.start, self.mask = model, start, mask
        self.beam_size, self.length = 1, 0  # W; tokens seen so far
        padding = None if bool(mask.all()) else mask.array  # without padding, attention needs no mask
        self.layers = [CachedLayer(layer, memory, padding) for layer in model.decoder]

    @no_grad()
    def next_logits(self, tokens: Tensor) -> Tensor:
        """Tokens so far (N, T), of which the last is new -> logits of the next token (N, V)."""
        x = self.model.embed(tokens[:, -1:], self.length).array[:, 0]  # (N, D)
        for layer in self.layers:
            x = layer.step(x, self.length)
        self.length += 1
        return F.linear(self.model.decoder_norm(wrap(x)), self.model.embedding.weight)

    def reorder(self, rows: Tensor, beam_size: int) -> None:
        """Continue row rows[n] as row n; from now on each sentence has ``beam_size`` rows."""
        sentences = rows[::beam_size] // self.beam_size
        if len(sentences) < len(self.mask):
            self.mask = self.mask[sentences]
            for layer in self.layers:
                layer.keep(sentences.array)
        self.beam_size = beam_size
        for layer in self.layers:
            layer.reorder(rows.array, beam_size, self.length)

    def attention(self) -> Tensor:
        """As in ``Plain``."""
        return wrap(self.layers[-1].source_weights())

    def source_mask(self) -> Tensor:
        """True at source tokens, False at padding (N, S)."""
        return self.mask[:, 0, 0].repeat_interleave(self.beam_size, 0)


class CachedLayer:
    """A decoder layer, with the keys and values of its attentions.

    Attributes:
        kv_cache: keys and values of the tokens so far (N, 2, H, capacity, D/H).
        keys, values: of the source (B, H, S, D/H), which the W beams of a sentence share.
        beam_size: W.
        queries: the last queries to the source (B, H, W, D/H).
    """

    def __init__(self, layer: nn.Module, memory: Tensor, mask: Array | None) -> None:
        attention, cross, network = layer.self_attention, layer.cross_attention, layer.feed_forward
        batch, _, d = memory.shape
        module = xp(memory.array)
        projections = [_parameters(part) for part in (attention.query, attention.key, attention.value)]
        self.joint = [module.concatenate(parts) for parts in zip(*projections, strict=True)]  # (3D, D), (3D)
        self.self_output, self.cross_output = _parameters(attention.output), _parameters(cross.output)
        self.cross_query = _parameters(cross.query)
        self.inner, self.outer = _parameters(network.inner), _parameters(network.outer)
        residuals = (layer.self_residual, layer.cross_residual, layer.feed_forward_residual)
        self.norms = [(*_parameters(r.norm), r.norm.eps) for r in residuals]
        self.norm_first, self.mask = layer.self_residual.norm_first, mask
        self.keys, self.values = (cross.split(part(memory)).array for part in (cross.key, cross.value))
        self.heads, self.beam_size, self.rotary = attention.heads, 1, attention.rotary
        self.scale = 1 / math.sqrt(d // self.heads)
        shape = (batch, 2, self.heads, INITIAL_CAPACITY, d // self.heads)
        self.kv_cache = module.empty(shape, self.keys.dtype)

    def step(self, x: Array, position: int) -> Array:
        """The state of the new token after this layer, (N, D) -> (N, D)."""
        x = self.residual(x, lambda y: self.attend_to_tokens(y, position), self.norms[0])
        x = self.residual(x, self.attend_to_source, self.norms[1])
        return self.residual(x, self.feed_forward, self.norms[2])

    def residual(self, x: Array, sublayer: Callable[[Array], Array], norm: Norm) -> Array:
        """LayerNorm(x + sublayer(x)), or with ``norm_first`` x + sublayer(LayerNorm(x))."""
        if self.norm_first:
            return x + sublayer(layer_norm(x, *norm))
        output: Array = layer_norm(x + sublayer(x), *norm)
        return output

    def attend_to_tokens(self, x: Array, position: int) -> Array:
        """Self-attention: the keys and values of the new token join the cache, and it attends to all of them."""
        n, d = x.shape
        qkv = linear(x, *self.joint).reshape(n, 3, self.heads, d // self.heads)
        if self.rotary is not None:
            rotated = self.rotary(wrap(qkv[:, :2, :, None]), position)  # (N, 2, H, 1, D/H)
            qkv[:, :2] = rotated.array[:, :, :, 0]
        if position == self.kv_cache.shape[3]:  # double the capacity
            self.kv_cache = xp(x).concatenate((self.kv_cache, xp(x).empty_like(self.kv_cache)), 3)
        self.kv_cache[:, :, :, position] = qkv[:, 1:]
        keys, values = (self.kv_cache[:, i, :, : position + 1] for i in (0, 1))
        heads = self.attend(qkv[:, 0, :, None], keys, values, None)  # (N, H, 1, D/H)
        output: Array = linear(heads.reshape(n, d), *self.self_output)  # (N, H, 1, D/H) -> (N, D)
        return output

    def attend_to_source(self, x: Array) -> Array:
        """Cross-attention: the W beams of a sentence are W queries to the same keys."""
        n, d = x.shape
        q = linear(x, *self.cross_query).reshape(-1, self.beam_size, self.heads, d // self.heads)
        self.queries = q.swapaxes(1, 2)  # (B, W, H, D/H) -> (B, H, W, D/H)
        heads = self.attend(self.queries, self.keys, self.values, self.mask)  # (B, H, W, D/H)
        output: Array = linear(heads.swapaxes(1, 2).reshape(n, d), *self.cross_output)  # -> (N, D)
        return output

    def feed_forward(self, x: Array) -> Array:
        """Two linear layers with a ReLU between them."""
        inner = linear(x, *self.inner)
        output: Array = linear(xp(x).maximum(inner, 0, out=inner), *self.outer)
        return output

    def source_weights(self) -> Array:
        """The weights of the last cross-attention (N, S), the mean over the heads."""
        weights = attention_weights(self.queries, self.keys, self.mask, False, self.scale)  # (B, H, W, S)
        mean: Array = weights.mean(1).reshape(-1, weights.shape[-1])  # (B, W, S) -> (N, S)
        return mean

    def keep(self, sentences: Array) -> None:
        """Keep some of the B sentences, and drop the others."""
        self.keys, self.values = self.keys[sentences], self.values[sentences]
        self.mask = None if self.mask is None else self.mask[sentences]

    def reorder(self, rows: Array, beam_size: int, length: int) -> None:
        """Continue row rows[n] as row n, W rows per sentence, each of ``length`` tokens."""
        self.beam_size, cache = beam_size, self.kv_cache
        if 2 * length > cache.shape[3]:
            self.kv_cache = cache[rows]  # one copy of everything costs less than two of the filled part
        else:
            self.kv_cache = xp(cache).empty((len(rows), *cache.shape[1:]), cache.dtype)
            self.kv_cache[:, :, :, :length] = cache[rows, :, :, :length]

    def attend(self, q: Array, k: Array, v: Array, mask: Array | None) -> Array:
        """Equation 1 of the paper, without dropout."""
        output: Array = scaled_dot_product_attention(q, k, v, mask, None, False, self.scale, 0.0)
        return output


def _parameters(module: nn.Linear | nn.LayerNorm) -> tuple[Any, Any]:
    """The arrays of weight and bias."""
    return module.weight.array, module.bias.array
