"""The training steps of the benchmarks. minigrad and PyTorch run the same code, which uses PyTorch's names.

There are two kinds of model: an encoder-decoder built on ``nn.Transformer``, whose last layer shares the embedding's
weights, and a decoder-only model built from linear layers, ``F.scaled_dot_product_attention`` and layer norms.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

Product = tuple[int, int, int, int]  # a batch of products (rows, inner) x (inner, columns)


@dataclass(frozen=True)
class Work:
    """The size of a model and of a batch."""

    title: str
    decoder_only: bool  # no encoder
    layers: int  # in the encoder, and in the decoder
    width: int
    heads: int
    hidden: int
    vocabulary: int
    batch: int  # sentences
    length: int  # tokens in each, on each side
    dropout: float
    smoothing: float
    weight_decay: float
    gelu: str = "none"  # "tanh": GPT-2's approximation


WORK = {
    "multi30k": Work("encoder-decoder 4+4 × 128, V 10,000", False, 4, 128, 4, 256, 10_000, 256, 16, 0.3, 0.1, 0.0),
    "small": Work("encoder-decoder 2+2 × 128, V 300", False, 2, 128, 4, 256, 300, 64, 12, 0.1, 0.1, 0.0),
    "wide": Work("encoder-decoder 6+6 × 512, V 10,000", False, 6, 512, 8, 2048, 10_000, 16, 32, 0.1, 0.1, 0.0),
    "gpt-128": Work("decoder-only 4 × 128, T 64", True, 4, 128, 4, 512, 65, 12, 64, 0.0, 0.0, 0.1),
    "gpt-384": Work("decoder-only 6 × 384, T 256", True, 6, 384, 6, 1536, 65, 8, 256, 0.2, 0.0, 0.1),
}
TINY = {
    "tiny": Work("encoder-decoder 1+1 × 8, V 30", False, 1, 8, 2, 16, 30, 2, 4, 0.1, 0.1, 0.0),
    "tiny-gpt": Work("decoder-only 2 × 8, T 4", True, 2, 8, 2, 16, 30, 3, 4, 0.0, 0.0, 0.1, "tanh"),
}  # for testing the programs
SIZES = {**WORK, **TINY}


def build(torch: Any, work: Work, dropout: float) -> Any:
    """The model in either library (passed as ``torch``), with weights from one random stream."""
    model = (_decoder_only if work.decoder_only else _encoder_decoder)(torch, work, dropout)
    draw = np.random.default_rng(0)
    with torch.no_grad():
        for parameter in model.parameters():
            values = draw.standard_normal(tuple(parameter.shape)).astype(np.float32) * 0.05
            parameter.copy_(torch.from_numpy(values + (parameter.dim() == 1)))
    return model


def _encoder_decoder(torch: Any, work: Work, dropout: float) -> Any:
    nn = torch.nn

    class Translator(nn.Module):  # type: ignore[name-defined, misc]
        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(work.vocabulary, work.width)
            self.transformer = nn.Transformer(
                work.width, work.heads, work.layers, work.layers, work.hidden, dropout, batch_first=True
            )

        def forward(self, source: Any, target: Any) -> Any:
            like = {"device": target.device, "dtype": self.embedding.weight.dtype}
            mask = nn.Transformer.generate_square_subsequent_mask(target.size(1), **like)
            states = self.transformer(self.embedding(source), self.embedding(target), tgt_mask=mask, tgt_is_causal=True)
            return nn.functional.linear(states, self.embedding.weight)

    return Translator()


def _decoder_only(torch: Any, work: Work, dropout: float) -> Any:
    nn = torch.nn
    F = torch.nn.functional

    class Attention(nn.Module):  # type: ignore[name-defined, misc]
        def __init__(self) -> None:
            super().__init__()
            self.qkv = nn.Linear(work.width, 3 * work.width)
            self.out = nn.Linear(work.width, work.width)
            self.drop = nn.Dropout(dropout)

        def forward(self, x: Any) -> Any:
            b, t, d = x.size()
            q, k, v = (y.view(b, t, work.heads, d // work.heads).transpose(1, 2) for y in self.qkv(x).split(d, dim=2))
            y = F.scaled_dot_product_attention(q, k, v, dropout_p=dropout if self.training else 0.0, is_causal=True)
            return self.drop(self.out(y.transpose(1, 2).contiguous().view(b, t, d)))

    class Block(nn.Module):  # type: ignore[name-defined, misc]
        def __init__(self) -> None:
            super().__init__()
            self.norm1, self.attention = nn.LayerNorm(work.width), Attention()
            self.norm2 = nn.LayerNorm(work.width)
            self.up, self.down = nn.Linear(work.width, work.hidden), nn.Linear(work.hidden, work.width)
            self.act, self.drop = nn.GELU(work.gelu), nn.Dropout(dropout)

        def forward(self, x: Any) -> Any:
            x = x + self.attention(self.norm1(x))
            return x + self.drop(self.down(self.act(self.up(self.norm2(x)))))

    class LanguageModel(nn.Module):  # type: ignore[name-defined, misc]
        def __init__(self) -> None:
            super().__init__()
            self.tokens = nn.Embedding(work.vocabulary, work.width)
            self.places = nn.Embedding(work.length, work.width)
            self.drop = nn.Dropout(dropout)
            self.blocks = nn.ModuleList([Block() for _ in range(work.layers)])
            self.norm = nn.LayerNorm(work.width)
            self.head = nn.Linear(work.width, work.vocabulary, bias=False)

        def forward(self, tokens: Any) -> Any:
            places = torch.arange(tokens.size(1), device=tokens.device)
            x = self.drop(self.tokens(tokens) + self.places(places))
            for block in self.blocks:
                x = block(x)
            return self.head(self.norm(x))

    return LanguageModel()


def loss_function(torch: Any, work: Work, rank: int = 0, device: Any = "cpu") -> Any:
    """A function that returns the loss of a model on ``device``. Each rank has its own batch."""
    draw = np.random.default_rng((1, rank) if rank else 1)
    shape = (work.batch, work.length)
    source = torch.from_numpy(draw.integers(0, work.vocabulary, shape)).to(device)
    target = torch.from_numpy(draw.integers(0, work.vocabulary, (work.batch, work.length + 1))).to(device)
    inputs, targets = target[:, :-1], target[:, 1:].reshape(-1)

    def loss(model: Any) -> Any:
        logits = model(inputs) if work.decoder_only else model(source, inputs)
        return torch.nn.functional.cross_entropy(
            logits.view(-1, logits.size(-1)), targets, label_smoothing=work.smoothing
        )

    return loss


def optimizer(torch: Any, work: Work, model: Any) -> Any:
    if work.weight_decay:
        return torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=work.weight_decay)
    return torch.optim.Adam(model.parameters(), lr=1e-4)


def products(work: Work) -> Iterator[Product]:
    """All matrix products in a training step. Each product in the forward pass needs two more in the backward pass."""
    tokens, d = work.batch * work.length, work.width
    head, rows = d // work.heads, work.batch * work.heads
    attention = [(rows, work.length, head, work.length), (rows, work.length, work.length, head)]
    feed_forward = [(1, tokens, d, work.hidden), (1, tokens, work.hidden, d)]
    own = [(1, tokens, d, 3 * d), *attention, (1, tokens, d, d)]
    cross = [(1, tokens, d, d), (1, tokens, d, 2 * d), *attention, (1, tokens, d, d)]
    layer = [*own, *feed_forward] if work.decoder_only else [*own, *own, *cross, *feed_forward, *feed_forward]
    for batch, m, k, n in [*layer * work.layers, (1, tokens, d, work.vocabulary)]:
        yield batch, m, k, n  # the result
        yield batch, m, n, k  # the gradient of the left operand
        yield batch, k, m, n  # the gradient of the right operand
