"""The table of figures in README.md."""

from pathlib import Path

import pytest

from benchmarks import readme
from benchmarks.table import Table


def test_only_the_part_between_the_marks_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page, copy = readme.README.read_text(encoding="utf-8"), tmp_path / "README.md"
    copy.write_text(page, encoding="utf-8")
    monkeypatch.setattr(readme, "README", copy)
    monkeypatch.setattr(readme, "figures", lambda rounds, seconds: iter([("speed", "1.5", "python -m benchmarks")]))
    readme.write(1, 0.1)
    before, after = (text.partition(readme.BEGIN) for text in (page, copy.read_text(encoding="utf-8")))
    assert before[0] == after[0] and before[2].partition(readme.END)[2] == after[2].partition(readme.END)[2] != ""
    assert after[2].partition(readme.END)[0].endswith("| speed | 1.5 | `python -m benchmarks` |\n")


def test_extremes_of_a_column() -> None:
    table = Table("Times", ("step", "ratio"), ("", ".2f"))
    table.add("small", 0.5)
    table.add("large", 0.814)
    assert readme.extremes(table, "ratio") == "0.50 to 0.81"
