"""The measurement of a logit lens, on a tiny model."""

from __future__ import annotations

import pytest

from benchmarks.logit_lens import Sizes, main, measured

TINY = ["--tokens", "5", "--layers", "2", "--width", "8", "--vocabulary", "11"]


def test_a_row_of_figures(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(TINY) == 0
    assert "Logit lens" in capsys.readouterr().out
    (row,) = measured(Sizes(5, 2, 8, 11), browser=False).rows
    assert row[:4] == (5, 2, 8, 11) and row[-1] is None
    assert all(isinstance(cell, float) and cell > 0 for cell in row[4:7])
