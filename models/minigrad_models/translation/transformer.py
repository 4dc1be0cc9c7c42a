"""The transformer of "Attention Is All You Need" (Vaswani et al. 2017, arXiv 1706.03762).

Read it beside the paper: each class names its section; the layers are in ``layers``. Shapes: B batch, T target length,
S source length, D model width (d_model), H heads, V vocabulary. A mask is True at tokens and False at padding.
"""

from __future__ import annotations

import math
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import minigrad as mg
from minigrad import Tensor, nn

from ..architectures.layers import DecoderLayer, MultiHeadAttention, TransformerLayer
from ..text.tokenizer import PAD
from .decoding import Cached
from .encoder_decoder import Configuration, TranslationModel
from .encoder_decoder import pad as pad

POSITION_ENCODINGS = ("sinusoidal", "rotary")


@dataclass
class Config(Configuration):
    """The hyperparameters of a transformer; the defaults are the paper's base model (table 3). See ``Configuration``.

    Args:
        d_model: D, the width of every layer's input and output.
        heads: H, attention heads; they divide D.
        layers: layers of the encoder, and of the decoder.
        d_ff: width inside the feed-forward networks.
        dropout: the probability that dropout zeroes an element of a sub-layer's output.
        norm_first: normalise the input of each sub-layer (Xiong et al. 2020, arXiv 2002.04745), not the sum
            after it, as the paper does.
        attention_dropout: the probability for the weights of attention.
        activation_dropout: the probability for the output of the ReLU.
        embedding_dropout: the probability for the sums of embeddings and positions; None is ``dropout``.
        position_encoding: "sinusoidal" adds sines to embeddings, as the paper does; "rotary" rotates the
            queries and keys of self-attention (Su et al. 2021, arXiv 2104.09864).

    Raises ValueError: D is odd or no multiple of H; a dropout is no probability; the position encoding is unknown, or
    D/H is odd with rotary positions.
    """

    activation, epsilon = "relu", 1e-5  # section 3.3; PyTorch's, as the paper gives none

    vocabulary: int
    d_model: int = 512
    heads: int = 8
    layers: int = 6
    d_ff: int = 2048
    dropout: float = 0.1
    positions: int = 1024
    norm_first: bool = False
    source_vocabulary: int | None = None
    attention_dropout: float = 0.0
    activation_dropout: float = 0.0
    embedding_dropout: float | None = None
    position_encoding: str = "sinusoidal"

    def __post_init__(self) -> None:
        if self.d_model % self.heads or self.d_model % 2:
            raise ValueError(f"d_model ({self.d_model}) must be even and a multiple of heads ({self.heads})")
        if (encoding := self.position_encoding) not in POSITION_ENCODINGS:
            raise ValueError(f"position_encoding is one of {', '.join(POSITION_ENCODINGS)}, not {encoding!r}")
        if encoding == "rotary" and self.d_model // self.heads % 2:
            raise ValueError(f"rotary positions need heads of an even width, not {self.d_model} / {self.heads}")
        self.check_dropouts()


class Transformer(TranslationModel):
    """Figure 1 as a whole: from source and target tokens to the next target token. One matrix is both embeddings and
    the last linear layer (section 3.4); a separate source vocabulary has a separate embedding."""

    CACHED = Cached

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        dropout = config.dropout if config.embedding_dropout is None else config.embedding_dropout
        self.dropout = nn.Dropout(dropout)
        self.encoder = nn.ModuleList(TransformerLayer(config) for _ in range(config.layers))
        self.decoder = nn.ModuleList(DecoderLayer(config) for _ in range(config.layers))
        final = nn.LayerNorm if config.norm_first else nn.Identity  # with norm_first, the last sum needs a norm
        self.encoder_norm: nn.Module = final(config.d_model)
        self.decoder_norm: nn.Module = final(config.d_model)
        if config.position_encoding == "sinusoidal":
            table = positional_encoding(config.positions, config.d_model)
            self.register_buffer("positions", table, persistent=False)
        self.apply(initialise)

    def embed(self, tokens: Tensor, start: int = 0, source: bool = False) -> Tensor:
        """Sections 3.4 and 3.5: embeddings times √D, plus positions from ``start`` on unless these are rotary, (B, T)
        -> (B, T, D). Raises ValueError: the sentence is longer than the model's positions."""
        end = start + tokens.shape[1]
        self.check_length(end)
        x = self.vectors(tokens, source) * math.sqrt(self.config.d_model)
        if self.config.position_encoding == "sinusoidal":
            x = x + self.positions[start:end]
        return self.dropout(x)

    def encode(self, source: Tensor) -> tuple[Tensor, Tensor]:
        """Source tokens (B, S) -> memory (B, S, D) and its mask (B, 1, 1, S)."""
        mask = (source != PAD)[:, None, None, :]
        x = self.embed(source, source=True)
        for layer in self.encoder:
            x = layer(x, mask)
        return self.encoder_norm(x), mask

    def decode(self, target: Tensor, memory: Tensor, mask: Tensor) -> Tensor:
        """Target tokens (B, T) -> states (B, T, D)."""
        x = self.embed(target)
        for layer in self.decoder:
            x = layer(x, memory, mask)
        return self.decoder_norm(x)

    @mg.no_grad()
    def cross_attention(self, target: Tensor, memory: Tensor, mask: Tensor) -> Tensor:
        """See ``TranslationModel``: (layers, H, B, T, S)."""
        weights: list[Tensor] = []

        def record(attention: Any, inputs: tuple[Any, ...]) -> None:
            weights.append(attention.weights(*inputs).transpose(0, 1))

        with ExitStack() as hooks, hooks:
            for layer in self.decoder:
                hooks.callback(layer.cross_attention.register_forward_pre_hook(record).remove)
            self.decode(target, memory, mask)
        return mg.stack(weights)


def positional_encoding(positions: int, d_model: int) -> Tensor:
    """Section 3.5: (positions, D), sin(pos / 10000^(2i/D)) in column 2i and cos in column 2i + 1."""
    position = mg.arange(positions)[:, None]
    rate = mg.exp(mg.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
    table = mg.zeros(positions, d_model)
    table[:, 0::2] = mg.sin(position * rate)
    table[:, 1::2] = mg.cos(position * rate)
    return table


def initialise(module: nn.Module) -> None:
    """Xavier's uniform weights, zero biases, and embeddings of variance 1/D, which the factor √D brings to 1. Queries,
    keys and values are initialised like the matrix (D, 3D) that they form together: smaller by √2."""
    if isinstance(module, nn.Linear):
        nn.init.xavier_uniform_(module.weight)
        nn.init.zeros_(module.bias)
    elif isinstance(module, MultiHeadAttention):  # ``apply`` visits it after its parts
        for projection in (module.query, module.key, module.value):
            nn.init.xavier_uniform_(projection.weight, gain=math.sqrt(0.5))
    elif isinstance(module, nn.Embedding):
        nn.init.normal_(module.weight, std=module.embedding_dim**-0.5)
        with mg.no_grad():
            module.weight[PAD].zero_()
