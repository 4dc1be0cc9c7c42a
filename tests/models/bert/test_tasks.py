"""The files of the data sets, and the three kinds of tasks: their features and metrics."""

import gzip
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minigrad_models.bert import bert_data as data, questions, tasks
from minigrad_models.bert.bert_data import Feature, Labelled, Question, Tagged
from minigrad_models.bert.tasks import TASKS
from minigrad_models.text.pretrained import train_word_pieces
from tests.support.cases import raises

NAMES = {"0": "no", "1": "yes"}


def written(folder: Path, text: str, name: str = "file.txt") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_sentences_and_pairs_with_labels(tmp_path: Path) -> None:
    path = written(tmp_path, "sentence\tlabel\na\tb\t1\n\n it is , well , ok \t0\r\nsome\tmixed\n")
    rows = [(("a\tb",), "yes"), (("it is , well , ok",), "no"), (("some",), "mixed")]
    assert data.sentences(path, NAMES) == [Labelled(*row) for row in rows]
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
    rows = {"I-A I-A O I-B": "B-A I-A O B-B", "I-A B-A I-A": "B-A B-A I-A", "I-A I-B B-B": "B-A B-B B-B"}
    for tags, expected in {**rows, "B-A I-A O B-A": "B-A I-A O B-A"}.items():
        assert " ".join(data.iob2(tags.split())) == expected


def test_questions_of_squad(tmp_path: Path) -> None:
    entry = {"id": 7, "question": "Who?", "answers": [{"text": "Ada", "answer_start": 3}]}
    content = {"data": [{"paragraphs": [{"context": "It Ada", "qas": [entry, {"id": "8", "question": "What?"}]}]}]}
    path = written(tmp_path, json.dumps(content))
    expected = [Question("Who?", "It Ada", (("Ada", 3),), "7"), Question("What?", "It Ada", (), "8")]
    assert data.questions(path) == expected


def test_invalid_files(tmp_path: Path) -> None:
    sentences, pairs = (lambda path, read=read: read(path, {}) for read in (data.sentences, data.pairs))
    entry = {"id": 1, "question": "?", "answers": [{"text": "is", "answer_start": 1}]}
    misplaced = {"data": [{"paragraphs": [{"context": "It is", "qas": [entry]}]}]}
    keyless = {"data": [{"paragraphs": [{"qas": [{"id": 1}]}]}]}
    wrong: list[tuple[Callable[[Path], Any], str, str]] = [
        (sentences, "fine\t1\nno label\n", "line 2: expected a sentence, a tab and a label"),
        (sentences, "\t1\n", "line 1: expected a sentence, a tab and a label"),
        (sentences, "", "has no examples"),
        (pairs, "head\n1\t2\t3\t4\n", "line 2: expected five columns, not 4"),
        (pairs, "head\n1\t2\t3\ta\t \n", "line 2: expected five columns"),
        (data.tagged, "word\n", "line 1: expected a word and its tag"),
        (data.tagged, "word X-PER\n", "line 1: expected a word and its tag"),
        (data.tagged, "\n\n", "has no examples"),
        (data.questions, "{", "is not JSON"),
        (data.questions, "[]", "is not in SQuAD's format"),
        (data.questions, json.dumps(keyless), "is not in SQuAD's format: KeyError 'context'"),
        (data.questions, '{"data": []}', "has no examples"),
        (data.questions, json.dumps(misplaced), "the answer 'is' to question 1 is not at character 1 of its text"),
    ]
    for read, text, message in wrong:
        with pytest.raises(ValueError, match=message):
            read(written(tmp_path, text))


def test_files_that_are_not_text(tmp_path: Path) -> None:
    (tmp_path / "latin").write_bytes(b"caf\xe9\t1\n")
    raises(ValueError, r"latin, line 1: not UTF-8 \(byte 0xe9 at 3\)", lambda: data.sentences(tmp_path / "latin", {}))
    (tmp_path / "cut.gz").write_bytes(gzip.compress(b"a\t1\n" * 1000)[:-10])
    (tmp_path / "none.gz").write_bytes(b"plain")
    for name in ("cut.gz", "none.gz"):
        raises(ValueError, "not a complete gzip file", partial(data.sentences, tmp_path / name, {}))
    raises(FileNotFoundError, "there is no file", lambda: data.sentences(tmp_path / "missing", {}))
    raises(FileNotFoundError, r"has no train\.txt or eng\.train", lambda: data.find(tmp_path, "train.txt", "eng.train"))


def test_a_tenth_is_held_out() -> None:
    train, dev = data.held_out(list(range(105)))
    assert len(dev) == 11 and sorted(train + dev) == list(range(105))
    assert data.held_out(list(range(105))) == (train, dev) and dev != sorted(dev)


def test_generated_questions() -> None:
    """Each answer is at its position, and unique: only one person of a text has each value."""
    train, dev = questions.load("train"), questions.load("dev")
    assert train == questions.load("train") and len(train) > 2000 and len(dev) > 300
    assert len({q.number for q in train}) == len(train)
    for q in train + dev:
        ((text, start),) = q.answers
        assert q.context[start : start + len(text)] == text and "{" not in q.question + q.context
    words = {" ".join(pair) for q in train for pair in zip(q.context.split(), q.context.split()[1:], strict=False)}
    assert not {q.answers[0][0] for q in dev if q.question.startswith("Who ")} & words  # people are new
    assert max(len(q.context) for q in train) > 4 * min(len(q.context) for q in train)


SQUAD, CONLL, MRPC, SST2 = (TASKS[name] for name in ("squad", "conll", "mrpc", "sst2"))
TEXT = "Ada Berg lives in Rome. Boris lives in Oslo, near the sea."
TOKENIZER = train_word_pieces([TEXT, "Where does Ada Berg live? unbelievable believe un able"] * 3, 70)


def test_pairs_are_cut_to_one_length() -> None:
    encoder = data.Encoder(TOKENIZER, 10)
    (feature,) = MRPC.features([Labelled(("Ada", "Berg lives in Rome near the sea of Oslo"), "b")], encoder, ["a", "b"])
    assert len(feature.ids) == 10 and encoder.cut == 1 and feature.target == 1
    assert feature.types == [0] * 3 + [1] * 7


def test_accuracy_and_f1() -> None:
    examples = [Labelled(("a", "b"), label) for label in ("equivalent", "equivalent", "different", "different")]
    answers = [("equivalent", 0.9), ("different", 0.6), ("equivalent", 0.8), ("different", 0.7)]
    assert MRPC.metrics(examples, answers) == {"accuracy": 0.5, "f1": 0.5}  # precision and recall are a half
    assert MRPC.metrics(examples, [("different", 1.0)] * 4)["f1"] == 0
    assert SST2.metrics(examples, answers) == {"accuracy": 0.5}
    assert MRPC.majority(examples[:3], examples) == [("equivalent", 1.0)] * 4


def test_lines_of_another_form() -> None:
    for task, line, message in (
        (SST2, "a\tb", "sst2 needs a text without a tab"),
        (SST2, " ", "sst2 needs a text"),
        (MRPC, "only one", "mrpc needs two texts separated by a tab, not 'only one'"),
        (MRPC, "one\t ", "mrpc needs two texts"),
        (SQUAD, "Who?", "squad needs a question and a text separated by a tab"),
        (SQUAD, "\ttext", "squad needs a question and a text"),
        (CONLL, "  ", "expected words"),
    ):
        raises(ValueError, message, partial(task.parse, line))


def test_labels_are_on_first_pieces() -> None:
    encoder = data.Encoder(TOKENIZER, 20)
    (encoding,) = encoder([["Ada", "bergs", "sea"]], are_words=True)
    assert encoding.word_ids.count(1) > 1  # several pieces
    (feature,) = CONLL.features([Tagged(("Ada", "bergs", "sea"), ("B", "I", "O"))], encoder, ["B", "I", "O"])
    pairs = [(place, target) for place, target in zip(feature.places, feature.target, strict=True) if target != -100]
    assert pairs == [(0, 0), (1, 1), (2, 2)]
    assert sum(place is None for place in feature.places) == feature.target.count(-100)


def test_entities_count_as_a_whole() -> None:
    pytest.importorskip("seqeval", reason="seqeval counts entities")
    example = Tagged(("a", "b", "c", "d"), ("B-PER", "I-PER", "O", "B-LOC"))
    half = CONLL.metrics([example], [("B-PER", "O", "O", "B-LOC")])
    assert half == {"f1": 0.5, "precision": 0.5, "recall": 0.5, "accuracy": 0.75}
    # conlleval treats an I after another type as a beginning
    assert CONLL.metrics([example], [("I-PER", "I-PER", "O", "I-LOC")])["f1"] == 1
    assert CONLL.metrics([example], [("O",) * 4])["f1"] == 0


def test_windows_over_a_long_text() -> None:
    """Every piece of the text is in a window, and each window with the whole answer has its position."""
    context = " ".join([TEXT] * 8)
    start = context.rindex("Oslo")
    encoder = data.Encoder(TOKENIZER, 40, SQUAD.windows)
    features = SQUAD.features([Question("Where?", context, (("Oslo, near", start),))], encoder, [])
    assert len(features) > 2 and all(len(feature.ids) <= 40 for feature in features) and encoder.cut == 0
    visible = {place for feature in features for place in feature.places if place is not None}
    assert visible == set(TOKENIZER.encode(context, add_special_tokens=False).offsets)
    has = [feature for feature in features if feature.target != (0, 0)]
    assert has and len(has) < len(features)
    for feature in has:
        first, last = feature.target
        assert context[feature.places[first][0] : feature.places[last][1]] == "Oslo, near"


def test_the_pieces_of_an_answer() -> None:
    """Pieces at characters 0-2 and 2-5, where the window ends."""
    answers = {("cd", 2): (2, 2), ("ab cd", 0): (1, 2), ("b c", 1): (1, 2), ("xy", 40): (0, 0), ("cd ef", 3): (0, 0)}
    for (answer, start), expected in answers.items():
        assert tasks.span_of([None, (0, 2), (2, 5), None], answer, start) == expected, answer


def test_the_best_span() -> None:
    logits = np.zeros((6, 2))
    logits[3, 0], logits[2, 1], logits[4, 1], logits[5] = 5, 6, 4, 100  # 3 to 2 is not a span, 5 is outside the text
    allowed = np.array([False, True, True, True, True])
    assert tasks.best_span(logits, allowed) == ((3, 4), 9.0)
    assert tasks.best_span(logits, np.zeros(5, bool))[0] is None
    far = np.zeros((100, 2))
    far[0, 0], far[99, 1] = 5, 5
    (first, last), score = tasks.best_span(far, np.ones(100, bool))
    assert last - first < tasks.LONGEST_ANSWER and score == 5


def test_the_best_window_answers() -> None:
    example = Question("Who?", "Ada Oslo")
    first, second = Feature([], [], None, 0, [None, (0, 3)]), Feature([], [], None, 0, [None, (4, 8)])
    weak, strong = np.array([[9.0, 9], [1, 1]]), np.array([[0.0, 0], [2, 3]])
    assert SQUAD.answers([example], [(first, weak), (second, strong)], []) == [("Oslo", 5.0)]
    assert SQUAD.answers([example], [(first, strong), (second, weak)], []) == [("Ada", 5.0)]


def test_exact_match_and_f1_as_squad_counts_them() -> None:
    examples = [Question("?", "", (("the Red House", 0), ("Red", 0))), Question("?", "", (("in 1990", 0),))]
    metrics = SQUAD.metrics(examples, [("A red house!", 0.0), ("1990 or 1991", 0.0)])
    assert metrics == {"f1": pytest.approx((1 + 2 * 1 / (2 + 3)) / 2), "exact_match": 0.5}
    assert tasks.plain("The  U.S.A., an   island") == "usa island"
    assert tasks.overlap("a the", "an") == 1 and tasks.overlap("the", "x") == 0
