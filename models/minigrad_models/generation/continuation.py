"""Causal language models that see a window of tokens, and continuing prompts by them, for the searches of
``minigrad_models.generation.beam_search``; and the layers of transformers that keep the keys and values of the tokens
so far, which do not change when a token is added: a new one costs one position and no more.

Prompts of a batch end together: shorter ones are padded in front, where nothing may be seen. A text that outgrows the
model's context loses its beginning: the last ``context`` tokens count, at the positions from 0 on.

Shapes: B batch, N rows, that is B prompts times W beams (W is 1 without beam search), T tokens, S tokens of the window,
D model width, L layers, V vocabulary.
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
from minigrad.ops.attention import scaled_dot_product_attention
from minigrad.ops.linear import linear
from minigrad.ops.normalization import layer_norm

from ..architectures.layers import ACTIVATIONS, FeedForward, MultiHeadAttention, Residual, TransformerLayer, allowed
from .generate import Writes

INITIAL_CAPACITY = 32  # tokens in a new cache
Norm = tuple[Array, Array, float]  # weight, bias, ε


class Prompts:
    """The prompts of a batch, padded in front so that they end together: ``start`` are the tokens (B, T), and ``first``
    is each row's first that is no padding (N). Padding repeats that token: so no search meets one that a prompt lacks.
    Raises ValueError: no prompt, an empty one, or a token out of the vocabulary."""

    def __init__(self, prompts: Sequence[Sequence[int]], vocabulary: int, device: Any = None) -> None:
        if not prompts or not all(prompts):
            raise ValueError("a prompt has no tokens: a language model continues at least one")
        for token in (min(map(min, prompts)), max(map(max, prompts))):
            if not 0 <= token < vocabulary:
                raise ValueError(f"a prompt has token {token}, and the vocabulary ends at {vocabulary - 1}")
        longest = max(map(len, prompts))
        rows = [[prompt[0]] * (longest - len(prompt)) + list(prompt) for prompt in prompts]
        self.start = mg.tensor(rows, dtype=mg.int64, device=device)
        self.first = mg.tensor([longest - len(prompt) for prompt in prompts], device=device)
        self.padding = longest - min(map(len, prompts))  # before the first token that all rows have

    def reorder(self, rows: Tensor, beam_size: int) -> None:
        self.first = self.first[rows]

    def mask(self, begin: int, end: int) -> Tensor | None:
        """True at tokens, False at padding, from ``begin`` to ``end`` (N, end - begin); None without padding."""
        if self.padding <= begin:
            return None
        return mg.arange(begin, end, device=self.first.device) >= self.first[:, None]


class Plain(Prompts):
    """The definition: at each step the model, a ``Causal`` or one with the same parts, runs over the whole window. When
    the text outgrows the context, the window moves by ``stride`` tokens at once. With 1, each token is predicted from
    as many as the model can see, and a cache is of no use from there on; with more, the cache is filled anew only after
    so many tokens. A batch's windows move together. Raises ValueError: as ``Prompts``, or a stride out of range."""

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
        """The first token of the window at a length of the text."""
        beyond = max(0, length - self.context)
        return -(-beyond // self.stride) * self.stride


class Cached(Plain):
    """The same logits with a cache: each call of ``next_logits`` must add one token."""

    def __init__(self, model: Any, prompts: Sequence[Sequence[int]], stride: int = 1, device: Any = None):
        super().__init__(model, prompts, stride, device)
        self.layers: list[CachedTransformerLayer] = []
        self.window = (0, 0)  # the first token in the cache, and the end

    @mg.no_grad()
    def next_logits(self, tokens: Tensor) -> Tensor:
        end = tokens.shape[1]
        begin = self.begin(end)
        if not self.layers or begin != self.window[0]:
            self.layers = [CachedTransformerLayer(layer, len(tokens)) for layer in self.model.layers]
            self.window = (begin, begin)
        done = self.window[1]
        # 0 at a row's first token, and at the padding before it
        row = mg.arange(begin, end, device=self.first.device)[None]
        positions = (row - self.first.clamp(min=begin)[:, None]).clamp(min=0)
        x = self.model.embed(tokens[:, done:], positions[:, done - begin :]).array
        mask = self.mask(begin, end)
        visible = None if mask is None else mask[:, None, None].array
        for layer in self.layers:
            x = layer.step(x, done - begin, visible)
        self.window = (begin, end)
        return self.model.logits(wrap(x[:, -1]))

    def reorder(self, rows: Tensor, beam_size: int) -> None:
        super().reorder(rows, beam_size)
        begin, end = self.window
        for layer in self.layers:
            layer.reorder(rows.array, end - begin)


class Causal(Writes):
    """Tokens -> logits of the next token at each position; ``generate`` continues prompts. Of ``config``,
    ``vocabulary`` is V, and ``positions`` the context; ``layers`` are causal TransformerLayers, and ``norm`` is of the
    last one's outputs."""

    config: Any
    embedding: nn.Embedding
    layers: nn.ModuleList
    norm: nn.Module

    @property
    def context(self) -> int:
        """The largest number of tokens that the model sees."""
        return int(self.config.positions)

    @property
    def head_weight(self) -> Tensor:
        """The matrix of the last linear layer (V, D): by default the embedding."""
        return self.embedding.weight

    @property
    def head_bias(self) -> Tensor | None:
        """The bias of the last linear layer (V), if it has one."""
        return None

    def embed(self, tokens: Tensor, positions: Tensor) -> Tensor:
        """Tokens and their positions, both (B, T) or broadcast -> inputs of the first layer (B, T, D)."""
        raise NotImplementedError

    def head_inputs(self, states: Tensor) -> Tensor:
        """The last layer's outputs as the last linear layer reads them (..., D)."""
        return self.norm(states)

    def hidden_states(self, tokens: Tensor, mask: Tensor | None = None) -> list[Tensor]:
        """The inputs of each layer, and those of the last linear layer: tokens (B, T) -> L + 1 times (B, T, D). The
        mask (B, T) is True at tokens, False at padding before or after them. Raises ValueError: more tokens than the
        model sees."""
        if tokens.shape[1] > self.context:
            count = tokens.shape[1]
            raise ValueError(f"{count:,} tokens are more than the {self.context:,} that the model sees at once")
        if mask is None:
            positions, visible = mg.arange(tokens.shape[1], device=tokens.device)[None], None
        else:
            # 0 at a row's first token, and at the padding before it
            positions, visible = (mask.long().cumsum(1) - 1).clamp(min=0), mask[:, None, None]
        states = [self.embed(tokens, positions)]
        for layer in self.layers:
            states.append(layer(states[-1], visible))
        return [*states[:-1], self.head_inputs(states[-1])]

    def logits(self, states: Tensor) -> Tensor:
        """The last layer's states, before the norm (..., D) -> logits (..., V)."""
        return F.linear(self.norm(states), self.head_weight, self.head_bias)

    def forward(self, tokens: Tensor, mask: Tensor | None = None) -> Tensor:
        """Tokens (B, T) -> logits (B, T, V) of the token after each; see ``hidden_states``."""
        return F.linear(self.hidden_states(tokens, mask)[-1], self.head_weight, self.head_bias)

    def loss(self, tokens: Tensor, targets: Tensor, ignore: int = -100, mask: Tensor | None = None) -> Tensor:
        """The mean cross-entropy of targets (B, T), each after the token at its place (B, T); ``ignore`` is none. The
        mask is that of ``hidden_states``. Padding after the tokens needs none: no token sees it."""
        states = self.hidden_states(tokens, mask)[-1].flatten(0, 1)
        return F.linear_cross_entropy(
            states, self.head_weight, targets.reshape(-1), linear_bias=self.head_bias, ignore_index=ignore
        )

    def begin(self, prompts: Sequence[Sequence[int]], cached: bool = True, stride: int = 1) -> Plain:
        """The decoder for ``generation.beam_search`` that continues prompts; see ``Plain``."""
        kind = Cached if cached and not self.training else Plain
        return kind(self, prompts, stride, self.embedding.weight.device)


# Layers with a cache, which need no gradients: they call ops on bare arrays. A mask is True where attention is allowed.


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
