"""The graphs at a small size: recorded, laid out, written and opened; and which bars are told as missed."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks import graph_page
from benchmarks.graph_page import Call, letters_of, main, measure, missed, table
from benchmarks.process import Failed, Missing
from minigrad.text.tokenizer import BOS, EOS, UNKNOWN

GOOD: dict[str, Any] = {
    "title": "small",
    "nodes": 7,
    "boxes": 5,
    "record": 1.0,
    "layout": 9.0,
    "write": 1.0,
    "megabytes": 4.9,
    "letters": 8.5,
    "clicks": 3,
    "memory": 100.0,
}


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    size = replace(graph_page.GPT2, width=16, heads=2, hidden=32, vocabulary=40, length=4)
    monkeypatch.setattr(graph_page, "GPT2", size)


def test_the_decoder(tmp_path: Path) -> None:
    file = tmp_path / "decoder.html"
    found = measure("minigrad", "decoder", str(file))
    assert file.stat().st_size == pytest.approx(1e6 * found["megabytes"])
    assert found["nodes"] > 300 and found["boxes"] <= 40 and found["clicks"] <= 3
    assert min(found[name] for name in ("record", "layout", "write", "letters")) > 0


def test_the_translator_is_the_one_of_the_example() -> None:
    call = graph_page.translator(None)
    assert isinstance(call, Call) and "not trained" in call.title
    source, target, smoothing = call.arguments
    assert UNKNOWN not in source and UNKNOWN not in target
    assert (source[0, -1], target[0, 0], target[0, -1], smoothing) == (EOS, BOS, EOS, 0.1)
    assert call.function(*call.arguments).item() > 1


@pytest.mark.parametrize("box", ["0.00 0.00 640.00 200.00", "-16.0 0 640 200"])
def test_letters(box: str) -> None:
    assert letters_of(f'<svg viewBox="{box}"><text font-size="11.00"/></svg>') == 22
    with pytest.raises(ValueError, match="size"):
        letters_of("<svg/>")


def test_a_page_is_opened_and_clicked_through(tmp_path: Path) -> None:
    pytest.importorskip("playwright")
    file = tmp_path / "decoder.html"
    found = measure("minigrad", "decoder", str(file))
    try:
        opened = graph_page.browse("minigrad", str(file))
    except Missing as missing:
        pytest.skip(str(missing))
    assert opened["drawn"] > 0 and opened["letters"] >= graph_page.LETTERS
    assert opened["clicks"] == found["clicks"]


def test_without_a_browser_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(Missing):
        graph_page.browse("minigrad", str(tmp_path / "a.html"))


@pytest.mark.parametrize(
    ("figure", "told"),
    [
        ({}, ""),
        ({"layout": 11.0}, "layout"),
        ({"megabytes": 5.1}, "megabytes"),
        ({"letters": 7.0}, "letters"),
        ({"clicks": 4}, "clicks"),
        ({"drawn": 12.0}, "drawn"),
        ({"drawn": 2.0}, ""),
    ],
)
def test_bars(figure: dict[str, float], told: str) -> None:
    answer = {**GOOD, **figure}
    assert [miss.split()[0] for miss in missed(answer)] == ([told] if told else [])
    assert (f"small: {told}" in table([answer]).text()) == bool(told)


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    asked: list[tuple[str, Any]] = []

    def answer(function: str, library: str, **given: Any) -> dict[str, Any]:
        asked.append((function.split(":")[1], given))
        return {"missing": "no Chromium"} if function.endswith("browse") else dict(GOOD)

    monkeypatch.setattr(graph_page, "ask", answer)
    assert main(["--browser", "--folder", str(tmp_path), "--run", "runs/toy"]) == 0
    assert [what for what, _ in asked] == ["measure", "browse"] * 2
    assert asked[0][1]["file"] == asked[1][1]["file"] == str(tmp_path.resolve() / "translator.html")
    assert Path(asked[0][1]["run"]).is_absolute()
    assert "no browser: no Chromium" in capsys.readouterr().out
    monkeypatch.setitem(GOOD, "clicks", 4)
    assert main([]) == 1
    assert "bar" in capsys.readouterr().out


def test_errors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def fails(function: str, library: str, **given: Any) -> dict[str, Any]:
        raise Failed("there is no model in runs/none")

    monkeypatch.setattr(graph_page, "ask", fails)
    assert main(["--run", "runs/none"]) == 1
    assert "no model in runs/none" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["--folder", str(tmp_path / "none")])
