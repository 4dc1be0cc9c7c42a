"""One process at a time in a folder: the lock ends with the process, however that ends."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PATIENCE = 5.0  # seconds: worker processes of a killed training may live a little longer than it


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold a folder, where the system can lock one (not on Windows, nor on some network file systems).

    Raises:
        BlockingIOError: another process, or another trainer of this one, holds it.
    """
    if os.name != "posix":
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        _lock(handle, folder)
        yield
    finally:
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
