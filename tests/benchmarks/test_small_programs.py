"""Small programs of measurements, each at a small size, and their tables."""

import importlib.util
import os
import sys
from typing import Any

import numpy as np
import pytest

from benchmarks import data_parallel, drawing, embeddings, first_run, import_time, logit_lens, neighbour, size
from benchmarks.drawing import DRAW, IMPORT, NOTHING, Worker
from benchmarks.process import Failed
from benchmarks.steps import LEAST
from examples.embeddings.text import shipped


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.parametrize("processes", [1, 2])
def test_a_measurement_of_data_parallel(processes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data_parallel, "VOCABULARY", 50)
    found = data_parallel.measure("minigrad", processes, accumulate=2, tokens=32, updates=3)
    assert found["ms"] > 0


TINY_DRAWING = {"rows": 2, "layers": 1, "d_model": 8, "heads": 2, "d_ff": 16}


def test_a_measurement_of_drawing() -> None:
    with Worker(**TINY_DRAWING) as worker:
        assert min(worker.ask("step")) > 0
        assert min(worker.ask(IMPORT)) > 0
        with pytest.raises(Failed, match="asked for 'imported viz'"):
            worker.ask(IMPORT)  # a second time


def test_table_of_drawing() -> None:
    """In one round of three drawing cost a tenth."""
    nothing = drawing.Round([10.0] * 4, [10.0] * 4, np.ones((4, 2)))
    slower = drawing.Round([10.0] * 4, [20.0] * 4, np.array([[1, 1], [1, 1], [1, 1], [1.1, 1.05]]))
    rows = drawing.table([nothing, slower, nothing]).written()
    same = ["10.0", "10.0", "1.000", "1.000–1.000", "1.000", "1.000–1.000"]
    assert rows == [
        [NOTHING, *same, "–"],
        [IMPORT, *same, "1.0"],
        [DRAW, "10.0", "10.0", "1.000", "1.000–1.100", "1.000", "1.000–1.050", "1.0"],
    ]


def test_both_read_the_same_words() -> None:
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
        assert "minigrad | " in printed and "gensim | " in printed


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


@pytest.mark.parametrize("torch", [False, True])
def test_table_of_import_time(torch: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    times = {"minigrad": (100.0, 120.0), "torch": (100.0, 1000.0)}
    found: Any = object() if torch else None
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: found)
    monkeypatch.setattr(import_time, "milliseconds", lambda module, compiled: times[module])
    rows = import_time.table(2).written()
    assert rows[:2] == [["numpy", "100.0", "1.00", "–"], ["minigrad", "120.0", "1.20", "1.4"]]
    assert rows[2:] == ([["torch", "1000.0", "10.00", "–"]] if torch else [])


TINY_LOGIT_LENS = ["--tokens", "5", "--layers", "2", "--width", "8", "--vocabulary", "11"]


def test_a_row_of_figures(capsys: pytest.CaptureFixture[str]) -> None:
    assert logit_lens.main(TINY_LOGIT_LENS) == 0
    assert "Logit lens" in capsys.readouterr().out
    (row,) = logit_lens.measured(logit_lens.Sizes(5, 2, 8, 11), browser=False).rows
    assert row[:4] == (5, 2, 8, 11) and row[-1] is None
    assert all(isinstance(cell, float) and cell > 0 for cell in row[4:7])


def test_steps_are_timed_in_both_states() -> None:
    found = neighbour.train("minigrad", "tiny", 0.001)
    assert len(found["quiet"]) == len(found["busy"]) == neighbour.TURNS * LEAST
    assert min(found["quiet"] + found["busy"]) > 0


def test_minigrad_needs_two_packages() -> None:
    sizes = size.everything("minigrad")
    assert sorted(sizes) == ["minigrad", "numpy", "safetensors"]
    assert 0.5 * 2**20 < sizes["minigrad"] < 5 * 2**20


def test_what_is_not_there_has_no_size(monkeypatch: pytest.MonkeyPatch) -> None:
    assert size.installed("no-such-package") is None
    assert size.everything("no-such-package") == {}
    monkeypatch.setattr(size, "everything", lambda name: {"minigrad": 2**21} if name == "minigrad" else {})
    assert size.table().written() == [
        ["minigrad", "2.00", "2.0", "1.0", "nothing"],
        ["torch", "not installed", "–", "–", ""],
    ]
