"""Subwords from the tokenizers library, split so that decoding restores the text."""

from __future__ import annotations

import itertools
import json
import os
import warnings
from collections.abc import Callable, Iterable
from typing import Any

from minigrad.backend.extras import library

from ..schema import check, check_size, short
from .tokenizer import SPECIAL, UNKNOWN, several, until_end

MOST = 1_000_000  # tokens in a vocabulary; models for a hundred languages have a quarter of this
SPACE = "▁"  # begins a word, and replaces the space before it (Kudo and Richardson 2018, arXiv 1808.06226)

# The characters of words: letters, marks, digits, and the invisible joiners and soft hyphens within words.
_IN_WORD = r"\p{L}\p{M}\p{N}\x{200C}\x{200D}\x{AD}"
# Subwords do not cross positions where the Moses tokenizer inserts spaces: before a full stop, after a quote. Not
# split: "&apos;" (an escape of Moses), "U.S.", words with hyphens and apostrophes inside, "1,000.5", "...".
_PIECE = (
    rf"{SPACE}?(?:&(?:#\p{{N}}+|\p{{L}}+);"
    rf"|(?:\p{{L}}\.){{2,}}"
    rf"|[{_IN_WORD}]+(?:(?:[-‐‑'’ʼ]|(?<=\p{{N}})[.,:](?=\p{{N}}))[{_IN_WORD}]+)*"
    rf"|([^{SPACE}{_IN_WORD}])\1*\p{{M}}*)"
    rf"|{SPACE}"
)
_SPACES = r"[\s\x{1C}-\x{1F}]+"
_DIGIT = r"\p{N}"
_STEPS = {"Sequence", "NFC", "Lowercase", "Replace", "Strip", "Metaspace", "Split"}  # of descriptions


class SubwordTokenizer:
    """Splits words into subwords from a vocabulary that ``train`` learns, using a ``tokenizers.Tokenizer``. Decoding
    after encoding returns the text's normal form (``prepare``), with "<unk>" for characters that are not in the
    training texts."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.tokens = [str(model.id_to_token(i)) for i in range(model.get_vocab_size())]

    @classmethod
    def train(
        cls, texts: Iterable[str], vocabulary: int = 10_000, *, min_frequency: int = 2, split_digits: bool = False
    ) -> SubwordTokenizer:
        """Learn subwords by byte-pair encoding (Sennrich et al. 2016, arXiv 1508.07909). The same texts yield the same
        vocabulary in the same order. Texts are read once, and memory grows with the number of distinct words.

        Args:
            vocabulary: the number of ids, including the four special ids. Warns if the texts yield fewer.
            min_frequency: pairs that are rarer are not merged.
            split_digits: make each digit a separate token, so that unseen numbers consist of known tokens.

        Raises ValueError if there is no text or the vocabulary is too large, or too small for the characters; and
        ImportError if the tokenizers library is missing.
        """
        texts = iter(several(texts))
        first = next((text for text in texts if text.strip()), None)
        if first is None:
            raise ValueError("cannot learn subwords: all lines are empty")
        check_vocabulary(vocabulary)
        if vocabulary <= len(SPECIAL):
            raise ValueError(f"a vocabulary of {vocabulary} leaves no subwords: {len(SPECIAL)} tokens are special")
        tokenizers = load_library()
        learner = tokenizers.Tokenizer(tokenizers.models.BPE(unk_token=SPECIAL[UNKNOWN]))
        steps = [tokenizers.normalizers.NFC(), tokenizers.normalizers.Replace(SPACE, "_")]  # the mark itself in text
        steps += [tokenizers.normalizers.Replace(tokenizers.Regex(_SPACES), " ")]  # the spaces of str.split
        learner.normalizer = tokenizers.normalizers.Sequence([*steps, tokenizers.normalizers.Strip()])
        splitters = tokenizers.pre_tokenizers
        words = splitters.Metaspace(SPACE, prepend_scheme="always", split=False)
        patterns = [_PIECE, _DIGIT] if split_digits else [_PIECE]
        pieces = [splitters.Split(tokenizers.Regex(pattern), "isolated") for pattern in patterns]
        learner.pre_tokenizer = splitters.Sequence([words, *pieces])
        learner.decoder = tokenizers.decoders.Metaspace(SPACE, prepend_scheme="always")
        trainer = tokenizers.trainers.BpeTrainer(
            special_tokens=list(SPECIAL), vocab_size=vocabulary, min_frequency=min_frequency, show_progress=False
        )
        learner.train_from_iterator(itertools.chain([first], texts), trainer)
        trained = _without_marks(json.loads(learner.to_str()))
        size = trained.get_vocab_size()
        if size == len(SPECIAL):
            raise ValueError("cannot learn subwords: the text contains only whitespace")
        if size > vocabulary:
            alphabet = f"{size - len(SPECIAL)} different characters of the texts and {len(SPECIAL)} special tokens"
            raise ValueError(f"a vocabulary of {vocabulary} is too small for the {alphabet}: it needs at least {size}")
        if size < vocabulary:
            warnings.warn(f"the texts give only {size} subwords, not {vocabulary}", stacklevel=2)
        return cls(trained)

    def __len__(self) -> int:
        return len(self.tokens)

    def prepare(self, text: str) -> str:
        """The normal form of a text, which is Unicode-normalised and stripped, and has single spaces."""
        text = text.strip().encode("utf-8", "replace").decode()  # a terminal may pass bytes that are not UTF-8
        return str(self.model.normalizer.normalize_str(text)) if self.model.normalizer else text

    def encode(self, text: str) -> list[int]:
        return list(calmly(self.model.encode, text).ids)

    def encode_batch(self, texts: Iterable[str]) -> list[list[int]]:
        return [list(encoding.ids) for encoding in calmly(self.model.encode_batch, list(several(texts)))]

    def decode(self, ids: Iterable[int]) -> str:
        return "".join(self.tokens[i] for i in until_end(ids)).replace(SPACE, " ").removeprefix(" ")

    def token(self, i: int) -> str:
        return self.tokens[i].replace(SPACE, " ")

    def unknown(self, text: str) -> list[str]:
        text = self.prepare(text)
        encoding = calmly(self.model.encode, text)
        return [text[a:b] for i, (a, b) in zip(encoding.ids, encoding.offsets, strict=True) if i == UNKNOWN]

    def as_dict(self) -> dict[str, Any]:
        return {"kind": "subwords", "json": self.model.to_str()}

    @classmethod
    def from_dict(cls, state: dict[str, Any]) -> SubwordTokenizer:
        """The tokenizer described by its ``as_dict``. Raises ValueError if the description is invalid, or has steps or
        regular expressions that ``train`` does not use, some of which would hang or crash the program."""
        load_library()  # before the try, as a missing library is not the description's fault
        text: Any = state.get("json")
        check(text, str, "the JSON of a tokenizer")
        try:
            model = calmly(_without_marks, _checked(json.loads(text)))
        except Exception as error:  # the library raises plain Exceptions
            raise ValueError(f"the tokenizer description is invalid: {str(error)[:200]}") from None
        tokens = [model.id_to_token(i) for i in range(model.get_vocab_size())]
        if None in tokens or tuple(tokens[: len(SPECIAL)]) != SPECIAL:
            raise ValueError(f"the tokenizer's ids must be 0, 1, 2, …, beginning with {', '.join(SPECIAL)}")
        return cls(model)


def load_library() -> Any:
    """The tokenizers library, with a single thread unless TOKENIZERS_PARALLELISM is set. More threads gain little (a
    fifth on two cores), compete with training, and cause warnings after a fork. Raises ImportError if it is missing."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    return library("tokenizers", "subwords need the tokenizers library")


def _checked(state: Any) -> dict[str, Any]:
    """A library tokenizer's state without the parts that ``train`` does not use. Raises ValueError if it is invalid."""
    check(state, dict[str, Any], "a tokenizer")
    check_size(state)
    for name in ("normalizer", "pre_tokenizer", "decoder"):
        _check_steps(state.get(name))
    check(state.get("model"), dict[str, Any], "its model")
    if state["model"].get("type") != "BPE":
        raise ValueError(f"its model is {short(state['model'].get('type'))}, not BPE")
    return {**state, "truncation": None, "padding": None, "post_processor": None}


def _check_steps(step: Any) -> None:
    """Raise ValueError for a step, or an inner step, that ``train`` does not use."""
    if step is None:
        return
    check(step, dict[str, Any], "its step")
    if (kind := step.get("type")) not in _STEPS:
        raise ValueError(f"it has an unsupported step {short(kind)}")
    for name in ("normalizers", "pretokenizers", "decoders"):
        for inner in step.get(name) or ():
            _check_steps(inner)
    pattern = step.get("pattern") or {}
    check(pattern, dict[str, str], "its pattern")
    if "Regex" in pattern and pattern["Regex"] not in (_PIECE, _DIGIT, _SPACES):
        raise ValueError(f"it has the regular expression {short(pattern['Regex'])}, which might never finish")
    if len(str(step.get("content", ""))) > len(SPACE):
        raise ValueError("it replaces text with longer text")


def calmly(call: Callable[..., Any], *arguments: Any) -> Any:
    """The result of a call to the library. Raises ValueError if its Rust code panics (a panic is not an Exception)."""
    try:
        return call(*arguments)
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise ValueError(f"the tokenizers library panicked: {str(error)[:200]}") from None


def _without_marks(state: dict[str, Any]) -> Any:
    """The tokenizer for a state. It reads "<s>" in text (such as HTML) as three characters, not as BOS."""
    return load_library().Tokenizer.from_str(json.dumps({**state, "added_tokens": []}))


def byte_level(model: Any, add_prefix_space: bool = False, use_regex: bool = True) -> Any:
    """A tokenizer over bytes (Radford et al. 2019, section 2.2); with ``use_regex``, merges do not cross word
    boundaries."""
    tokenizers = load_library()
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(
        add_prefix_space=add_prefix_space, use_regex=use_regex
    )
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    return tokenizer


def check_vocabulary(vocabulary: int) -> None:
    """Raise ValueError for a vocabulary so large that the library, which allocates it at once, would crash."""
    if vocabulary > MOST:
        raise ValueError(f"a vocabulary of {vocabulary:,} tokens is too large: at most {MOST:,}")
