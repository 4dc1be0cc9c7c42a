"""One object of a binary file object, which is left behind it: the formats say how long an object is.

A stream that cannot go back is read to the end of the object and no further, if minigrad or safetensors wrote it. The
records of PyTorch's archives do not begin with their lengths, and its older files have none: these are read with all
that follows, and a stream that can go back does.
"""

from __future__ import annotations

import json
import struct
from typing import Any

_MOST = 1 << 24  # bytes to read at once: a stream of a few bytes may name any length
_LEAST = 10  # bytes of any file of safetensors
_MOST_HEADER = 100_000_008  # bytes, the limit of safetensors
_LONG = 0xFFFFFFFF  # in place of a number that has a field of 64 bits


class Stream:
    """The bytes of the object at the position of a file object, ``data``, and perhaps those that follow.

    Raises:
        AttributeError: ``f`` cannot be read. TypeError: it gives text.
    """

    def __init__(self, f: Any) -> None:
        if not hasattr(f, "read"):
            raise AttributeError(
                f"load takes a path or a binary file object with a 'read' method, not a {type(f).__name__}"
            )
        self._file, self.data = f, bytearray()
        size = self._safetensors_size() or self._zip_size() or self._rest()
        self.leave(size)
        del self.data[size:]

    def leave(self, size: int) -> None:
        """Go back to the place behind the first bytes, if the file object can."""
        if size < len(self.data) and getattr(self._file, "seekable", lambda: hasattr(self._file, "seek"))():
            self._file.seek(size - len(self.data), 1)

    def _has(self, size: int) -> bool:
        """Whether there are so many bytes in all; they are read."""
        while (lacking := size - len(self.data)) > 0:
            part = self._file.read(min(lacking, _MOST))
            if isinstance(part, str):
                raise TypeError("load needs a file opened in binary mode: open(path, 'rb')")
            if not part:
                return False
            self.data += part
        return True

    def _numbers(self, form: str, position: int) -> tuple[int, ...]:
        """The numbers at a place. Raises EOFError."""
        if not self._has(position + struct.calcsize(form)):
            raise EOFError
        return struct.unpack_from(form, self.data, position)

    def _safetensors_size(self) -> int:
        """The length of a file of safetensors; 0 if it is none."""
        if not self._has(9) or self.data[8] != ord("{"):
            return 0
        begin = 8 + int.from_bytes(self.data[:8], "little")
        try:
            if begin > _MOST_HEADER or not self._has(begin):
                return 0
            header = json.loads(self.data[8:begin])
            spans = [entry["data_offsets"] for name, entry in header.items() if name != "__metadata__"]
            size = begin + max((int(end) for _, end in spans), default=0)
            return size if self._has(size) else 0
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError, OverflowError):
            return 0

    def _zip_size(self) -> int:
        """The length of a zip archive whose records say how long they are; 0 if it is none."""
        position = 0
        try:
            while True:
                self._numbers("<4s", position)
                mark, wide = bytes(self.data[position : position + 4]), False
                if mark == b"PK\x03\x04":
                    packed, _, name, extra = self._numbers("<2I2H", position + 18)
                    fields = position + 30 + name
                    wide = extra >= 12 and self._numbers("<H", fields)[0] == 1
                    packed = self._numbers("<4xQ", fields)[0] if wide and packed == _LONG else packed
                    position = fields + extra + packed
                    self._numbers("<4s", position)
                    if self.data[position : position + 4] == b"PK\x07\x08":  # the sizes once more
                        position += 24 if wide else 16
                elif mark == b"PK\x01\x02":
                    position += 46 + sum(self._numbers("<3H", position + 28))
                elif mark == b"PK\x06\x06":
                    position += 12 + self._numbers("<Q", position + 4)[0]
                elif mark == b"PK\x06\x07":
                    position += 20
                elif mark == b"PK\x05\x06":
                    return self._end_of_zip(position)
                else:
                    return 0
        except EOFError:
            return 0

    def _end_of_zip(self, position: int) -> int:
        """The length of a zip archive that begins at the first byte and has its end record here; 0 if it does not."""
        size, begin, comment = directory = self._numbers("<2IH", position + 12)
        end = position
        if self.data[position - 20 : position - 16] == b"PK\x06\x07":
            end = self._numbers("<Q", position - 12)[0]
            if end > position or self.data[end : end + 4] != b"PK\x06\x06":
                return 0
            size, begin = self._numbers("<2Q", end + 40)
        if directory[0] not in (size, _LONG) or directory[1] not in (begin, _LONG) or begin + size != end:
            return 0
        return position + 22 + comment if self._has(position + 22 + comment) else 0

    def _rest(self) -> int:
        """The length of all that follows the beginning of an archive or a pickle; an archive's end record says it."""
        if not self.data.startswith((b"P", b"\x80")):  # no object: enough to see that, as of a path
            self._has(_MOST if self.data.startswith(b"{") else _LEAST)
            return len(self.data)
        while self._has(len(self.data) + _MOST):
            pass
        end = -1
        while self.data[:4] == b"PK\x03\x04" and (end := self.data.find(b"PK\x05\x06", end + 1)) >= 0:
            if end + 22 <= len(self.data) and (size := self._end_of_zip(end)):
                return size
        return len(self.data)
