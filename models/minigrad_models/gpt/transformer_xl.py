"""Transformer-XL (Dai et al. 2019, arXiv 1901.02860): a causal language model that remembers earlier segments.

Text is read in segments. Each layer attends to the segment and to a memory before it: the layer's inputs in earlier
segments, without gradients (section 3.2). Attention depends on the distances between tokens, not on their positions, so
a segment can use a memory of any length (section 3.3).

Shapes: B batch, T tokens in a segment, M tokens in the memory, S = M + T, D model width, H heads, L layers, V
vocabulary. The memory of all layers is one tensor (L, B, M, D).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import minigrad as mg
from minigrad import Tensor, nn
from minigrad.nn import functional as F

from ..architectures.layers import FeedForward, Residual, relative_shift
from ..architectures.pretrained import check_sizes
from ..generation.continuation import Prompts
from ..generation.generate import GenerationMixin
from ..inputs import Mask, old_names


@dataclass
class Config:
    """The hyperparameters. The defaults describe the smallest model for enwik8 (table 2: 12 layers, 41 million
    weights). Raises ValueError for an invalid size, dropout or activation."""

    vocabulary: int  # V
    d_model: int = 512  # D, even
    heads: int = 8  # H, which divides D
    layers: int = 12  # L
    d_ff: int = 2048  # the width inside the feed-forward networks
    segment: int = 512  # tokens in a training segment
    memory: int = 512  # tokens that the memory keeps in training
    dropout: float = 0.1  # on embeddings, distances, and the outputs of sub-layers and the last layer
    attention_dropout: float = 0.0  # on attention weights
    activation_dropout: float = 0.1  # inside feed-forward networks
    activation: str = "relu"  # as in the paper; or "gelu", "gelu_tanh"
    epsilon: float = 1e-5  # in the layer norms
    norm_first: bool = False  # normalise sub-layer inputs and the last outputs; the paper normalises the sums

    def __post_init__(self) -> None:
        check_sizes(self)
        if self.d_model % 2:
            raise ValueError(f"d_model ({self.d_model}) must be even: half of each distance's encoding is sines")

    # The layers read these as well; see ``LayerConfig``.
    positions, position_encoding = 0, "relative"


class RelativeAttention(nn.Module):
    """Section 3.3: attention whose scores depend on the distance between tokens, not on their positions.

    The score of query i and key j at distance i − j is

        (a) qᵢᵀ kⱼ + (b) qᵢᵀ W_R R₍ᵢ₋ⱼ₎ + (c) uᵀ kⱼ + (d) vᵀ W_R R₍ᵢ₋ⱼ₎,

    Term (a) depends on the contents, (b) on the query and the distance, (c) on the key, and (d) on the distance. The
    factor 1/√(D/H) and the output projection are as in "Attention Is All You Need". Projections have no bias.
    """

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.heads, self.dropout = config.heads, config.attention_dropout
        layers = (nn.Linear(config.d_model, config.d_model, bias=False) for _ in range(5))
        self.query, self.key, self.value, self.distance, self.output = layers  # key: W_{k,E}, distance: W_{k,R}

    def split(self, x: Tensor) -> Tensor:
        """(..., S, D) -> (..., H, S, D/H): each head gets its part of the width."""
        return x.unflatten(-1, (self.heads, -1)).transpose(-3, -2)

    def keys_values(self, states: Tensor) -> tuple[Tensor, Tensor]:
        """Memory and segment (B, S, D) -> keys and values, each (B, H, S, D/H)."""
        return self.split(self.key(states)), self.split(self.value(states))

    def distances(self, r: Tensor) -> Tensor:
        """R (S + 1, D) for the distances from S down to 0 -> W_R R (H, S + 1, D/H)."""
        return self.split(self.distance(r))

    def forward(
        self, x: Tensor, keys: Tensor, values: Tensor, distances: Tensor, u: Tensor, v: Tensor, hidden: Tensor | None
    ) -> Tensor:
        """The segment's states (B, T, D) -> its states after attention (B, T, D). The methods above return ``keys``,
        ``values`` and ``distances``; u and v are (H, 1, D/H). ``hidden``, from ``unseen``, broadcasts to (B, H, T,
        S)."""
        q = self.split(self.query(x))  # (B, H, T, D/H)
        scale = 1 / math.sqrt(q.shape[-1])
        scores = relative_shift((q + v) * scale @ distances.mT)  # (b) + (d): (B, H, T, S + 1) -> (B, H, T, S)
        if hidden is not None:
            scores = scores.masked_fill(hidden, -math.inf)
        dropout = self.dropout if self.training else 0.0
        heads = F.scaled_dot_product_attention(q + u, keys, values, scores, dropout, scale=scale)  # adds (a) + (c)
        return self.output(heads.transpose(1, 2).flatten(2))  # (B, H, T, D/H) -> (B, T, D)


class Layer(nn.Module):
    """The end of section 3.3: relative attention over memory and segment, followed by the feed-forward network."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.attention, self.feed_forward = RelativeAttention(config), FeedForward(config)
        self.attention_residual, self.feed_forward_residual = Residual(config), Residual(config)

    def forward(self, x: Tensor, memory: Tensor, r: Tensor, u: Tensor, v: Tensor, hidden: Tensor | None) -> Tensor:
        """The segment's states (B, T, D) -> its states after this layer (B, T, D). ``memory`` is (B, M, D)."""

        def attend(y: Tensor) -> Tensor:
            past = self.attention_residual.norm(memory) if self.attention_residual.norm_first else memory
            keys, values = self.attention.keys_values(mg.cat((past, y), 1))  # [SG(h_τ) ∘ h_{τ+1}]
            return self.attention(y, keys, values, self.attention.distances(r), u, v, hidden)

        return self.through(x, attend)

    def through(self, x: Tensor, attend: Callable[[Tensor], Tensor]) -> Tensor:
        """Apply the layer to states (B, T, D), with ``attend`` as the attention (B, T, D) -> (B, T, D)."""
        return self.feed_forward_residual(self.attention_residual(x, attend), self.feed_forward)


class TransformerXL(GenerationMixin):
    """Tokens of a segment, and the memory of earlier segments -> logits of the next token at each position. All layers
    share u and v, as in the paper's equations."""

    context = None  # no limit, as positions are relative

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(config.vocabulary, config.d_model)
        self.dropout = nn.Dropout(config.dropout)
        shape = (1, config.heads, 1, config.d_model // config.heads)
        self.u, self.v = nn.Parameter(mg.zeros(shape)), nn.Parameter(mg.zeros(shape))
        self.layers = nn.ModuleList(Layer(config) for _ in range(config.layers))
        self.norm: nn.Module = nn.LayerNorm(config.d_model, config.epsilon) if config.norm_first else nn.Identity()
        self.bias = nn.Parameter(mg.zeros(config.vocabulary))  # of the last linear layer, whose matrix is the embedding
        initialise(self)

    def embed(self, tokens: Tensor) -> Tensor:
        """Tokens (B, T) -> inputs of the first layer (B, T, D): embeddings times √D."""
        return self.dropout(self.embedding(tokens) * math.sqrt(self.config.d_model))

    def sinusoids(self, keys: int) -> Tensor:
        """R (S + 1, D) for the distances d from S = ``keys`` down to 0. Columns: sin(d / 10000^(2i/D)) for each i, then
        the cosines."""
        like = self.embedding.weight
        distance = mg.arange(keys, -1, -1, dtype=like.dtype, device=like.device)
        exponent = mg.arange(0, self.config.d_model, 2, dtype=like.dtype, device=like.device) / self.config.d_model
        angles = distance[:, None] / 10000.0**exponent
        return self.dropout(mg.cat((angles.sin(), angles.cos()), -1))

    def hidden_states(
        self, input_ids: Tensor, attention_mask: Mask = None, memory: Tensor | None = None, reach: int | None = None
    ) -> list[Tensor]:
        """Tokens (B, T) -> the inputs of each layer, and the last outputs (after the norm, if any): L + 1 tensors (B,
        T, D).

        Args:
            attention_mask: (B, S), 1 or True at tokens, 0 or False at padding; None without padding.
            memory: the memory of earlier tokens (L, B, M, D); None at the beginning of a text.
            reach: the largest distance at which a token sees another token; None for all of memory and segment, as in
                training. With a reach, and a memory of that length, the states do not depend on the segment boundaries.
        """
        b, t = input_ids.shape
        if memory is None:
            memory = self.embedding.weight.new_zeros(len(self.layers), b, 0, self.config.d_model)
        hidden = unseen(t, memory.shape[2] + t, attention_mask, reach, input_ids.device)
        states, r = [self.embed(input_ids)], self.sinusoids(memory.shape[2] + t)
        # Compute shared tensors before the first layer, so that a drawing of the graph can show all layers as one.
        u, v = self.u[0], self.v[0]
        for layer, past in zip(self.layers, memory.unbind(), strict=True):
            states.append(layer(states[-1], past, r, u, v, hidden))
        return [*states[:-1], self.dropout(self.norm(states[-1]))]

    def remember(self, states: Sequence[Tensor], memory: Tensor | None = None, length: int | None = None) -> Tensor:
        """The memory for the next segment (L, B, M, D), detached. It consists of the last ``length`` tokens (None: as
        configured) of ``memory`` followed by ``states``, the ``hidden_states`` of this segment."""
        length = self.config.memory if length is None else length
        inputs = mg.stack([x.detach() for x in states[:-1]])
        together = inputs if memory is None else mg.cat((memory, inputs), 2)
        return together[:, :, max(0, together.shape[2] - length) :]

    def logits(self, states: Tensor) -> Tensor:
        """The last layer's states (..., D), before the norm -> logits (..., V)."""
        return F.linear(self.norm(states), self.embedding.weight, self.bias)

    @old_names
    def forward(
        self, input_ids: Tensor, attention_mask: Mask = None, memory: Tensor | None = None, reach: int | None = None
    ) -> Tensor:
        """Tokens (B, T) -> logits (B, T, V) of the token after each; see ``hidden_states``."""
        states = self.hidden_states(input_ids, attention_mask, memory, reach)
        return F.linear(states[-1], self.embedding.weight, self.bias)

    def read(
        self, tokens: Tensor, memory: Tensor | None = None, length: int | None = None, reach: int | None = None
    ) -> tuple[Tensor, Tensor]:
        """The logits (B, T, V) of a segment, and the memory for the next; see ``hidden_states`` and ``remember``."""
        states = self.hidden_states(tokens, memory=memory, reach=reach)
        return F.linear(states[-1], self.embedding.weight, self.bias), self.remember(states, memory, length)

    def loss(self, tokens: Tensor, targets: Tensor, ignore: int = -100) -> Tensor:
        """The mean cross-entropy of a segment without memory; see ``segment_loss``."""
        return self.segment_loss(tokens, targets, ignore=ignore)[0]

    def segment_loss(
        self,
        tokens: Tensor,
        targets: Tensor,
        memory: Tensor | None = None,
        length: int | None = None,
        ignore: int = -100,
    ) -> tuple[Tensor, Tensor]:
        """The mean cross-entropy of a segment, and the memory for the next. ``targets`` (B, T) are the tokens that
        follow the input tokens; those equal to ``ignore`` do not count. For ``length`` see ``remember``."""
        states = self.hidden_states(tokens, memory=memory)
        last, weight = states[-1].flatten(0, 1), self.embedding.weight
        loss = F.linear_cross_entropy(last, weight, targets.reshape(-1), linear_bias=self.bias, ignore_index=ignore)
        return loss, self.remember(states, memory, length)

    def begin(self, prompts: Sequence[Sequence[int]], cached: bool = True, reach: int | None = None) -> Plain:
        """A decoder for ``generation.beam_search`` that continues prompts. A token sees at most ``reach`` tokens before
        it (None: the configured memory). Raises ValueError if ``reach`` is below 1 or the prompts are invalid."""
        kind = Cached if cached and not self.training else Plain
        return kind(self, prompts, self.config.memory if reach is None else reach)


def unseen(t: int, s: int, mask: Tensor | None, reach: int | None, device: Any) -> Tensor | None:
    """A mask that is True where a query may not attend: at later keys, at keys more than ``reach`` back, and at
    padding, where ``mask`` (B, S) is False. The T queries are the last of S tokens. Returns (T, S), (B, 1, T, S) if
    there is a ``mask``, or None if all keys are visible."""
    if t == 1 and mask is None and (reach is None or s <= reach + 1):
        return None
    distance = mg.arange(s - t, s, device=device)[:, None] - mg.arange(s, device=device)
    hidden = distance < 0 if reach is None else (distance < 0) | (distance > reach)
    return hidden if mask is None else hidden | ~mask.bool()[:, None, None]


def initialise(model: TransformerXL) -> None:
    """Initialise as the authors' code does: N(0, 0.02²) for matrices, u and v, and 0 for biases."""
    for name, parameter in model.named_parameters():
        if parameter.ndim > 1:
            nn.init.normal_(parameter, std=0.02)
        elif name.endswith("bias"):
            nn.init.zeros_(parameter)


class Plain(Prompts):
    """The reference decoder: at each step, the model runs over the whole text. N rows are B prompts times W beams. See
    ``TransformerXL.begin``."""

    def __init__(self, model: TransformerXL, prompts: Sequence[Sequence[int]], reach: int) -> None:
        super().__init__(prompts, model.config.vocabulary, model.embedding.weight.device)
        if reach < 1:
            raise ValueError(f"reach must be at least 1, not {reach}")
        self.model, self.reach = model, reach

    @mg.no_grad()
    def next_logits(self, tokens: Tensor) -> Tensor:
        return self.model(tokens, self.mask(0, tokens.shape[1]), reach=self.reach)[:, -1]


class Cached(Plain):
    """``Plain`` with a cache of the keys and values of the last ``reach`` tokens: each step reads only new tokens."""

    def __init__(self, model: TransformerXL, prompts: Sequence[Sequence[int]], reach: int) -> None:
        super().__init__(model, prompts, reach)
        self.distances: list[Tensor] = []  # W_R R of each layer, for all distances
        self.kept: list[Sequence[Tensor]] = [()] * len(model.layers)  # keys and values, (N, H, at most reach, D/H)
        self.done = 0  # tokens that the cache has seen

    @mg.no_grad()
    def next_logits(self, tokens: Tensor) -> Tensor:
        model, end = self.model, tokens.shape[1]
        new, keys = end - self.done, end - max(0, self.done - self.reach)
        if not self.distances:
            r = model.sinusoids(max(keys, self.reach + 1))
            self.distances = [layer.attention.distances(r) for layer in model.layers]
        hidden = unseen(new, keys, self.mask(end - keys, end), self.reach, tokens.device)
        x = model.embed(tokens[:, self.done :])
        for i, layer in enumerate(model.layers):
            x = layer.through(x, partial(self.attend, i, layer.attention, hidden))
        self.done = end
        return model.logits(x[:, -1])

    def attend(self, i: int, attention: RelativeAttention, hidden: Tensor | None, y: Tensor) -> Tensor:
        """Apply a layer's attention: states of the new tokens (N, T, D) -> their states after attention to the cached
        tokens and to themselves (N, T, D)."""
        both: Sequence[Tensor] = attention.keys_values(y)
        if self.kept[i]:
            both = [mg.cat(pair, 2) for pair in zip(self.kept[i], both, strict=True)]
        self.kept[i] = [part[:, :, -self.reach :] for part in both]
        distances = self.distances[i][:, -both[0].shape[2] - 1 :]
        return attention(y, both[0], both[1], distances, self.model.u[0], self.model.v[0], hidden)

    def reorder(self, rows: Tensor, num_beams: int) -> None:
        super().reorder(rows, num_beams)
        self.kept = [[part[rows] for part in pair] for pair in self.kept]
