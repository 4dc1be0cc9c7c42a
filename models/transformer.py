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

from .decoding import Cached, Plain

PAD, BOS, EOS, UNKNOWN = 0, 1, 2, 3  # the first four entries of every vocabulary


class Config:
    """The sizes of a transformer; the defaults are the paper's base model (table 3).

    Args:
        vocabulary: V, entries of the vocabulary that both languages share.
        d_model: D, width of every layer's input and output.
        heads: H, attention heads; they divide D.
        layers: layers of the encoder, and of the decoder.
        d_ff: width inside the feed-forward networks.
        dropout: probability that dropout sets an element to zero.
        positions: the longest sentence, in tokens.
        norm_first: normalise before each sub-layer (Xiong et al. 2020) and not, as the paper does, after it.
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
    ) -> None:
        if d_model % heads or d_model % 2:
            raise ValueError(f"d_model ({d_model}) must be even and a multiple of heads ({heads})")
        self.vocabulary, self.d_model, self.heads, self.layers = vocabulary, d_model, heads, layers
        self.d_ff, self.dropout, self.positions, self.norm_first = d_ff, dropout, positions, norm_first

    def as_dict(self) -> dict[str, Any]:
        """The arguments again, for a checkpoint."""
        return dict(vars(self))


class MultiHeadAttention(nn.Module):
    """Section 3.2.2: H attentions side by side, each on its own projection of queries, keys and values."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.heads = config.heads
        self.query = nn.Linear(config.d_model, config.d_model)
        self.key = nn.Linear(config.d_model, config.d_model)
        self.value = nn.Linear(config.d_model, config.d_model)
        self.output = nn.Linear(config.d_model, config.d_model)

    def forward(self, x: Tensor, memory: Tensor, mask: Tensor | None, causal: bool = False) -> Tensor:
        """Queries from ``x`` (B, T, D), keys and values from ``memory`` (B, S, D) -> (B, T, D).

        The mask (B, 1, 1, S) is True where attention is allowed.
        """
        q = self.split(self.query(x))  # (B, H, T, D/H)
        k, v = self.split(self.key(memory)), self.split(self.value(memory))  # (B, H, S, D/H)
        heads = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal)  # equation 1
        b, _, t, _ = heads.shape
        return self.output(heads.transpose(1, 2).reshape(b, t, -1))  # (B, H, T, D/H) -> (B, T, D)

    def split(self, x: Tensor) -> Tensor:
        """(B, T, D) -> (B, H, T, D/H): each head sees its own part of the width."""
        b, t, d = x.shape
        return x.view(b, t, self.heads, d // self.heads).transpose(1, 2)


class FeedForward(nn.Module):
    """Section 3.3: two linear layers with a ReLU between them, the same at every position."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.inner = nn.Linear(config.d_model, config.d_ff)
        self.outer = nn.Linear(config.d_ff, config.d_model)

    def forward(self, x: Tensor) -> Tensor:
        """(B, T, D) -> (B, T, D)"""
        return self.outer(self.inner(x).relu())


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
        self.attention, self.feed_forward = MultiHeadAttention(config), FeedForward(config)
        self.attention_residual, self.feed_forward_residual = Residual(config), Residual(config)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """(B, S, D) -> (B, S, D)"""
        x = self.attention_residual(x, lambda y: self.attention(y, y, mask))
        return self.feed_forward_residual(x, self.feed_forward)


class DecoderLayer(nn.Module):
    """Figure 1, right: self-attention that sees no later token, attention to the source, feed-forward."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.self_attention, self.cross_attention = MultiHeadAttention(config), MultiHeadAttention(config)
        self.feed_forward = FeedForward(config)
        self.self_residual, self.cross_residual = Residual(config), Residual(config)
        self.feed_forward_residual = Residual(config)

    def forward(self, x: Tensor, memory: Tensor, mask: Tensor) -> Tensor:
        """x (B, T, D), memory (B, S, D) -> (B, T, D)"""
        x = self.self_residual(x, lambda y: self.self_attention(y, y, None, causal=True))
        x = self.cross_residual(x, lambda y: self.cross_attention(y, memory, mask))
        return self.feed_forward_residual(x, self.feed_forward)


class Transformer(nn.Module):
    """Figure 1, whole: from source and target tokens to the next target token.

    One matrix serves as both embeddings and as the last linear layer (section 3.4).
    """

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(config.vocabulary, config.d_model, padding_idx=PAD)
        self.dropout = nn.Dropout(config.dropout)
        self.encoder = nn.ModuleList(EncoderLayer(config) for _ in range(config.layers))
        self.decoder = nn.ModuleList(DecoderLayer(config) for _ in range(config.layers))
        final = (
            nn.LayerNorm if config.norm_first else nn.Identity
        )  # nothing else normalises the last sum then
        self.encoder_norm, self.decoder_norm = final(config.d_model), final(config.d_model)
        self.register_buffer(
            "positions", positional_encoding(config.positions, config.d_model), persistent=False
        )
        self.apply(initialise)

    def embed(self, tokens: Tensor, start: int = 0) -> Tensor:
        """Sections 3.4 and 3.5: embeddings times √D, plus positions. (B, T) -> (B, T, D)"""
        end = start + tokens.shape[1]
        if end > self.config.positions:
            raise ValueError(
                f"a sentence of {end} tokens is longer than the model's {self.config.positions} positions"
            )
        x = self.embedding(tokens) * math.sqrt(self.config.d_model)
        return self.dropout(x + self.positions[start:end])

    def encode(self, source: Tensor) -> tuple[Tensor, Tensor]:
        """Source tokens (B, S) -> memory (B, S, D) and its mask (B, 1, 1, S)."""
        mask = (source != PAD)[:, None, None, :]
        x = self.embed(source)
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

    def loss(self, source: Tensor, target: Tensor, label_smoothing: float = 0.0) -> Tensor:
        """The mean cross-entropy of each token of ``target`` (B, T), from BOS on, after those before it."""
        states = self.decode(target[:, :-1], *self.encode(source))
        return F.linear_cross_entropy(
            states.reshape(-1, self.config.d_model),
            self.embedding.weight,
            target[:, 1:].reshape(-1),
            ignore_index=PAD,
            label_smoothing=label_smoothing,
        )

    # Decoding -----------------------------------------------------------------------------------------------

    def begin(self, source: Tensor, cached: bool, width: int = 1) -> Plain | Cached:
        """What gives the logits after ``width`` beginnings of each sentence's translation, step by step.

        In training dropout is drawn for whole sentences, and so nothing is cached.
        """
        way = Cached if cached and not self.training else Plain
        return way(self, *self.encode(source), width)

    def generate(
        self, source: Tensor, limit: int, choose: Callable[[Tensor], Tensor], cached: bool
    ) -> Tensor:
        """Add the token that ``choose`` takes from the logits (B, V), until all sentences have ended."""
        decoder = self.begin(source, cached)
        tokens = mg.full((source.shape[0], 1), BOS, device=source.device)
        ended = tokens[:, 0] == EOS
        for _ in range(min(limit, self.config.positions - 1)):
            chosen = choose(decoder.next_logits(tokens)).masked_fill(ended, PAD)
            tokens = mg.cat((tokens, chosen[:, None]), 1)
            ended = ended | (chosen == EOS)
            if bool(ended.all()):
                break
        return tokens[:, 1:]

    @mg.no_grad()
    def greedy(self, source: Tensor, limit: int = 100, cached: bool = True) -> Tensor:
        """The likeliest token at each step: source (B, S) -> tokens (B, T), padded after EOS."""
        return self.generate(source, limit, lambda logits: logits.argmax(-1), cached)

    @mg.no_grad()
    def sample(
        self,
        source: Tensor,
        limit: int = 100,
        temperature: float = 1.0,
        top_k: int | None = None,
        cached: bool = True,
    ) -> Tensor:
        """Tokens drawn from softmax(logits / temperature), from the ``top_k`` likeliest if given."""
        if temperature <= 0:
            raise ValueError(f"temperature must be positive, not {temperature}; greedy() is its limit at 0")

        def choose(logits: Tensor) -> Tensor:
            if top_k is not None:
                least = logits.topk(min(top_k, logits.shape[-1])).values[:, -1:]
                logits = logits.masked_fill(logits < least, float("-inf"))
            return mg.multinomial((logits / temperature).softmax(-1), 1)[:, 0]

        return self.generate(source, limit, choose, cached)

    @mg.no_grad()
    def beam(
        self,
        source: Tensor,
        width: int = 5,
        limit: int = 100,
        length_penalty: float = 0.6,
        cached: bool = True,
    ) -> Tensor:
        """Beam search (section 6.1): the ``width`` likeliest beginnings of each sentence are followed.

        A finished sentence y scores log P(y) / ((5 + |y|) / 6)^length_penalty (Wu et al. 2016, equation 14).
        source (B, S) -> the best tokens of each sentence (B, T), padded after EOS.
        """
        batch = source.shape[0]
        decoder = self.begin(source, cached, width)
        tokens = mg.full((batch * width, 1), BOS, device=source.device)
        scores = mg.full((batch, width), float("-inf"), device=source.device)
        scores[:, 0] = 0.0  # all rows of a sentence are equal at first: only one may be followed
        finished: list[list[tuple[float, list[int]]]] = [[] for _ in range(batch)]
        for length in range(1, min(limit, self.config.positions - 1) + 1):
            logits = decoder.next_logits(tokens)
            # 2W candidates: even if W of them end here, W remain to be followed; none is below 2W of its row
            likeliest, ids = logits.topk(min(2 * width, logits.shape[-1]))
            log_p = (likeliest - logits.logsumexp(-1, keepdim=True)).view(batch, width, -1)
            log_p = (log_p + scores[:, :, None]).flatten(1)
            best, where = log_p.topk(min(2 * width, log_p.shape[1]))
            norm = ((5 + length) / 6) ** length_penalty
            rows, chosen, kept = _follow(
                best.tolist(), where.tolist(), ids.tolist(), tokens.tolist(), norm, finished
            )
            scores = mg.tensor(kept, device=source.device)
            order = mg.tensor(rows, device=source.device)
            tokens = mg.cat((tokens[order], mg.tensor(chosen, device=source.device)[:, None]), 1)
            decoder.reorder(order)
            if all(len(f) >= width for f in finished):
                break
        for sentence, row in enumerate(tokens[::width].tolist()):
            if not finished[sentence]:  # the limit came first
                finished[sentence].append((0.0, row[1:]))
        return pad([max(f)[1] for f in finished], source.device)


def _follow(
    best: list[list[float]],
    where: list[list[int]],
    ids: list[list[int]],
    tokens: list[list[int]],
    norm: float,
    finished: list[list[tuple[float, list[int]]]],
) -> tuple[list[int], list[int], list[list[float]]]:
    """Share each sentence's candidates out: those that end are finished, the best others are followed.

    Args:
        best, where: each sentence's candidates: their scores, and where in its rows of ``ids`` they are.
        ids: the likeliest next tokens of each row. tokens: those before.

    Returns the row that each followed candidate continues, its new token, and the scores (B, W).
    """
    width, count = len(ids) // len(best), len(ids[0])
    rows, chosen, kept = [], [], []
    for sentence, (scores, places) in enumerate(zip(best, where, strict=True)):
        followed = []
        for rank, (score, place) in enumerate(zip(scores, places, strict=True)):
            row = sentence * width + place // count
            token = ids[row][place % count]
            if token != EOS:
                followed.append((row, token, score))
            elif rank < width and len(finished[sentence]) < width:
                finished[sentence].append((score / norm, [*tokens[row][1:], EOS]))
        followed = followed[:width]
        followed += followed[-1:] * (width - len(followed))  # a vocabulary smaller than the beam
        rows += [f[0] for f in followed]
        chosen += [f[1] for f in followed]
        kept.append([f[2] for f in followed])
    return rows, chosen, kept


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
    """Lists of tokens as a tensor (B, T), the shorter ones filled up with PAD."""
    length = max(map(len, sentences), default=0)
    return mg.tensor([s + [PAD] * (length - len(s)) for s in sentences], dtype=mg.int64, device=device)
