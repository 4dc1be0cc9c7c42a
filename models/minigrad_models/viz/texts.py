"""Texts that a picture names things by: a list, or what knows the text of an id."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from minigrad.viz.attention.attention_data import Reader, tokenizer_reader
from minigrad.viz.vector import clean, cut

LONGEST = 24  # characters of a label


def reader(names: Sequence[str] | Mapping[int, str] | Reader | Any, default: Any = None) -> Reader:
    """A function from an id to its text: of ``names``, the texts of all ids in their order, or by id; a function; or a
    tokenizer. None: of ``default``, a tokenizer, or None for the ids themselves. An id that has no text keeps its
    number. Raises TypeError: names are neither, or one text."""
    names = default if names is None else names
    if names is None:
        return str
    if (read := tokenizer_reader(names)) is not None:
        return read
    if callable(names):
        return lambda i: str(names(i))
    if isinstance(names, Mapping):
        return lambda i: str(names.get(i, i))
    if isinstance(names, str) or not isinstance(names, Sequence):
        raise TypeError(
            f"texts of ids are a list of all of them, a function from an id to its text, or a tokenizer, and not a "
            f"{type(names).__name__}"
        )
    return lambda i: str(names[i]) if 0 <= i < len(names) else str(i)


def checked_texts(name: str, texts: Any) -> tuple[str, ...]:
    """A list of texts, of whatever it holds. Raises ValueError: it is one text, not a list."""
    if isinstance(texts, str):
        raise ValueError(f"{name} is a list of texts, not one text: {texts[:24]!r}")
    return tuple(map(str, texts))


def label(token: str) -> str:
    """A token's text as it is shown beside a row: not too long, and with its blanks (``vector.clean``)."""
    return cut(clean(token), LONGEST)
