"""Jobs for several libraries: results agree, differences are detected, and the tables show the speeds."""

from typing import Any

import pytest

from benchmarks import compare, decoding, generation
from benchmarks.process import Differ
from tests.support.hugging_face import minilm, needs_transformers

SIZE = generation.TINY
DECODED = {"work": "tiny", "batch": 3, "tokens": 5}
WRITTEN = {"sizes": list(SIZE), "batch": 3}
RANDOM = [way for way, options in generation.WAYS.items() if options]


def test_the_cache_changes_nothing() -> None:
    answers = {name: compare.results(name, "decoding", **DECODED) for name in ("minigrad", "without cache")}
    compare.agree("decoding", answers)
    tokens = answers["minigrad"]["greedy"]
    assert [len(row) for row in tokens] == [5, 5, 5]  # no sentence has ended
    assert len({token for row in tokens for token in row}) > 1


def test_pytorch_decodes_the_same() -> None:
    pytest.importorskip("torch")
    answers = {name: compare.results(name, "decoding", **DECODED) for name in decoding.LIBRARIES}
    compare.agree("decoding", answers)


def test_our_texts() -> None:
    texts = compare.results("minigrad", "generation", **WRITTEN)
    assert all([len(row) for row in rows] == [SIZE.tokens] * 3 for rows in texts.values())
    assert len({token for row in texts["greedy"] for token in row}) > 3


@needs_transformers
def test_transformers_writes_the_same() -> None:
    answers = {name: compare.results(name, "generation", **WRITTEN) for name in generation.LIBRARIES}
    compare.agree("generation", answers, random=RANDOM)


@needs_transformers
def test_pytorch_makes_the_same_vectors() -> None:
    minilm()
    answers = {name: compare.results(name, "sentences", number=7, batch=3) for name in ("minigrad", "torch")}
    compare.agree("sentences", answers, 1e-5)


def test_different_results_are_detected() -> None:
    first: dict[str, Any] = {"vectors": [[0.5, 0.25]]}
    compare.agree("sentences", {"minigrad": {"missing": "no weights"}, "torch": {"missing": "no weights"}})
    compare.agree("sentences", {"minigrad": first, "torch": {"vectors": [[0.5, 0.250001]]}}, 1e-5)
    compare.agree("sentences", {"minigrad": first, "torch": {"vectors": [[0.0, 0.0]]}}, random=["vectors"])
    for other in ([[0.5, 0.2501]], [[0.5]], [[0.5, float("nan")]]):
        with pytest.raises(Differ, match="sentences, vectors: minigrad and torch"):
            compare.agree("sentences", {"minigrad": first, "torch": {"vectors": other}}, 1e-5)


def test_jobs_are_timed() -> None:
    assert compare.times("minigrad", "decoding", 0.001, **DECODED)["greedy"] > 0


def test_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    milliseconds = {"minigrad": 10.0, "without cache": 40.0, "torch": 20.0, "transformers": 20.0}
    missing: list[str] = []

    def answer(function: str, library: str, module: str, **work: Any) -> dict[str, Any]:
        if library in missing:
            return {"missing": "not installed"}
        jobs = ("greedy",) if module == "decoding" else generation.WAYS
        return dict.fromkeys(jobs, [[1]] if function.endswith("results") else milliseconds[library])

    monkeypatch.setattr(compare, "ask", answer)
    rows = decoding.table(rounds=1, seconds=1.0, work="tiny", tokens=10).written()
    assert rows[0] == ["greedy", "1", "1,000", "250", "500", "2.00", "1.5"]
    assert rows[1][:3] == ["greedy", "32", "32,000"]
    rows = generation.table(1, 1.0, (SIZE,)).written()
    assert rows[0] == ["greedy", "40", "1", "600", "300", "2.00", "1.5"]
    assert [row[2:4] for row in rows] == [["1", "600"]] * 3 + [["8", "4,800"]] * 3
    missing.append("transformers")
    assert generation.table(1, 1.0, (SIZE,)).written()[0] == ["greedy", "40", "1", "600", "–", "–", "1.5"]
