"""The base class of translation models, with loss and decoding. Subclasses define the encoder and the decoder.

Shapes: B batch, T target length, S source length, D embedding width, V vocabulary.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import minigrad as mg
from minigrad import Tensor, nn
from minigrad.nn import functional as F

from ..generation import beam_search as generate
from ..generation.beam_search import Decoder, Limits
from ..text.tokenizer import BOS, PAD


class Configuration:
    """The hyperparameters that all translators share. Subclasses are dataclasses. They add others, such as dropout
    probabilities, and raise ValueError if a value is invalid."""

    vocabulary: int  # V, the size of the joint vocabulary or the target vocabulary
    source_vocabulary: int | None  # the size of the source vocabulary; None if the languages share one
    d_model: int  # D
    positions: int  # the number of tokens in the longest sentence

    def as_dict(self) -> dict[str, Any]:
        """The constructor's arguments by name, for a checkpoint."""
        return dict(vars(self))

    def check_dropouts(self) -> None:
        """Raise ValueError if a dropout is not a probability."""
        for name, p in vars(self).items():
            if name.endswith("dropout") and p is not None and not 0 <= p <= 1:
                raise ValueError(f"{name} must be between 0 and 1, not {p}")


@dataclass(frozen=True)
class Memory:
    """The encoder output that the decoder reads: ``keys`` (B, S, ·), which it compares with its states; ``values`` (B,
    S, ·), which it averages; and ``start`` (B, L, H), the initial states of a recurrent decoder."""

    keys: Tensor
    values: Tensor
    start: tuple[Tensor, ...] = ()

    def __getitem__(self, rows: Tensor) -> Memory:
        """The memory of the sentences in ``rows``."""
        return Memory(self.keys[rows], self.values[rows], tuple(s[rows] for s in self.start))


class Plain:
    """The reference decoder. At each step, it runs over the whole target, which starts with ``start`` (B, 1).
    ``memory``, indexed by sentence, contains the encoded sentences; ``mask`` (B, 1, 1, S) is True at their tokens."""

    def __init__(self, model: TranslationModel, start: Tensor, memory: Any, mask: Tensor) -> None:
        self.model, self.start = model, start
        self.memory, self.mask = memory, mask  # N rows after ``reorder``

    @mg.no_grad()
    def next_logits(self, tokens: Tensor) -> Tensor:
        states = self.model.decode(tokens, self.memory, self.mask)
        return F.linear(states[:, -1], self.model.embedding.weight)

    def reorder(self, rows: Tensor, num_beams: int) -> None:
        self.memory, self.mask = self.memory[rows], self.mask[rows]


class TranslationModel(nn.Module):
    """Predicts the next target token from source and target tokens. The target embedding and the last linear layer
    share one matrix (Press and Wolf 2017, arXiv 1608.05859); a separate source vocabulary has a separate embedding.
    ``config`` is a ``Configuration``."""

    CACHED: type[Any] = Plain  # the decoder class with a cache

    def __init__(self, config: Any) -> None:
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(config.vocabulary, config.d_model, padding_idx=PAD)
        if config.source_vocabulary is not None:
            self.source_embedding = nn.Embedding(config.source_vocabulary, config.d_model, padding_idx=PAD)

    def vectors(self, tokens: Tensor, source: bool = False) -> Tensor:
        """The embeddings of target or source tokens: (B, T) -> (B, T, D)."""
        separate = source and self.config.source_vocabulary is not None
        embedded: Tensor = (self.source_embedding if separate else self.embedding)(tokens)
        return embedded

    def check_length(self, length: int) -> None:
        """Raise ValueError if a sentence has more tokens than the model has positions."""
        if length > (most := self.config.positions):
            raise ValueError(f"a sentence of {length} tokens is longer than the model's {most} positions")

    def encode(self, source: Tensor) -> tuple[Any, Tensor]:
        """Source tokens (B, S) -> memory for ``decode``, and its mask (B, 1, 1, S), True at tokens."""
        raise NotImplementedError

    def decode(self, target: Tensor, memory: Any, mask: Tensor) -> Tensor:
        """Target tokens (B, T) -> states (B, T, D)."""
        raise NotImplementedError

    def check_attention(self) -> None:
        """Raise ValueError if the model has no attention."""

    @mg.no_grad()
    def begin(self, source: Tensor, cached: bool = True) -> Decoder:
        """A decoder for ``generation.beam_search`` that translates source tokens (B, S). It does not record gradients.
        In training mode, it caches nothing, as each step draws new dropout masks for all tokens."""
        kind = self.CACHED if cached and not self.training else Plain
        return kind(self, mg.full((len(source), 1), BOS, device=source.device), *self.encode(source))

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        """Tokens (B, S) and (B, T) -> logits (B, T, V) of the token after each target token."""
        return F.linear(self.decode(target, *self.encode(source)), self.embedding.weight)

    def loss(self, source: Tensor, target: Tensor, label_smoothing: float = 0.0, r_drop: float = 0.0) -> Tensor:
        """The mean cross-entropy (a scalar) of the tokens after BOS. Each is predicted from the tokens before it.
        Source tokens are (B, S); target tokens, including BOS, are (B, T). If ``r_drop`` is above 0, it is the α of
        ``r_drop_loss``, which needs two passes over the batch."""
        read, following = target[:, :-1], target[:, 1:]
        if r_drop:
            states = self.decode(mg.cat((read, read)), *self.encode(mg.cat((source, source))))
            return r_drop_loss(states, self.embedding.weight, following, r_drop, label_smoothing, PAD)
        states, weight = self.decode(read, *self.encode(source)).flatten(0, 1), self.embedding.weight
        return F.linear_cross_entropy(
            states, weight, following.reshape(-1), ignore_index=PAD, label_smoothing=label_smoothing
        )

    def greedy(self, source: Tensor, max_new_tokens: Limits = 100, cached: bool = True) -> Tensor:
        """Choose the most likely token at each step: source (B, S) -> tokens (B, T), padded after EOS. The token limit
        is capped at the length of the longest sentence that the model supports."""
        most = self.config.positions - 1
        limit = min(max_new_tokens, most) if isinstance(max_new_tokens, int) else [min(n, most) for n in max_new_tokens]
        hypotheses = generate.greedy(self.begin(source, cached), limit)
        return pad([h.tokens for h in hypotheses], source.device)


def r_drop_loss(
    states: Tensor, weight: Tensor, target: Tensor, alpha: float, label_smoothing: float = 0.0, ignore_index: int = -100
) -> Tensor:
    """R-Drop (Liang et al. 2021, arXiv 2106.14448): two passes with different dropout masks should agree. This is half
    the loss of the paper's equation 4:

        mean of ½ (CE(P₁) + CE(P₂)) + α/4 · (KL(P₁‖P₂) + KL(P₂‖P₁))

    The mean is over the target tokens (B, T) that are not ``ignore_index``. P₁ and P₂ are softmax(states · weightᵀ) for
    the two passes. ``states`` (2B, T, D) contain each of B sentences twice, and ``weight`` (V, D) is the last linear
    layer's. If all tokens are ignored, the mean is NaN and the gradients are zero. Raises ValueError if α is negative.
    """
    if not alpha >= 0:
        raise ValueError(f"R-Drop's alpha must be 0 or more, not {alpha}")
    counts = target != ignore_index
    both, counted = mg.cat([half[counts] for half in states.chunk(2)]), target[counts]  # (2N, D), (N,)
    entropy = F.linear_cross_entropy(both, weight, mg.cat((counted, counted)), label_smoothing=label_smoothing)
    log_p = F.linear(both, weight).log_softmax(-1)
    first, second = log_p.reshape(2, len(counted), len(weight))  # (2N, V) -> (N, V) each
    # KL(P₁‖P₂) + KL(P₂‖P₁) = Σ (P₁ - P₂)(ln P₁ - ln P₂)
    divergence = ((first.exp() - second.exp()) * (first - second)).sum() / (len(counted) or float("nan"))
    return entropy + divergence * (alpha / 4)


def pad(sentences: list[list[int]], device: Any = None) -> Tensor:
    """Convert lists of tokens to a tensor (B, T), where T is at least 1. Shorter lists are padded with PAD."""
    length = max(map(len, sentences), default=0) or 1
    rows = [s + [PAD] * (length - len(s)) for s in sentences]
    return mg.tensor(rows, dtype=mg.int64, device=device).reshape(len(sentences), length)
