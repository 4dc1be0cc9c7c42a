"""The settings of a training that was given nothing but pairs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from minigrad.programs.updates import schedule_of
from minigrad.translate.settings import preset
from minigrad.translate.suited import PAIRS, RECIPE, sizes, suited


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
        schedule = schedule_of(preset(RECIPE).changed(sizes(100, {"steps": steps})).training)
        assert 0 < schedule(0) <= 1
