"""The transformer of "Attention Is All You Need" (Vaswani et al. 2017, arXiv 1706.03762).

Read it alongside the paper: each class names its section. The layers are in ``layers.py``. Shapes: B batch, T target
length, S source length, D model width (d_model), H heads, V vocabulary. Masks are True at tokens, False at padding.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import minigrad as mg
from minigrad import Tensor, nn
from minigrad.autograd.tape import wrap
from minigrad.backend.dtype import Array
from minigrad.nn import functional as F

from ..architectures.layers import DecoderLayer, MultiHeadAttention, TransformerLayer
from ..generation.continuation import CachedAttention, CachedFeedForward, CachedLinear, CachedResidual, attend
from ..text.tokenizer import PAD
from .encoder_decoder import Configuration, TranslationModel, pad as pad

POSITION_ENCODINGS = ("sinusoidal", "rotary")


@dataclass
class Config(Configuration):
    """The hyperparameters of a transformer. The defaults describe the paper's base model (table 3). See
    ``Configuration``. Raises ValueError if D is odd or not a multiple of H, a dropout is not a probability, the
    position encoding is unknown, or D/H is odd with rotary positions."""

    activation, epsilon = "relu", 1e-5  # section 3.3; PyTorch's default, as the paper states none

    vocabulary: int
    d_model: int = 512  # D, the input and output width of every layer
    heads: int = 8  # H, the number of attention heads
    layers: int = 6  # of the encoder, and of the decoder
    d_ff: int = 2048  # the width inside the feed-forward networks
    dropout: float = 0.1  # on a sub-layer's output
    positions: int = 1024
    norm_first: bool = False  # normalise before, not after, each sub-layer (Xiong et al. 2020, arXiv 2002.04745)
    source_vocabulary: int | None = None
    attention_dropout: float = 0.0  # on attention weights
    activation_dropout: float = 0.0  # on the output of the ReLU
    embedding_dropout: float | None = None  # on the sums of embeddings and positions; None: as ``dropout``
    position_encoding: str = "sinusoidal"  # or "rotary", for queries and keys (Su et al. 2021, arXiv 2104.09864)

    def __post_init__(self) -> None:
        if self.d_model % self.heads or self.d_model % 2:
            raise ValueError(f"d_model ({self.d_model}) must be even and a multiple of heads ({self.heads})")
        if (encoding := self.position_encoding) not in POSITION_ENCODINGS:
            raise ValueError(f"position_encoding must be one of {', '.join(POSITION_ENCODINGS)}, not {encoding!r}")
        if encoding == "rotary" and self.d_model // self.heads % 2:
            raise ValueError(f"rotary positions need heads with an even width, not {self.d_model} / {self.heads}")
        self.check_dropouts()


class Cached:
    """Decodes with a cache of the keys and values of earlier tokens (see ``generation.continuation``). Each call of
    ``next_logits`` must add one token. N rows are B sentences times W beams (W is 1 without beam search)."""

    @mg.no_grad()
    def __init__(self, model: Transformer, start: Tensor, memory: Tensor, mask: Tensor) -> None:
        self.model, self.start, self.mask = model, start, mask
        self.num_beams, self.length = 1, 0  # W; tokens already read
        padding = None if bool(mask.all()) else mask.array  # without padding, attention needs no mask
        self.layers = [CachedLayer(layer, memory, padding) for layer in model.decoder]

    @mg.no_grad()
    def next_logits(self, tokens: Tensor) -> Tensor:
        """Tokens (N, T), of which only the last is new -> logits of the next token (N, V)."""
        x = self.model.embed(tokens[:, -1:], self.length).array  # (N, 1, D)
        for layer in self.layers:
            x = layer.step(x, self.length)
        self.length += 1
        return F.linear(self.model.decoder_norm(wrap(x[:, 0])), self.model.embedding.weight)

    def reorder(self, rows: Tensor, num_beams: int) -> None:
        sentences = rows[::num_beams] // self.num_beams
        for layer in self.layers:
            if len(sentences) < len(self.mask):
                layer.keep(sentences.array)
            layer.num_beams = num_beams
            layer.self_attention.reorder(rows.array, self.length)
        self.mask, self.num_beams = self.mask[sentences], num_beams


class CachedLayer:
    """A decoder layer with cached keys and values. The W beams of a sentence share the source's (B, H, S, D/H)."""

    def __init__(self, layer: DecoderLayer, memory: Tensor, mask: Array | None) -> None:
        cross = layer.cross_attention
        self.self_attention = CachedAttention(layer.self_attention, len(memory))
        self.feed_forward = CachedFeedForward(layer.feed_forward)
        residuals = (layer.self_residual, layer.cross_residual, layer.feed_forward_residual)
        self.residuals = [CachedResidual(residual) for residual in residuals]
        self.cross_query, self.cross_output = CachedLinear(cross.query), CachedLinear(cross.output)
        self.keys, self.values = (cross.split(part(memory)).array for part in (cross.key, cross.value))
        self.heads, self.num_beams, self.mask = cross.heads, 1, mask

    def step(self, x: Array, position: int) -> Array:
        """The new token's state before this layer (N, 1, D) -> its state after this layer (N, 1, D)."""
        x = self.residuals[0](x, lambda y: self.self_attention.step(y, position))
        x = self.residuals[1](x, self.attend_to_source)
        return self.residuals[2](x, self.feed_forward)

    def attend_to_source(self, x: Array) -> Array:
        """Cross-attention: the W beams of a sentence are W queries to the same keys."""
        d = x.shape[-1]
        q = self.cross_query(x).reshape(-1, self.num_beams, self.heads, d // self.heads)
        heads = attend(q.swapaxes(1, 2), self.keys, self.values, self.mask)  # (B, H, W, D/H)
        return self.cross_output(heads.swapaxes(1, 2).reshape(x.shape))  # -> (N, 1, D)

    def keep(self, sentences: Array) -> None:
        """Keep some of the B sentences and drop the others."""
        self.keys, self.values = self.keys[sentences], self.values[sentences]
        self.mask = None if self.mask is None else self.mask[sentences]


class Transformer(TranslationModel):
    """All of figure 1: predicts the next target token from source and target tokens. Both embeddings and the last
    linear layer share a matrix (section 3.4); a separate source vocabulary has a separate embedding."""

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
        """Sections 3.4 and 3.5: tokens (B, T) -> their embeddings times √D (B, T, D), plus the positions from ``start``
        on unless these are rotary. Raises ValueError if there are more tokens than positions."""
        end = start + tokens.shape[1]
        self.check_length(end)
        x = self.vectors(tokens, source) * math.sqrt(self.config.d_model)
        if self.config.position_encoding == "sinusoidal":
            x = x + self.positions[start:end]
        return self.dropout(x)

    def encode(self, source: Tensor) -> tuple[Tensor, Tensor]:
        mask = (source != PAD)[:, None, None, :]
        x = self.embed(source, source=True)
        for layer in self.encoder:
            x = layer(x, mask)
        return self.encoder_norm(x), mask

    def decode(self, target: Tensor, memory: Tensor, mask: Tensor) -> Tensor:
        x = self.embed(target)
        for layer in self.decoder:
            x = layer(x, memory, mask)
        return self.decoder_norm(x)


def positional_encoding(positions: int, d_model: int) -> Tensor:
    """Section 3.5: a table (positions, D) with sin(pos / 10000^(2i/D)) in column 2i and the cosine in column 2i + 1."""
    position = mg.arange(positions)[:, None]
    rate = mg.exp(mg.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
    table = mg.zeros(positions, d_model)
    table[:, 0::2] = mg.sin(position * rate)
    table[:, 1::2] = mg.cos(position * rate)
    return table


def initialise(module: nn.Module) -> None:
    """Xavier uniform weights, zero biases, and embeddings of variance 1/D, which the factor √D scales to 1. The query,
    key and value weights are initialised as parts of one matrix (D, 3D), so they are smaller by a factor of √2."""
    if isinstance(module, nn.Linear):
        nn.init.xavier_uniform_(module.weight)
        nn.init.zeros_(module.bias)
    elif isinstance(module, MultiHeadAttention):  # ``apply`` visits modules after their children
        for projection in (module.query, module.key, module.value):
            nn.init.xavier_uniform_(projection.weight, gain=math.sqrt(0.5))
    elif isinstance(module, nn.Embedding):
        nn.init.normal_(module.weight, std=module.embedding_dim**-0.5)
        nn.init.zeros_(module.weight.data[PAD])
