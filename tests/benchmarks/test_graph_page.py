"""The graphs at a small size: recorded, laid out, written and opened; and which bars are told as missed."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks import graph_page
from benchmarks.graph_page import measure, missed, table
from benchmarks.process import Missing

GOOD: dict[str, Any] = {"title": "small", "nodes": 7, "boxes": 5, "record": 1.0, "layout": 9.0, "write": 1.0}
GOOD |= {"megabytes": 4.9, "letters": 8.5, "clicks": 3, "memory": 100.0}


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    size = replace(graph_page.GPT2, width=16, heads=2, hidden=32, vocabulary=40, length=4)
    monkeypatch.setattr(graph_page, "GPT2", size)


def test_the_decoder_is_measured_opened_and_clicked_through(tmp_path: Path) -> None:
    file = tmp_path / "decoder.html"
    figures = measure("minigrad", "decoder", str(file))
    assert file.stat().st_size == pytest.approx(1e6 * figures["megabytes"])
    assert figures["nodes"] > 300 and figures["boxes"] <= 40 and figures["clicks"] <= 3
    assert min(figures[name] for name in ("record", "layout", "write", "letters")) > 0
    pytest.importorskip("playwright")
    try:
        opened = graph_page.browse("minigrad", str(file))
    except Missing as missing:
        pytest.skip(str(missing))
    assert opened["drawn"] > 0 and opened["letters"] >= graph_page.LETTERS
    assert opened["clicks"] == figures["clicks"]


def test_bars() -> None:
    over = {"layout": 11.0, "megabytes": 5.1, "letters": 7.0, "clicks": 4, "drawn": 12.0}
    for name, figure in over.items():
        assert [miss.split()[0] for miss in missed({**GOOD, name: figure})] == [name]
        assert f"small: {name}" in table([{**GOOD, name: figure}]).text()
    assert missed({**GOOD, "drawn": 2.0}) == []
