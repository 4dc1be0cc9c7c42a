"""Texts for the labels of a picture: a list, or a function or tokenizer that maps ids to texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from minigrad.viz.attention.attention_data import Reader, tokenizer_reader
from minigrad.viz.vector import clean, cut

LONGEST = 24  # characters of a label


def reader(names: Sequence[str] | Mapping[int, str] | Reader | Any, default: Any = None) -> Reader:
    """A function from an id to its text. ``names`` are the texts of all ids, in order or by id; a function; or a
    tokenizer. None stands for ``default``, a tokenizer, or None for the ids themselves. An id without a text keeps its
    number. Raises TypeError if names has the wrong type, or is a single text."""
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
            f"texts of ids must be a list of all texts, a function from an id to its text, or a tokenizer, not a "
            f"{type(names).__name__}"
        )
    return lambda i: str(names[i]) if 0 <= i < len(names) else str(i)


def checked_texts(name: str, texts: Any) -> tuple[str, ...]:
    """A list's items as texts. Raises ValueError for a single text."""
    if isinstance(texts, str):
        raise ValueError(f"{name} must be a list of texts, not one text: {texts[:24]!r}")
    return tuple(map(str, texts))


def label(token: str) -> str:
    """A token's text as a label: truncated, with visible blanks (``vector.clean``)."""
    return cut(clean(token), LONGEST)
