"""The transformer of "Attention Is All You Need" (Vaswani et al. 2017, arXiv 1706.03762).

To be read beside the paper: each class names its section. Shapes: B batch, T target length, S source length,
D model width (d_model), H heads, V vocabulary. A token mask is True at tokens and False at padding.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import minigrad as mg
from minigrad import Tensor, nn
from minigrad.nn import functional as F
from minigrad.text import generate
from minigrad.text.generate import MaxLength
from minigrad.text.tokenizer import BOS, PAD

from .decoding import Cached, Plain
from .r_drop import r_drop_loss

POSITION_ENCODINGS = ("sinusoidal", "rotary")


class Config:
    """The sizes of a transformer; the defaults are the paper's base model (table 3).

    Args:
        vocabulary: V, entries of the vocabulary that both languages share, or of the target's alone.
        d_model: D, width of every layer's input and output.
        heads: H, attention heads; they divide D.
        layers: layers of the encoder, and of the decoder.
        d_ff: width inside the feed-forward networks.
        dropout: probability that dropout sets an element to zero.
        positions: the longest sentence, in tokens.
        norm_first: normalise before each sub-layer (Xiong et al. 2020) and not, as the paper does, after it.
        source_vocabulary: entries of the source's own vocabulary; None where the languages share one.
        attention_dropout: the same probability for the weights of attention,
        activation_dropout: for what comes out of the ReLU,
        embedding_dropout: for the sums of embeddings and positions; None is ``dropout``.
        position_encoding: "sinusoidal": sines are added to embeddings, as in the paper; "rotary": queries and
            keys of self-attention are turned (Su et al. 2021, arXiv 2104.09864).

    Raises:
        ValueError: D is odd or no multiple of the heads; a dropout is no probability; there is no such
            encoding, or D/H is odd where it is rotary.
    """

    def __init__(
        self,
        vocabulary: int,
        d_model: int = 512,
        heads: int = 8,
        layers: int = 6,
        d_ff: int = 2048,
        dropout: float = 0.1,
        positions: int = 1024,
        norm_first: bool = False,
        source_vocabulary: int | None = None,
        attention_dropout: float = 0.0,
        activation_dropout: float = 0.0,
        embedding_dropout: float | None = None,
        position_encoding: str = "sinusoidal",
    ) -> None:
        if d_model % heads or d_model % 2:
            raise ValueError(f"d_model ({d_model}) must be even and a multiple of heads ({heads})")
        self.vocabulary, self.d_model, self.heads, self.layers = vocabulary, d_model, heads, layers
        self.d_ff, self.dropout, self.positions, self.norm_first = d_ff, dropout, positions, norm_first
        self.source_vocabulary = source_vocabulary
        self.attention_dropout, self.activation_dropout = attention_dropout, activation_dropout
        self.embedding_dropout, self.position_encoding = embedding_dropout, position_encoding
        if position_encoding not in POSITION_ENCODINGS:
            raise ValueError(f"position_encoding is one of {', '.join(POSITION_ENCODINGS)}, not {position_encoding!r}")
        if position_encoding == "rotary" and d_model // heads % 2:
            raise ValueError(f"rotary positions need heads of an even width, not {d_model} / {heads}")
        for name, p in vars(self).items():
            if name.endswith("dropout") and p is not None and not 0 <= p <= 1:
                raise ValueError(f"{name} has to be between 0 and 1, not {p}")

    def as_dict(self) -> dict[str, Any]:
        """The arguments again, for a checkpoint."""
        return dict(vars(self))


class MultiHeadAttention(nn.Module):
    """Section 3.2.2: H attentions side by side, each on its own projection of queries, keys and values.

    Args:
        config: sizes.
        ordered: queries and keys are of one sentence, so that rotary positions, if there are, turn them.
    """

    def __init__(self, config: Config, ordered: bool = False) -> None:
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
        """Queries from ``x`` (B, T, D), keys and values from ``memory`` (B, S, D) -> (B, T, D).

        The mask (B, 1, 1, S) is True where attention is allowed.
        """
        q = self.turn(self.split(self.query(x)))  # (B, H, T, D/H)
        k, v = self.turn(self.split(self.key(memory))), self.split(self.value(memory))  # (B, H, S, D/H)
        dropped = self.dropout if self.training else 0.0
        heads = F.scaled_dot_product_attention(q, k, v, mask, dropped, causal)  # equation 1
        b, h, t, width = heads.shape
        return self.output(heads.transpose(1, 2).reshape(b, t, h * width))  # (B, H, T, D/H) -> (B, T, D)

    def weights(self, x: Tensor, memory: Tensor, mask: Tensor) -> Tensor:
        """What each query takes from each key, (B, H, T, S): softmax(q kᵀ / √(D/H)), 0 at padding."""
        q, k = self.turn(self.split(self.query(x))), self.turn(self.split(self.key(memory)))
        scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
        return scores.masked_fill(~mask, -math.inf).softmax(-1)

    def split(self, x: Tensor) -> Tensor:
        """(B, T, D) -> (B, H, T, D/H): each head sees its own part of the width."""
        b, t, d = x.shape
        return x.view(b, t, self.heads, d // self.heads).transpose(1, 2)

    def turn(self, x: Tensor) -> Tensor:
        """Queries or keys (B, H, T, D/H) with their positions, where these are rotary."""
        return x if self.rotary is None else self.rotary(x)


class FeedForward(nn.Module):
    """Section 3.3: two linear layers with a ReLU between them, the same at every position."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.inner = nn.Linear(config.d_model, config.d_ff)
        self.outer = nn.Linear(config.d_ff, config.d_model)
        self.dropout = nn.Dropout(config.activation_dropout)

    def forward(self, x: Tensor) -> Tensor:
        """(B, T, D) -> (B, T, D)"""
        return self.outer(self.dropout(self.inner(x).relu()))


class Residual(nn.Module):
    """Sections 3.1 and 5.4: LayerNorm(x + Dropout(sublayer(x))), or the norm first."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(config.d_model)
        self.dropout = nn.Dropout(config.dropout)
        self.norm_first = config.norm_first

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """(B, T, D) -> (B, T, D)"""
        if self.norm_first:
            return x + self.dropout(sublayer(self.norm(x)))
        return self.norm(x + self.dropout(sublayer(x)))


class EncoderLayer(nn.Module):
    """Figure 1, left: self-attention, then the feed-forward network."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.attention, self.feed_forward = MultiHeadAttention(config, ordered=True), FeedForward(config)
        self.attention_residual, self.feed_forward_residual = Residual(config), Residual(config)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """(B, S, D) -> (B, S, D)"""
        x = self.attention_residual(x, lambda y: self.attention(y, y, mask))
        return self.feed_forward_residual(x, self.feed_forward)


class DecoderLayer(nn.Module):
    """Figure 1, right: self-attention that sees no later token, attention to the source, feed-forward."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.self_attention = MultiHeadAttention(config, ordered=True)
        self.cross_attention, self.feed_forward = MultiHeadAttention(config), FeedForward(config)
        self.self_residual, self.cross_residual = Residual(config), Residual(config)
        self.feed_forward_residual = Residual(config)

    def forward(self, x: Tensor, memory: Tensor, mask: Tensor) -> Tensor:
        """x (B, T, D), memory (B, S, D) -> (B, T, D)"""
        x = self.self_residual(x, lambda y: self.self_attention(y, y, None, causal=True))
        x = self.cross_residual(x, lambda y: self.cross_attention(y, memory, mask))
        return self.feed_forward_residual(x, self.feed_forward)


class Transformer(nn.Module):
    """Figure 1, whole: from source and target tokens to the next target token.

    One matrix serves as both embeddings and as the last linear layer (section 3.4); where the source has a
    vocabulary of its own, it has an embedding of its own.
    """

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(config.vocabulary, config.d_model, padding_idx=PAD)
        if config.source_vocabulary is not None:
            self.source_embedding = nn.Embedding(config.source_vocabulary, config.d_model, padding_idx=PAD)
        own = config.embedding_dropout
        self.dropout = nn.Dropout(config.dropout if own is None else own)
        self.encoder = nn.ModuleList(EncoderLayer(config) for _ in range(config.layers))
        self.decoder = nn.ModuleList(DecoderLayer(config) for _ in range(config.layers))
        final = nn.LayerNorm if config.norm_first else nn.Identity  # nothing else normalises the last sum then
        self.encoder_norm, self.decoder_norm = final(config.d_model), final(config.d_model)
        if config.position_encoding == "sinusoidal":
            table = positional_encoding(config.positions, config.d_model)
            self.register_buffer("positions", table, persistent=False)
        self.apply(initialise)

    def embed(self, tokens: Tensor, start: int = 0, source: bool = False) -> Tensor:
        """Sections 3.4 and 3.5: embeddings times √D, plus positions unless they are rotary; (B, T) ->
        (B, T, D). The first token is at the position ``start``."""
        end = start + tokens.shape[1]
        if end > self.config.positions:
            raise ValueError(f"a sentence of {end} tokens is longer than the model's {self.config.positions} positions")
        own = source and self.config.source_vocabulary is not None
        x = (self.source_embedding if own else self.embedding)(tokens) * math.sqrt(self.config.d_model)
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

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        """Tokens (B, S) and (B, T) -> logits (B, T, V) of the token after each target token."""
        return F.linear(self.decode(target, *self.encode(source)), self.embedding.weight)

    def loss(
        self,
        source: Tensor,
        target: Tensor,
        label_smoothing: float = 0.0,
        r_drop: float = 0.0,
        read: Tensor | None = None,
    ) -> Tensor:
        """The mean cross-entropy of each token of ``target`` (B, T), from BOS on, after those before it.

        Args:
            r_drop: α of R-Drop; above 0 the batch goes through the model twice, see ``r_drop_loss``.
            read: what the decoder is given (B, T - 1) in place of ``target`` without its last token.
        """
        read = target[:, :-1] if read is None else read
        if r_drop:
            states = self.decode(mg.cat((read, read)), *self.encode(mg.cat((source, source))))
            return r_drop_loss(states, self.embedding.weight, target[:, 1:], r_drop, label_smoothing, PAD)
        states = self.decode(read, *self.encode(source))
        return F.linear_cross_entropy(
            states.reshape(-1, self.config.d_model),
            self.embedding.weight,
            target[:, 1:].reshape(-1),
            ignore_index=PAD,
            label_smoothing=label_smoothing,
        )

    # Looking inside -----------------------------------------------------------------------------------------

    @mg.no_grad()
    def attention(self, source: Tensor, target: Tensor) -> Tensor:
        """What each target token (B, T), from BOS on, took from the source tokens (B, S) to write the next.

        Returns:
            The weights of cross-attention (layers, H, B, T, S); they sum to 1 over S and are 0 at padding.
        """
        return self.cross_attention(target, *self.encode(source))

    @mg.no_grad()
    def cross_attention(self, target: Tensor, memory: Tensor, mask: Tensor) -> Tensor:
        """``attention`` after ``encode``: (layers, H, B, T, S)."""
        seen: list[Tensor] = []

        def note(attention: Any, inputs: tuple[Any, ...]) -> None:
            seen.append(attention.weights(*inputs).transpose(0, 1))

        watched = [layer.cross_attention.register_forward_pre_hook(note) for layer in self.decoder]
        try:
            self.decode(target, memory, mask)
        finally:
            for handle in watched:
                handle.remove()
        return mg.stack(seen)

    # Decoding -----------------------------------------------------------------------------------------------

    @mg.no_grad()
    def begin(self, source: Tensor, cached: bool = True) -> Plain | Cached:
        """What gives the logits after a beginning of each sentence's translation, step by step.

        It is the decoder that minigrad.text.generate asks for; no gradient is recorded. In training dropout
        is drawn for whole sentences, and so nothing is cached.
        """
        way = Cached if cached and not self.training else Plain
        return way(self, mg.full((len(source), 1), BOS, device=source.device), *self.encode(source))

    @mg.no_grad()
    def greedy(self, source: Tensor, max_length: MaxLength = 100, cached: bool = True) -> Tensor:
        """The likeliest token at each step: source (B, S) -> tokens (B, T), padded after EOS."""
        found = generate.greedy(self.begin(source, cached), self.fitting(max_length))
        return pad([h.tokens for h in found], source.device)

    @mg.no_grad()
    def sample(
        self,
        source: Tensor,
        max_length: MaxLength = 100,
        temperature: float = 1.0,
        top_k: int | None = None,
        top_p: float | None = None,
        cached: bool = True,
    ) -> Tensor:
        """Tokens drawn at random, see ``generate.sample``: source (B, S) -> (B, T), padded after EOS."""
        decoder = self.begin(source, cached)
        found = generate.sample(decoder, self.fitting(max_length), temperature, top_k, top_p)
        return pad([h.tokens for h in found], source.device)

    @mg.no_grad()
    def beam_search(
        self,
        source: Tensor,
        beam_size: int = 5,
        max_length: MaxLength = 100,
        length_penalty: float = 0.6,
        coverage_penalty: float = 0.0,
        cached: bool = True,
    ) -> Tensor:
        """The best of beam search (section 6.1): source (B, S) -> (B, T), padded after EOS.

        ``generate.beam_search`` tells of the arguments, and gives the whole beam and its scores.
        """
        decoder = self.begin(source, cached)
        found = generate.beam_search(decoder, beam_size, self.fitting(max_length), length_penalty, coverage_penalty)
        return pad([hypotheses[0].tokens for hypotheses in found], source.device)

    def fitting(self, max_length: MaxLength) -> MaxLength:
        """A limit on the tokens to write that the positions suffice for."""
        most = self.config.positions - 1
        return min(max_length, most) if isinstance(max_length, int) else [min(n, most) for n in max_length]


def positional_encoding(positions: int, d_model: int) -> Tensor:
    """Section 3.5: sin(pos / 10000^(2i/D)) at even, cos at odd places, (positions, D)."""
    position = mg.arange(positions)[:, None]
    rate = mg.exp(mg.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
    table = mg.zeros(positions, d_model)
    table[:, 0::2] = mg.sin(position * rate)
    table[:, 1::2] = mg.cos(position * rate)
    return table


def initialise(module: nn.Module) -> None:
    """Xavier's uniform weights and zero biases; embeddings with variance 1/D, so that √D brings them to 1.

    Queries, keys and values are drawn as the one matrix (D, 3D) that they are side by side: smaller by √2.
    """
    if isinstance(module, nn.Linear):
        nn.init.xavier_uniform_(module.weight)
        nn.init.zeros_(module.bias)
    elif isinstance(module, MultiHeadAttention):  # after its parts: ``apply`` comes from below
        for projection in (module.query, module.key, module.value):
            nn.init.xavier_uniform_(projection.weight, gain=math.sqrt(0.5))
    elif isinstance(module, nn.Embedding):
        nn.init.normal_(module.weight, std=module.embedding_dim**-0.5)
        with mg.no_grad():
            module.weight[PAD].zero_()


def pad(sentences: list[list[int]], device: Any = None) -> Tensor:
    """Lists of tokens as a tensor (B, T), T at least 1, the shorter ones filled up with PAD."""
    length = max(map(len, sentences), default=0) or 1
    rows = [s + [PAD] * (length - len(s)) for s in sentences]
    return mg.tensor(rows, dtype=mg.int64, device=device).reshape(len(sentences), length)
