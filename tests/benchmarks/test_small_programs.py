"""Small benchmark programs at small sizes, and their tables."""

import importlib.util
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import embeddings, learning, pages, serving, size, start
from benchmarks.process import Missing
from examples.embeddings.text import shipped


def test_both_libraries_read_the_same_words() -> None:
    corpus = shipped("english", 200)
    texts = embeddings.sentences(corpus)
    assert len(texts) == 200 and sum(map(len, texts)) == corpus.size
    assert [corpus.words[i] for i in corpus.ids[: len(texts[0])]] == texts[0]


def test_a_small_run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(embeddings, "shipped", lambda language: shipped(language, 2000))
    if importlib.util.find_spec("gensim") is None:
        monkeypatch.setitem(sys.modules, "gensim", None)
        assert embeddings.main(["--epochs", "1"]) == 1
        assert "gensim is not installed" in capsys.readouterr().err
    else:
        assert embeddings.main(["--epochs", "1"]) == 0
        printed = capsys.readouterr().out
        assert "| minigrad |" in printed and "| gensim " in printed


def test_the_first_process_waits_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    measurements: set[tuple[str, str]] = set()

    def ask(function: str, library: str, cache: str, unit: str) -> dict[str, Any]:
        assert (function, library) == ("benchmarks.start:load", "minigrad")
        new = (cache, unit) not in measurements
        measurements.add((cache, unit))
        return {"seconds": 9.0 if new else 0.1}

    monkeypatch.setattr(start, "ask", ask)
    table = start.kernels(3)
    assert [row[1:3] for row in table.rows] == [(9.0, 0.1)] * 3
    assert len({cache for cache, _ in measurements}) == 1 and not table.notes


@pytest.mark.parametrize("torch", [False, True])
def test_table_of_import_time(torch: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    times = {"minigrad": (100.0, 120.0), "torch": (100.0, 1000.0)}
    spec: Any = object() if torch else None
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: spec)
    monkeypatch.setattr(start, "milliseconds", lambda module, compiled: times[module])
    rows = start.imports(2).written()
    assert rows[:2] == [["numpy", "100.0", "1.00", "–"], ["minigrad", "120.0", "1.20", "1.4"]]
    assert rows[2:] == ([["torch", "1000.0", "10.00", "–"]] if torch else [])


@pytest.mark.parametrize("page", ["decoder", "lens"])
def test_a_page_is_measured_and_opened(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    size = replace(pages.GPT2, layers=2, width=16, heads=2, hidden=32, vocabulary=40, length=4)
    monkeypatch.setattr(pages, "GPT2", size)
    monkeypatch.setattr(pages, "TOKENS", 5)
    file = tmp_path / "page.html"
    figures = pages.measure("minigrad", page, str(file))
    assert file.stat().st_size == pytest.approx(1e6 * figures["MB"])
    assert min(figures[name] for name in ("recorded s", "written s")) > 0
    if page == "decoder":
        assert figures["nodes"] > 50 and figures["boxes at first"] <= 40 and figures["clicks"] <= 3
    try:
        assert pages.browse("minigrad", page, str(file))["in Chromium s"] > 0
    except Missing as missing:
        pytest.skip(str(missing))


def test_a_model_learns_with_both_libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same losses, as the model has no dropout."""
    monkeypatch.delenv("MINIGRAD_DATA", raising=False)
    ours = learning.train("minigrad", "tiny-gpt", 120, 8)
    assert len(ours["losses"]) == learning.TIMES and ours["losses"][-1] < ours["losses"][0] - 0.1
    try:
        theirs = learning.train("torch", "tiny-gpt", 120, 8)
    except Missing as missing:
        pytest.skip(str(missing))
    np.testing.assert_allclose(ours["losses"], theirs["losses"], rtol=1e-3)


def test_clients_of_the_service() -> None:
    try:
        figures = serving.load("minigrad", 1.0, 8)
    except Missing as missing:
        pytest.skip(str(missing))
    assert figures["faults"] == 0 and figures["rate"] > 1 and 0 < figures["p50"] <= figures["p99"]


def test_minigrad_needs_only_numpy() -> None:
    sizes = size.everything("minigrad")
    assert sorted(sizes) == ["minigrad", "numpy"]
    assert 0.5 * 2**20 < sizes["minigrad"] < 5 * 2**20


def test_a_missing_package_has_no_size(monkeypatch: pytest.MonkeyPatch) -> None:
    assert size.installed("no-such-package") is None
    assert size.everything("no-such-package") == {}
    monkeypatch.setattr(size, "everything", lambda name: {"minigrad": 2**21} if name == "minigrad" else {})
    assert size.table().written() == [
        ["minigrad", "2.00", "2.0", "1.0", "nothing"],
        ["torch", "not installed", "–", "–", ""],
    ]
