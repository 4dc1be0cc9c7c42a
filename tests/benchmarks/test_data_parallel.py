"""Threads against processes: a measurement at a small size, and the table."""

from __future__ import annotations

import os

import pytest

from benchmarks import data_parallel


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.parametrize("processes", [1, 2])
def test_a_measurement(processes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data_parallel, "VOCABULARY", 50)
    found = data_parallel.measure("minigrad", processes, accumulate=2, tokens=32, updates=3)
    assert found["ms"] > 0


def test_the_table(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    asked = []

    def answer(function: str, library: str, **given: int) -> dict[str, float]:
        asked.append((given["ranks"], given["accumulate"]))
        return {"ms": 200.0 if given["ranks"] == 1 else 150.0}

    monkeypatch.setattr(data_parallel, "ask", answer)
    assert data_parallel.main(["--rounds", "1", "--ranks", "2"]) == 0
    assert asked == [(1, 2), (2, 2)] * len(data_parallel.TOKENS)
    assert "0.75" in capsys.readouterr().out
