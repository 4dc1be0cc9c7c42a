"""Texts of tokens: whose they are, and how they can be drawn."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ..vector import clean
from .attention_data import KINDS, Attention, Kind, Layer, Seen

Reader = Callable[[int], str]
Ids = list[int] | None  # of tokens; None for what is no list of ids
Side = Sequence[str] | Callable[[int], str] | None
Tokens = Side | tuple[Side, Side] | Mapping[str, Side]


def tokenizer_reader(tokenizer: Any) -> Reader | None:
    """The texts of a tokenizer's ids; None for what is no tokenizer.

    A tokenizer has ``token``; those of the tokenizers library and of transformers have ``decode``, which gives " cat"
    where the vocabulary has "Ġcat". A part of a character is named as in the vocabulary.
    """
    if callable(token := getattr(tokenizer, "token", None)):
        return lambda i: str(token(i))
    decode = getattr(tokenizer, "decode", None)
    if not callable(decode):
        return None
    entry = getattr(tokenizer, "id_to_token", None) or getattr(tokenizer, "convert_ids_to_tokens", None)
    if entry is None:
        return lambda i: str(decode([i]))

    def read(i: int) -> str:
        text = str(decode([i], skip_special_tokens=False))  # "\ufffd" stands for bytes that are no whole character
        return str(entry(i)) if not text or "\ufffd" in text else text

    return read


class Sides(NamedTuple):
    """Texts of tokens, or functions from an id to a text, or None: of the source, of the target, and of what
    the decoder writes where it reads the target."""

    source: Side
    target: Side
    written: Side = None

    def of(self, kind: Kind) -> tuple[Side, Side]:
        """Those of the queries, and those of the keys."""
        if kind == "cross":
            return self.target, self.source
        first, other = (self.source, self.target) if kind == "encoder" else (self.target, self.source)
        both = other if first is None else first
        return both, both


def sides(tokens: Any) -> Sides:
    """The tokens of both sides: see ``viz.attention``. Raises TypeError for something else."""
    if tokenizer_reader(tokens) is not None:
        return Sides(_side(tokens), _side(tokens))
    if isinstance(tokens, Mapping):
        if unknown := set(tokens) - set(Sides._fields):
            raise TypeError(f"tokens are those of 'source', 'target' and 'written', not of {sorted(map(str, unknown))}")
        if callable(tokens.get("written")):
            raise TypeError("tokens that are written are a list of texts: the model is not given their ids")
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
            f"tokens are a list of texts, one for each position, and not one text: {tokens[:40]!r} has to be "
            f"cut into the tokens that the model saw"
        )
    if not hasattr(tokens, "__iter__"):
        raise TypeError(f"tokens are a list of texts, and not of type {type(tokens).__name__}")
    listed = list(tokens)
    if wrong := [t for t in listed if not isinstance(t, str)]:
        raise TypeError(f"tokens are texts, and {wrong[0]!r:.60} is of type {type(wrong[0]).__name__}")
    return listed


def grouped(tokens: Sides, seen: Sequence[Seen], source_ids: Ids = None, target_ids: Ids = None) -> list[Attention]:
    """Layers of one kind and of the same lengths together, with the texts of their tokens."""
    groups: dict[tuple[Kind, int, int], list[Layer]] = {}
    for kind, layer in seen:
        groups.setdefault((kind, *layer.weights.shape[-2:]), []).append(layer)
    kinds = [kind for kind, _, _ in groups]
    attentions = []
    for (kind, target, source), layers in sorted(groups.items(), key=lambda group: KINDS.index(group[0][0])):
        of_queries, of_keys = tokens.of(kind)
        ids_of_queries = source_ids if kind == "encoder" else target_ids
        if kind == "cross" or target >= source:
            queries = _named(of_queries, ids_of_queries, target)
            keys = _named(of_keys, target_ids if kind == "decoder" else source_ids, source)
        else:
            queries, keys = _with_memory(of_queries, ids_of_queries, target, source)
        note = f"({target} × {source})" if kinds.count(kind) > 1 else ""
        written = () if kind == "encoder" or tokens.written is None else _named(tokens.written, None, 0)
        attentions.append(Attention(kind, tuple(layers), queries, keys, note, written))
    return attentions


def _with_memory(side: Side, ids: Ids, count: int, keys: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Texts of queries and of more keys: those before the queries count back, −1 being the last of the memory."""
    if side is not None and not callable(side) and len(side) == keys:
        named = tuple(map(clean, side))
        return named[keys - count :], named
    queries = _named(side, ids, count)
    return queries, (*(f"−{back}" for back in range(keys - count, 0, -1)), *queries)


def _named(side: Side, ids: Ids, count: int) -> tuple[str, ...]:
    """Texts for ``count`` positions: those of a side, else those of the ids, else the ids, else numbers."""
    if side is not None and not callable(side):
        return tuple(map(clean, side))
    if ids is None or len(ids) != count:
        return tuple(str(i) for i in range(count))
    return tuple(clean(str(side(i)) if callable(side) else str(i)) for i in ids)
