"""What a trained model shows of itself."""

from __future__ import annotations

from minigrad.text import Pairs
from minigrad.translate.examples import LONGEST, SENTENCES, WORDS, examples_of, limited


def test_sentences_are_held_out_and_words_are_learned() -> None:
    train = Pairs(["a dog", "a cat, a dog"], ["x", "y"])
    validation = Pairs(["a bird", "a big bird", "a bird"], ["x", "y", "x"])
    found = examples_of({"train": train, "validation": validation})
    assert found == {"sentences": ["a big bird", "a bird"], "words": ["a", "dog", "cat"]}
    assert examples_of({"train": train})["sentences"] == ["a cat, a dog", "a dog"]


def test_there_are_not_too_many() -> None:
    """Of a file that somebody else has written, too."""
    found = limited({"sentences": [f"{i} " + "x" * i for i in range(200)], "words": [f"w{i}" for i in range(5000)]})
    assert len(found["sentences"]) == SENTENCES and len(found["words"]) == WORDS
    assert max(map(len, found["sentences"])) <= LONGEST
