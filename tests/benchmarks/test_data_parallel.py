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
