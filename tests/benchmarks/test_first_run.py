"""The table of the wait for compiled kernels: each is asked for in a process of its own."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks import first_run


def test_the_first_process_waits_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: set[tuple[str, str]] = set()

    def ask(function: str, library: str, cache: str, unit: str) -> dict[str, Any]:
        assert (function, library) == ("benchmarks.first_run:load", "minigrad")
        new = (cache, unit) not in seen
        seen.add((cache, unit))
        return {"seconds": 9.0 if new else 0.1}

    monkeypatch.setattr(first_run, "ask", ask)
    table = first_run.table(3)
    assert [row[1:3] for row in table.rows] == [(9.0, 0.1)] * 3
    assert len({cache for cache, _ in seen}) == 1 and not table.notes
