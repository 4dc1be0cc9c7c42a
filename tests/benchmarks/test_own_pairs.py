"""The measurement of small corpora: its requests are correct, and it reports the actual translations."""

from pathlib import Path

import pytest

from benchmarks import own_pairs

for extra in ("tokenizers", "sacrebleu", "tqdm"):
    pytest.importorskip(extra)
SMALL = ("--layers", "1", "--d-model", "16", "--d-ff", "16", "--heads", "2", "--steps", "4", "--ranks", "1")


def test_a_measurement(tmp_path: Path) -> None:
    """With an untrained model, both tables are complete, and they share no pair."""
    held_out, others, minutes, _ = own_pairs.measure("numbers", 200, 3, tmp_path, SMALL)
    lines = [set((tmp_path / name).read_text().splitlines()) for name in ("numbers.tsv", "numbers-others.tsv")]
    assert [len(part) for part in lines] == [200, 500] and not lines[0] & lines[1]
    assert 0 <= held_out <= 30 and 0 <= others <= 30 and minutes > 0


def test_five_hundred_pairs_teach_the_numbers(tmp_path: Path) -> None:
    """One command without options spells out 95 of 100 unseen numbers correctly."""
    held_out, others, *_ = own_pairs.measure("numbers", 500, 0, tmp_path)
    assert held_out >= 95 and others >= 95
