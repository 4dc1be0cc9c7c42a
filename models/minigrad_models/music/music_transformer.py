"""The Music Transformer (Huang et al. 2018, arXiv 1809.04281): a language model with relative attention.

The model is a stack of causal transformer layers over the events of a piece. In relative attention (section 3.4), each
head's scores have an additional term that depends on distance. Without it, the model is the paper's baseline, a plain
transformer, which adds sinusoidal position encodings to the embeddings.

Shapes: B batch, T tokens, D model width, H heads, L layers, V vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import minigrad as mg
from minigrad import Tensor, nn

from ..architectures.layers import MultiHeadAttention, RelativePositions, TransformerLayer
from ..architectures.pretrained import check_sizes
from ..generation import continuation
from ..generation.continuation import Causal
from ..translation.transformer import positional_encoding

ATTENTIONS = ("relative", "absolute")


@dataclass
class Config:
    """The hyperparameters. The defaults describe the paper's model for chorales (table 2). Raises ValueError if a size
    is invalid, a dropout is not a probability, or the attention or activation is unknown."""

    vocabulary: int  # V
    positions: int = 2048  # the context: the maximum number of tokens that the model sees
    d_model: int = 256  # D
    heads: int = 8  # H, which divides D
    layers: int = 5  # L
    d_ff: int = 1024  # the width inside the feed-forward networks
    dropout: float = 0.1  # on embeddings, and on the outputs of sub-layers and of the last layer
    attention_dropout: float = 0.0  # on attention weights
    activation_dropout: float = 0.0  # inside feed-forward networks
    attention: str = "relative"  # by distance; or "absolute" (sinusoids added to the embeddings)
    distances: int = 512  # the number of distance embeddings; larger distances are clamped
    # The length of a cycle in the music, or None for no cycle. An embedding for each position in the cycle is added to
    # the token's. It is 64 for a chorale with four voices and bars of sixteen steps.
    cycle: int | None = None
    activation: str = "relu"  # as in the paper; or "gelu", "gelu_tanh"
    epsilon: float = 1e-5  # in the layer norms
    norm_first: bool = True  # normalise each sub-layer's input and the last layer's output, not the residual sums

    def __post_init__(self) -> None:
        check_sizes(self)
        if self.attention not in ATTENTIONS:
            raise ValueError(f"attention must be one of {', '.join(ATTENTIONS)}, not {self.attention!r}")
        if self.attention == "absolute" and self.d_model % 2:
            raise ValueError(f"d_model ({self.d_model}) must be even: half of each position's encoding is sines")

    position_encoding = "relative"  # the layers read this as well; see ``LayerConfig``


class Attention(MultiHeadAttention):
    """Multi-head attention, optionally relative."""

    def __init__(self, config: Config) -> None:
        super().__init__(config, ordered=True)
        self.distance: RelativePositions | None = None
        if config.attention == "relative":
            self.distance = RelativePositions(config.heads, config.d_model // config.heads, config.distances)

    def position_scores(self, q: Tensor, keys: int) -> Tensor | None:
        """The relative scores S_rel / √(D/H) of equation 3, (B, H, T, S)."""
        return None if self.distance is None else self.distance(q * (1 / math.sqrt(q.shape[-1])), keys)


class Layer(TransformerLayer):
    """A causal transformer layer that uses ``Attention``."""

    def __init__(self, config: Config) -> None:
        super().__init__(config, causal=True)
        self.attention = Attention(config)


class MusicTransformer(Causal):
    """Maps tokens to logits of the next token at each position; ``generate`` continues prompts."""

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
        self.bias = nn.Parameter(mg.zeros(config.vocabulary))  # of the output layer, whose weight is the embedding
        initialise(self)

    @property
    def head_bias(self) -> Tensor | None:
        return self.bias

    def embed(self, tokens: Tensor, positions: Tensor) -> Tensor:
        x = self.embedding(tokens)
        if self.config.cycle is not None:
            x = x + self.place(positions % self.config.cycle)
        x = x * math.sqrt(self.config.d_model)
        if self.config.attention == "absolute":
            x = x + self.sines[positions]
        return self.dropout(x)

    def head_inputs(self, states: Tensor) -> Tensor:
        return self.dropout(self.norm(states))

    def begin(self, prompts: Sequence[Sequence[int]], cached: bool = True, stride: int = 1) -> continuation.Plain:
        """A decoder for ``generation.beam_search`` that continues prompts; see ``continuation``. Raises ValueError if
        the stride is not a multiple of the cycle."""
        if stride % (self.config.cycle or 1):
            raise ValueError(f"stride must be a multiple of the cycle, {self.config.cycle}, not {stride}")
        return super().begin(prompts, cached, stride)


def initialise(model: MusicTransformer) -> None:
    """Xavier uniform for matrices, 0 for biases, and variance 1/D for embeddings, which the factor √D scales to 1."""
    for name, parameter in model.named_parameters():
        if "embedding" in name or "place" in name or "distance" in name:
            nn.init.normal_(parameter, std=parameter.shape[-1] ** -0.5)
        elif parameter.ndim == 2:
            nn.init.xavier_uniform_(parameter)
        elif name.endswith("bias"):
            nn.init.zeros_(parameter)
