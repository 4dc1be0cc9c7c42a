"""The files of the data sets: what is read of them, and what is wrong with them in one line."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from examples.bert import data, questions
from examples.bert.data import Labelled, Question, Tagged

NAMES = {"0": "no", "1": "yes"}


def written(folder: Path, text: str, name: str = "file.txt") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_sentences_with_labels(tmp_path: Path) -> None:
    path = written(tmp_path, "sentence\tlabel\na\tb\t1\n\n it is , well , ok \t0\r\nsome\tmixed\n")
    assert data.sentences(path, NAMES) == [
        Labelled(("a\tb",), "yes"),
        Labelled(("it is , well , ok",), "no"),
        Labelled(("some",), "mixed"),
    ]


def test_pairs_keep_quotation_marks(tmp_path: Path) -> None:
    path = written(tmp_path, '\ufeffQuality\t1\t2\t3\t4\n1\t7\t8\tHe said "no\tHe "said" no"\n0\t1\t2\ta\tb\n')
    assert data.pairs(path, NAMES) == [Labelled(('He said "no', 'He "said" no"'), "yes"), Labelled(("a", "b"), "no")]


def test_tags_of_either_kind_compressed_or_not(tmp_path: Path) -> None:
    text = "-DOCSTART- -X- O O\n\nU.N. NNP I-NP I-ORG\nin IN I-PP O\nOslo NNP I-NP I-LOC\nRome NNP I-NP B-LOC\n\nyes O"
    plain = written(tmp_path, text)
    packed = tmp_path / "eng.train.gz"
    packed.write_bytes(gzip.compress(text.encode()))
    expected = [Tagged(("U.N.", "in", "Oslo", "Rome"), ("B-ORG", "O", "B-LOC", "B-LOC")), Tagged(("yes",), ("O",))]
    assert data.tagged(plain) == data.tagged(data.find(tmp_path, "eng.train")) == expected


def test_iob2() -> None:
    for tags, expected in (
        ("I-A I-A O I-B", "B-A I-A O B-B"),
        ("I-A B-A I-A", "B-A B-A I-A"),
        ("B-A I-A O B-A", "B-A I-A O B-A"),
        ("I-A I-B B-B", "B-A B-B B-B"),
    ):
        assert " ".join(data.iob2(tags.split())) == expected


def test_questions_of_squad(tmp_path: Path) -> None:
    entry = {"id": 7, "question": "Who?", "answers": [{"text": "Ada", "answer_start": 3}]}
    content = {"data": [{"paragraphs": [{"context": "It Ada", "qas": [entry, {"id": "8", "question": "What?"}]}]}]}
    path = written(tmp_path, json.dumps(content))
    expected = [Question("Who?", "It Ada", (("Ada", 3),), "7"), Question("What?", "It Ada", (), "8")]
    assert data.questions(path) == expected


def test_what_is_wrong(tmp_path: Path) -> None:
    sentences, pairs = (lambda path, read=read: read(path, {}) for read in (data.sentences, data.pairs))
    entry = {"id": 1, "question": "?", "answers": [{"text": "is", "answer_start": 1}]}
    misplaced = {"data": [{"paragraphs": [{"context": "It is", "qas": [entry]}]}]}
    keyless = {"data": [{"paragraphs": [{"qas": [{"id": 1}]}]}]}
    wrong: list[tuple[Callable[[Path], Any], str, str]] = [
        (sentences, "fine\t1\nno label\n", "line 2: a sentence, a tab and a label"),
        (sentences, "\t1\n", "line 1: a sentence, a tab and a label"),
        (sentences, "", "has no examples"),
        (pairs, "head\n1\t2\t3\t4\n", "line 2: five columns are needed, not 4"),
        (pairs, "head\n1\t2\t3\ta\t \n", "line 2: five columns are needed"),
        (data.tagged, "word\n", "line 1: a word and its tag"),
        (data.tagged, "word X-PER\n", "line 1: a word and its tag"),
        (data.tagged, "\n\n", "has no examples"),
        (data.questions, "{", "is no JSON"),
        (data.questions, "[]", "is not in SQuAD's format"),
        (data.questions, json.dumps(keyless), "is not in SQuAD's format: KeyError 'context'"),
        (data.questions, '{"data": []}', "has no examples"),
        (data.questions, json.dumps(misplaced), "the answer 'is' of question 1 is not at character 1 of its text"),
    ]
    for read, text, message in wrong:
        with pytest.raises(ValueError, match=message):
            read(written(tmp_path, text))


def test_files_that_are_no_text(tmp_path: Path) -> None:
    (tmp_path / "latin").write_bytes(b"caf\xe9\t1\n")
    with pytest.raises(ValueError, match=r"latin, line 1: not UTF-8 \(byte 0xe9 at 3\)"):
        data.sentences(tmp_path / "latin", {})
    (tmp_path / "cut.gz").write_bytes(gzip.compress(b"a\t1\n" * 1000)[:-10])
    (tmp_path / "none.gz").write_bytes(b"plain")
    for name in ("cut.gz", "none.gz"):
        with pytest.raises(ValueError, match="not a whole gzip file"):
            data.sentences(tmp_path / name, {})
    with pytest.raises(FileNotFoundError, match="there is no file"):
        data.sentences(tmp_path / "missing", {})
    with pytest.raises(FileNotFoundError, match=r"has no train\.txt or eng\.train"):
        data.find(tmp_path, "train.txt", "eng.train")


def test_a_tenth_is_held_out() -> None:
    known, asked = data.held_out(list(range(105)))
    assert len(asked) == 11 and sorted(known + asked) == list(range(105))
    assert data.held_out(list(range(105))) == (known, asked) and asked != sorted(asked)


def test_generated_questions(tmp_path: Path) -> None:
    """Each answer is where it says, and is the only one: each value is of one person of a text."""
    train, dev = questions.load("train"), questions.load("dev")
    assert train == questions.load("train") and len(train) > 2000 and len(dev) > 300
    assert len({q.number for q in train}) == len(train)
    for q in train + dev:
        ((text, start),) = q.answers
        assert q.context[start : start + len(text)] == text and "{" not in q.question + q.context
    words = {" ".join(pair) for q in train for pair in zip(q.context.split(), q.context.split()[1:], strict=False)}
    assert not {q.answers[0][0] for q in dev if q.question.startswith("Who ")} & words  # people are new
    assert max(len(q.context) for q in train) > 4 * min(len(q.context) for q in train)
    paths = questions.save(tmp_path / "squad")
    assert [path.name for path in paths] == ["train.json", "dev.json"] and data.questions(paths[1]) == dev
