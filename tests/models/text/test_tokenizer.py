"""Tokenizers: round trips, unknown words, saving and loading, and pairs of tokenizers."""

import copy
import json
import pickle
from typing import Any

import pytest

from minigrad_models.text import (
    SubwordTokenizer,
    TokenizerPair,
    WordTokenizer,
    tokenizer_from_dict,
    tokenizer_pair_from_dict,
)
from minigrad_models.text.pretrained import train_word_pieces
from minigrad_models.text.tokenizer import BOS, EOS, PAD, SCHEMES, UNKNOWN
from minigrad_models.translation import english_italian

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


@pytest.mark.filterwarnings("ignore:the texts give")
def test_a_string_is_one_text_and_not_a_list_of_letters() -> None:
    assert WordTokenizer("cat").words[4:] == ["cat"]
    t = WordTokenizer.train("a cat sat")
    assert t.words[4:] == ["a", "cat", "sat"] and t.encode_batch("a cat") == [[4, 5]]
    pytest.importorskip("tokenizers")
    one, many = (SubwordTokenizer.train(text, 40) for text in ("a cat " * 9, ["a cat " * 9]))
    assert one.tokens == many.tokens and "▁cat" in one.tokens
    assert one.encode_batch("a cat") == many.encode_batch(["a cat"]) == [many.encode("a cat")]
    pairs = [
        TokenizerPair.train(*sides, 40)
        for sides in (("a cat " * 9, "un gatto " * 9), (["a cat " * 9], ["un gatto " * 9]))
    ]
    assert pairs[0].source.as_dict() == pairs[1].source.as_dict()
    assert train_word_pieces("a cat " * 9, 40).get_vocab() == train_word_pieces(["a cat " * 9], 40).get_vocab()
    assert english_italian.detokenize("gatto") == "Gatto"


def test_a_vocabulary_has_a_maximum_size() -> None:
    """The four special tokens count and are never dropped; the rarest words are dropped first."""
    for vocabulary in (None, *range(9)):
        t = WordTokenizer.train(["b a c", "c a", "c"], *([] if vocabulary is None else [vocabulary]))
        words_left = ["c", "a", "b"][: None if vocabulary is None else max(0, vocabulary - 4)]
        assert [t.token(i) for i in range(4, len(t))] == words_left
        assert t.unknown("a b c") == [word for word in "abc" if word not in words_left]


def test_tokenizers_are_restored_from_their_description() -> None:
    pytest.importorskip("tokenizers")
    words = WordTokenizer(["a", "cat"])
    pairs = english_italian.load("test", size=50)
    shipped = WordTokenizer.train([p.source for p in pairs], scheme=english_italian.SCHEME)
    for t, text in ((words, "a cat"), (shipped, pairs[0].source), (SubwordTokenizer.train(TEXTS, 50), TEXTS[0])):
        again = tokenizer_from_dict(json.loads(json.dumps(t.as_dict())))
        assert again.encode(text) == t.encode(text) and len(again) == len(t)
    with pytest.raises(ValueError, match="unknown kind of tokenizer: 'x'"):
        tokenizer_from_dict({"kind": "x"})
    with pytest.raises(ValueError, match="unknown word-splitting scheme: 'x'"):
        tokenizer_from_dict({"kind": "words", "scheme": "x", "words": ["a"]})


@pytest.mark.parametrize(
    "own", [{"split": list}, {"join": "".join}, {"normalize": str.lower}], ids=["split", "join", "normalize"]
)
def test_custom_functions_cannot_be_described(own: dict[str, Any]) -> None:
    """The restored tokenizer would produce different ids."""
    for scheme in ("spaces", "english_italian"):
        words = ["a", "cat"]
        t = WordTokenizer(words, SCHEMES[scheme])
        for same in (t, copy.deepcopy(t), pickle.loads(pickle.dumps(t))):
            assert same.as_dict()["scheme"] == scheme
        changed = WordTokenizer(words, SCHEMES[scheme]._replace(**own))
        with pytest.raises(ValueError, match="its scheme is not in SCHEMES"):
            changed.as_dict()


ENGLISH = ["two young men are outside .", "a little girl climbs"] * 5
GERMAN = ["zwei junge männer sind im freien .", "ein kleines mädchen klettert"] * 5


def test_subwords_of_a_pair_are_joint_or_separate() -> None:
    pytest.importorskip("tokenizers")
    pair = TokenizerPair.train(iter(ENGLISH), iter(GERMAN), 70)
    assert pair.joint and pair.source is pair.target and len(pair.source) == 70
    assert pair.target.decode(pair.target.encode(GERMAN[0])) == GERMAN[0]
    pair = TokenizerPair.train(ENGLISH, GERMAN, 26, joint=False)
    assert not pair.joint and len(pair.source) == len(pair.target) == 26
    assert pair.source.unknown("ä") == ["ä"] and pair.target.unknown("ä") == []
    assert pair.target.decode(pair.target.encode(GERMAN[1])) == GERMAN[1]


def test_pairs_are_restored_from_their_description() -> None:
    pytest.importorskip("tokenizers")
    words = WordTokenizer(["a", "cat"])
    for pair in (
        TokenizerPair.train(ENGLISH, GERMAN, 70),
        TokenizerPair.train(ENGLISH, GERMAN, 40, joint=False),
        TokenizerPair(words, words),
        TokenizerPair(words, WordTokenizer(["ein"])),
    ):
        again = tokenizer_pair_from_dict(json.loads(json.dumps(pair.as_dict())))
        assert again.joint == pair.joint and again.as_dict() == pair.as_dict()
        assert again.source.encode("a cat") == pair.source.encode("a cat")
    pair = tokenizer_pair_from_dict(words.as_dict())  # one tokenizer is a joint pair
    assert pair.joint and pair.source.encode("a cat") == [4, 5]
    with pytest.raises(ValueError, match="unknown kind of tokenizer: 'x'"):
        tokenizer_pair_from_dict({"kind": "pair", "source": {"kind": "x"}})
