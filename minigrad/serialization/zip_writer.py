"""The zip archives that PyTorch reads: records without compression, whose bytes begin at multiples of 64.

The layout is that of PyTorch's own writer, which its loader may compute instead of reading: padding in a field "FB" of
the record's header, and the sizes once more behind its bytes. Here the header has the sizes, too, so that a reader
finds the end of the archive in a stream. (PKWARE, .ZIP File Format Specification 6.3.10.)
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from typing import Any

ALIGNMENT = 64
_FOLDER = b"archive/"
_LONG = 0xFFFFFFFF  # in place of a number that has a field of 64 bits
_MOST = _LONG  # numbers from here on have such a field
_UTF8, _SIZES_FOLLOW = 0x0800, 0x0008


class ZipWriter:
    """Writes records one after another by ``write``, and the directory by ``close``. It never goes back."""

    def __init__(self, write: Callable[[Any], object]) -> None:
        self._write, self._position = write, 0
        self._directory: list[bytes] = []

    def _put(self, data: Any) -> None:
        self._write(data)
        self._position += len(data)

    def add(self, name: str, data: Any) -> None:
        """Write a record: bytes, or a memoryview of bytes."""
        path, size, begin = _FOLDER + name.encode(), len(data), self._position
        long = [number for number in (size, size, begin) if number >= _MOST]
        extra = struct.pack(f"<2H{len(long)}Q", 1, 8 * len(long), *long) if long else b""
        padding = -(begin + 30 + len(path) + len(extra) + 4) % ALIGNMENT
        checksum, sizes = zlib.crc32(data), [_short(size)] * 2
        common = struct.pack("<5H3IH", 0, _UTF8 | _SIZES_FOLLOW, 0, 0, 0, checksum, *sizes, len(path))
        filling = b"FB" + struct.pack("<H", padding) + b"Z" * padding
        self._put(b"PK\x03\x04" + common + struct.pack("<H", len(extra) + len(filling)) + path + extra + filling)
        if size:
            self._put(data)
            self._put(struct.pack("<4sI2Q" if long else "<4s3I", b"PK\x07\x08", checksum, size, size))
        tail = struct.pack("<4H2I", len(extra), 0, 0, 0, 0, _short(begin))
        self._directory.append(b"PK\x01\x02\x00\x00" + common + tail + path + extra)

    def close(self) -> None:
        """Write the directory of the records."""
        begin, count = self._position, len(self._directory)
        for entry in self._directory:
            self._put(entry)
        end, size = self._position, self._position - begin
        self._put(struct.pack("<4sQ2H2I4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, count, count, size, begin))
        self._put(struct.pack("<4sIQI", b"PK\x06\x07", 0, end, 1))
        few = min(count, 0xFFFF)
        self._put(struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, few, few, _short(size), _short(begin), 0))


def _short(number: int) -> int:
    return number if number < _MOST else _LONG
