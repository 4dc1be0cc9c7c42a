"""Two tokenizers as one: joint or separate, saved and found again."""

from __future__ import annotations

import json

import pytest

from minigrad.text import TokenizerPair, WordTokenizer, tokenizer_pair_from_dict
from minigrad.text.tokenizer import BOS, EOS

pytest.importorskip("tokenizers")

ENGLISH = ["two young men are outside .", "a little girl climbs"] * 5
GERMAN = ["zwei junge männer sind im freien .", "ein kleines mädchen klettert"] * 5


def test_joint_subwords() -> None:
    pair = TokenizerPair.train(iter(ENGLISH), iter(GERMAN), 70)
    assert pair.joint and pair.source is pair.target and len(pair.source) == 70
    a, b = pair.encode(ENGLISH[0], GERMAN[0])
    assert a == [*pair.source.encode(ENGLISH[0]), EOS] and b == [BOS, *pair.source.encode(GERMAN[0]), EOS]
    assert pair.target.decode(b) == GERMAN[0]


def test_separate_subwords() -> None:
    pair = TokenizerPair.train(ENGLISH, GERMAN, 26, joint=False, model="unigram")
    assert not pair.joint and len(pair.source) == len(pair.target) == 26
    assert pair.source.unknown("ä") == ["ä"] and pair.target.unknown("ä") == []
    assert pair.target.decode(pair.encode(ENGLISH[1], GERMAN[1])[1]) == GERMAN[1]


def test_options_reach_both_sides() -> None:
    for joint in (True, False):
        size = 9 if joint else 8
        pair = TokenizerPair.train(["AB ab"] * 9, ["ÄB äb"] * 9, size, joint=joint, lowercase=True)
        assert (pair.source.prepare("AB"), pair.target.prepare("ÄB")) == ("ab", "äb")


def test_pairs_come_back_from_their_description() -> None:
    words = WordTokenizer(["a", "cat"])
    for pair in (
        TokenizerPair.train(ENGLISH, GERMAN, 70),
        TokenizerPair.train(ENGLISH, GERMAN, 40, joint=False),
        TokenizerPair(words, words),
        TokenizerPair(words, WordTokenizer(["ein"])),
    ):
        again = tokenizer_pair_from_dict(json.loads(json.dumps(pair.as_dict())))
        assert again.joint == pair.joint and again.as_dict() == pair.as_dict()
        assert again.encode("a cat", GERMAN[0]) == pair.encode("a cat", GERMAN[0])


def test_one_tokenizer_is_a_joint_pair() -> None:
    words = WordTokenizer(["a", "cat"])
    pair = tokenizer_pair_from_dict(words.as_dict())
    assert pair.joint and pair.source.encode("a cat") == [4, 5]
    with pytest.raises(ValueError, match="unknown kind of tokenizer: 'x'"):
        tokenizer_pair_from_dict({"kind": "pair", "source": {"kind": "x"}})
