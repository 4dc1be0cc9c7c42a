"""The lock of a run's folder."""

from __future__ import annotations

import multiprocessing
import os
from pathlib import Path

import pytest

from minigrad.training import lock


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_forked_process_does_not_hold_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock, "PATIENCE", 0.2)
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
