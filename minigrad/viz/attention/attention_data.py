"""A model's attention for some tokens, and the text of each token, as plain data from which all images are drawn. In
shapes: H heads, T queries (tokens that attend), S keys (tokens attended to), head dimension Dh."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from ..numbers import Array
from ..vector import clean

Kind = Literal["encoder", "decoder", "cross"]
KINDS: tuple[Kind, ...] = ("encoder", "decoder", "cross")
TITLES = dict(zip(KINDS, ("Encoder self-attention", "Decoder self-attention", "Cross-attention"), strict=True))
SLACK = 1e-2  # maximum deviation of a row sum from 1, as half precision rounds each weight by up to 1/2048


@dataclass(frozen=True)
class Layer:
    """One application of attention: softmax(scale · query keyᵀ + bias), with zeros at masked positions."""

    weights: Array  # (H, T, S) float32, rows of probabilities; zeros for a query without allowed keys
    path: str = ""  # the path of its module, "" if unknown
    blocked: Array | None = None  # (1 or H, T, S), True where a mask forbids attention; None without a mask
    query: Array | None = None  # (H, T, Dh), None if unknown
    key: Array | None = None  # (H, S, Dh), None if unknown
    scale: float = 1.0
    bias: Array | None = None  # (1 or H, T, S), or None


Seen = tuple[Kind, Layer]  # a recorded attention layer


@dataclass(frozen=True)
class Attention:
    """All layers of one kind of attention, in the order in which they ran."""

    kind: Kind
    layers: tuple[Layer, ...]
    queries: tuple[str, ...]  # the text of the T tokens that attend
    keys: tuple[str, ...]  # the text of the S tokens attended to
    note: str = ""  # distinguishes it from other attention of the same kind
    written: tuple[str, ...] = ()  # the T tokens that a decoder writes, each after reading a query; () if unknown

    def __post_init__(self) -> None:
        """Raises ValueError if the tokens do not match the weights, or if the rows of weights are not probabilities."""
        for number, layer in enumerate(self.layers):
            name, (_, queries, keys) = f"{self.title}, layer {number}", layer.weights.shape
            if not layer.weights.size:
                raise ValueError(f"{name} is empty: its weights (H, T, S) have shape {layer.weights.shape}")
            sides = ("queries", queries, self.queries), ("keys", keys, self.keys), ("queries", queries, self.rows)
            for side, count, tokens in sides:
                if count != len(tokens):
                    raise ValueError(
                        f"{name} has {count} {side}, but there are {len(tokens)} tokens for them: weights have shape "
                        f"(layers, heads, queries, keys), and each query and key needs a token (including "
                        f"end-of-sentence and padding tokens)"
                    )
            weights, sums = layer.weights, layer.weights.sum(-1, dtype=np.float64)  # (H, T)
            wrong = ~np.isfinite(weights).all(-1) | (weights < -SLACK).any(-1)
            wrong |= (np.abs(sums - 1) > SLACK) & (sums != 0)
            if not wrong.any():
                continue
            head, row = (int(i) for i in np.argwhere(wrong)[0])
            values = weights[head, row]
            if not np.isfinite(values).all():
                reason = "contains non-finite numbers; a fully masked row must be all zeros"
            elif (values < -SLACK).any():
                reason = f"has negative numbers, down to {values.min():.4g}"
            else:
                reason = f"sums to {sums[head, row]:.4g}, not to 1"
            raise ValueError(
                f"{self.title}: these are not attention weights. In layer {number}, head {head}, the row of "
                f"query {row} ({self.queries[row][:40]!r}) {reason}. Apply softmax over the last axis to "
                f"turn scores into weights, and record in evaluation mode because dropout changes the sums"
            )

    @property
    def title(self) -> str:
        return f"{TITLES[self.kind]} {self.note}".strip()

    @property
    def rows(self) -> tuple[str, ...]:
        """The labels of the queries: the tokens written at their positions, or else the tokens read there."""
        return self.written or self.queries

    @property
    def meaning(self) -> tuple[str, str]:
        """Descriptions of rows and columns. A decoder's attention serves to predict the next token."""
        keys = f"a token {'of the source ' if self.kind == 'cross' else ''}that it looks at"
        if self.kind == "encoder":
            return "a token that looks", keys
        if self.written:
            return "a token that the decoder writes", f"{keys} to write it"
        return "the token that the decoder has just read, to write the next one", keys

    def legend(self, row: str, column: str) -> str:
        """A description of both sides, for images that call rows and columns something else."""
        return f"{row}: {self.meaning[0]}; {column}: {self.meaning[1]}"


class Candidate(NamedTuple):
    """A hypothesis in a beam: its score (higher is better), and the attention with which the model generated it."""

    text: str
    score: float
    attentions: tuple[Attention, ...]


def inferred_mask(weights: Array) -> Array | None:
    """Infer the mask, (1, T, S) or None, from the zeros in weights (N, T, S). Isolated zeros are ignored."""
    nowhere = (weights == 0).all(0)  # (T, S)
    later = np.triu(np.ones_like(nowhere), 1)
    blocked = nowhere.all(0) | nowhere.all(1, keepdims=True)
    if nowhere.shape[0] == nowhere.shape[1] and nowhere[later].all():
        blocked |= later
    return blocked[None] if blocked.any() else None


def is_causal(blocked: Array | None) -> bool:
    """Whether a mask (1 or H, T, S) of at least two tokens hides all later tokens."""
    if blocked is None or not 2 <= blocked.shape[-2] <= blocked.shape[-1]:
        return False
    queries, keys = blocked.shape[1:]  # the last keys are the queries' own positions
    return bool(blocked[:, np.triu(np.ones((queries, keys), bool), 1 + keys - queries)].all())


Reader = Callable[[int], str]
Ids = list[int] | None  # token ids; None if the value is not a list of ids
Side = Sequence[str] | Callable[[int], str] | None
Tokens = Side | tuple[Side, Side] | Mapping[str, Side]


def tokenizer_reader(tokenizer: Any) -> Reader | None:
    """A function from an id to its text, using a tokenizer's ``token`` or ``decode`` (or its vocabulary, for bytes)."""
    if callable(token := getattr(tokenizer, "token", None)):
        return lambda i: str(token(i))
    decode = getattr(tokenizer, "decode", None)
    if not callable(decode):
        return None
    entry = getattr(tokenizer, "id_to_token", None) or getattr(tokenizer, "convert_ids_to_tokens", None)
    if entry is None:
        return lambda i: str(decode([i]))

    def read(i: int) -> str:
        text = str(decode([i], skip_special_tokens=False))  # "\ufffd" marks an incomplete character
        return str(entry(i)) if not text or "\ufffd" in text else text

    return read


class Sides(NamedTuple):
    """The text of tokens, or functions from ids to text, for the source, the target, and the decoder's output."""

    source: Side
    target: Side
    written: Side = None

    def of(self, kind: Kind) -> tuple[Side, Side]:
        """The tokens of the queries and of the keys."""
        if kind == "cross":
            return self.target, self.source
        first, other = (self.source, self.target) if kind == "encoder" else (self.target, self.source)
        return (other, other) if first is None else (first, first)


def sides(tokens: Any) -> Sides:
    """Convert the ``tokens`` argument of ``viz.attention``. Raises TypeError for an invalid argument."""
    if tokenizer_reader(tokens) is not None:
        return Sides(_side(tokens), _side(tokens))
    if isinstance(tokens, Mapping):
        if unknown := set(tokens) - set(Sides._fields):
            raise TypeError(f"the keys of tokens are 'source', 'target' and 'written', not {sorted(map(str, unknown))}")
        if callable(tokens.get("written")):
            raise TypeError("'written' must be a list of strings, not a function or tokenizer")
        return Sides(*(_side(tokens.get(name)) for name in Sides._fields))
    if isinstance(tokens, tuple | list) and len(tokens) == 2 and not all(isinstance(t, str) for t in tokens):
        return Sides(_side(tokens[0]), _side(tokens[1]))
    both = _side(tokens)
    return Sides(both, both)


def _side(tokens: Any) -> Side:
    if (read := tokenizer_reader(tokens)) is not None:
        return read
    if tokens is None or callable(tokens):
        return tokens
    if isinstance(tokens, str):
        raise TypeError(
            f"tokens must be a list of strings, one for each position, not one string: split "
            f"{tokens[:40]!r} into the model's tokens"
        )
    if not hasattr(tokens, "__iter__"):
        raise TypeError(f"tokens must be a list of strings, not {type(tokens).__name__}")
    listed = list(tokens)
    if wrong := [t for t in listed if not isinstance(t, str)]:
        raise TypeError(f"tokens must be strings, but {wrong[0]!r:.60} is of type {type(wrong[0]).__name__}")
    return listed


def grouped(tokens: Sides, recorded: Sequence[Seen], source_ids: Ids = None, target_ids: Ids = None) -> list[Attention]:
    """Group layers of the same kind and lengths, with the text of their tokens."""
    groups: dict[tuple[Kind, int, int], list[Layer]] = {}
    for kind, layer in recorded:
        groups.setdefault((kind, *layer.weights.shape[-2:]), []).append(layer)
    kinds = [kind for kind, _, _ in groups]
    attentions = []
    for (kind, target, source), layers in sorted(groups.items(), key=lambda group: KINDS.index(group[0][0])):
        of_queries, of_keys = tokens.of(kind)
        ids_of_queries = source_ids if kind == "encoder" else target_ids
        queries = _named(of_queries, ids_of_queries, target)
        if kind == "cross" or target >= source:
            keys = _named(of_keys, target_ids if kind == "decoder" else source_ids, source)
        elif len(queries) == source:  # the tokens include those of the memory
            queries, keys = queries[source - target :], queries
        else:  # earlier keys are numbered backwards: −1 is the last in the memory
            keys = (*(f"−{back}" for back in range(source - target, 0, -1)), *queries)
        note = f"({target} × {source})" if kinds.count(kind) > 1 else ""
        outputs = () if kind == "encoder" or tokens.written is None else _named(tokens.written, None, 0)
        attentions.append(Attention(kind, tuple(layers), queries, keys, note, outputs))
    return attentions


def _named(side: Side, ids: Ids, count: int) -> tuple[str, ...]:
    """Labels for ``count`` positions: the side's tokens if known, or else the ids' texts, the ids, or indices."""
    if side is not None and not callable(side):
        return tuple(map(clean, side))
    if ids is None or len(ids) != count:
        return tuple(str(i) for i in range(count))
    return tuple(clean(str(side(i)) if callable(side) else str(i)) for i in ids)
