"""Reads examples from data set files, plain or gzipped, splits text into word pieces, and builds batches.

Shapes: B batch, T pieces.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

import minigrad as mg
from minigrad import Tensor

from ..text import read_lines
from ..text.subwords import load_library
from .bert import IGNORED, padded

Item = TypeVar("Item")
CASES = "-DOCSTART-"  # the line between documents in CoNLL's files


class Labelled(NamedTuple):
    """A text, or a pair of texts, and its label (None for a prediction)."""

    texts: tuple[str, ...]
    label: str | None = None


class Tagged(NamedTuple):
    """Words, and the tag of each in IOB2 (None for a prediction)."""

    words: tuple[str, ...]
    tags: tuple[str, ...] | None = None


class Question(NamedTuple):
    """A question about a text."""

    question: str
    context: str
    # Correct answers: parts of the context, each with the index of its first character; empty for a prediction.
    answers: tuple[tuple[str, int], ...] = ()
    number: str = ""  # the id in the data set


def lines(path: Path) -> Iterator[tuple[int, str]]:
    """A file's lines with their numbers. Raises FileNotFoundError if the file does not exist."""
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}")
    return enumerate(read_lines(path), 1)


def find(folder: Path, *names: str) -> Path:
    """The first of several files that exists in a folder, plain or gzipped. Raises FileNotFoundError if none exists."""
    for name in names:
        for path in (folder / name, folder / f"{name}.gz"):
            if path.is_file():
                return path
    raise FileNotFoundError(f"{folder} has no {' or '.join(names)}")


def sentences(path: Path, names: Mapping[str, str]) -> list[Labelled]:
    """Read SST-2: each line is a sentence, a tab and a label. ``names`` maps the file's label numbers to names."""
    result = []
    for number, line in lines(path):
        text, tab, label = line.rpartition("\t")
        if not line.strip() or (number == 1 and label == "label"):  # GLUE's file has a header
            continue
        if not tab or not text.strip() or not label.strip():
            raise ValueError(f"{path}, line {number}: expected a sentence, a tab and a label, not {line[:60]!r}")
        result.append(Labelled((text.strip(),), names.get(label.strip(), label.strip())))
    return filled(result, path)


def pairs(path: Path, names: Mapping[str, str]) -> list[Labelled]:
    """Read MRPC: after a header, each line is a label, two numbers and two sentences, separated by tabs. Quotation
    marks are part of the sentences. Raises the same errors as ``sentences``."""
    result = []
    for number, line in lines(path):
        if number == 1 or not line.strip():
            continue
        columns = line.split("\t")
        if len(columns) != 5 or not all(columns[i].strip() for i in (0, 3, 4)):
            raise ValueError(f"{path}, line {number}: expected five columns, not {len(columns)}: {line[:60]!r}")
        label = columns[0].strip()
        result.append(Labelled((columns[3].strip(), columns[4].strip()), names.get(label, label)))
    return filled(result, path)


def tagged(path: Path) -> list[Tagged]:
    """Read CoNLL-2003: each line has a word in its first column and the word's tag in its last; an empty line ends a
    sentence. Tags may be in IOB1, as in the original, or IOB2. Raises ValueError for a line without a tag."""
    result: list[Tagged] = []
    words: list[str] = []
    tags: list[str] = []
    for number, line in [*lines(path), (0, "")]:
        columns = line.split()
        if columns and columns[0] != CASES:
            if len(columns) < 2 or not (columns[-1] == "O" or columns[-1][:2] in ("B-", "I-")):
                raise ValueError(f"{path}, line {number}: expected a word and its tag (O, B-… or I-…): {line[:60]!r}")
            words.append(columns[0])
            tags.append(columns[-1])
        elif words:
            result.append(Tagged(tuple(words), tuple(iob2(tags))))
            words, tags = [], []
    return filled(result, path)


def iob2(tags: Sequence[str]) -> list[str]:
    """Convert tags to IOB2, where B begins every entity. In IOB1, B only separates adjacent entities of one type."""
    before = ["O", *tags[:-1]]
    return [
        f"B-{tag[2:]}" if tag.startswith("I-") and last[2:] != tag[2:] else tag
        for last, tag in zip(before, tags, strict=True)
    ]


def questions(path: Path) -> list[Question]:
    """Read SQuAD 1.1 (Rajpurkar et al. 2016): {"data": [{"paragraphs": [{"context", "qas": [{"id", "question",
    "answers": [{"text", "answer_start"}]}]}]}]}. Answers may be missing. Raises FileNotFoundError if the file does not
    exist, and ValueError if it is damaged or an answer is not at the given position."""
    text, result = "\n".join(line for _, line in lines(path)), []
    try:
        for paragraph in (paragraph for article in json.loads(text)["data"] for paragraph in article["paragraphs"]):
            context = paragraph["context"]
            for entry in paragraph["qas"]:
                number, question = str(entry["id"]), entry["question"]
                answers = [(answer["text"], int(answer["answer_start"])) for answer in entry.get("answers", ())]
                for words, start in answers:
                    if not words or start < 0 or context[start : start + len(words)] != words:
                        where = f"at character {start} of its text"
                        raise ValueError(f"the answer {words[:40]!r} to question {number} is not {where}")
                if not question.strip() or not context.strip():
                    raise ValueError(f"question {number} or its text is empty")
                result.append(Question(question, context, tuple(answers), number))
    except (json.JSONDecodeError, RecursionError) as error:
        raise ValueError(f"{path} is not JSON: {error}") from None
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{path} is not in SQuAD's format: {type(error).__name__} {error}") from None
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    return filled(result, path)


def filled(items: list[Item], path: Path) -> list[Item]:
    """The examples of a file. Raises ValueError if the file has no examples."""
    if not items:
        raise ValueError(f"{path} has no examples")
    return items


def held_out(items: Sequence[Item], part: int = 10) -> tuple[list[Item], list[Item]]:
    """Shuffle the examples and hold out every ``part``-th. Returns (rest, held out), the same in all runs."""
    order = np.random.default_rng(0).permutation(len(items)).tolist()
    return [items[i] for place, i in enumerate(order) if place % part], [items[i] for i in order[::part]]


class Feature(NamedTuple):
    """One input of the model."""

    ids: list[int]  # word pieces
    types: list[int]  # the text that each piece belongs to: 0 or 1
    target: Any  # the correct answer: one or several numbers, or a list for all pieces; None for a prediction
    example: int  # the index of the example
    places: list[Any]  # the word or characters of each piece, if the task needs them; None for special tokens


class Batch(NamedTuple):
    """Features of similar length."""

    tokens: Tensor  # (B, T) int64
    types: Tensor  # (B, T) int64
    mask: Tensor  # (B, T), True at tokens
    targets: Tensor | None  # None for a prediction


class Encoder:
    """Encodes texts as word pieces with a copy of a model's ``tokenizers.Tokenizer``. Truncates them, the longer text
    of a pair first, to ``longest`` pieces, including special tokens. A special token in a text ("[SEP]") is plain text.
    With ``windows``, the second text of an overlong pair is split into several features that overlap by a quarter.
    ``cut`` is the number of texts that the last call truncated."""

    def __init__(self, tokenizer: Any, longest: int, windows: bool = False) -> None:
        self.whole, self.tokenizer = (load_library().Tokenizer.from_str(tokenizer.to_str()) for _ in range(2))
        self.longest, self.windows, self.cut = longest, windows, 0
        for one in (self.whole, self.tokenizer):
            one.encode_special_tokens = True
        stride, strategy = (longest // 4, "only_second") if windows else (0, "longest_first")
        self.tokenizer.enable_truncation(longest, stride=stride, strategy=strategy)

    def __call__(self, texts: Sequence[Any], are_words: bool = False) -> list[Any]:
        """The library's encoding of each text, pair of texts, or list of words (``are_words``), with truncated parts in
        its ``overflowing``."""
        encodings = list(self.tokenizer.encode_batch(list(texts), is_pretokenized=are_words))
        self.cut = 0 if self.windows else sum(bool(encoding.overflowing) for encoding in encodings)
        return encodings

    def pieces(self, text: str) -> list[int]:
        """All pieces in a text, without special tokens."""
        return list(self.whole.encode(text, add_special_tokens=False).ids)


def batch_of(features: Sequence[Feature], padding: int) -> Batch:
    """Features as tensors, padded to the longest feature."""
    tokens = padded([feature.ids for feature in features], padding)
    types = padded([feature.types for feature in features], 0)
    mask = np.arange(tokens.shape[1]) < np.array([[len(feature.ids)] for feature in features])
    targets: Any = [feature.target for feature in features]
    if isinstance(targets[0], list):  # a number for each piece
        targets = padded(targets, IGNORED)
    labels = None if targets[0] is None else mg.tensor(targets)
    return Batch(mg.from_numpy(tokens), mg.from_numpy(types), mg.from_numpy(mask), labels)
