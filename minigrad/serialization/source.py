"""Reads files through memory maps, replaces them atomically, and creates error messages about damaged files."""

from __future__ import annotations

import errno
import io
import math
import mmap
import os
import secrets
import stat
import struct
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from reprlib import Repr
from types import FunctionType
from typing import Any, BinaryIO

import numpy as np

from ..autograd.mode import at_end
from ..backend import dtype as dt

Ndarray = np.ndarray[Any, Any]
_LONGEST_PATH, _LONGEST_REASON = 200, 300  # maximum characters in a message
_LONGEST = 60  # maximum characters of a value in a message
# The errors that Python and NumPy raise for invalid data
DAMAGE = (ValueError, TypeError, LookupError, AttributeError, EOFError, OverflowError, RecursionError, struct.error)
_SCALARS = (bool, int, float, str, type(None), complex)
_REPR = Repr()
_REPR.maxstring = _REPR.maxother = _LONGEST
_REPR.maxlevel = 2
_MOST_AXES = 64  # NumPy's limit
PATIENCE = 2.0 if sys.platform == "win32" else 0.0  # seconds to wait for other programs to close a file


def short(value: Any) -> str:
    """Format a value for a message: a scalar or a name, truncated, or else the type, as printing may never end."""
    if isinstance(value, int) and value.bit_length() > 4 * _LONGEST:
        return f"a number of {value.bit_length():,} bits"
    if type(value) in _SCALARS:
        return _REPR.repr(value)
    if isinstance(value, (type, FunctionType)):
        return f"{value.__module__}.{value.__qualname__}"[:_LONGEST]
    return f"a {type(value).__name__}"


def reason(error: BaseException) -> str:
    """An error's text (truncated) for a message, or only its type if an argument is not a number or text."""
    is_plain = isinstance(error, UnicodeError) or all(type(part) in _SCALARS for part in error.args)
    text = str(error) if is_plain else ""
    return (text if len(text) <= _LONGEST_REASON else f"{text[:_LONGEST_REASON]}…") or type(error).__name__


def cause(error: BaseException) -> BaseException | None:
    """The error to raise another one from; None if its text may be huge."""
    return None if reason(error).endswith("…") or reason(error) == type(error).__name__ else error


_BLOCK = 1 << 22  # bytes to copy at once, so that little of a file is in memory twice


class EmptyFileError(EOFError, RuntimeError):
    """Raised for an empty file: an EOFError as in PyTorch, and a RuntimeError as for every damaged file."""


class Source:
    """The bytes of a file, or of the rest of a binary file object, in ``file`` and in ``data``, (n,) uint8. A file is
    mapped, and regions are copied; with ``mmap``, regions stay in the file, and changes to them stay in memory. Raises
    FileNotFoundError if the file does not exist; AttributeError if ``f`` is not a path or a file object; TypeError if
    it is in text mode; ValueError for ``mmap`` with a file object; EmptyFileError if the file is empty."""

    def __init__(self, f: Any, mmap: bool = False) -> None:
        self.mmap = mmap
        if isinstance(f, (str, os.PathLike)):
            self.path: str | None = os.fspath(f)
            self.name = self.path
            self.file: Any = _mapped(self.path)
        else:
            self.path, self.name = None, f"the {f.__class__.__name__}"
            if mmap:
                raise ValueError("f must be a file path in order to use the mmap argument")
            kind = type(f).__name__
            if not hasattr(f, "read"):
                raise AttributeError(f"load takes a path or a binary file object with 'read', not a {kind}")
            with suppress(AttributeError, OSError, ValueError):  # an in-memory file object does not have a descriptor
                mode = os.fstat(f.fileno()).st_mode
                if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):  # reading it may never end
                    raise RuntimeError(f"cannot load the {kind}: it is a device, not a tensor file.")
            content = f.read()
            if isinstance(content, str):
                raise TypeError("load needs a file opened in binary mode: open(path, 'rb')")
            self._f, self.file = f, io.BytesIO(content)
        whole = self.file.getbuffer() if isinstance(self.file, io.BytesIO) else self.file
        self.data = np.frombuffer(whole, np.uint8)
        self.size = int(self.data.size)
        if not self.size:
            repair = "restore it from a copy" if self.path else "seek(0) after writing it"
            raise EmptyFileError(f"cannot load {self.name}: it is empty. What to do: {repair}.")

    def start(self, count: int) -> bytes:
        return self.data[:count].tobytes()

    def region(self, begin: int, size: int) -> Ndarray:
        """A copy of ``size`` bytes, or a view for a file object or with ``mmap``. The caller must check the bounds."""
        end, copy = begin + size, np.empty(size, np.uint8)
        if size and (self.mmap or not self.path):
            return np.frombuffer(self.data[begin:end].data, np.uint8)
        for start in range(begin - begin % _BLOCK, end, _BLOCK):
            part = slice(max(start, begin), min(start + _BLOCK, end))
            copy[part.start - begin : part.stop - begin] = self.data[part]
            forget(self.file, start, _BLOCK)
        return copy

    def end(self, size: int) -> None:
        """Set a seekable file object's position to the end of the loaded object, which has ``size`` bytes."""
        if self.path is None and getattr(self._f, "seekable", lambda: False)():
            self._f.seek(size - self.size, io.SEEK_CUR)

    def damaged(self, fault: str, repair: str = "restore it from a copy") -> RuntimeError:
        """Create an error for this file, with the text "it <fault>" and a remedy."""
        return RuntimeError(f"cannot load {self.name}: it {fault}. What to do: {repair}.")

    def senseless(self, fault: str, error: BaseException, repair: str = "restore it from a copy") -> RuntimeError:
        """Like ``damaged``, with another error as the reason."""
        return self.damaged(f"{fault} ({reason(error)})", repair)


def forget(array: Any, *region: int) -> None:
    """Remove the mapped file of an array, or a region of it, from this process's memory, including changes. What is
    used again is read again."""
    while array is not None and not isinstance(array, mmap.mmap):
        array = array.obj if isinstance(array, memoryview) else getattr(array, "base", None)
    if sys.platform != "win32" and array is not None and hasattr(array, "madvise"):
        array.madvise(mmap.MADV_DONTNEED, *region)


def check_shape(shape: Any, itemsize: int) -> None:
    """Raise ValueError for a shape that no array can have."""
    if not isinstance(shape, (tuple, list)) or len(shape) > _MOST_AXES or not all(type(n) is int for n in shape):
        raise ValueError(f"a shape that is not a list of up to {_MOST_AXES} integers")
    if min(shape, default=0) < 0 or math.prod(max(n, 1) for n in shape) * itemsize > sys.maxsize:
        raise ValueError("a shape that no array can have")


def aligned(raw: Ndarray, kind: Any) -> Ndarray:
    """View bytes as numbers of a dtype. Unaligned bytes, which can occur in a mapped file, are copied."""
    kind = np.dtype(kind)
    return (raw.copy() if raw.ctypes.data % kind.alignment else raw).view(kind)


def from_halves(halves: Ndarray) -> Ndarray:
    """Convert the upper halves of float32 numbers, (n,) uint16, to bfloat16, or to float32 if ml_dtypes is missing."""
    if dt.bfloat16.is_available:
        return halves.astype(np.uint16, copy=False).view(dt.bfloat16.numpy)
    return (halves.astype(np.uint32) << 16).view(np.float32)


def opened(path: str | os.PathLike[str]) -> BinaryIO:
    """Open a file for reading. Raises OSError if that fails, even for a name that no file can have."""
    name = os.fspath(path)[:_LONGEST_PATH]
    try:
        return open(path, "rb")
    except ValueError:
        raise _nameless(name) from None
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            error.filename = name
        raise


def _nameless(path: str | bytes) -> OSError:
    """The error for a name that contains NUL or a lone surrogate."""
    return FileNotFoundError(errno.ENOENT, "No file can have that name", path[:_LONGEST_PATH])


def is_endless(path: str | os.PathLike[str]) -> bool:
    """Whether a path is a device, pipe or socket, which may be endless. Even opening a pipe may block forever."""
    return os.path.exists(path) and not (os.path.isfile(path) or os.path.isdir(path))


def _mapped(path: str) -> io.BytesIO | mmap.mmap:
    """Map a file into memory, unless it is empty."""
    if is_endless(path):
        raise RuntimeError(f"cannot load {path}: it is a device or a pipe. What to do: pass a file, or a file object.")
    with opened(path) as file:
        try:
            if not os.fstat(file.fileno()).st_size:  # including files in /proc, which report size 0
                return io.BytesIO()
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
        except OSError as error:  # for example, the file is larger than the address space
            raise OSError(error.errno, error.strerror, path) from None


def _put_in_place(temporary: str, target: str) -> None:
    """Rename a file to replace another. On Windows, this fails while a program (such as a virus scanner) uses it."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return os.replace(temporary, target)
        except PermissionError:
            if time.monotonic() >= deadline:
                raise
            time.sleep(0.05)


def _writable(path: Any) -> str:
    """The real path to write to. Raises OSError if no file can have that name, or if it cannot be replaced."""
    target = os.fsdecode(path)
    try:
        os.lstat(target)
    except ValueError:
        raise _nameless(target) from None
    except OSError as error:
        if not target or error.errno == errno.ENAMETOOLONG:
            error.filename = target[:_LONGEST_PATH]
            raise
    if os.path.isdir(target):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), target)
    if is_endless(target):
        raise OSError(errno.EINVAL, "A file cannot replace a device or a pipe", target)
    return os.path.realpath(target)


def _remove(folder: str) -> None:
    """Remove a folder of files if it exists. Unlike rmtree, this can be called again after an interrupt."""
    with suppress(OSError):
        for name in os.listdir(folder):
            os.remove(os.path.join(folder, name))
        os.rmdir(folder)


@contextmanager
def replaced(path: Any) -> Iterator[str]:
    """Create a temporary file that replaces ``path`` at the end, so that the old file survives a crash or a full disk.
    It is in a hidden folder next to ``path``, where the writer may also put other files. The folder and its contents
    are then removed. Raises an OSError that contains ``path``, even for an invalid name, a device or a pipe; or a
    RuntimeError, as in PyTorch, if the folder of ``path`` does not exist."""
    target = _writable(path)
    folder, name = os.path.split(target)
    if not os.path.isdir(folder):
        raise RuntimeError(f"Parent directory {folder} does not exist.")
    hidden = os.path.join(folder, f".{name[:100]}.{secrets.token_hex(4)}.tmp")
    with at_end(_remove, hidden) as end, end:
        try:
            os.mkdir(hidden)
            temporary = os.path.join(hidden, name)
            with open(temporary, "xb") as file:  # fails early for an invalid name; the umask determines the mode
                mode = os.stat(target if os.path.exists(target) else file.name).st_mode & 0o777
            yield temporary
            os.chmod(temporary, mode)
            with open(temporary, "rb+") as file:
                os.fsync(file.fileno())
            _put_in_place(temporary, target)
        except OSError as error:  # NumPy's errors lack an errno, and others contain the temporary path
            if error.filename is None or str(error.filename).startswith(hidden):
                raise OSError(error.errno or errno.EIO, error.strerror or str(error), os.fsdecode(path)) from error
            raise
    if os.name == "posix":  # writes the new name to disk as well
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
