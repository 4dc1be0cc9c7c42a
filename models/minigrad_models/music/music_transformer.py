"""The Music Transformer (Huang et al. 2018, arXiv 1809.04281): music as a language, and attention by distance.

A stack of causal transformer layers over the events of a piece. Relative attention (section 3.4) adds to each score
what a head knows of the distance; local attention (section 3.5) sees two blocks of a long piece. Without both it is the
plain transformer, the paper's baseline, whose sines are added to embeddings.

Shapes: B batch, T tokens, D model width, H heads, L layers, V vocabulary, M tokens of a block.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import minigrad as mg
from minigrad import Tensor, nn
from minigrad.nn import functional as F

from ..architectures.layers import MultiHeadAttention, RelativePositions, TransformerLayer
from ..architectures.pretrained import check_sizes
from ..generation import continuation
from ..generation.continuation import Causal
from ..translation.transformer import positional_encoding

ATTENTIONS = ("relative", "absolute")


@dataclass
class Config:
    """The hyperparameters; the defaults are those of the paper's model for chorales (table 2). Raises ValueError: a
    size that cannot be, a dropout that is no probability, another attention or activation."""

    vocabulary: int  # V
    positions: int = 2048  # the context, tokens that the model sees at most
    d_model: int = 256  # D
    heads: int = 8  # H, which divides D
    layers: int = 5  # L
    d_ff: int = 1024  # the width inside the feed-forward networks
    dropout: float = 0.1  # of embeddings, the outputs of sub-layers, and those of the last layer
    attention_dropout: float = 0.0  # of the weights of attention
    activation_dropout: float = 0.0  # inside feed-forward networks
    attention: str = "relative"  # by distance; or "absolute", sines added to the embeddings
    distances: int = 512  # those which have an embedding; larger ones count as the largest of them
    block: int | None = None  # M, for local attention: a token sees its block and the one before; None for global
    # The length of a cycle that the music has, with an embedding for each place in it, added to that of the token (of a
    # chorale with four voices and bars of sixteen steps, 64); None for none.
    cycle: int | None = None
    activation: str = "relu"  # the paper's; "gelu" or "gelu_tanh"
    epsilon: float = 1e-5  # of the layer norms
    norm_first: bool = True  # normalise the input of each sub-layer and the output of the last layer, not the sums

    def __post_init__(self) -> None:
        check_sizes(self)
        if self.attention not in ATTENTIONS:
            raise ValueError(f"attention is one of {', '.join(ATTENTIONS)}, not {self.attention!r}")
        if self.attention == "absolute" and self.d_model % 2:
            raise ValueError(f"d_model ({self.d_model}) must be even: half of a position's numbers are sines")

    position_encoding = "relative"  # what the layers ask besides, see ``LayerConfig``


class Attention(MultiHeadAttention):
    """Multi-head attention that is relative, local, both or neither."""

    def __init__(self, config: Config) -> None:
        super().__init__(config, ordered=True)
        self.block = config.block
        self.distance: RelativePositions | None = None
        if config.attention == "relative":
            self.distance = RelativePositions(config.heads, config.d_model // config.heads, config.distances)

    def position_scores(self, q: Tensor, keys: int) -> Tensor | None:
        """Equation 3: S_rel / √(D/H), (B, H, T, S)."""
        return None if self.distance is None else self.distance(q * (1 / math.sqrt(q.shape[-1])), keys)

    def attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, causal: bool) -> Tensor:
        """See ``MultiHeadAttention``. With blocks, queries see nothing else than a mask from ``near`` allows; where
        there is no mask, the T S scores of all pairs are not computed, but T 2M."""
        if self.block is None or mask is not None:
            return super().attend(q, k, v, mask, causal)
        b, _, t, _ = q.shape
        m = min(self.block, t)
        count = -(-t // m)
        q, k, v = (F.pad(x, (0, 0, 0, count * m - t)).unflatten(2, (count, m)) for x in (q, k, v))  # (B, H, N, M, W)
        q = q.transpose(1, 2).flatten(0, 1)  # (B N, H, M, W)
        k, v = (mg.cat((F.pad(x, (0, 0, 0, 0, 1, 0))[:, :, :-1], x), 3) for x in (k, v))  # after the block before it
        k, v = (x.transpose(1, 2).flatten(0, 1) for x in (k, v))  # (B N, H, 2M, W)
        first = mg.arange(b * count, device=q.device)[:, None] % count == 0  # before the first block there is nothing
        visible = ~first | (mg.arange(2 * m, device=q.device) >= m)  # (B N, 2M)
        heads = super().attend(q, k, v, visible[:, None, None], True)
        return heads.unflatten(0, (b, count)).transpose(1, 2).flatten(2, 3)[:, :, :t]  # (B, H, T, W)


class Layer(TransformerLayer):
    """A causal transformer layer with this attention."""

    def __init__(self, config: Config) -> None:
        super().__init__(config, causal=True)
        self.attention = Attention(config)


class Cached(continuation.Cached):
    """The decoder with a cache, of a model whose attention may be local."""

    def seen(self, positions: Tensor, mask: Tensor | None, new: int) -> Tensor | None:
        block = self.model.config.block
        if block is not None and mask is None:
            mask = mg.ones(positions.shape, dtype=mg.bool, device=positions.device)
        return None if mask is None else near(positions[:, positions.shape[1] - new :], positions, mask, block)


def near(queries: Tensor, keys: Tensor, mask: Tensor, block: int | None) -> Tensor:
    """Where tokens may look, apart from the future: (B, 1, 1, S), by a mask (B, S) that is True at tokens; or with
    blocks (B, 1, T, S), at their own and the one before, by the positions of queries (B, T) and keys (B, S)."""
    visible = mask[:, None, None]
    if block is None:
        return visible
    back = (queries // block)[:, None, :, None] - (keys // block)[:, None, None]
    return visible & (back >= 0) & (back <= 1)


class MusicTransformer(Causal):
    """Tokens -> logits of the next token at each position; ``generate`` continues prompts."""

    CACHED = Cached
    config: Config

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(config.vocabulary, config.d_model)
        if config.cycle is not None:
            self.place = nn.Embedding(config.cycle, config.d_model)
        if config.attention == "absolute":
            self.register_buffer("sines", positional_encoding(config.positions, config.d_model), persistent=False)
        self.dropout = nn.Dropout(config.dropout)
        self.layers = nn.ModuleList(Layer(config) for _ in range(config.layers))
        self.norm: nn.Module = nn.LayerNorm(config.d_model, config.epsilon) if config.norm_first else nn.Identity()
        self.bias = nn.Parameter(mg.zeros(config.vocabulary))  # of the last linear layer, whose matrix is the embedding
        initialise(self)

    @property
    def head_bias(self) -> Tensor | None:
        """The bias of the last linear layer (V)."""
        return self.bias

    def embed(self, tokens: Tensor, positions: Tensor) -> Tensor:
        """Tokens and their positions, both (B, T) or broadcast -> inputs of the first layer (B, T, D)."""
        x = self.embedding(tokens)
        if self.config.cycle is not None:
            x = x + self.place(positions % self.config.cycle)
        x = x * math.sqrt(self.config.d_model)
        if self.config.attention == "absolute":
            x = x + self.sines[positions]
        return self.dropout(x)

    def seen(self, positions: Tensor, mask: Tensor) -> Tensor:
        """See ``Causal``: with blocks, tokens look at their own and the one before."""
        return near(positions, positions, mask, self.config.block)

    def head_inputs(self, states: Tensor) -> Tensor:
        return self.dropout(self.norm(states))

    def begin(self, prompts: Sequence[Sequence[int]], cached: bool = True, stride: int = 1) -> continuation.Plain:
        """The decoder for ``generation.beam_search`` that continues prompts; see ``continuation``. Raises ValueError: a
        stride that is no multiple of the cycle."""
        if stride % (self.config.cycle or 1):
            raise ValueError(f"stride must be a multiple of the cycle, {self.config.cycle}, not {stride}")
        return super().begin(prompts, cached, stride)


def initialise(model: MusicTransformer) -> None:
    """Xavier's uniform matrices, zero biases, embeddings of variance 1/D, which the factor √D brings to 1."""
    for name, parameter in model.named_parameters():
        if "embedding" in name or "place" in name or "distance" in name:
            nn.init.normal_(parameter, std=parameter.shape[-1] ** -0.5)
        elif parameter.ndim == 2:
            nn.init.xavier_uniform_(parameter)
        elif name.endswith("bias"):
            nn.init.zeros_(parameter)
