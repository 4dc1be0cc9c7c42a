"""A language model's tokens: characters, bytes, or subwords of bytes. Each token represents some bytes of UTF-8.

Texts may contain bytes that are not UTF-8, encoded by Python's "surrogateescape".
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from ..programs.validation import Ids
from ..schema import check, check_size, short
from ..text.subwords import byte_level, check_vocabulary, load_library

CHUNK = 1 << 20  # characters to encode at once, as the library's results are large
MOST_NAMED = 10  # the maximum number of characters to name in a message
END = "<|endoftext|>"  # in GPT-2's vocabulary
_ESCAPED = "surrogateescape"


class Tokens(ABC):
    """A vocabulary."""

    kind: str  # the ``tokenizer`` setting
    end: int | None = None  # the end-of-text token, or None

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def encode(self, text: str) -> Ids:
        """The ids of some text (T,). Raises ValueError if the vocabulary lacks a part of it."""

    @abstractmethod
    def piece(self, i: int) -> bytes:
        """The bytes of a token; empty for ids beyond the vocabulary."""

    @abstractmethod
    def library(self) -> Any:
        """The same vocabulary as a ``tokenizers.Tokenizer``. Raises ImportError if the library is missing."""

    def as_dict(self) -> dict[str, str]:
        """A description that ``from_dict`` reads."""
        return {"kind": self.kind}


class Characters(Tokens):
    """Each character is a token. Ids follow the order of the ``alphabet``."""

    kind = "characters"

    def __init__(self, alphabet: str) -> None:
        self.alphabet = alphabet
        points = _points(alphabet)
        self._ids = np.full(int(points.max(initial=0)) + 1, -1)
        self._ids[points] = np.arange(len(points))

    def __len__(self) -> int:
        return len(self.alphabet)

    def encode(self, text: str) -> Ids:
        points = _points(text)
        ids = np.where(points < len(self._ids), self._ids[np.minimum(points, len(self._ids) - 1)], -1)
        if (ids < 0).any():
            unknown = "".join(dict.fromkeys(text[i] for i in np.flatnonzero(ids < 0)[:1000]))
            more = " and others" if len(unknown) > MOST_NAMED else ""
            escape = ascii if any("\ud800" <= c < "\ue000" for c in unknown) else repr  # printable in terminals
            raise ValueError(
                f"the model has never seen {escape(unknown[:MOST_NAMED])}{more}: its vocabulary has only the "
                f"{len(self)} characters of its training text"
            )
        return ids.astype(np.min_scalar_type(len(self) - 1))

    def piece(self, i: int) -> bytes:
        return self.alphabet[i : i + 1].encode("utf-8", _ESCAPED)

    def library(self) -> Any:
        """See ``Tokens``: byte-pair encoding of characters, without merges."""
        library = load_library()
        tokenizer = library.Tokenizer(library.models.BPE({c: i for i, c in enumerate(self.alphabet)}, []))
        tokenizer.decoder = library.decoders.Fuse()
        return tokenizer

    def as_dict(self) -> dict[str, str]:
        return {"kind": self.kind, "alphabet": self.alphabet}


class Bytes(Tokens):
    """Each byte is a token."""

    kind = "bytes"

    def __len__(self) -> int:
        return 256

    def encode(self, text: str) -> Ids:
        return np.frombuffer(text.encode("utf-8", _ESCAPED), np.uint8)

    def piece(self, i: int) -> bytes:
        return bytes([i]) if i < 256 else b""

    def library(self) -> Any:
        """See ``Tokens``: byte-pair encoding without merges."""
        return byte_level(load_library().models.BPE(bytes_of_characters(), []), use_regex=False)


class Subwords(Tokens):
    """Byte-pair encoding over bytes (Radford et al. 2019, section 2.2), using the tokenizers library."""

    kind = "subwords"

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer
        self.end = tokenizer.token_to_id(END)
        bytes_of = bytes_of_characters()
        names = [tokenizer.id_to_token(i) or "" for i in range(tokenizer.get_vocab_size())]
        try:
            self._pieces = [name.encode() if name == END else bytes(bytes_of[c] for c in name) for name in names]
        except KeyError as error:
            raise ValueError(f"a token of the tokenizer contains {error}, which does not represent a byte") from None

    @classmethod
    def train(cls, text: str, vocabulary: int) -> Subwords:
        """Learn subwords from text, deterministically."""
        check_vocabulary(vocabulary)
        library = load_library()
        tokenizer = byte_level(library.models.BPE())
        options = {"initial_alphabet": sorted(bytes_of_characters()), "min_frequency": 2, "show_progress": False}
        tokenizer.train_from_iterator(_chunks(text), library.trainers.BpeTrainer(vocab_size=vocabulary, **options))
        return cls(tokenizer)

    def __len__(self) -> int:
        return len(self._pieces)

    def encode(self, text: str) -> Ids:
        smallest = np.min_scalar_type(len(self) - 1)
        parts = (self.tokenizer.encode(chunk, add_special_tokens=False).ids for chunk in _chunks(text))
        return np.concatenate([np.array(ids, smallest) for ids in parts])

    def piece(self, i: int) -> bytes:
        return self._pieces[i] if i < len(self._pieces) else b""

    def library(self) -> Any:
        return self.tokenizer

    def as_dict(self) -> dict[str, str]:
        return {"kind": self.kind, "json": self.tokenizer.to_str()}


def learn(kind: str, text: str, train: str, vocabulary: int) -> Tokens:
    """A vocabulary of this kind: the characters in a whole text, or subwords of its training part."""
    if kind == "characters":
        return Characters("".join(sorted(set(text))))
    return Bytes() if kind == "bytes" else Subwords.train(train, vocabulary)


def from_dict(state: dict[str, Any]) -> Tokens:
    """The vocabulary described in a checkpoint. Raises ValueError if the description is invalid."""
    check(state, dict[str, str], "its tokenizer")
    kind = state.get("kind")
    if kind == "characters" and (alphabet := state.get("alphabet")) and len(set(alphabet)) == len(alphabet):
        return Characters(alphabet)
    if kind == "bytes":
        return Bytes()
    if kind == "subwords":
        return _subwords_of(state.get("json", ""))
    raise ValueError(f"its tokenizer has an unknown kind ({short(kind)}) or is incomplete")


def from_library(tokenizer: Any) -> Tokens:
    """The vocabulary of GPT-2's or minigrad's ``tokenizers.Tokenizer``. Raises ValueError for any other tokenizer."""
    text = tokenizer.to_str()
    names = [tokenizer.id_to_token(i) or "" for i in range(tokenizer.get_vocab_size())]
    if _kind(json.loads(text), "decoder") == "Fuse" and all(len(name) == 1 for name in names):
        return Characters("".join(names))
    return _subwords_of(text)


def _subwords_of(text: str) -> Subwords:
    """The tokenizer in a file, which must use byte-pair encoding over bytes."""
    library = load_library()
    try:
        state = json.loads(text)
        check(state, dict[str, Any], "a tokenizer")
        check_size(state)
        kinds = [_kind(state, part) for part in ("model", "pre_tokenizer", "decoder")]
        if kinds != ["BPE", "ByteLevel", "ByteLevel"] or state.get("normalizer"):
            raise ValueError(f"it is {', '.join(map(short, kinds))}")
        return Subwords(library.Tokenizer.from_str(text))
    except Exception as error:  # the library raises plain Exceptions
        raise ValueError(f"the tokenizer is not byte-level BPE: {str(error)[:200]}") from None


def _kind(state: dict[str, Any], part: str) -> str | None:
    step = state.get(part)
    return step.get("type") if isinstance(step, dict) else None


def bytes_of_characters() -> dict[str, int]:
    """The characters that represent bytes in GPT-2's vocabulary: the byte's own character if it is visible in Latin-1,
    otherwise a character from U+0100 on."""
    visible = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    hidden = [byte for byte in range(256) if byte not in visible]
    return {chr(b): b for b in visible} | {chr(0x100 + n): b for n, b in enumerate(hidden)}


def decode(tokens: Tokens, ids: Iterable[int]) -> str:
    """The text for some ids, with U+FFFD in place of invalid bytes."""
    return b"".join(map(tokens.piece, ids)).decode("utf-8", "replace")


def _points(text: str) -> Ids:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")


def _chunks(text: str) -> Iterator[str]:
    """Split text into chunks, at line breaks if possible."""
    start = 0
    while start < len(text):
        end = start + CHUNK
        if end < len(text):
            end = text.rfind("\n", start, end) + 1 or end
        yield text[start:end]
        start = end
