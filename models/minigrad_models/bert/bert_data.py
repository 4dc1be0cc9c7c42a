"""The files that the data sets come in, plain or compressed by gzip, as examples; texts as word pieces, and batches.

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
CASES = "-DOCSTART-"  # a line of CoNLL's files between documents


class Labelled(NamedTuple):
    """A text, or a pair of texts, and its label; None where it is asked for."""

    texts: tuple[str, ...]
    label: str | None = None


class Tagged(NamedTuple):
    """Words, and the tag of each (IOB2); None where they are asked for."""

    words: tuple[str, ...]
    tags: tuple[str, ...] | None = None


class Question(NamedTuple):
    """A question about a text."""

    question: str
    context: str
    # Pieces of the context, any of which is right, with the character where each begins; empty where it is asked for.
    answers: tuple[tuple[str, int], ...] = ()
    number: str = ""  # the data set's name for it


def lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a file with their numbers. Raises FileNotFoundError."""
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}")
    return enumerate(read_lines(path), 1)


def find(folder: Path, *names: str) -> Path:
    """The first of some files that a folder has, plain or as .gz. Raises FileNotFoundError: none of them is there."""
    for name in names:
        for path in (folder / name, folder / f"{name}.gz"):
            if path.is_file():
                return path
    raise FileNotFoundError(f"{folder} has no {' or '.join(names)}")


def sentences(path: Path, names: Mapping[str, str]) -> list[Labelled]:
    """SST-2: sentence, tab, label. ``names`` are those of labels that the file has as numbers."""
    result = []
    for number, line in lines(path):
        text, tab, label = line.rpartition("\t")
        if not line.strip() or (number == 1 and label == "label"):  # GLUE's file has a header
            continue
        if not tab or not text.strip() or not label.strip():
            raise ValueError(f"{path}, line {number}: a sentence, a tab and a label are needed, not {line[:60]!r}")
        result.append(Labelled((text.strip(),), names.get(label.strip(), label.strip())))
    return filled(result, path)


def pairs(path: Path, names: Mapping[str, str]) -> list[Labelled]:
    """MRPC: label, two numbers and two sentences, with tabs between them, after a header. Quotation marks are parts of
    the sentences. Raises as ``sentences``."""
    result = []
    for number, line in lines(path):
        if number == 1 or not line.strip():
            continue
        columns = line.split("\t")
        if len(columns) != 5 or not all(columns[i].strip() for i in (0, 3, 4)):
            raise ValueError(f"{path}, line {number}: five columns are needed, not {len(columns)}: {line[:60]!r}")
        label = columns[0].strip()
        result.append(Labelled((columns[3].strip(), columns[4].strip()), names.get(label, label)))
    return filled(result, path)


def tagged(path: Path) -> list[Tagged]:
    """CoNLL-2003: a word a line, first column, and its tag, last column; an empty line after a sentence. Tags may be
    IOB1, as in the original, or IOB2. Raises as ``lines``; ValueError as well for a line without a tag."""
    result: list[Tagged] = []
    words: list[str] = []
    tags: list[str] = []
    for number, line in [*lines(path), (0, "")]:
        columns = line.split()
        if columns and columns[0] != CASES:
            if len(columns) < 2 or not (columns[-1] == "O" or columns[-1][:2] in ("B-", "I-")):
                raise ValueError(f"{path}, line {number}: a word and its tag (O, B-… or I-…) are needed: {line[:60]!r}")
            words.append(columns[0])
            tags.append(columns[-1])
        elif words:
            result.append(Tagged(tuple(words), tuple(iob2(tags))))
            words, tags = [], []
    return filled(result, path)


def iob2(tags: Sequence[str]) -> list[str]:
    """Tags in which each entity begins with B: IOB1 has B only where an entity follows another of its type."""
    before = ["O", *tags[:-1]]
    return [
        f"B-{tag[2:]}" if tag.startswith("I-") and last[2:] != tag[2:] else tag
        for last, tag in zip(before, tags, strict=True)
    ]


def questions(path: Path) -> list[Question]:
    """SQuAD (Rajpurkar et al. 2016), version 1.1: {"data": [{"paragraphs": [{"context", "qas": [{"id", "question",
    "answers": [{"text", "answer_start"}]}]}]}]}. Answers may be missing: then they are asked for. Raises
    FileNotFoundError: there is no such file; ValueError: it is damaged, or an answer is not where it says."""
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
                        raise ValueError(f"the answer {words[:40]!r} of question {number} is not {where}")
                if not question.strip() or not context.strip():
                    raise ValueError(f"question {number} or its text is empty")
                result.append(Question(question, context, tuple(answers), number))
    except (json.JSONDecodeError, RecursionError) as error:
        raise ValueError(f"{path} is no JSON: {error}") from None
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{path} is not in SQuAD's format: {type(error).__name__} {error}") from None
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    return filled(result, path)


def filled(items: list[Item], path: Path) -> list[Item]:
    """The examples of a file. Raises ValueError: there are none."""
    if not items:
        raise ValueError(f"{path} has no examples")
    return items


def held_out(items: Sequence[Item], part: int = 10) -> tuple[list[Item], list[Item]]:
    """All but every ``part``-th example of a random order, and the others. The order is the same in every run."""
    order = np.random.default_rng(0).permutation(len(items)).tolist()
    return [items[i] for place, i in enumerate(order) if place % part], [items[i] for i in order[::part]]


class Feature(NamedTuple):
    """What a model reads at once."""

    ids: list[int]  # word pieces
    types: list[int]  # 0 or 1 for each, the text that it is of
    target: Any  # the right answer: a number, several, or a list with one for each piece; None if it is asked for
    example: int  # the number of the example that it is of
    places: list[Any]  # of each piece, if the task asks: its word, or its characters; None for special tokens


class Batch(NamedTuple):
    """Features of like length."""

    tokens: Tensor  # (B, T) int64
    types: Tensor  # (B, T) int64
    mask: Tensor  # (B, T), True at tokens
    targets: Tensor | None  # None if they are asked for


class Encoder:
    """The word pieces of a model's tokenizer, a ``tokenizers.Tokenizer`` that is not changed, cut off at a length that
    counts special tokens, of a pair's longer text first. What looks like one in a text ("[SEP]") is text. With
    ``windows``, the second text of a pair that is too long is cut into several features, which share a quarter of their
    pieces. ``cut`` is how many of the last texts were cut off."""

    def __init__(self, tokenizer: Any, longest: int, windows: bool = False) -> None:
        self.whole, self.tokenizer = (load_library().Tokenizer.from_str(tokenizer.to_str()) for _ in range(2))
        self.longest, self.windows, self.cut = longest, windows, 0
        for one in (self.whole, self.tokenizer):
            one.encode_special_tokens = True
        stride, strategy = (longest // 4, "only_second") if windows else (0, "longest_first")
        self.tokenizer.enable_truncation(longest, stride=stride, strategy=strategy)

    def __call__(self, texts: Sequence[Any], are_words: bool = False) -> list[Any]:
        """The library's encoding of each text, pair of texts, or (``are_words``) list of words; what was cut off is in
        its ``overflowing``."""
        encodings = list(self.tokenizer.encode_batch(list(texts), is_pretokenized=are_words))
        self.cut = 0 if self.windows else sum(bool(encoding.overflowing) for encoding in encodings)
        return encodings

    def pieces(self, text: str) -> list[int]:
        """The pieces of a text as a whole, without special tokens."""
        return list(self.whole.encode(text, add_special_tokens=False).ids)


def batch_of(features: Sequence[Feature], padding: int) -> Batch:
    """Features as tensors, padded to the longest."""
    tokens = padded([feature.ids for feature in features], padding)
    types = padded([feature.types for feature in features], 0)
    mask = np.arange(tokens.shape[1]) < np.array([[len(feature.ids)] for feature in features])
    targets: Any = [feature.target for feature in features]
    if isinstance(targets[0], list):  # a number for each piece
        targets = padded(targets, IGNORED)
    known = None if targets[0] is None else mg.tensor(targets)
    return Batch(mg.from_numpy(tokens), mg.from_numpy(types), mg.from_numpy(mask), known)
