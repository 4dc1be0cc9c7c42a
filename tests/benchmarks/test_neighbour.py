"""Steps beside a busy process: that it is busy, and what the table makes of the times."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks import neighbour, steps


def test_steps_are_timed_in_both_states() -> None:
    found = neighbour.train("minigrad", "tiny", 0.001)
    assert len(found["quiet"]) == len(found["busy"]) == neighbour.TURNS * steps.LEAST
    assert min(found["quiet"] + found["busy"]) > 0


def test_table(monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(function: str, library: str, **arguments: Any) -> dict[str, Any]:
        if library == "torch":
            return {"missing": "not installed"}
        return {"quiet": [1.0, 2.0, 9.0], "busy": [3.0, 50.0, 3.0]}

    monkeypatch.setattr(neighbour, "ask", answer)
    (row,) = neighbour.table(["small"], rounds=2, seconds=1.0).written()
    assert row[1:] == ["2.0", "3.0", "1.50", "2.2", "–", "–", "–"]
