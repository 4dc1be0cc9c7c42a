"""Tokens of language models: there and back, whole characters as they come, and what a file may claim."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from examples.gpt import tokens
from examples.gpt.tokens import Bytes, Characters, Subwords, Tokens, Writer, decode

TEXT = "A rose is a rose is a rose. È così: «rose», ‘roses’ and 🌹!\n\tA rose\r\nis.\n" * 3


def learned(kind: str) -> Tokens:
    if kind == "subwords":
        pytest.importorskip("tokenizers")
    return tokens.learn(kind, TEXT, TEXT, 280)


KINDS = ("characters", "bytes", "subwords")


@pytest.mark.parametrize("kind", KINDS)
def test_text_and_back(kind: str) -> None:
    pytest.importorskip("tokenizers")
    vocabulary = learned(kind)
    ids = vocabulary.encode(TEXT)
    assert decode(vocabulary, ids) == TEXT
    assert len(ids) <= len(TEXT.encode()) and int(ids.max()) < len(vocabulary)
    assert vocabulary.piece(len(vocabulary)) == b"" != vocabulary.piece(len(vocabulary) - 1), (
        "an id beyond all is no text"
    )
    there = vocabulary.library()
    assert there.encode(TEXT).ids == ids.tolist() and there.decode(ids.tolist()) == TEXT
    for again in (tokens.from_dict(vocabulary.as_dict()), tokens.from_library(there)):
        assert len(again) == len(vocabulary)
        np.testing.assert_array_equal(again.encode(TEXT), ids)
    pieces: list[str] = []  # characters come whole
    writer = Writer(vocabulary, pieces.append)
    for token in vocabulary.encode("così 🌹!"):
        writer.add(int(token))
    writer.close()
    assert "".join(pieces) == "così 🌹!" and all("\ufffd" not in piece for piece in pieces)


def test_what_is_unfinished_is_told_at_the_end() -> None:
    written: list[str] = []
    writer = Writer(Bytes(), written.append)
    for byte in "🌹".encode()[:3]:
        writer.add(byte)
    assert written == []
    writer.close()
    assert written == ["\ufffd"]


def test_bytes_need_not_be_text() -> None:
    raw = bytes(range(256))
    assert Bytes().encode(raw.decode("utf-8", "surrogateescape")).tobytes() == raw


def test_characters_out_of_the_vocabulary() -> None:
    for text, message in (
        ("aé", "never seen 'é': its vocabulary is the 3 characters"),
        ("\udc80", r"never seen '\\udc80'"),
        ("€" * 99, "'€'"),
        ("0123456789xyz", "'0123456789' and others: "),
    ):
        with pytest.raises(ValueError, match=message):
            Characters("\nab").encode(text)


WRONG: list[dict[str, Any]] = [
    {},
    {"kind": "words"},
    {"kind": "characters"},
    {"kind": "characters", "alphabet": "aa"},
    {"kind": "bytes", "size": 3},
    {"kind": "subwords"},
    {"kind": "subwords", "json": "{"},
    {"kind": "subwords", "json": "[" * 100_000},
    {"kind": "subwords", "json": json.dumps({"model": {"type": "WordLevel", "vocab": {}, "unk_token": "a"}})},
]


def test_descriptions_of_nothing() -> None:
    pytest.importorskip("tokenizers")
    for state in WRONG:
        with pytest.raises(ValueError, match="tokenizer"):
            tokens.from_dict(state)
    sound = json.loads(learned("subwords").library().to_str())
    slow = {"type": "Split", "pattern": {"Regex": "(a+)+$"}, "behavior": "Isolated", "invert": False}
    for changed in ({"pre_tokenizer": slow}, {"normalizer": {"type": "NFC"}}, {"decoder": None}):
        with pytest.raises(ValueError, match="not byte-pair encoding over bytes"):
            tokens.from_dict({"kind": "subwords", "json": json.dumps({**sound, **changed})})


def test_a_vocabulary_beyond_memory() -> None:
    """The library makes room for all of it, or ends the program."""
    with pytest.raises(ValueError, match=r"^a vocabulary of 1,000,000,000 tokens is too large"):
        Subwords.train("a text", 10**9)
