"""Causal language models with a window of tokens, decoders that continue prompts for the searches in
``minigrad_models.generation.beam_search``, and transformer layers that cache the keys and values of the tokens so far.
Adding a token does not change the cached values, so each new token requires computing only one position.

All prompts in a batch end at the same index: shorter prompts are padded on the left, where the mask is False. If a text
outgrows the model's context, the model sees only the last ``context`` tokens, whose positions start at 0.

Shapes: B batch, N rows (B prompts times W beams; W is 1 without beam search), T tokens, S tokens in the window, D model
width, L layers, V vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import minigrad as mg
from minigrad import Tensor, nn
from minigrad.autograd.tape import wrap
from minigrad.backend import xp
from minigrad.backend.dtype import Array
from minigrad.backend.products import matmul
from minigrad.nn import functional as F
from minigrad.nn.quantized import QuantizedEmbedding, QuantizedLinear
from minigrad.ops.attention import scaled_dot_product_attention
from minigrad.ops.linear import linear, narrow_linear
from minigrad.ops.normalization import layer_norm

from ..architectures.layers import ACTIVATIONS, FeedForward, MultiHeadAttention, Residual, TransformerLayer, allowed
from ..inputs import Mask, old_names
from .generate import GenerationMixin

INITIAL_CAPACITY = 32  # tokens in a new cache
Norm = tuple[Array, Array, float]  # weight, bias, ε


class Prompts:
    """The prompts in a batch, padded on the left. ``start`` (B, T) contains the tokens, and ``first`` (N,) the index of
    each row's first token after the padding. The padding repeats that token, so that a search sees only tokens of the
    prompt. Raises ValueError if prompts are missing or empty, or a token is not in the vocabulary."""

    def __init__(self, prompts: Sequence[Sequence[int]], vocabulary: int, device: Any = None) -> None:
        if not prompts or not all(prompts):
            raise ValueError("there must be a prompt, and each prompt needs at least one token")
        for token in (min(map(min, prompts)), max(map(max, prompts))):
            if not 0 <= token < vocabulary:
                raise ValueError(f"a prompt has token {token}, but the vocabulary ends at {vocabulary - 1}")
        longest = max(map(len, prompts))
        rows = [[prompt[0]] * (longest - len(prompt)) + list(prompt) for prompt in prompts]
        self.start = mg.tensor(rows, dtype=mg.int64, device=device)
        self.first = mg.tensor([longest - len(prompt) for prompt in prompts], device=device)
        self.padding = longest - min(map(len, prompts))  # from here on no row has padding

    def reorder(self, rows: Tensor, num_beams: int) -> None:
        self.first = self.first[rows]

    def mask(self, begin: int, end: int) -> Tensor | None:
        """A mask (N, end - begin) of positions ``begin`` to ``end``, False at padding; None if there is no padding."""
        if self.padding <= begin:
            return None
        return mg.arange(begin, end, device=self.first.device) >= self.first[:, None]


class Plain(Prompts):
    """The reference decoder, which runs the model (``Causal``, or one like it) over the whole window at each step. When
    the text outgrows the context, the window moves by ``stride`` tokens at a time. With a stride of 1, each token is
    predicted from as many tokens as the model can see, but a cache no longer helps; otherwise, it is refilled once per
    stride. A batch's windows move together. Raises the errors of ``Prompts``, and ValueError for an invalid stride."""

    def __init__(self, model: Any, prompts: Sequence[Sequence[int]], stride: int = 1, device: Any = None):
        super().__init__(prompts, model.config.vocabulary, device)
        if not 1 <= stride <= model.context:
            raise ValueError(f"stride must be between 1 and the model's context ({model.context}), not {stride}")
        self.model, self.stride, self.context = model, stride, model.context

    def next_logits(self, tokens: Tensor) -> Tensor:
        begin, end = self.begin(tokens.shape[1]), tokens.shape[1]
        with mg.no_grad():
            return self.model(tokens[:, begin:], self.mask(begin, end))[:, -1]

    def begin(self, length: int) -> int:
        """The index of the window's first token in a text of ``length`` tokens."""
        beyond = max(0, length - self.context)
        return -(-beyond // self.stride) * self.stride


class Cached(Plain):
    """Computes the same logits as ``Plain``, using a cache. Each call to ``next_logits`` must add one token."""

    def __init__(self, model: Any, prompts: Sequence[Sequence[int]], stride: int = 1, device: Any = None):
        super().__init__(model, prompts, stride, device)
        self.layers: list[CachedTransformerLayer] = []
        self.window = (0, 0)  # the first token in the cache, and the end of the cache

    @mg.no_grad()
    def next_logits(self, tokens: Tensor) -> Tensor:
        end = tokens.shape[1]
        begin = self.begin(end)
        if not self.layers or begin != self.window[0]:
            self.layers = [CachedTransformerLayer(layer, len(tokens)) for layer in self.model.layers]
            self.window = (begin, begin)
        start = self.window[1]
        # 0 at a row's first token, and at the padding before it
        row = mg.arange(begin, end, device=self.first.device)[None]
        positions = (row - self.first.clamp(min=begin)[:, None]).clamp(min=0)
        x = self.model.embed(tokens[:, start:], positions[:, start - begin :]).array
        mask = self.mask(begin, end)
        visible = None if mask is None else mask[:, None, None].array
        for layer in self.layers:
            x = layer.step(x, start - begin, visible)
        self.window = (begin, end)
        return self.model.logits(wrap(x[:, -1]))

    def reorder(self, rows: Tensor, num_beams: int) -> None:
        super().reorder(rows, num_beams)
        begin, end = self.window
        for layer in self.layers:
            layer.reorder(rows.array, end - begin)


class Causal(GenerationMixin):
    """Maps tokens to logits of the next token at each position; ``generate`` continues prompts. ``config.vocabulary``
    is V, and ``config.positions`` the context. ``layers`` contains causal TransformerLayers, and ``norm`` normalises
    the output of the last one."""

    config: Any
    embedding: nn.Embedding
    layers: nn.ModuleList
    norm: nn.Module

    @property
    def context(self) -> int:
        """The maximum number of tokens that the model sees."""
        return int(self.config.positions)

    @property
    def head_weight(self) -> Tensor:
        """The weight (V, D) of the last linear layer, by default the embedding."""
        return self.embedding.weight

    @property
    def head_bias(self) -> Tensor | None:
        """The bias (V,) of the last linear layer, if it has one."""
        return None

    def embed(self, tokens: Tensor, positions: Tensor) -> Tensor:
        """Map tokens and their positions, which broadcast to (B, T), to the inputs (B, T, D) of the first layer."""
        raise NotImplementedError

    def head_inputs(self, states: Tensor) -> Tensor:
        """Map the last layer's outputs (..., D) to the inputs (..., D) of the last linear layer."""
        return self.norm(states)

    def hidden_states(self, input_ids: Tensor, attention_mask: Mask = None) -> list[Tensor]:
        """Run the model on tokens (B, T). Returns L + 1 tensors (B, T, D), the inputs of each layer and of the last
        linear layer. The mask (B, T) is 1 or True at tokens, and 0 or False at padding before or after them. Raises
        ValueError if there are more tokens than the model sees."""
        if (count := input_ids.shape[1]) > self.context:
            raise ValueError(f"{count:,} tokens do not fit in the {self.context:,} that the model sees at once")
        if attention_mask is None:
            positions, visible = mg.arange(count, device=input_ids.device)[None], None
        else:
            # 0 at a row's first token, and at the padding before it
            positions = (attention_mask.long().cumsum(1) - 1).clamp(min=0)
            visible = attention_mask.bool()[:, None, None]
        states = [self.embed(input_ids, positions)]
        for layer in self.layers:
            states.append(layer(states[-1], visible))
        return [*states[:-1], self.head_inputs(states[-1])]

    def logits(self, states: Tensor) -> Tensor:
        """Map the last layer's states (..., D), before the norm, to logits (..., V)."""
        return self.project(self.norm(states))

    def project(self, states: Tensor) -> Tensor:
        """The last linear layer: (..., D) -> (..., V)."""
        last = getattr(self, "head", self.embedding)
        if isinstance(last, QuantizedLinear):
            return last(states)
        if isinstance(last, QuantizedEmbedding):
            return last.linear(states, self.head_bias)
        return F.linear(states, self.head_weight, self.head_bias)

    @old_names
    def forward(self, input_ids: Tensor, attention_mask: Mask = None) -> Tensor:
        """Map tokens (B, T) to logits (B, T, V) of the token after each; see ``hidden_states``."""
        return self.project(self.hidden_states(input_ids, attention_mask)[-1])

    def loss(self, input_ids: Tensor, targets: Tensor, ignore: int = -100, attention_mask: Mask = None) -> Tensor:
        """The mean cross-entropy of targets (B, T), which are the tokens after the inputs, without those equal to
        ``ignore``. For the mask, see ``hidden_states``; padding on the right needs no mask, as no token sees it."""
        states = self.hidden_states(input_ids, attention_mask)[-1].flatten(0, 1)
        return F.linear_cross_entropy(
            states, self.head_weight, targets.reshape(-1), linear_bias=self.head_bias, ignore_index=ignore
        )

    def begin(self, prompts: Sequence[Sequence[int]], cached: bool = True, stride: int = 1) -> Plain:
        """A decoder for ``generation.beam_search`` that continues prompts; see ``Plain``."""
        kind = Cached if cached and not self.training else Plain
        return kind(self, prompts, stride, self.embedding.weight.device)


# Layers with a cache call ops on plain arrays, without gradients. Masks are True where attention is allowed.


class CachedLinear:
    """A linear layer, or several linear layers with the same input, joined into one."""

    def __init__(self, *layers: nn.Linear | QuantizedLinear) -> None:
        weights, biases = zip(*map(parameters, layers), strict=True)
        scales = [layer.scale.array for layer in layers if isinstance(layer, QuantizedLinear)]
        parts = (
            xp(part[0]).concatenate(part) if len(part) > 1 else part[0] for part in (weights, biases, scales) if part
        )
        self.weight, self.bias, self.scale = (*parts, None)[:3]

    def __call__(self, x: Array) -> Array:
        """Map x (N, T, D) to the layers' outputs, concatenated along the last axis."""
        if self.scale is not None:
            return narrow_linear(x, self.weight, self.scale, self.bias)
        if not isinstance(x, np.ndarray):
            return linear(x, self.weight, self.bias)
        out = matmul(x.reshape(-1, x.shape[-1]), self.weight.T, self.bias)
        return out.reshape(*x.shape[:-1], len(self.weight))


class CachedAttention:
    """Self-attention over the tokens so far. ``kv_cache`` (N, 2, H, capacity, D/H) contains their keys and values."""

    def __init__(self, attention: MultiHeadAttention, rows: int) -> None:
        self.joint = CachedLinear(attention.query, attention.key, attention.value)
        self.output, self.heads, self.rotary = CachedLinear(attention.output), attention.heads, attention.rotary
        self.position_scores = attention.position_scores
        bias = self.joint.bias  # (3D,)
        self.width = len(bias) // 3 // self.heads
        self.kv_cache = xp(bias).empty((rows, 2, self.heads, INITIAL_CAPACITY, self.width), bias.dtype)

    def step(self, x: Array, position: int, mask: Array | None = None) -> Array:
        """Append new tokens (N, T, D), the first at ``position``, to the cache, and return their outputs (N, T, D).
        Each token attends to all tokens up to itself. A mask has shape (N, 1, 1 or T, position + T)."""
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
        """Continue row rows[n] as row n. Each row has ``length`` tokens."""
        cache = self.kv_cache
        if 2 * length > cache.shape[3]:
            self.kv_cache = cache[rows]  # one copy of the whole is cheaper than two of the filled part
        else:
            self.kv_cache = xp(cache).empty((len(rows), *cache.shape[1:]), cache.dtype)
            self.kv_cache[:, :, :, :length] = cache[rows, :, :, :length]


class CachedResidual:
    """LayerNorm(x + sublayer(x)), or x + sublayer(LayerNorm(x)) with ``norm_first``, without dropout."""

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
    """A causal ``TransformerLayer`` that runs token by token."""

    def __init__(self, block: TransformerLayer, rows: int) -> None:
        self.attention = CachedAttention(block.attention, rows)
        self.feed_forward = CachedFeedForward(block.feed_forward)
        self.residuals = CachedResidual(block.attention_residual), CachedResidual(block.feed_forward_residual)

    def step(self, x: Array, position: int, mask: Array | None) -> Array:
        """The states of the new tokens after this layer; see ``CachedAttention.step``."""
        x = self.residuals[0](x, lambda y: self.attention.step(y, position, mask))
        return self.residuals[1](x, self.feed_forward)

    def reorder(self, rows: Array, length: int) -> None:
        self.attention.reorder(rows, length)


def attend(q: Array, k: Array, v: Array, mask: Array | None, causal: bool = False) -> Array:
    """Equation 1 of "Attention Is All You Need", without dropout."""
    return scaled_dot_product_attention(q, k, v, mask, None, causal, 1 / math.sqrt(q.shape[-1]), 0.0)


def parameters(module: nn.Linear | nn.LayerNorm | nn.Module) -> tuple[Any, Any]:
    """The weight and bias of a layer as arrays."""
    weight, bias = module.weight, module.bias
    assert isinstance(weight, Tensor) and isinstance(bias, Tensor)
    return weight.array, bias.array
