"""Decoding with the cache, without, and on PyTorch gives the same tokens; other tokens are noticed."""

from typing import Any

import pytest

from benchmarks import decoding, process

WORK = {"work": "tiny", "batch": 3, "tokens": 5}


def test_the_cache_changes_nothing() -> None:
    answers = {name: decoding.check(name, **WORK) for name in ("minigrad", "without cache")}
    decoding.agree(answers)
    tokens = answers["minigrad"]["greedy"]
    assert [len(row) for row in tokens] == [5, 5, 5]  # no sentence has ended
    assert len({token for row in tokens for token in row}) > 1


def test_pytorch_decodes_the_same() -> None:
    pytest.importorskip("torch")
    decoding.agree({name: decoding.check(name, **WORK) for name in decoding.LIBRARIES})


def test_table(monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(function: str, library: str, **arguments: Any) -> dict[str, Any]:
        if function.endswith("check"):
            return {"greedy": [[1]], "beam": [[1]]}
        return dict.fromkeys(decoding.WAYS, {"minigrad": 10.0, "without cache": 40.0, "torch": 20.0}[library])

    monkeypatch.setattr(process, "ask", answer)
    written = decoding.table(rounds=1, seconds=1.0, work="tiny", tokens=10).written()
    assert written[0] == ["greedy", "1", "1,000", "250", "500", "2.00", "1.5"]
    assert written[1] == ["beam of 4", "1", "1,000", "250", "500", "2.00", "–"]
    assert [row[1:3] for row in written[2:]] == [["32", "32,000"]] * 2
