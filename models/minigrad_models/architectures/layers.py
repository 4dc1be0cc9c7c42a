"""The building blocks of transformers: attention, feed-forward networks, residual connections, and whole layers.

Section and equation numbers refer to "Attention Is All You Need" (Vaswani et al. 2017, arXiv 1706.03762). Shapes: B
batch, T tokens, S tokens attended to, D model width (d_model), H heads. Masks are True where attention is allowed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol

import minigrad as mg
from minigrad import Tensor, nn
from minigrad.nn import functional as F

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {  # of the feed-forward network
    "relu": F.relu,
    "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),  # GPT-2's
}


class LayerConfig(Protocol):
    """The fields of a model's configuration that its layers read, documented in the model's own class."""

    d_model: int
    heads: int
    d_ff: int
    dropout: float
    attention_dropout: float
    activation_dropout: float
    norm_first: bool
    activation: str  # one of ACTIVATIONS
    epsilon: float  # of the layer norms
    positions: int
    position_encoding: str  # only "rotary" matters here


class MultiHeadAttention(nn.Module):
    """Section 3.2.2: H attention heads in parallel, each with its own query, key and value projections. With
    ``ordered``, queries and keys come from the same sentence, and rotary positions, if configured, rotate them."""

    def __init__(self, config: LayerConfig, ordered: bool = False) -> None:
        super().__init__()
        self.heads = config.heads
        self.query = nn.Linear(config.d_model, config.d_model)
        self.key = nn.Linear(config.d_model, config.d_model)
        self.value = nn.Linear(config.d_model, config.d_model)
        self.output = nn.Linear(config.d_model, config.d_model)
        self.dropout = config.attention_dropout
        self.rotary: nn.RotaryPositionalEncoding | None = None
        if ordered and config.position_encoding == "rotary":
            self.rotary = nn.RotaryPositionalEncoding(config.d_model // config.heads, config.positions)

    def forward(self, x: Tensor, memory: Tensor, mask: Tensor | None, causal: bool = False) -> Tensor:
        """Compute queries from ``x`` (B, T, D), and keys and values from ``memory`` (B, S, D). Returns (B, T, D). The
        mask is (B, 1, 1, S). With ``causal``, each token attends only to itself and earlier tokens."""
        q = self.rotate(self.split(self.query(x)))  # (B, H, T, D/H)
        k, v = self.rotate(self.split(self.key(memory))), self.split(self.value(memory))  # (B, H, S, D/H)
        heads = self.attend(q, k, v, mask, causal)
        b, h, t, width = heads.shape
        return self.output(heads.transpose(1, 2).reshape(b, t, h * width))  # (B, H, T, D/H) -> (B, T, D)

    def attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, causal: bool) -> Tensor:
        """Equation 1, for queries (B, H, T, D/H), and keys and values (B, H, S, D/H). Returns (B, H, T, D/H)."""
        dropout, by_position = self.dropout if self.training else 0.0, self.position_scores(q, k.shape[2])
        if by_position is not None:
            mask, causal = allowed(by_position, mask, causal), False
        elif causal and mask is not None:
            t, s = q.shape[-2], k.shape[-2]  # the queries are at the positions of the last keys
            mask, causal = mask & mg.ones(t, s, dtype=mg.bool, device=q.device).tril(s - t), False
        return F.scaled_dot_product_attention(q, k, v, mask, dropout, causal)

    def weights(self, x: Tensor, memory: Tensor, mask: Tensor | None, causal: bool = False) -> Tensor:
        """Attention weights (B, H, T, S): softmax(q kᵀ / √(D/H)), 0 where ``forward`` does not allow attention."""
        q, k = self.rotate(self.split(self.query(x))), self.rotate(self.split(self.key(memory)))
        scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
        by_position = self.position_scores(q, k.shape[2])
        return allowed(scores if by_position is None else scores + by_position, mask, causal).softmax(-1)

    def position_scores(self, q: Tensor, keys: int) -> Tensor | None:
        """Scores by position (B, H, T, S), which are added to those of queries (B, H, T, D/H) at the last T of S
        ``keys``; None if the model encodes positions differently."""
        return None

    def split(self, x: Tensor) -> Tensor:
        """Split (B, T, D) into (B, H, T, D/H), so that each head gets its part of the width."""
        b, t, d = x.shape
        return x.view(b, t, self.heads, d // self.heads).transpose(1, 2)

    def rotate(self, x: Tensor) -> Tensor:
        """Queries or keys (B, H, T, D/H), rotated by position if positions are rotary."""
        return x if self.rotary is None else self.rotary(x)


def allowed(scores: Tensor, mask: Tensor | None, causal: bool) -> Tensor:
    """Set scores (B, H, T, S) to -inf where attention is not allowed: at keys after the query, if ``causal``, and where
    the mask is False."""
    t, s = scores.shape[-2:]
    if causal and t > 1:
        future = mg.full((t, s), -math.inf, dtype=scores.dtype, device=scores.device).triu(s - t + 1)
        scores = scores + future  # cheaper than where(), and its gradient costs nothing
    return scores if mask is None else scores.masked_fill(~mask, -math.inf)


class FeedForward(nn.Module):
    """Section 3.3: two linear layers with an activation between them (ReLU in the paper), at each position."""

    def __init__(self, config: LayerConfig) -> None:
        super().__init__()
        self.inner = nn.Linear(config.d_model, config.d_ff)
        self.outer = nn.Linear(config.d_ff, config.d_model)
        self.dropout = nn.Dropout(config.activation_dropout)
        self.activation = config.activation

    def forward(self, x: Tensor) -> Tensor:
        return self.outer(self.dropout(ACTIVATIONS[self.activation](self.inner(x))))


class Residual(nn.Module):
    """Sections 3.1 and 5.4: LayerNorm(x + Dropout(sublayer(x))), or x + Dropout(sublayer(LayerNorm(x)))."""

    def __init__(self, config: LayerConfig) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(config.d_model, config.epsilon)
        self.dropout = nn.Dropout(config.dropout)
        self.norm_first = config.norm_first

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        if self.norm_first:
            return x + self.dropout(sublayer(self.norm(x)))
        return self.norm(x + self.dropout(sublayer(x)))


class TransformerLayer(nn.Module):
    """Figure 1, left: self-attention, then the feed-forward network. If ``causal``, each token sees itself and earlier
    tokens, as in a language model (figure 1, right, without the source)."""

    def __init__(self, config: LayerConfig, causal: bool = False) -> None:
        super().__init__()
        self.attention, self.feed_forward = MultiHeadAttention(config, ordered=True), FeedForward(config)
        self.attention_residual, self.feed_forward_residual = Residual(config), Residual(config)
        self.causal = causal

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Map x (B, T, D) to outputs (B, T, D). The mask is (B, 1, 1, T), or None if every token is visible."""
        x = self.attention_residual(x, lambda y: self.attention(y, y, mask, self.causal))
        return self.feed_forward_residual(x, self.feed_forward)


class DecoderLayer(nn.Module):
    """Figure 1, right: causal self-attention, cross-attention to the source, then the feed-forward network."""

    def __init__(self, config: LayerConfig) -> None:
        super().__init__()
        self.self_attention = MultiHeadAttention(config, ordered=True)
        self.cross_attention, self.feed_forward = MultiHeadAttention(config), FeedForward(config)
        self.self_residual, self.cross_residual = Residual(config), Residual(config)
        self.feed_forward_residual = Residual(config)

    def forward(self, x: Tensor, memory: Tensor, mask: Tensor) -> Tensor:
        """Map x (B, T, D) to outputs (B, T, D). ``memory`` (B, S, D) has the states of the source."""
        x = self.self_residual(x, lambda y: self.self_attention(y, y, None, causal=True))
        x = self.cross_residual(x, lambda y: self.cross_attention(y, memory, mask))
        return self.feed_forward_residual(x, self.feed_forward)


# Scores by distance: query i of T is at distance d = S - T + i - j from key j; W is the head width (D/H).


def relative_shift(scores: Tensor) -> Tensor:
    """Convert scores by distance (B, H, T, S + 1), from S down to 0, to scores by key (B, H, T, S), without a copy.

    Dai et al. 2019 (appendix B) call this a shift, Huang et al. 2018 (section 3.4.1) a skew. The row of query i moves
    left by T − i positions, one less than the row above. This is done by reading rows of S + 1 elements as rows of
    length S, starting at element T: element T + i S + j is element i (S + 1) + (T − i + j), in row i and at distance S
    − (T − i + j) = d. Future keys get elements of other rows.
    """
    b, h, t, s = scores.shape
    return scores.reshape(b, h, t * s)[..., t:].unflatten(-1, (t, s - 1))


class RelativePositions(nn.Module):
    """Each head's embeddings of distances, E_r (Huang et al. 2018, section 3.4; Shaw et al. 2018, arXiv 1803.02155).
    Distances are clamped to ``distances`` − 1."""

    def __init__(self, heads: int, width: int, distances: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(mg.zeros(heads, distances, width))

    def forward(self, q: Tensor, keys: int) -> Tensor:
        """For queries (B, H, T, W) at the last T of S ``keys``, return q E_rᵀ by key (B, H, T, S), skewed."""
        distance = mg.arange(keys, -1, -1, device=q.device).clamp(max=self.weight.shape[1] - 1)
        return relative_shift(q @ self.weight[:, distance].mT)  # (B, H, T, S + 1) -> (B, H, T, S)
