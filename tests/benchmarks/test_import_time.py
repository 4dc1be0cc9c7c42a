"""The time of an import, with PyTorch and without."""

from __future__ import annotations

import importlib.util
from typing import Any

import pytest

from benchmarks import import_time


@pytest.mark.parametrize("torch", [False, True])
def test_table(torch: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    times = {"minigrad": (100.0, 120.0), "torch": (100.0, 1000.0)}
    found: Any = object() if torch else None
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: found)
    monkeypatch.setattr(import_time, "milliseconds", lambda module, compiled: times[module])
    rows = import_time.table(2).written()
    assert rows[:2] == [["numpy", "100.0", "1.00", "–"], ["minigrad", "120.0", "1.20", "1.4"]]
    assert rows[2:] == ([["torch", "1000.0", "10.00", "–"]] if torch else [])
