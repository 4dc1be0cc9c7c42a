"""A convolutional translator: "Convolutional Sequence to Sequence Learning" (Gehring et al. 2017, arXiv 1705.03122).

Each layer mixes every token with the K - 1 tokens around it, in parallel. Distant tokens interact in higher layers.
Read this file alongside section 3 of the paper. Shapes: B batch, T target length, S source length, D embedding width, H
layer width, K kernel width. Masks are True at tokens and False at padding.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from minigrad import Tensor, nn
from minigrad.nn import functional as F

from ..text.tokenizer import PAD
from .encoder_decoder import Configuration, Memory, TranslationModel

HALF = math.sqrt(0.5)  # preserves the variance of a sum of two terms (section 3.5)


@dataclass
class Config(Configuration):
    """The hyperparameters of a convolutional translator; see ``Configuration``. Raises ValueError if the kernel is even
    or a dropout is not a probability."""

    vocabulary: int
    d_model: int = 256  # D, the width of the embeddings
    hidden: int = 256  # H, the width of the layers
    layers: int = 4  # of the encoder, and of the decoder
    kernel: int = 3  # K, the (odd) number of tokens that a layer mixes
    dropout: float = 0.1  # on embeddings and on a layer's input
    positions: int = 1024
    source_vocabulary: int | None = None

    def __post_init__(self) -> None:
        if self.kernel < 1 or self.kernel % 2 == 0:
            raise ValueError(f"kernel must be an odd number of tokens, not {self.kernel}")
        self.check_dropouts()


class GatedConvolution(nn.Module):
    """Section 3.2: a convolution that doubles the width; one half gates the other (GLU, Dauphin et al. 2017)."""

    def __init__(self, config: Config, causal: bool) -> None:
        super().__init__()
        self.convolution = nn.Conv1d(config.hidden, 2 * config.hidden, config.kernel)
        self.dropout = nn.Dropout(config.dropout)
        before = config.kernel - 1 if causal else config.kernel // 2
        self.margins = (before, config.kernel - 1 - before)

    def forward(self, x: Tensor) -> Tensor:
        """States (B, T, H) -> states (B, T, H). If causal, outputs do not depend on later tokens."""
        rows = F.pad(self.dropout(x).transpose(1, 2), self.margins)
        return F.glu(self.convolution(rows), 1).transpose(1, 2)


class Attention(nn.Module):
    """Section 3.3: each decoder layer has its own attention to the source."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.query = nn.Linear(config.hidden, config.d_model)
        self.output = nn.Linear(config.d_model, config.hidden)

    def forward(self, x: Tensor, target: Tensor, memory: Memory, mask: Tensor) -> Tensor:
        """States (B, T, H) and target embeddings (B, T, D) -> contexts (B, T, H)."""
        query = (self.query(x) + target) * HALF  # equation 1
        weights = (query @ memory.keys.transpose(1, 2)).masked_fill(~mask[:, 0], -math.inf).softmax(-1)
        count = mask.sum(-1).to(x.dtype)  # (B, 1, 1): a mean of m vectors has variance 1/m
        return self.output(weights @ memory.values * count.sqrt())


class ConvSeq2Seq(TranslationModel):
    """A convolutional encoder and decoder, with attention in every decoder layer."""

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        d, h = config.d_model, config.hidden
        self.positions = nn.Embedding(config.positions, d)
        self.dropout = nn.Dropout(config.dropout)
        self.encoder_input, self.encoder_output = nn.Linear(d, h), nn.Linear(h, d)
        self.encoder = nn.ModuleList(GatedConvolution(config, causal=False) for _ in range(config.layers))
        self.decoder_input, self.decoder_output = nn.Linear(d, h), nn.Linear(h, d)
        self.decoder = nn.ModuleList(GatedConvolution(config, causal=True) for _ in range(config.layers))
        self.attentions = nn.ModuleList(Attention(config) for _ in range(config.layers))
        self.apply(initialise)

    def embed(self, tokens: Tensor, source: bool = False) -> Tensor:
        """Section 3.1: tokens (B, T) -> the sums of word and position embeddings (B, T, D). Raises ValueError if there
        are more tokens than positions."""
        length = tokens.shape[1]
        self.check_length(length)
        return self.dropout(self.vectors(tokens, source) + self.positions.weight[:length])

    def encode(self, source: Tensor) -> tuple[Memory, Tensor]:
        """Source tokens (B, S) -> memory, and its mask (B, 1, 1, S). The keys z represent the words in context. The
        values z + e also contain the word embeddings e."""
        mask = source != PAD
        e = self.embed(source, source=True)
        x = self.encoder_input(e)
        for block in self.encoder:
            x = x * mask[..., None]  # so that states near the last token do not depend on the padding
            x = (block(x) + x) * HALF
        z = self.encoder_output(x)
        return Memory(z, (z + e) * HALF), mask[:, None, None]

    def decode(self, target: Tensor, memory: Memory, mask: Tensor) -> Tensor:
        g = self.embed(target)
        x = self.decoder_input(g)
        for block, attention in zip(self.decoder, self.attentions, strict=True):
            new = block(x)
            x = ((new + attention(new, g, memory, mask)) * HALF + x) * HALF
        return self.dropout(self.decoder_output(x))


def initialise(module: nn.Module) -> None:
    """Section 3.5: make layers preserve the variance of their inputs, although a GLU reduces it to a quarter."""
    if isinstance(module, nn.Conv1d):
        fan = module.in_channels * module.kernel_size[0]
        nn.init.normal_(module.weight, std=math.sqrt(4 / fan))
        if module.bias is not None:
            nn.init.zeros_(module.bias)
    elif isinstance(module, nn.Linear):
        nn.init.normal_(module.weight, std=math.sqrt(1 / module.in_features))
        nn.init.zeros_(module.bias)
    elif isinstance(module, nn.Embedding):
        nn.init.normal_(module.weight, std=0.1)
        nn.init.zeros_(module.weight.data[PAD])
