"""Ops on tiny tensors: both libraries return the same result for one op and for a chain."""

from typing import Any

import pytest

from benchmarks import overhead, steps
from benchmarks.process import Differ


def test_single_calls_and_chains_match_pytorch() -> None:
    pytest.importorskip("torch")
    ours, theirs = (overhead.check(library)["results"] for library in overhead.BOTH)
    for op in overhead.OPS:
        for a, b in zip(ours[op.name], theirs[op.name], strict=True):
            steps.same(op.name, {"minigrad": a, "torch": b})


def test_every_op_is_timed() -> None:
    results = overhead.measure("minigrad", 1e-6)["results"]
    assert list(results) == [op.name for op in overhead.OPS]
    assert all(0 < time < 1e6 for times in results.values() for time in times)


def test_table(monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(function: str, library: str, **arguments: Any) -> dict[str, Any]:
        return {"results": {op.name: [1.0 if library == "minigrad" else 2.0] * 3 for op in overhead.OPS}}

    monkeypatch.setattr(overhead, "ask", answer)
    with pytest.raises(Differ, match="add on small tensors"):
        overhead.table(rounds=1, seconds=1.0)
