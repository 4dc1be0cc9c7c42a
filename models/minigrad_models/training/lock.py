"""One process at a time in a folder. The lock is the system's own: it ends with the process, even if that is killed."""

from __future__ import annotations

import errno
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PATIENCE = 5.0  # seconds: a killed training may take a little to end
_handles: set[int] = set()  # that this process has opened to lock


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold a folder, if its file system has locks (some of networks have none). Raises BlockingIOError: another process
    holds it, or another trainer of this one."""
    windows = sys.platform == "win32"  # it locks no folders
    handle = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT) if windows else os.open(folder, os.O_RDONLY)
    _handles.add(handle)
    try:
        deadline = time.monotonic() + PATIENCE
        while not _lock(handle):
            if time.monotonic() >= deadline:
                advice = "wait for it, or use another folder"
                raise BlockingIOError(errno.EWOULDBLOCK, f"another process is training in {folder}: {advice}")
            time.sleep(0.1)
        yield
    finally:
        if handle in _handles:  # else this is a forked process
            _handles.remove(handle)
            os.close(handle)


def _lock(handle: int) -> bool:
    """Whether nobody else holds it. A browser's tab has one process, and no locks."""
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        elif sys.platform != "emscripten":
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    except OSError:
        pass  # a file system without locks
    return True


def _release() -> None:
    """Let a forked process hold nothing of its parent's."""
    for handle in _handles:
        os.close(handle)
    _handles.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_release)
