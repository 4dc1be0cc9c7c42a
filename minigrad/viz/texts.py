"""Texts of token ids, by whatever knows them: a list, a function, a tokenizer."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from typing import Any

Reader = Callable[[int], str]
_SHAPELESS = ("Cc", "Cs", "Zl", "Zp")  # control characters, halves of pairs, ends of lines and paragraphs
# Which XML refuses, too; and what turns the direction of the text around it.
_NO_TEXT = "\ufffe\uffff\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
_MARKS = str.maketrans({"\n": "↵", "\r": "␍", "\t": "⇥"})
_UNREADABLE = "\ufffd"  # of bytes that are no whole character


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
        text = str(decode([i], skip_special_tokens=False))
        return str(entry(i)) if not text or _UNREADABLE in text else text

    return read


def clean(text: str) -> str:
    """A text as it can be drawn, so that no blank looks like another: spaces at its ends as "·", nothing but spaces as
    "␣", ends of lines as "↵" and "␍", tabs as "⇥", what else has no shape as "�", an empty text as "∅", and one of
    nothing but joiners and other spaces by their code points. (``viz.visible`` in base.js does the same.)"""
    if text.strip(" ") and all(unicodedata.category(c) in ("Cf", "Zs") for c in text):
        return " ".join(f"U+{ord(c):04X}" for c in text)
    text = text.translate(_MARKS)
    drawn = "".join("�" if unicodedata.category(c) in _SHAPELESS or c in _NO_TEXT else c for c in text)
    if not (inner := drawn.strip(" ")):
        return "␣" * len(drawn) or "∅"
    before = len(drawn) - len(drawn.lstrip(" "))
    return "·" * before + inner + "·" * (len(drawn) - before - len(inner))
