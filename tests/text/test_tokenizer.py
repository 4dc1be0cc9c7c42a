"""Tokenizers: what goes in comes out, what is unknown is told, what is saved comes back."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import pytest

from minigrad.text import SubwordTokenizer, WordTokenizer, tokenizer_from_dict
from minigrad.text.tokenizer import BOS, EOS, PAD, SCHEMES, UNKNOWN
from minigrad.translate import english_italian

TEXTS = ["two young men are outside .", "several men in hard hats", "a little girl climbs , slowly ."] * 5


def test_words() -> None:
    t = WordTokenizer(["a", "cat", "sat"])
    assert len(t) == 7
    assert t.encode("a cat flew") == [4, 5, UNKNOWN]
    assert t.unknown("a cat flew") == ["flew"]
    assert t.decode([BOS, 4, 5, EOS, 6, PAD]) == "a cat"
    assert t.encode("") == [] and t.decode([]) == ""
    assert t.encode("a </s> <pad>") == [4, UNKNOWN, UNKNOWN] and t.unknown("</s>") == ["</s>"]
    assert t.encode_batch(["a cat flew", "", "sat"]) == [[4, 5, UNKNOWN], [], [6]]


def test_words_of_texts_by_frequency() -> None:
    t = WordTokenizer.train(["b a c", "c a", "c"])
    assert [t.token(i) for i in range(4, len(t))] == ["c", "a", "b"]


@pytest.mark.parametrize("vocabulary", range(9))
def test_a_vocabulary_of_at_most_so_many_entries(vocabulary: int) -> None:
    """It counts the four special tokens, which are always there, and the rarest words go first."""
    t = WordTokenizer.train(["b a c", "c a", "c"], vocabulary)
    kept = ["c", "a", "b"][: max(0, vocabulary - 4)]
    assert len(t) == 4 + len(kept)
    assert t.unknown("a b c") == [word for word in "abc" if word not in kept]
    assert [t.decode([i]) for i in t.encode("c a b")][: len(kept)] == kept


def test_tokenizers_come_back_from_their_description() -> None:
    pytest.importorskip("tokenizers")
    words = WordTokenizer(["a", "cat"])
    pairs = english_italian.load("test", size=50)
    shipped = WordTokenizer.train([p.source for p in pairs], scheme=english_italian.SCHEME)
    for t, text in (
        (words, "a cat"),
        (shipped, pairs[0].source),
        (SubwordTokenizer.train(TEXTS, 50), TEXTS[0]),
        (SubwordTokenizer.train(TEXTS, 33, model="unigram"), TEXTS[0]),
    ):
        again = tokenizer_from_dict(json.loads(json.dumps(t.as_dict())))
        assert again.encode(text) == t.encode(text) and len(again) == len(t)
    with pytest.raises(ValueError, match="unknown kind of tokenizer: 'x'"):
        tokenizer_from_dict({"kind": "x"})
    with pytest.raises(ValueError, match="unknown way to split into words: 'x'"):
        tokenizer_from_dict({"kind": "words", "scheme": "x", "words": ["a"]})


@pytest.mark.parametrize(
    "own", [{"split": list}, {"join": "".join}, {"normalize": str.lower}], ids=["split", "join", "normalize"]
)
def test_functions_of_ones_own_cannot_be_described(own: dict[str, Any]) -> None:
    """The tokenizer that came back would give other ids."""
    for scheme in ("spaces", "english_italian"):
        words = ["a", "cat"]
        t = WordTokenizer(words, *SCHEMES[scheme])
        for same in (t, copy.deepcopy(t), pickle.loads(pickle.dumps(t))):
            assert same.as_dict()["scheme"] == scheme
        changed = WordTokenizer(words, **({"split": t.split, "join": t.join, "normalize": t.normalize} | own))
        with pytest.raises(ValueError, match="functions of its own"):
            changed.as_dict()
