"""Texts of tokens: whose they are, and how they can be drawn."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

Side = Sequence[str] | Callable[[int], str] | None
Tokens = Side | tuple[Side, Side] | Mapping[str, Side]
_SHAPELESS = ("Cc", "Cs", "Zl", "Zp")  # control characters, halves of pairs, ends of lines and paragraphs
_NO_TEXT = "\ufffe\uffff"  # which XML refuses, too


class Sides(NamedTuple):
    """Texts of the source's tokens and of the target's, or functions from an id to a text, or None."""

    source: Side
    target: Side


def sides(tokens: Tokens) -> Sides:
    """What a person gives as tokens: one list for both sides, a pair, or {"source": …, "target": …}.

    Raises:
        TypeError: something else.
    """
    if isinstance(tokens, Mapping):
        if unknown := set(tokens) - {"source", "target"}:
            raise TypeError(f"tokens are those of 'source' and 'target', not of {sorted(map(str, unknown))}")
        return Sides(_side(tokens.get("source")), _side(tokens.get("target")))
    if isinstance(tokens, tuple | list) and len(tokens) == 2 and not all(isinstance(t, str) for t in tokens):
        return Sides(_side(tokens[0]), _side(tokens[1]))
    both = _side(tokens)
    return Sides(both, both)


def _side(tokens: Any) -> Side:
    if tokens is None or callable(tokens):
        return tokens
    if isinstance(tokens, str):
        raise TypeError(
            f"tokens are a list of texts, one for each position, and not one text: {tokens[:40]!r} has to be "
            f"cut into the tokens that the model saw"
        )
    listed = list(tokens)
    if wrong := [t for t in listed if not isinstance(t, str)]:
        raise TypeError(f"tokens are texts, and {wrong[0]!r:.60} is of type {type(wrong[0]).__name__}")
    return listed


def named(side: Side, ids: Sequence[int] | None, count: int) -> tuple[str, ...]:
    """Texts for ``count`` positions: those given, else those of the ids, else the ids, else numbers."""
    if side is not None and not callable(side):
        return tuple(map(clean, side))
    if ids is None or len(ids) != count:
        return tuple(str(i) for i in range(count))
    return tuple(clean(str(side(i)) if callable(side) else str(i)) for i in ids)


def clean(text: str) -> str:
    """A text as it can be drawn: spaces at its ends marked, what has no shape replaced; nothing is ∅."""
    drawn = "".join(
        "�" if unicodedata.category(c) in _SHAPELESS or c in _NO_TEXT else c for c in text
    )  # fmt: skip
    before = len(drawn) - len(drawn.lstrip(" "))
    inner = drawn.strip(" ")
    return "·" * before + inner + "·" * (len(drawn) - before - len(inner)) or "∅"
