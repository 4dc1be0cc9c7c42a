"""One process at a time in a folder: the lock ends with the process, however that ends."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PATIENCE = 5.0  # seconds: a killed training may take a little to be gone
_open: set[int] = set()  # handles of the folders that are held


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold a folder, where the system can lock one (not on Windows, nor on some network file systems).

    Processes that are forked meanwhile do not hold it.

    Raises:
        BlockingIOError: another process, or another trainer of this one, holds it.
    """
    if os.name != "posix":
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    _open.add(handle)
    try:
        _lock(handle, folder)
        yield
    finally:
        if handle in _open:  # else this is a forked process
            _open.remove(handle)
            os.close(handle)


def _lock(handle: int, folder: Path) -> None:
    import fcntl

    patience = time.monotonic() + PATIENCE
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError as error:
            if time.monotonic() >= patience:
                told = f"another process is training in {folder}: wait for it, or give another folder"
                raise BlockingIOError(errno.EWOULDBLOCK, told) from error
            time.sleep(0.1)
        except OSError:
            return  # a file system without locks


def _let_go() -> None:
    for handle in _open:
        os.close(handle)
    _open.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_let_go)
