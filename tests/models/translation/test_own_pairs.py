"""Before training: settings for small corpora, and the overview of a corpus."""

from pathlib import Path
from typing import Any

import pytest

from minigrad_models.text import Pairs, TokenizerPair, WordTokenizer
from minigrad_models.translation.own_pairs import PAIRS, RECIPE, overview, sizes, suited
from minigrad_models.translation.translation_settings import preset


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A table of five hundred rows: numbers, and a word that occurs twice."""
    pytest.importorskip("tokenizers")
    rows = [f"{i}\tthe number {i}" for i in range(498)] + ["rare\trare", "rare\trare"]
    path = tmp_path / "pairs.tsv"
    path.write_text("\n".join(rows), encoding="utf-8")
    return path


def given(table: Path, **more: Any) -> dict[str, Any]:
    return {"data": (str(table),), "source": "source", "target": "target", **more}


def test_the_vocabulary_contains_frequent_text(table: Path) -> None:
    """Four special ids, ten digits, the letters, "the" and "number", and the pieces from which they are merged."""
    settings = suited(given(table))
    assert settings.data.split_digits and 25 < settings.data.vocabulary < 45
    assert suited(given(table, vocabulary=77)).data.vocabulary == 77


def test_given_settings_are_kept_and_others_are_derived(table: Path) -> None:
    settings = suited(given(table, steps=30, layers=1, tokenizer="words", split_digits=False))
    assert (settings.training.steps, settings.model.layers, settings.data.tokenizer) == (30, 1, "words")
    assert 0 < settings.training.warm_up < 30 and settings.training.evaluate_every <= 30
    assert not settings.data.split_digits
    with pytest.raises(FileNotFoundError, match="does not exist"):
        suited(given(table.with_name("none.tsv")))


def test_more_pairs_take_more_updates_up_to_the_recipe() -> None:
    steps = [sizes(pairs, {})["steps"] for pairs in (20, 500, 5000, PAIRS, 10**7)]
    assert steps == sorted(steps) and steps[0] > 0
    assert steps[-2:] == [preset(RECIPE).training.steps] * 2


def test_the_sizes_are_consistent_for_any_number_of_pairs_or_updates() -> None:
    for pairs in (1, 20, 500, 5000, 50_000):
        settings = preset(RECIPE).changed(sizes(pairs, {}))
        assert 0 < settings.training.warm_up < settings.training.steps
        assert preset(RECIPE).from_dict(settings.as_dict()) == settings  # the right types, as in a file
        assert settings.training.average * settings.training.snapshot_every <= settings.training.steps
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


def test_the_splits_and_the_new_words() -> None:
    """Punctuation and position do not matter; a word that occurs only in the other language's training text is new."""
    held_out = {"validation": [("a 7, b", "uno 7")], "test": [("a 777 uno", "uno 8"), ("b", "uno")]}
    parts, new, few = said(train=TRAIN, **held_out)
    assert parts == "153 pairs: 150 for training, 1 for validation, 2 for the test at the end"
    share = f"{2 / 7:.1%}"  # of a 7 b, a 777 uno, b
    words = f"words that occur only in held-out pairs: {share} of the words to read and 0.0% of the words to write; "
    assert new == words + "they are composed of known pieces"
    assert few.startswith("note: so few pairs can teach a rule")
    assert "unknown to the model" in said("words", train=TRAIN, **held_out)[2]


def test_advice_on_few_pairs() -> None:
    parts, few = said(train=TRAIN[:20])
    assert parts == "20 pairs, all for training: none is held out for a test"
    assert few.startswith("note: the model will memorise so few pairs")
    many = [(f"a {i % 9}", f"uno {i % 9}") for i in range(6000)]
    assert not [line for line in said(train=many) if "so few" in line]


def test_characters_that_are_not_in_the_training_pairs() -> None:
    output = said(train=TRAIN, test=[("a ß ñ", "uno")])
    assert output[1] == "note: only held-out pairs contain ß, ñ, which the model cannot learn"


def test_duplicate_pairs() -> None:
    """Two duplicate pairs, and one sentence with two translations."""
    output = said(train=[*TRAIN, *TRAIN[:2], ("a, 9 b", "nove")])
    assert output[1] == "note: found 2 duplicate pairs; each copy counts"
    assert output[2].startswith("note: 1 sentence with several translations")
