"""The three kinds of tasks: what they make of examples, and how they count."""

from __future__ import annotations

import numpy as np
import pytest

from examples.bert import spans
from examples.bert.data import Labelled, Question, Tagged
from examples.bert.encoding import Feature, LikeLength, batch_of
from examples.bert.tasks import TASKS
from minigrad.text.word_pieces import train_word_pieces

SQUAD, CONLL, MRPC, SST2 = (TASKS[name] for name in ("squad", "conll", "mrpc", "sst2"))
TEXT = "Ada Berg lives in Rome. Boris lives in Oslo, near the sea."
TOKENIZER = train_word_pieces([TEXT, "Where does Ada Berg live? unbelievable believe un able"] * 3, 70)


# Encoding -----------------------------------------------------------------------------------------------------


def test_batches_are_padded() -> None:
    features = [Feature([2, 9, 3], [0, 0, 0], None, 0, []), Feature([2, 9, 8, 7, 3], [0, 0, 1, 1, 1], None, 1, [])]
    batch = batch_of(features, None, 0)
    assert batch.tokens.tolist() == [[2, 9, 3, 0, 0], [2, 9, 8, 7, 3]]
    assert batch.types.tolist() == [[0] * 5, [0, 0, 1, 1, 1]]
    assert batch.mask.tolist() == [[True] * 3 + [False] * 2, [True] * 5]


def test_batches_of_like_length() -> None:
    lengths = np.random.default_rng(1).integers(3, 100, 1003).tolist()
    order = LikeLength(lengths, 8, seed=3)
    batches = list(order.epoch(2))
    assert sorted(i for batch in batches for i in batch) == list(range(1003)) and len(batches) == len(order) == 126
    assert {len(batch) for batch in batches} == {8, 3}
    spread = np.mean([np.ptp([lengths[i] for i in batch]) for batch in batches])
    assert spread < 5  # of 97
    assert list(order.epoch(2, 100)) == batches[100:] and list(order.epoch(3)) != batches
    assert list(LikeLength(lengths, 8, seed=4).epoch(2)) != batches
    for bad in (([], 8), ([3], 0)):
        with pytest.raises(ValueError, match="cannot be cut into batches"):
            LikeLength(*bad)


# Classification -------------------------------------------------------------------------------------------------


def test_pairs_are_cut_to_one_length() -> None:
    encoder = MRPC.encoder(TOKENIZER, 10)
    (feature,) = MRPC.features([Labelled(("Ada", "Berg lives in Rome near the sea of Oslo"), "b")], encoder, ["a", "b"])
    assert len(feature.ids) == 10 and encoder.cut == 1 and feature.target == 1
    assert feature.types == [0] * 3 + [1] * 7


def test_accuracy_and_f1() -> None:
    examples = [Labelled(("a", "b"), label) for label in ("equivalent", "equivalent", "different", "different")]
    said = [("equivalent", 0.9), ("different", 0.6), ("equivalent", 0.8), ("different", 0.7)]
    assert MRPC.metrics(examples, said) == {"accuracy": 0.5, "f1": 0.5}  # precision and recall are a half
    assert MRPC.metrics(examples, [("different", 1.0)] * 4)["f1"] == 0
    assert SST2.metrics(examples, said) == {"accuracy": 0.5}
    assert MRPC.majority(examples[:3], examples) == [("equivalent", 1.0)] * 4


def test_lines_of_another_form() -> None:
    for task, line, message in (
        (SST2, "a\tb", "sst2 needs a text without a tab"),
        (SST2, " ", "sst2 needs a text"),
        (MRPC, "only one", "mrpc needs two texts with a tab between them, not 'only one'"),
        (MRPC, "one\t ", "mrpc needs two texts"),
        (SQUAD, "Who?", "squad needs a question and a text with a tab"),
        (SQUAD, "\ttext", "squad needs a question and a text"),
        (CONLL, "  ", "words are needed"),
    ):
        with pytest.raises(ValueError, match=message):
            task.parse(line)


# Tagging --------------------------------------------------------------------------------------------------------


def test_labels_stand_on_first_pieces() -> None:
    encoder = CONLL.encoder(TOKENIZER, 20)
    (encoding,) = encoder([["Ada", "bergs", "sea"]], are_words=True)
    assert encoding.word_ids.count(1) > 1  # several pieces
    (feature,) = CONLL.features([Tagged(("Ada", "bergs", "sea"), ("B", "I", "O"))], encoder, ["B", "I", "O"])
    pairs = [(place, target) for place, target in zip(feature.places, feature.target, strict=True) if target != -100]
    assert pairs == [(0, 0), (1, 1), (2, 2)]
    assert sum(place is None for place in feature.places) == feature.target.count(-100)


def test_words_that_are_cut_off_are_outside() -> None:
    encoder = CONLL.encoder(TOKENIZER, 4)
    example = Tagged(("Ada", "Berg", "sea"))
    (feature,) = CONLL.features([example], encoder, ["B-PER", "O"])
    assert feature.target is None
    assert CONLL.answers([example], [feature], [np.zeros(4, int)], ["B-PER", "O"]) == [("B-PER", "B-PER", "O")]


def test_entities_are_counted_as_wholes() -> None:
    pytest.importorskip("seqeval", reason="seqeval counts entities")
    example = Tagged(("a", "b", "c", "d"), ("B-PER", "I-PER", "O", "B-LOC"))
    half = CONLL.metrics([example], [("B-PER", "O", "O", "B-LOC")])
    assert half == {"f1": 0.5, "precision": 0.5, "recall": 0.5, "accuracy": 0.75}
    # conlleval takes an I after another type for a beginning
    assert CONLL.metrics([example], [("I-PER", "I-PER", "O", "I-LOC")])["f1"] == 1
    assert CONLL.metrics([example], [("O",) * 4])["f1"] == 0


# Spans ----------------------------------------------------------------------------------------------------------


def test_windows_over_a_long_text() -> None:
    """Every piece of the text is in a window, and the answer is where it says in each that has all of it."""
    context = " ".join([TEXT] * 8)
    start = context.rindex("Oslo")
    encoder = SQUAD.encoder(TOKENIZER, 40)
    features = SQUAD.features([Question("Where?", context, (("Oslo, near", start),))], encoder, [])
    assert len(features) > 2 and all(len(feature.ids) <= 40 for feature in features) and encoder.cut == 0
    seen = {place for feature in features for place in feature.places if place is not None}
    assert seen == set(TOKENIZER.encode(context, add_special_tokens=False).offsets)
    has = [feature for feature in features if feature.target != (0, 0)]
    assert has and len(has) < len(features)
    for feature in has:
        first, last = feature.target
        assert context[feature.places[first][0] : feature.places[last][1]] == "Oslo, near"


def test_the_pieces_of_an_answer() -> None:
    """Pieces at characters 0-2 and 2-5 of a window that ends there."""
    answers = {("cd", 2): (2, 2), ("ab cd", 0): (1, 2), ("b c", 1): (1, 2), ("xy", 40): (0, 0), ("cd ef", 3): (0, 0)}
    for (answer, start), expected in answers.items():
        assert spans.span_of([None, (0, 2), (2, 5), None], answer, start) == expected, answer


def test_the_best_span() -> None:
    logits = np.zeros((6, 2))
    logits[3, 0], logits[2, 1], logits[4, 1], logits[5] = 5, 6, 4, 100  # 3 to 2 is no span, 5 is not of the text
    allowed = np.array([False, True, True, True, True])
    assert spans.best_span(logits, allowed) == ((3, 4), 9.0)
    assert spans.best_span(logits, np.zeros(5, bool))[0] is None
    far = np.zeros((100, 2))
    far[0, 0], far[99, 1] = 5, 5
    (first, last), score = spans.best_span(far, np.ones(100, bool))
    assert last - first < spans.LONGEST_ANSWER and score == 5


def test_the_best_window_answers() -> None:
    example = Question("Who?", "Ada Oslo")
    features = [Feature([], [], None, 0, [None, (0, 3)]), Feature([], [], None, 0, [None, (4, 8)])]
    weak, strong = np.array([[9.0, 9], [1, 1]]), np.array([[0.0, 0], [2, 3]])
    assert SQUAD.answers([example], features, [weak, strong], []) == [("Oslo", 5.0)]
    assert SQUAD.answers([example], features, [strong, weak], []) == [("Ada", 5.0)]


def test_exact_match_and_f1_as_squad_counts_them() -> None:
    examples = [Question("?", "", (("the Red House", 0), ("Red", 0))), Question("?", "", (("in 1990", 0),))]
    metrics = SQUAD.metrics(examples, [("A red house!", 0.0), ("1990 or 1991", 0.0)])
    assert metrics == {"f1": pytest.approx((1 + 2 * 1 / (2 + 3)) / 2), "exact_match": 0.5}
    assert spans.plain("The  U.S.A., an   island") == "usa island"
    assert spans.overlap("a the", "an") == 1 and spans.overlap("the", "x") == 0


def test_a_question_that_leaves_no_room() -> None:
    with pytest.raises(ValueError, match="a question has more than 10 pieces, half of what is read at once"):
        SQUAD.features([Question("Where does " * 20, TEXT)], SQUAD.encoder(TOKENIZER, 20), [])
