"""Decoding token by token: the plain way, which computes everything again, and with what can be kept.

A decoder layer treats all positions alike but for self-attention, where a token sees the keys and values of
those before it. They do not change when a token is added. So ``Cached`` keeps them, and a step computes one
token alone; the source's keys and values, which cross-attention wants, are computed once for all. Nothing is
to be differentiated here: the steps call minigrad's ops on bare arrays, which records nothing.

Shapes: N rows, that is B sentences times W beginnings of each (beam search; otherwise W is 1), T tokens so
far, S source length, D model width, H heads, V vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from minigrad import Tensor, nn, no_grad
from minigrad.autograd.tape import wrap
from minigrad.backend import xp
from minigrad.backend.dtype import Array
from minigrad.nn import functional as F
from minigrad.ops.attention import attention_weights, scaled_dot_product_attention
from minigrad.ops.linear import linear
from minigrad.ops.normalization import layer_norm

if TYPE_CHECKING:
    from .transformer import DecoderLayer, Transformer

INITIAL_CAPACITY = 32  # tokens that there is room for at first
Norm = tuple[Array, Array, float]  # weight, bias, ε


class Plain:
    """The definition: all tokens so far go through the decoder at each step.

    Args:
        model: the transformer.
        start: the first token of each sentence (B, 1).
        memory: (B, S, D), and its mask (B, 1, 1, S), from ``model.encode``: a row for each sentence.
    """

    def __init__(self, model: Transformer, start: Tensor, memory: Tensor, mask: Tensor) -> None:
        self.model, self.start = model, start
        self.memory, self.mask = memory, mask  # a row for each beginning

    @no_grad()
    def next_logits(self, tokens: Tensor) -> Tensor:
        """Logits (N, V) of the token after those so far (N, T)."""
        self.tokens = tokens
        states = self.model.decode(tokens, self.memory, self.mask)
        return F.linear(states[:, -1], self.model.embedding.weight)

    def reorder(self, rows: Tensor, beam_size: int) -> None:
        """Row n goes on from what was row rows[n]."""
        self.memory, self.mask = self.memory[rows], self.mask[rows]

    def attention(self) -> Tensor:
        """What the last token given took from each source token (N, S): the last layer's cross-attention,
        the mean over its heads."""
        weights = self.model.cross_attention(self.tokens, self.memory, self.mask)
        return weights[-1, :, :, -1].mean(0)

    def source_mask(self) -> Tensor:
        """Which places of the source hold tokens (N, S)."""
        return self.mask[:, 0, 0]


class Cached:
    """The same logits, one token at a time: each call of ``next_logits`` is to bring one more token."""

    @no_grad()
    def __init__(self, model: Transformer, start: Tensor, memory: Tensor, mask: Tensor) -> None:
        self.model, self.start, self.mask = model, start, mask
        self.beam_size, self.length = 1, 0  # W; tokens seen so far
        seen = None if bool(mask.all()) else mask.array  # without padding, attention needs no mask
        self.layers = [CachedLayer(layer, memory, seen) for layer in model.decoder]

    @no_grad()
    def next_logits(self, tokens: Tensor) -> Tensor:
        """Logits (N, V) of the token after those so far (N, T); all but the last were given before."""
        x = self.model.embed(tokens[:, -1:], self.length).array[:, 0]  # (N, D)
        for layer in self.layers:
            x = layer.step(x, self.length)
        self.length += 1
        return F.linear(self.model.decoder_norm(wrap(x)), self.model.embedding.weight)

    def reorder(self, rows: Tensor, beam_size: int) -> None:
        """Row n goes on from what was row rows[n]; from now on a sentence has ``beam_size`` rows."""
        sentences = rows[::beam_size] // self.beam_size
        if len(sentences) < len(self.mask):
            self.mask = self.mask[sentences]
            for layer in self.layers:
                layer.keep(sentences.array)
        self.beam_size = beam_size
        for layer in self.layers:
            layer.reorder(rows.array, beam_size, self.length)

    def attention(self) -> Tensor:
        """What the last token given took from each source token (N, S): the last layer's cross-attention,
        the mean over its heads."""
        return wrap(self.layers[-1].looked())

    def source_mask(self) -> Tensor:
        """Which places of the source hold tokens (N, S)."""
        return self.mask[:, 0, 0].repeat_interleave(self.beam_size, 0)


class CachedLayer:
    """A decoder layer, and the keys and values that its attentions have computed.

    Attributes:
        kv_cache: keys and values of the tokens so far (N, 2, H, capacity, D/H).
        keys, values: those of the source (B, H, S, D/H), which the W beginnings of a sentence share.
        beam_size: W.
        asked: the last queries to the source (B, H, W, D/H).
    """

    def __init__(self, layer: DecoderLayer, memory: Tensor, mask: Array | None) -> None:
        own, cross, network = layer.self_attention, layer.cross_attention, layer.feed_forward
        batch, _, d = memory.shape
        module = xp(memory.array)
        projections = [_parameters(part) for part in (own.query, own.key, own.value)]
        self.joint = [module.concatenate(parts) for parts in zip(*projections, strict=True)]  # (3D, D), (3D)
        self.own_output, self.cross_output = _parameters(own.output), _parameters(cross.output)
        self.cross_query = _parameters(cross.query)
        self.inner, self.outer = _parameters(network.inner), _parameters(network.outer)
        residuals = (layer.self_residual, layer.cross_residual, layer.feed_forward_residual)
        self.norms = [(*_parameters(r.norm), r.norm.eps) for r in residuals]
        self.norm_first, self.mask = layer.self_residual.norm_first, mask
        self.keys, self.values = (cross.split(part(memory)).array for part in (cross.key, cross.value))
        self.heads, self.beam_size, self.rotary = own.heads, 1, own.rotary
        self.scale = 1 / math.sqrt(d // self.heads)
        shape = (batch, 2, self.heads, INITIAL_CAPACITY, d // self.heads)
        self.kv_cache = module.empty(shape, self.keys.dtype)

    def step(self, x: Array, position: int) -> Array:
        """The new token's state after this layer, (N, D) -> (N, D)."""
        x = self.residual(x, lambda y: self.see_tokens(y, position), self.norms[0])
        x = self.residual(x, self.see_source, self.norms[1])
        return self.residual(x, self.feed_forward, self.norms[2])

    def residual(self, x: Array, sublayer: Callable[[Array], Array], norm: Norm) -> Array:
        """LayerNorm(x + sublayer(x)), or the norm first."""
        if self.norm_first:
            return x + sublayer(layer_norm(x, *norm))
        found: Array = layer_norm(x + sublayer(x), *norm)
        return found

    def see_tokens(self, x: Array, position: int) -> Array:
        """Self-attention: the new token's keys and values join the cache, and it may see them all."""
        n, d = x.shape
        qkv = linear(x, *self.joint).reshape(n, 3, self.heads, d // self.heads)
        if self.rotary is not None:
            turned = self.rotary(wrap(qkv[:, :2, :, None]), position)  # (N, 2, H, 1, D/H)
            qkv[:, :2] = turned.array[:, :, :, 0]
        if position == self.kv_cache.shape[3]:  # twice the room
            self.kv_cache = xp(x).concatenate((self.kv_cache, xp(x).empty_like(self.kv_cache)), 3)
        self.kv_cache[:, :, :, position] = qkv[:, 1:]
        keys, values = (self.kv_cache[:, i, :, : position + 1] for i in (0, 1))
        seen = self.attend(qkv[:, 0, :, None], keys, values, None)  # (N, H, 1, D/H)
        found: Array = linear(seen.reshape(n, d), *self.own_output)
        return found

    def see_source(self, x: Array) -> Array:
        """Cross-attention: the W beginnings of a sentence are so many queries to the same keys."""
        n, d = x.shape
        q = linear(x, *self.cross_query).reshape(-1, self.beam_size, self.heads, d // self.heads)
        self.asked = q.swapaxes(1, 2)
        seen = self.attend(self.asked, self.keys, self.values, self.mask)  # (B, H, W, D/H)
        found: Array = linear(seen.swapaxes(1, 2).reshape(n, d), *self.cross_output)
        return found

    def feed_forward(self, x: Array) -> Array:
        """Two linear layers with a ReLU between them."""
        inner = linear(x, *self.inner)
        found: Array = linear(xp(x).maximum(inner, 0, out=inner), *self.outer)
        return found

    def looked(self) -> Array:
        """The weights of the last cross-attention (N, S), the mean over the heads."""
        weights = attention_weights(self.asked, self.keys, self.mask, False, self.scale)  # (B, H, W, S)
        found: Array = weights.mean(1).reshape(-1, weights.shape[-1])
        return found

    def keep(self, sentences: Array) -> None:
        """Forget the source of all but some of the B sentences."""
        self.keys, self.values = self.keys[sentences], self.values[sentences]
        self.mask = None if self.mask is None else self.mask[sentences]

    def reorder(self, rows: Array, beam_size: int, length: int) -> None:
        """Row n goes on from what was row rows[n], W of them for each sentence, with so many tokens."""
        self.beam_size, cache = beam_size, self.kv_cache
        if 2 * length > cache.shape[3]:
            self.kv_cache = cache[rows]  # a copy of all costs less than two of what is filled
        else:
            self.kv_cache = xp(cache).empty((len(rows), *cache.shape[1:]), cache.dtype)
            self.kv_cache[:, :, :, :length] = cache[rows, :, :, :length]

    def attend(self, q: Array, k: Array, v: Array, mask: Array | None) -> Array:
        """Equation 1, without dropout."""
        found: Array = scaled_dot_product_attention(q, k, v, mask, None, False, self.scale, 0.0)
        return found


def _parameters(module: nn.Linear | nn.LayerNorm) -> tuple[Any, Any]:
    """The arrays of weight and bias."""
    return module.weight.array, module.bias.array
