"""Batches are reproducible and contain every pair."""

from pathlib import Path
from typing import Any

import pytest

from minigrad_models.text import Pairs
from minigrad_models.text.tokenizer import PAD
from minigrad_models.translation import translation_data as data
from minigrad_models.translation.translation_data import Batch, PairBatches
from minigrad_models.translation.translation_settings import Settings, preset
from minigrad_models.translation.translator import configuration

pytest.importorskip("tokenizers")
WORDS = ["alpha", "beta", "gamma", "delta", "epsilon", "longer", "longest", "words"]
TRAIN = Pairs(
    [" ".join(WORDS[(i * k) % 8] for k in range(1, 2 + i % 5)) for i in range(60)],
    [" ".join(WORDS[(i + k) % 8] for k in range(1, 2 + i % 4)) for i in range(60)],
)


def made() -> PairBatches:
    settings = Settings().changed({"vocabulary": 40, "batch_tokens": 60, "data": ("x",)})
    tokenizers = data.tokenizers_for(TRAIN, settings.data)
    return PairBatches(data.encode(TRAIN, tokenizers, settings), settings.training)


def lists(batch: Batch) -> list[Any]:
    return [x.tolist() for x in batch[:2]]


def test_an_epoch_has_each_pair_once_and_can_be_resumed_anywhere() -> None:
    batches, other = made(), made()
    whole = [lists(b) for b in batches.epoch(3)]
    assert len(whole) > 3
    assert [lists(b) for b in other.epoch(3, 2)] == whole[2:]
    assert [lists(b) for b in batches.epoch(4)] != whole
    pairs = [pair for batch in batches.epoch(0) for pair in rows(batch)]
    encoded = [batches.encoded[i] for i in range(60)]
    assert sorted((a, b) for a, b in pairs) == sorted((list(a), list(b)) for a, b in encoded)


def test_other_sentences_are_another_training() -> None:
    settings = Settings().changed({"data": ("x",)})
    digests = [
        str(configuration(settings, Pairs(source, target))["the text of the corpus"])
        for source in (["a", "b"], ["ab", ""], ["b", "a"])
        for target in (["c", "d"], ["d", "c"])
    ]
    assert len(set(digests)) == 6
    assert configuration(preset("toy"), Pairs(["a"], ["b"]))["the text of the corpus"] == []  # the shipped one


def rows(batch: Batch) -> list[tuple[list[int], list[int]]]:
    """Its pairs, without padding."""
    sides = ([[t for t in row if t != PAD] for row in side] for side in lists(batch)[:2])
    return list(zip(*sides, strict=True))


@pytest.mark.parametrize("table", [True, False])
def test_only_the_first_pairs(tmp_path: Path, table: bool) -> None:
    """The validation and test splits are unchanged."""
    lines = [f"{word} {i}" for i in range(40) for word in WORDS]
    lines[3] = ""
    if table:
        (tmp_path / "c.tsv").write_text("\n".join(f"{a}\t{a.upper()}" for a in lines), encoding="utf-8")
    for split, count in (("train", 200), ("val", 50), ("test", 60)):
        for language in () if table else ("en", "de"):
            path = tmp_path / f"{split}.{language}"
            path.write_text("\n".join(lines[:count]), encoding="utf-8")
    settings = Settings().changed({"data": (str(tmp_path / "c.tsv" if table else tmp_path),)})
    whole = data.read(settings.data)
    few = data.read(settings.changed({"pairs": 7}).data)
    assert list(few["train"].source) == list(whole["train"].source)[:7]
    assert list(few["train"].target) == list(whole["train"].target)[:7] and few["train"].skipped == 1
    for split in ("validation", "test"):
        assert list(few[split].source) == list(whole[split].source) != []
    with pytest.raises(ValueError, match="no sentence pairs"):
        data.read(Settings().data)
    many = data.read(settings.changed({"pairs": 10**6}).data)
    assert list(many["train"].source) == list(whole["train"].source)


def held_out(sources: list[str], most: int = 1000) -> dict[str, Pairs]:
    return data.hold_out(Pairs(sources, [source.upper() for source in sources]), most)


def test_a_twentieth_each_is_held_out() -> None:
    splits = held_out([f"s{i}" for i in range(500)])
    assert {name: len(pairs.source) for name, pairs in splits.items()} == {"train": 450, "validation": 25, "test": 25}
    assert sorted(source for pairs in splits.values() for source in pairs.source) == sorted(f"s{i}" for i in range(500))
    assert all(b == a.upper() for pairs in splits.values() for a, b in zip(pairs.source, pairs.target, strict=True))
    assert held_out([f"s{i}" for i in range(500)]) == splits
    assert len(held_out([f"s{i}" for i in range(500)], most=3)["test"].source) == 3
    assert list(held_out([f"s{i}" for i in range(99)])) == ["train"]


def test_no_held_out_sentence_is_learned() -> None:
    for copies in (2, 5):
        splits = held_out([f"s{i}" for i in range(200)] * copies)
        train, validation, test = (set(splits[name].source) for name in ("train", "validation", "test"))
        assert validation and test and not (train & validation or train & test or validation & test)
        assert len(splits["train"].source) == copies * len(train)
    assert list(held_out(["Thank you."] * 300)) == ["train"]
    splits = held_out(["Thank you."] * 300 + [f"s{i}" for i in range(100)])
    assert splits["train"].source.count("Thank you.") == 300 and len(splits["test"].source) == 20
