"""Files are replaced in one step, also where another program has them open for a moment."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from minigrad.serialization import source


class Busy:
    """``os.replace`` on Windows, while another program reads the file."""

    def __init__(self, times: int) -> None:
        self.left, self.replace = times, os.replace

    def __call__(self, temporary: str, target: str) -> None:
        self.left -= 1
        if self.left >= 0:
            raise PermissionError(13, "Access is denied", target)
        self.replace(temporary, target)


def write(path: Path, text: str) -> None:
    with source.replaced(path) as temporary:
        Path(temporary).write_text(text, encoding="utf-8")


def test_a_file_that_is_open_for_a_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "weights"
    write(path, "old")
    monkeypatch.setattr(source, "PATIENCE", 60.0)
    monkeypatch.setattr(source.time, "sleep", lambda seconds: None)
    monkeypatch.setattr(os, "replace", Busy(2))
    write(path, "new")
    assert path.read_text(encoding="utf-8") == "new"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_stays_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "weights"
    write(path, "old")
    monkeypatch.setattr(source, "PATIENCE", 0.0)
    monkeypatch.setattr(os, "replace", Busy(9))
    with pytest.raises(PermissionError):
        write(path, "new")
    assert path.read_text(encoding="utf-8") == "old"
    assert list(tmp_path.iterdir()) == [path]
