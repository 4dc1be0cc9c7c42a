"""Ranks that share a step: the tables, an error if ranks end with different weights, and small measurements."""

import pytest

from benchmarks import ranks
from benchmarks.process import Differ, Failed, Missing
from tests.support.cases import raises


@pytest.mark.parametrize("mode", ["together", "shared", "apart"])
def test_ranks_must_end_with_the_same_weights(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """If weights differ, gradients were not averaged; only independent ranks may differ. The slowest rank counts."""
    answers = [{"rank": r, "ms": 3.0 + r, "weights": 1.0 + r} for r in range(2)]
    monkeypatch.setattr(ranks, "ask_ranks", lambda *args, **arguments: answers)
    if mode == "apart":
        assert ranks.measure(mode, "tiny", 2, 1.0) == {"ms": 4.0}
    else:
        raises(Differ, "the ranks' weights differ", lambda: ranks.measure(mode, "tiny", 2, 1.0))


def test_a_rank_that_is_unavailable_or_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    for answers, kind in (([{"missing": "not installed"}], Missing), ([{"rank": 0}], Failed)):
        monkeypatch.setattr(ranks, "answers_of", lambda *_, answers=answers: answers)
        raises(kind, "not installed|1 of 2", lambda: ranks.ask_ranks(2, "train"))


def test_the_program(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """On two MPI ranks at the smallest size: weights are equal, sums are correct, and both tables are printed."""
    pytest.importorskip("mpi4py")
    monkeypatch.setattr(ranks, "REDUCED", {"4 B": 4, "4 KiB": 4096})
    assert ranks.main(["--work", "tiny-gpt", "--rounds", "1", "--seconds", "0.01"]) == 0
    rows = [line.split("|")[1:3] for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
    times = {name.strip(): time.strip() for name, time in rows}
    assert all(float(times[name]) > 0 for name in ("tiny-gpt: decoder-only 2 × 8, T 4", "4 B", "4 KiB"))
