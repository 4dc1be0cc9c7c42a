"""Before a training: the settings that suit pairs alone, and what is said of a corpus."""

from pathlib import Path
from typing import Any

import pytest

from minigrad_models.text import Pairs, TokenizerPair, WordTokenizer
from minigrad_models.translation.own_pairs import PAIRS, RECIPE, overview, sizes, suited
from minigrad_models.translation.translation_settings import preset


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A table of five hundred numbers, and a word that stands twice."""
    pytest.importorskip("tokenizers")
    rows = [f"{i}\tthe number {i}" for i in range(498)] + ["rare\trare", "rare\trare"]
    path = tmp_path / "pairs.tsv"
    path.write_text("\n".join(rows), encoding="utf-8")
    return path


def given(table: Path, **more: Any) -> dict[str, Any]:
    return {"data": (str(table),), "source": "source", "target": "target", **more}


def test_the_vocabulary_is_of_what_stands_often(table: Path) -> None:
    """Four special ids, ten digits, the letters, "the" and "number" and what they are merged from."""
    found = suited(given(table))
    assert found.data.split_digits and 25 < found.data.vocabulary < 45
    assert suited(given(table, vocabulary=77)).data.vocabulary == 77


def test_what_is_given_holds_and_the_rest_follows(table: Path) -> None:
    found = suited(given(table, steps=30, layers=1, tokenizer="words", split_digits=False))
    assert (found.training.steps, found.model.layers, found.data.tokenizer) == (30, 1, "words")
    assert 0 < found.training.warm_up < 30 and found.training.evaluate_every <= 30
    assert not found.data.split_digits
    with pytest.raises(FileNotFoundError, match="there is no"):
        suited(given(table.with_name("none.tsv")))


def test_more_pairs_take_more_updates_up_to_the_recipes() -> None:
    steps = [sizes(pairs, {})["steps"] for pairs in (20, 500, 5000, PAIRS, 10**7)]
    assert steps == sorted(steps) and steps[0] > 0
    assert steps[-2:] == [preset(RECIPE).training.steps] * 2


def test_the_sizes_fit_each_other_for_any_number_of_pairs_or_updates() -> None:
    for pairs in (1, 20, 500, 5000, 50_000):
        chosen = preset(RECIPE).changed(sizes(pairs, {}))
        assert 0 < chosen.training.warm_up < chosen.training.steps
        assert preset(RECIPE).from_dict(chosen.as_dict()) == chosen  # of the right types, as a file has them
        assert chosen.training.average * chosen.training.snapshot_every <= chosen.training.steps
    for steps in (1, 2, 9):
        schedule = preset(RECIPE).changed(sizes(100, {"steps": steps})).training.rate()
        assert 0 < schedule(0) <= 1


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
    assert parts == "153 pairs: 150 for training, 1 for validation, 2 for the test at the end"
    share = f"{2 / 7:.1%}"  # of a 7 b, a 777 uno, b
    wanted = f"words that only held-out pairs have: {share} of the words to read and 0.0% of the words to write; "
    assert new == wanted + "they are composed of pieces that it knows"
    assert few.startswith("note: so few pairs teach a rule")
    assert "unknown to the model" in said("words", train=TRAIN, **held_out)[2]


def test_advice_on_few_pairs() -> None:
    parts, few = said(train=TRAIN[:20])
    assert parts == "20 pairs, all for training: none is held out for a test"
    assert few.startswith("note: the model will learn so few pairs by heart")
    many = [(f"a {i % 9}", f"uno {i % 9}") for i in range(6000)]
    assert not [line for line in said(train=many) if "so few" in line]


def test_characters_that_no_pair_to_learn_from_has() -> None:
    found = said(train=TRAIN, test=[("a ß ñ", "uno")])
    assert found[1] == "note: only held-out pairs have ß, ñ, which the model cannot know"


def test_what_stands_twice() -> None:
    """Two copies of a pair, and one sentence with two translations besides."""
    found = said(train=[*TRAIN, *TRAIN[:2], ("a, 9 b", "nove")])
    assert found[1] == "note: another copy of 2 pairs was found; duplicates count twice"
    assert found[2].startswith("note: 1 sentence with several translations")
