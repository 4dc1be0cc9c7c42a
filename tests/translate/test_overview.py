"""What is said of a corpus before a training."""

from __future__ import annotations

import pytest

from minigrad.text import Pairs, TokenizerPair, WordTokenizer
from minigrad.translate.overview import overview


def said(tokens: str = "subwords", /, **splits: list[tuple[str, str]]) -> list[str]:
    pairs = {name: Pairs([a for a, _ in rows], [b for _, b in rows]) for name, rows in splits.items()}
    train = pairs["train"]
    if tokens == "words":
        words = WordTokenizer.train([*train.source, *train.target])
        return list(overview(pairs, TokenizerPair(words, words)))
    pytest.importorskip("tokenizers")
    with pytest.warns(UserWarning, match="the texts give"):
        return list(overview(pairs, TokenizerPair.train(train.source, train.target, 200)))


TRAIN = [(f"a, {i} b", f"uno {i}") for i in range(150)]


def test_the_parts_and_the_words_that_are_new() -> None:
    """Marks and places do not count; a word that stands in the training's other language is new all the same."""
    held_out = {"validation": [("a 7, b", "uno 7")], "test": [("a 777 uno", "uno 8"), ("b", "uno")]}
    parts, new, few = said(train=TRAIN, **held_out)
    assert parts == "153 pairs: 150 to learn from, 1 to watch the training with, 2 to test with at the end"
    share = f"{2 / 7:.1%}"  # of a 7 b, a 777 uno, b
    wanted = f"words that only the pairs held out have: {share} of those to read and 0.0% of those to write; they are "
    assert new == wanted + "put together from pieces that it knows"
    assert few.startswith("note: so few pairs teach a rule")
    assert "unknown to the model" in said("words", train=TRAIN, **held_out)[2]


def test_advice_on_few_pairs() -> None:
    parts, few = said(train=TRAIN[:20])
    assert parts == "20 pairs, all to learn from: none is held out to test with"
    assert few.startswith("note: so few pairs are learned by heart")
    many = [(f"a {i % 9}", f"uno {i % 9}") for i in range(6000)]
    assert not [line for line in said(train=many) if "so few" in line]


def test_characters_that_no_pair_to_learn_from_has() -> None:
    found = said(train=TRAIN, test=[("a ß ñ", "uno")])
    assert found[1] == "note: only pairs that are held out have ß, ñ, which the model cannot know"


def test_what_stands_twice() -> None:
    """Two copies of a pair, and one sentence with two translations besides."""
    found = said(train=[*TRAIN, *TRAIN[:2], ("a, 9 b", "nove")])
    assert found[1] == "note: another copy of 2 pairs was found; what stands twice counts twice"
    assert found[2].startswith("note: 1 sentence with several translations")
