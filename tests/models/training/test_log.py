"""The log: whole lines, truncation, full disks, and invalid files."""

import os
from pathlib import Path

import pytest

from minigrad_models.training import checkpoints as module, read_log
from minigrad_models.training.checkpoints import Log
from tests.support.cases import raises


def test_it_continues_after_the_valid_lines(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    with Log(path) as log:
        log.add({"step": 1, "evaluation": {"a": float("nan"), "b": 0.1}, "text": "più"})
        assert log.lines == 1
    entries = [{"step": 1, "evaluation": {"a": None, "b": 0.1}, "text": "più"}]
    assert read_log(path) == read_log(tmp_path) == entries
    path.write_text('{"step": 1}\n{"step": 2}\n{"step": 3}\n{"st', encoding="utf-8")
    assert [line["step"] for line in read_log(path)] == [1, 2, 3], "one that is being written is left out"
    with Log(path, keep=2) as log:
        assert log.lines == 2
        log.add({"step": 4})
    assert [line["step"] for line in read_log(path)] == [1, 2, 4]
    with Log(path, keep=9) as log:
        assert log.lines == 3


def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A partly written line does not count: the next one replaces it."""
    path = tmp_path / "log.jsonl"
    write = os.write
    with Log(path) as log:
        log.add({"step": 1})
        monkeypatch.setattr(module.os, "write", lambda handle, data: write(handle, data[:3]))
        raises(OSError, r"cannot write .*log\.jsonl: No space left", lambda: log.add({"step": 2}))
        monkeypatch.undo()
        log.add({"step": 3})
        assert log.lines == 2
    assert [line["step"] for line in read_log(path)] == [1, 3]


def test_invalid_logs(tmp_path: Path) -> None:
    raises(FileNotFoundError, None, lambda: read_log(tmp_path))
    (tmp_path / "log.jsonl").write_text('{"step": 1}\nstep 2\n', encoding="utf-8")
    raises(ValueError, "line 2, is not JSON", lambda: read_log(tmp_path))
