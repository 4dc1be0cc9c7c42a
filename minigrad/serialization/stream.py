"""One object of a binary file object, which is left behind it: the formats say how long an object is.

A stream that cannot go back is read to the end of the object and no further, if minigrad or safetensors wrote it. The
records of PyTorch's archives do not begin with their lengths, and its older files have none: these are read with all
that follows, and a stream that can go back does.
"""

from __future__ import annotations

import io
import json
import re
import struct
from typing import Any

_MOST = 1 << 24  # bytes to read at once: a stream of a few bytes may name any length
_LEAST = 10  # bytes of any file of safetensors
_MOST_HEADER = 100_000_008  # bytes, the limit of safetensors
_LONG = 0xFFFFFFFF  # in place of a number that has a field of 64 bits


class Stream:
    """The object at the position of a file object, and perhaps what follows, in memory: ``file``.

    Raises:
        AttributeError: ``f`` cannot be read. TypeError: it gives text.
    """

    def __init__(self, f: Any) -> None:
        if not hasattr(f, "read"):
            raise AttributeError(f"load takes a path or a binary file object with 'read', not a {type(f).__name__}")
        self._source, self.file, self._count = f, io.BytesIO(), 0
        size = self._safetensors_size() or self._zip_size() or self._rest()
        self.leave(size)
        self.file.truncate(size)
        self._count = min(size, self._count)

    def leave(self, size: int) -> None:
        """Go back to the place behind the first bytes, if the file object can."""
        if size < self._count and getattr(self._source, "seekable", lambda: hasattr(self._source, "seek"))():
            self._source.seek(size - self._count, 1)

    def _has(self, size: int) -> bool:
        """Whether there are so many bytes in all; they are read."""
        while (lacking := size - self._count) > 0:
            part = self._source.read(min(lacking, _MOST))
            if isinstance(part, str):
                raise TypeError("load needs a file opened in binary mode: open(path, 'rb')")
            if not part:
                return False
            self._count += self.file.write(part)
        return True

    def _bytes(self, begin: int, end: int) -> bytes:
        """The bytes at a place. Raises EOFError if there are fewer."""
        if not self._has(end):
            raise EOFError
        return self.file.getbuffer()[begin:end].tobytes()

    def _numbers(self, form: str, position: int) -> tuple[int, ...]:
        return struct.unpack(form, self._bytes(position, position + struct.calcsize(form)))

    def _safetensors_size(self) -> int:
        """The length of a file of safetensors; 0 if it is none."""
        try:
            if self._bytes(8, 9) != b"{":
                return 0
            begin = 8 + int.from_bytes(self._bytes(0, 8), "little")
            header: Any = json.loads(self._bytes(8, begin)) if begin <= _MOST_HEADER else None
            spans = [entry["data_offsets"] for name, entry in header.items() if name != "__metadata__"]
            size = begin + max((int(end) for _, end in spans), default=0)
            return size if self._has(size) else 0
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError, OverflowError, EOFError):
            return 0

    def _zip_size(self) -> int:
        """The length of a zip archive whose records say how long they are; 0 if it is none."""
        position = 0
        try:
            while True:
                mark, wide = self._bytes(position, position + 4), False
                if mark == b"PK\x03\x04":
                    packed, _, name, extra = self._numbers("<2I2H", position + 18)
                    fields = position + 30 + name
                    wide = extra >= 12 and self._numbers("<H", fields)[0] == 1
                    packed = self._numbers("<4xQ", fields)[0] if wide and packed == _LONG else packed
                    position = fields + extra + packed
                    if self._bytes(position, position + 4) == b"PK\x07\x08":  # the sizes once more
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
        if self._bytes(position - 20, position - 16) == b"PK\x06\x07":
            end = self._numbers("<Q", position - 12)[0]
            if end > position or self._bytes(end, end + 4) != b"PK\x06\x06":
                return 0
            size, begin = self._numbers("<2Q", end + 40)
        if directory[0] not in (size, _LONG) or directory[1] not in (begin, _LONG) or begin + size != end:
            return 0
        return position + 22 + comment if self._has(position + 22 + comment) else 0

    def _rest(self) -> int:
        """The length of all that follows the beginning of an archive or a pickle; an archive's end record says it."""
        start = self.file.getvalue()[:4]
        if not start.startswith((b"P", b"\x80")):  # no object: enough to see that, as of a path
            self._has(_MOST if start.startswith(b"{") else _LEAST)
            return self._count
        while self._has(self._count + _MOST):
            pass
        for end in re.finditer(rb"PK\x05\x06", self.file.getbuffer()) if start == b"PK\x03\x04" else ():
            if end.end() + 18 <= self._count and (size := self._end_of_zip(end.start())):
                return size
        return self._count
