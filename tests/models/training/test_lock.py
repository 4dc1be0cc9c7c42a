"""The lock of a run's folder."""

import multiprocessing
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from minigrad_models.training import checkpoints
from tests.support.cases import raises


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoints, "PATIENCE", 0.2)


@pytest.mark.parametrize("windows", [False, True])
def test_one_training_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, windows: bool) -> None:
    """Windows locks a byte of a file in the folder; a fake of its module does the same here."""
    if windows and sys.platform != "win32":
        import fcntl

        def locking(handle: int, mode: int, count: int) -> None:
            try:
                fcntl.flock(handle, mode)
            except BlockingIOError as error:
                raise PermissionError(error.errno, "Permission denied") from error

        msvcrt = SimpleNamespace(locking=locking, LK_NBLCK=fcntl.LOCK_EX | fcntl.LOCK_NB)
        monkeypatch.setattr(checkpoints, "sys", SimpleNamespace(platform="win32"))
        monkeypatch.setitem(sys.modules, "msvcrt", msvcrt)  # type: ignore[arg-type]
    with checkpoints.locked(tmp_path):
        raises(BlockingIOError, "another process is training", lambda: checkpoints.locked(tmp_path).__enter__())
    with checkpoints.locked(tmp_path):
        assert [path.name for path in tmp_path.iterdir()] == [".lock"] * windows


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_forked_process_does_not_hold_the_lock(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    end = context.Event()
    child = context.Process(target=end.wait)
    with checkpoints.locked(tmp_path):
        child.start()
        with pytest.raises(BlockingIOError), checkpoints.locked(tmp_path):
            pass
    try:
        with checkpoints.locked(tmp_path):
            assert child.is_alive()
    finally:
        end.set()
        child.join()
    assert child.exitcode == 0
