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
    vocabulary = learned(kind)
    ids = vocabulary.encode(TEXT)
    assert decode(vocabulary, ids) == TEXT
    assert len(ids) <= len(TEXT.encode()) and int(ids.max()) < len(vocabulary)
    again = tokens.from_dict(vocabulary.as_dict())
    assert type(again) is type(vocabulary) and len(again) == len(vocabulary)
    np.testing.assert_array_equal(again.encode(TEXT), ids)


@pytest.mark.parametrize("kind", KINDS)
def test_the_library_has_the_same_tokens(kind: str) -> None:
    pytest.importorskip("tokenizers")
    vocabulary = learned(kind)
    there = vocabulary.library()
    assert there.encode(TEXT).ids == vocabulary.encode(TEXT).tolist()
    assert there.decode(there.encode(TEXT).ids) == TEXT
    np.testing.assert_array_equal(tokens.from_library(there).encode(TEXT), vocabulary.encode(TEXT))


def test_how_many_there_are() -> None:
    assert len(learned("characters")) == len(set(TEXT)) == len(learned("characters").encode("".join(sorted(set(TEXT)))))
    assert learned("characters").encode("".join(sorted(set(TEXT)))).tolist() == list(range(len(set(TEXT))))
    assert len(learned("bytes")) == 256
    assert len(learned("subwords")) == 280
    assert len(learned("subwords").encode(TEXT)) < len(TEXT) / 2


@pytest.mark.parametrize("kind", KINDS)
def test_characters_come_whole(kind: str) -> None:
    vocabulary, written = learned(kind), []
    writer = Writer(vocabulary, written.append)
    for token in vocabulary.encode("così 🌹!"):
        writer.add(int(token))
    writer.close()
    assert "".join(written) == "così 🌹!"
    assert all("\ufffd" not in text for text in written)


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


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("aé", "never seen 'é': its vocabulary is the 3 characters"),
        ("\udc80", r"never seen '\\udc80'"),
        ("€" * 99, "'€'"),
    ],
)
def test_characters_out_of_the_vocabulary(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Characters("\nab").encode(text)


def test_many_unknown_characters_are_not_all_listed() -> None:
    with pytest.raises(ValueError, match="'0123456789' and others") as caught:
        Characters("a").encode("0123456789xyz")
    assert "x" not in str(caught.value).partition("its vocabulary")[0].partition("seen ")[2]


@pytest.mark.parametrize("kind", KINDS)
def test_ids_beyond_the_vocabulary_are_no_text(kind: str) -> None:
    vocabulary = learned(kind)
    assert vocabulary.piece(len(vocabulary)) == b"" != vocabulary.piece(len(vocabulary) - 1)


def test_no_text_has_no_ids() -> None:
    assert Characters("ab").encode("").tolist() == [] == Bytes().encode("").tolist()


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


@pytest.mark.parametrize("state", WRONG, ids=str)
def test_descriptions_of_nothing(state: dict[str, Any]) -> None:
    pytest.importorskip("tokenizers")
    with pytest.raises(ValueError, match="tokenizer"):
        tokens.from_dict(state)


def test_steps_that_a_file_may_not_have() -> None:
    pytest.importorskip("tokenizers")
    state = json.loads(learned("subwords").library().to_str())
    slow = {"type": "Split", "pattern": {"Regex": "(a+)+$"}, "behavior": "Isolated", "invert": False}
    for changed in ({"pre_tokenizer": slow}, {"normalizer": {"type": "NFC"}}, {"decoder": None}):
        with pytest.raises(ValueError, match="not byte-pair encoding over bytes"):
            tokens.from_dict({"kind": "subwords", "json": json.dumps({**state, **changed})})


def test_the_same_text_gives_the_same_subwords() -> None:
    pytest.importorskip("tokenizers")
    assert Subwords.train(TEXT, 290).as_dict() == Subwords.train(TEXT, 290).as_dict()


def test_a_vocabulary_beyond_memory() -> None:
    """The library makes room for all of it, or ends the program."""
    with pytest.raises(ValueError, match=r"^a vocabulary of 1,000,000,000 tokens is too large"):
        Subwords.train("a text", 10**9)
