"""Jobs for several libraries: results agree, differences are detected, and the tables show the speeds."""

from typing import Any

import pytest

from benchmarks import compare, decoding, hugging_face
from benchmarks.process import Differ
from tests.support.hugging_face import minilm, needs_transformers

DECODED = {"work": "tiny", "batch": 3, "tokens": 5}
TINY = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 64}
GPT = {"n_embd": 32, "n_layer": 1, "n_head": 2, "n_positions": 32, "vocab_size": 1000}
CASES = {
    "encoder": hugging_face.Case("BertModel", TINY, (2, 5), 0.8),
    "text": hugging_face.Case("GPT2LMHeadModel", GPT, (1, 4), 0.9, 6),
    "training": hugging_face.Case("GPT2LMHeadModel", GPT, (2, 8), 1.0, training=True),
}


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


@needs_transformers
def test_models_of_transformers() -> None:
    written = hugging_face.table(1, 0.01, CASES).written()
    assert [row[0] for row in written if row[1] == "minigrad"] == list(CASES)
    assert [row[4] for row in written if row[1] == "minigrad"] == ["0.80", "0.90", "1.00"]
    assert all(row[3] == row[6] == row[8] == "1.00" for row in written if row[1] == "torch")
    assert all(float(row[8]) < 1 for row in written if row[1] == "minigrad")  # peak memory


@needs_transformers
def test_pytorch_makes_the_same_vectors() -> None:
    minilm()
    answers = {name: compare.results(name, "sentences", number=7, batch=3) for name in ("minigrad", "torch")}
    compare.agree("sentences", answers, 1e-5)


def test_different_results_are_detected() -> None:
    first: dict[str, Any] = {"vectors": [[0.5, 0.25]]}
    compare.agree("sentences", {"minigrad": {"missing": "no weights"}, "torch": {"missing": "no weights"}})
    compare.agree("sentences", {"minigrad": first, "torch": {"vectors": [[0.5, 0.250001]]}}, 1e-5)
    for other in ([[0.5, 0.2501]], [[0.5]], [[0.5, float("nan")]]):
        with pytest.raises(Differ, match="sentences, vectors: minigrad and torch"):
            compare.agree("sentences", {"minigrad": first, "torch": {"vectors": other}}, 1e-5)


def test_jobs_are_timed() -> None:
    assert compare.times("minigrad", "decoding", 0.001, **DECODED)["greedy"] > 0


def test_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    milliseconds = {"minigrad": 10.0, "without cache": 40.0, "torch": 20.0}
    missing: list[str] = []

    def answer(function: str, library: str, module: str, **work: Any) -> dict[str, Any]:
        if library in missing:
            return {"missing": "not installed"}
        return {"greedy": [[1]] if function.endswith("results") else milliseconds[library]}

    monkeypatch.setattr(compare, "ask", answer)
    rows = decoding.table(rounds=1, seconds=1.0, work="tiny", tokens=10).written()
    assert rows[0] == ["greedy", "1", "1,000", "250", "500", "2.00", "1.5"]
    assert rows[1][:3] == ["greedy", "32", "32,000"]
    missing.append("torch")
    assert decoding.table(1, 1.0, "tiny", 10).written()[0] == ["greedy", "1", "1,000", "250", "–", "–", "1.5"]
