"""One process at a time in a folder. The lock ends with the process, even if that is killed.

Where folders can be locked (Linux, macOS) it is the system's own lock: training needs NumPy alone, and processes that
are forked meanwhile must not hold it. On Windows it is filelock's, of a file in the folder.
"""

from __future__ import annotations

import errno
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from minigrad.autograd.tracebacks import warn
from minigrad.backend.extras import how_to_install

PATIENCE = 5.0  # seconds: a killed training may take a little to end
FILE = ".lock"  # in the folder, where folders themselves cannot be locked
_handles: set[int] = set()  # of the folders that this process holds


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold a folder, if the system can lock one (some network file systems cannot, and Windows not without filelock,
    which is warned of). Raises BlockingIOError: another process, or another trainer of this one, holds it."""
    with _locked_by_file(folder) if sys.platform == "win32" else _locked_itself(folder):
        yield


# Linux and macOS --------------------------------------------------------------------------------------------


@contextmanager
def _locked_itself(folder: Path) -> Iterator[None]:
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
    if sys.platform in ("win32", "emscripten"):
        return  # a browser's tab has one process, and no locks
    import fcntl

    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError as error:
            if time.monotonic() >= deadline:
                raise _held(folder) from error
            time.sleep(0.1)
        except OSError:
            return  # a file system without locks


def _release() -> None:
    for handle in _handles:
        os.close(handle)
    _handles.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_release)

# Windows ----------------------------------------------------------------------------------------------------


@contextmanager
def _locked_by_file(folder: Path) -> Iterator[None]:
    try:
        import filelock
    except ImportError:
        warn(
            f"{folder} is not locked: two trainings in it at once would spoil each other's files. The lock needs "
            f"filelock: {how_to_install('translate', 'filelock')}"
        )
        yield
        return
    lock = filelock.FileLock(folder / FILE)
    try:
        lock.acquire(timeout=PATIENCE, poll_interval=0.1)
    except filelock.Timeout as error:
        raise _held(folder) from error
    try:
        yield
    finally:
        lock.release()


def _held(folder: Path) -> BlockingIOError:
    return BlockingIOError(
        errno.EWOULDBLOCK, f"another process is training in {folder}: wait for it, or use another folder"
    )
