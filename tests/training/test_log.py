"""The log: whole lines, cut where it is told, and never in the way."""

import errno
import os
from pathlib import Path

import pytest

from minigrad.training import log as module
from minigrad.training import read_log
from minigrad.training.log import Log
from tests.support.cases import raises


def test_it_goes_on_after_the_lines_that_count(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    with Log(path) as log:
        assert log.add({"step": 1, "evaluation": {"a": float("nan"), "b": 0.1}, "text": "più"}) is None
        assert log.lines == 1
    written = [{"step": 1, "evaluation": {"a": None, "b": 0.1}, "text": "più"}]
    assert read_log(path) == read_log(tmp_path) == written
    path.write_text('{"step": 1}\n{"step": 2}\n{"step": 3}\n{"st', encoding="utf-8")
    assert [line["step"] for line in read_log(path)] == [1, 2, 3], "one that is being written is left out"
    with Log(path, keep=2) as log:
        assert log.lines == 2
        log.add({"step": 4})
    assert [line["step"] for line in read_log(path)] == [1, 2, 4]
    with Log(path, keep=9) as log:
        assert log.lines == 3


def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half a line is taken back, and all that wait are written when there is room."""
    path = tmp_path / "log.jsonl"
    write = os.write

    def full(handle: int, data: bytes) -> int:
        if len(data) <= 3:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(handle, data[:-3])

    with Log(path) as log:
        log.add({"step": 1})
        monkeypatch.setattr(module.os, "write", full)
        for step in (2, 3):
            error = log.add({"step": step})
            assert error is not None and str(path) in str(error) and "No space left" in str(error)
            assert path.read_bytes() == b'{"step": 1}\n'
        monkeypatch.setattr(module.os, "write", write)
        assert log.add({"step": 4}) is None
        assert log.lines == 4
    assert [line["step"] for line in read_log(path)] == [1, 2, 3, 4]


def test_flush_writes_what_waits_or_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "log.jsonl"

    def full(handle: int, *data: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with Log(path) as log:
        for name in ("write", "ftruncate"):
            monkeypatch.setattr(module.os, name, full)
        assert log.add({"step": 1}) is not None and log.waiting
        raises(OSError, r"cannot write .*log\.jsonl: No space left", log.flush)
        monkeypatch.undo()
        monkeypatch.setattr(module.os, "fsync", full)
        raises(OSError, r"cannot write .*log\.jsonl: No space left", log.flush)
        assert log.waiting and read_log(path) == []
        monkeypatch.undo()
        log.flush()
        assert not log.waiting and read_log(path) == [{"step": 1}]


def test_what_is_no_log(tmp_path: Path) -> None:
    raises(FileNotFoundError, None, lambda: read_log(tmp_path))
    (tmp_path / "log.jsonl").write_text('{"step": 1}\nstep 2\n', encoding="utf-8")
    raises(ValueError, "line 2, is not JSON", lambda: read_log(tmp_path))
