"""Texts that stay on disk: the lines of a file as a sequence, of which memory holds the offsets alone."""

from __future__ import annotations

import codecs
import gzip
import hashlib
import os
import tempfile
import weakref
import zlib
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any, overload

import numpy as np

from minigrad.serialization.source import is_endless, opened

BLOCK = 1 << 20  # bytes to read at once when lines are read one after another
_MOST_UNPACKED, _MOST_RATIO = 1 << 26, 50  # bytes of any archive, and for each byte of it; text has 3 to 10


class Texts(Sequence[str]):
    """Strings by number, read on demand; equal to any other sequence of the same strings."""

    @abstractmethod
    def at(self, index: int) -> str:
        """The text with a number between 0 and the length."""

    @property
    @abstractmethod
    def digest(self) -> str:
        """A checksum of all texts, known without reading them."""

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return [self.at(i) for i in range(*index.indices(len(self)))]
        if not -len(self) <= index < len(self):
            raise IndexError(f"there is no text {index} of {len(self)}")
        return self.at(index % len(self))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]  # as for a list


class Lines(Texts):
    """The lines of a UTF-8 file, gzipped or not, without their ends, line feeds, carriage returns before these, and a
    byte-order mark. One pass checks the file and finds the offsets of lines, 8 bytes each. An archive is copied into a
    temporary file, which goes with this object. The file must not change. Raises ValueError: a device or a pipe; bytes
    that are not UTF-8, or NUL, with their line; a damaged archive; or, later, a shorter file; OSError: the file cannot
    be read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        if is_endless(path):
            raise ValueError(f"{path} is a device or a pipe, not a file, which can be read more than once")
        self._file = _unpacked(path) if path.suffix == ".gz" else opened(path)
        weakref.finalize(self, self._file.close)
        try:
            if not os.fstat(self._file.fileno()).st_size and self._file.read(1):
                raise ValueError(f"{path} has no size, and may have no end: copy it to a file")
            self._starts, self._digest = _scan(self._file)
        except UnicodeError:
            self._file.seek(0)
            for number, raw in enumerate(self._file, 1):
                if wrong := fault(raw):
                    advice = "Save it as UTF-8 in an editor or spreadsheet"
                    raise ValueError(f"{path}, line {number}: {wrong}. {advice}") from None
            raise ValueError(f"{path}: not UTF-8") from None
        except OSError as error:  # of /proc
            raise OSError(error.errno, error.strerror, str(path)) from None

    def __len__(self) -> int:
        return len(self._starts) - 1

    def at(self, index: int) -> str:
        return self._bytes(index, index + 1).decode().rstrip("\r\n")

    def __iter__(self) -> Iterator[str]:
        start = 0
        while start < len(self):
            block = int(np.searchsorted(self._starts, self._starts[start] + BLOCK, side="right")) - 1
            end = min(max(block, start + 1), len(self))
            lines = self._bytes(start, end).decode().split("\n")  # splitlines() splits at other characters, too
            yield from (line.rstrip("\r") for line in lines[: end - start])
            start = end

    @property
    def digest(self) -> str:
        return self._digest

    def _bytes(self, start: int, end: int) -> bytes:
        first, last = int(self._starts[start]), int(self._starts[end])
        if hasattr(os, "pread"):  # which leaves the file's position, shared by forks and threads, as it is
            data = os.pread(self._file.fileno(), last - first, first)
        else:
            self._file.seek(first)
            data = self._file.read(last - first)
        if len(data) != last - first:
            raise ValueError(f"{self.path} has become shorter since it was opened")
        return data


def _unpacked(path: Path) -> IO[bytes]:
    """A temporary file with the content of an archive."""
    try:
        with ExitStack() as on_error, opened(path) as packed, gzip.open(packed) as archive:
            file: IO[bytes] = on_error.enter_context(tempfile.TemporaryFile())
            most = _MOST_UNPACKED + _MOST_RATIO * os.fstat(packed.fileno()).st_size
            while block := archive.read(BLOCK):
                file.write(block)
                if file.tell() > most:
                    raise ValueError(f"{path} unpacks to more than {most >> 20} MiB: if it is no bomb, gunzip it first")
            file.flush()
            on_error.pop_all()
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ValueError(f"{path}: not a whole gzip file ({error})") from None
    except OSError as error:
        raise OSError(f"{path} cannot be unpacked into {tempfile.gettempdir()}: {error}") from error
    return file


def _scan(file: IO[bytes]) -> tuple[np.ndarray[Any, np.dtype[np.int64]], str]:
    """The offsets of all lines, and of the end, (lines + 1,) int64; and a checksum of the file."""
    file.seek(0)
    marked = file.read(len(codecs.BOM_UTF8)) == codecs.BOM_UTF8
    starts = [np.array([len(codecs.BOM_UTF8) if marked else 0], np.int64)]
    file.seek(0)
    checksum = hashlib.blake2b(digest_size=16)
    decoder = codecs.getincrementaldecoder("utf-8")()
    size = 0
    while block := file.read(BLOCK):
        checksum.update(block)
        decoder.decode(block)
        if b"\0" in block:
            raise UnicodeError("NUL")
        starts.append(np.flatnonzero(np.frombuffer(block, np.uint8) == ord("\n")) + (size + 1))
        size += len(block)
    decoder.decode(b"", final=True)
    offsets = np.concatenate(starts)
    if offsets[-1] < size:  # the last line has no line feed
        offsets = np.append(offsets, size)
    return offsets, checksum.hexdigest()


def fault(line: bytes) -> str:
    """Why a line is no text: bytes that are not UTF-8, or NUL; "" if it is text."""
    try:
        line.decode()
    except UnicodeDecodeError as error:
        return f"not UTF-8 (byte {line[error.start]:#04x} at {error.start})"
    return f"not text (NUL, the byte 0x00, at {line.index(0)})" if 0 in line else ""
