"""One process at a time in a folder. The lock ends with the process, even if that is killed.

It is the system's own, not filelock's: training needs NumPy alone, and processes that are forked meanwhile must
not hold it.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PATIENCE = 5.0  # seconds: a killed training may take a little to end
_handles: set[int] = set()  # of the folders that this process holds


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold a folder, if the system can lock one (Windows and some network file systems cannot). Raises BlockingIOError:
    another process, or another trainer of this one, holds it."""
    if os.name != "posix":
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    _handles.add(handle)
    try:
        _lock(handle, folder)
        yield
    finally:
        if handle in _handles:  # else this is a forked process
            _handles.remove(handle)
            os.close(handle)


def _lock(handle: int, folder: Path) -> None:
    import fcntl

    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError as error:
            if time.monotonic() >= deadline:
                message = f"another process is training in {folder}: wait for it, or use another folder"
                raise BlockingIOError(errno.EWOULDBLOCK, message) from error
            time.sleep(0.1)
        except OSError:
            return  # a file system without locks


def _release() -> None:
    for handle in _handles:
        os.close(handle)
    _handles.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_release)
