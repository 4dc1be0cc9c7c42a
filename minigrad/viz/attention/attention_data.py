"""What is known of a model's attention for some tokens: plain data, which every picture of it is made from. Shapes:
H heads, T queries (the tokens that look), S keys (the tokens that are looked at), Dh width of a head."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from ..numbers import Array

Kind = Literal["encoder", "decoder", "cross"]
KINDS: tuple[Kind, ...] = ("encoder", "decoder", "cross")
TITLES: dict[Kind, str] = {
    "encoder": "Encoder self-attention",
    "decoder": "Decoder self-attention",
    "cross": "Cross-attention",
}
SLACK = 1e-2  # how far a row's sum may be from 1: half precision rounds each weight by up to 1/2048


@dataclass(frozen=True)
class Layer:
    """One application of attention: softmax(scale · query keyᵀ + bias), with zeros where a mask blocks."""

    weights: Array  # (H, T, S) float32, rows of probabilities; zeros for a query that may look at nothing
    path: str = ""  # of the module that it belongs to, "" where that is not known
    blocked: Array | None = None  # (1 or H, T, S), True where a mask forbids to look; None without a mask
    query: Array | None = None  # (H, T, Dh), None where it is not known
    key: Array | None = None  # (H, S, Dh), None where it is not known
    scale: float = 1.0
    bias: Array | None = None  # (1 or H, T, S); None for nothing


Seen = tuple[Kind, Layer]  # an attention that ran


@dataclass(frozen=True)
class Attention:
    """All layers of one kind of attention, in the order in which they ran."""

    kind: Kind
    layers: tuple[Layer, ...]
    queries: tuple[str, ...]  # the texts of the T tokens that look
    keys: tuple[str, ...]  # and of the S tokens that they look at
    note: str = ""  # the difference from another one of this kind
    written: tuple[str, ...] = ()  # T tokens that a decoder writes, one later than it reads; () if not known

    def __post_init__(self) -> None:
        """Raises ValueError: tokens that do not fit the weights, or weights that are not rows of probabilities."""
        for number, layer in enumerate(self.layers):
            name, (_, queries, keys) = f"{self.title}, layer {number}", layer.weights.shape
            if not layer.weights.size:
                raise ValueError(f"{name} is empty: its weights (H, T, S) have shape {layer.weights.shape}")
            sides = ("queries", queries, self.queries), ("keys", keys, self.keys), ("queries", queries, self.rows)
            for side, count, tokens in sides:
                if count != len(tokens):
                    raise ValueError(
                        f"{name} has {count} {side}, but there are {len(tokens)} tokens for them: weights are "
                        f"(layers, heads, queries, keys), and each query and key has a token (the end of the "
                        f"sentence and padding, too)"
                    )
            self._check_rows(number, layer.weights)

    @property
    def title(self) -> str:
        """What to call it."""
        return f"{TITLES[self.kind]} {self.note}".strip()

    @property
    def rows(self) -> tuple[str, ...]:
        """The names of the queries: the tokens that are written there, or else those that are read."""
        return self.written or self.queries

    @property
    def meaning(self) -> tuple[str, str]:
        """What a row is, and what a column. Where a decoder looks belongs to the choice of the next token."""
        keys = f"a token {'of the source ' if self.kind == 'cross' else ''}that it looks at"
        if self.kind == "encoder":
            return "a token that looks", keys
        if self.written:
            return "a token that the decoder writes", f"{keys} to write it"
        return "the token that the decoder has just read, to write the next one", keys

    def legend(self, row: str, column: str) -> str:
        """The meaning as one text, for pictures that call rows and columns otherwise."""
        return f"{row}: {self.meaning[0]}; {column}: {self.meaning[1]}"

    def _check_rows(self, number: int, weights: Array) -> None:
        sums = weights.sum(-1, dtype=np.float64)  # (H, T)
        wrong = ~np.isfinite(weights).all(-1) | (weights < -SLACK).any(-1)
        wrong |= (np.abs(sums - 1) > SLACK) & (sums != 0)
        if not wrong.any():
            return
        head, row = (int(i) for i in np.argwhere(wrong)[0])
        values = weights[head, row]
        if np.isnan(values).all():
            reason = "is NaN throughout: its scores were, or a mask forbids them all (then set the row to 0)"
        elif not np.isfinite(values).all():
            reason = "has numbers that are not finite (NaN or infinity)"
        elif (values < -SLACK).any():
            reason = f"has negative numbers, down to {values.min():.4g}"
        else:
            reason = f"sums to {sums[head, row]:.4g}, and not to 1"
        raise ValueError(
            f"{self.title}: these are not attention weights. In layer {number}, head {head}, the row of "
            f"query {row} ({self.queries[row][:40]!r}) {reason}. Scores become weights by softmax over the "
            f"last axis; dropout of weights is for training: record in evaluation mode"
        )


class Candidate(NamedTuple):
    """A text of a beam: its score, higher for better, and where the model looked to write it."""

    text: str
    score: float
    attentions: tuple[Attention, ...]


def inferred_mask(weights: Array) -> Array | None:
    """What a mask must have forbidden, from the weights of all heads (N, T, S) alone: (1, T, S) or None. A column of
    zeros is padding, a row a query that may look at nothing, all later tokens a causal mask; a zero alone is none."""
    nowhere = (weights == 0).all(0)  # (T, S)
    later = np.triu(np.ones_like(nowhere), 1)
    blocked = nowhere.all(0) | nowhere.all(1, keepdims=True)
    if nowhere.shape[0] == nowhere.shape[1] and nowhere[later].all():
        blocked |= later
    return blocked[None] if blocked.any() else None


def is_causal(blocked: Array | None) -> bool:
    """Whether a mask (1 or H, T, S) hides all later tokens, of at least two."""
    if blocked is None or not 2 <= blocked.shape[-2] <= blocked.shape[-1]:
        return False
    queries, keys = blocked.shape[1:]  # the last keys are those of the queries
    return bool(blocked[:, np.triu(np.ones((queries, keys), bool), 1 + keys - queries)].all())
