"""The progress bar: on stderr, after a while, and only where tqdm is."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from minigrad.utils.bar import bar, watched


def test_it_is_on_stderr_and_only_after_its_delay(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("tqdm", reason="tqdm draws the bar: pip install tqdm")
    with bar(3, "reading", " lines", delay=0) as shown:
        shown.update(3)
    with bar(3, "waiting", " lines") as late:
        late.update(3)
    out, error = capsys.readouterr()
    assert out == "" and "reading" in error and "waiting" not in error


def test_it_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    with bar(3, "reading", " lines", shown=False) as shown:
        assert shown is None
    monkeypatch.setitem(sys.modules, "tqdm", None)
    with bar(3, "reading", " lines") as shown:
        assert shown is None


def test_what_takes_long_is_watched(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("tqdm")
    asked: list[dict[str, Any]] = []
    monkeypatch.setattr("tqdm.tqdm", lambda items, **options: asked.append(options) or items)
    assert list(watched([1, 2], "counting")) == [1, 2]
    assert asked == [{"desc": "counting", "leave": False, "delay": 2, "disable": None}]
    monkeypatch.setitem(sys.modules, "tqdm", None)
    assert list(watched([1, 2], "counting")) == [1, 2] and len(asked) == 1
