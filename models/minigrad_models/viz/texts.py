"""Text for the labels in an image, from a list, or from a function or tokenizer that maps ids to strings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from minigrad.viz.attention.attention_data import Reader, tokenizer_reader
from minigrad.viz.vector import clean, cut

LONGEST = 24  # characters in a label


def reader(names: Sequence[str] | Mapping[int, str] | Reader | Any, default: Any = None) -> Reader:
    """A function from an id to its text. ``names`` is a list or mapping of texts, a function, or a tokenizer. If it is
    None, ``default`` is used, which is a tokenizer, or None to show the ids. Ids without text are shown as numbers.
    Raises TypeError if names has the wrong type, or is a single string."""
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
    """The items of a list as strings. Raises ValueError for a single string."""
    if isinstance(texts, str):
        raise ValueError(f"{name} must be a list of strings, not one string: {texts[:24]!r}")
    return tuple(map(str, texts))


def label(token: str) -> str:
    """The text of a token as a label: truncated, with visible spaces (``vector.clean``)."""
    return cut(clean(token), LONGEST)
