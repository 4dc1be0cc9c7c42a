"""The lock of a run's folder."""

import multiprocessing
import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from minigrad.training import lock

WAYS = [pytest.param(lock._locked_itself, id="folder"), pytest.param(lock._locked_by_file, id="file")]


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock, "PATIENCE", 0.2)


@pytest.mark.parametrize("way", WAYS)
def test_one_at_a_time(tmp_path: Path, way: Any) -> None:
    """Windows locks a file in the folder; filelock does that here, too."""
    if way is lock._locked_by_file:
        pytest.importorskip("filelock", reason="filelock is not installed")
    with way(tmp_path), pytest.raises(BlockingIOError, match="another process is training"), way(tmp_path):
        pass
    with way(tmp_path):
        pass


def test_windows_without_filelock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock, "sys", SimpleNamespace(platform="win32"))
    monkeypatch.setitem(sys.modules, "filelock", None)
    with pytest.warns(UserWarning, match="is not locked.*install filelock"), lock.locked(tmp_path):
        assert not list(tmp_path.iterdir())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_forked_process_does_not_hold_it(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    end = context.Event()
    child = context.Process(target=end.wait)
    with lock.locked(tmp_path):
        child.start()
        with pytest.raises(BlockingIOError), lock.locked(tmp_path):
            pass
    try:
        with lock.locked(tmp_path):
            assert child.is_alive()
    finally:
        end.set()
        child.join()
    assert child.exitcode == 0
