"""The lines of a file, plain or compressed, as texts that are known to be whole."""

from __future__ import annotations

import codecs
import gzip
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from minigrad.serialization.source import is_endless, opened

LONGEST = 1 << 26  # bytes of a line
_MOST_UNPACKED, _MOST_RATIO = 1 << 26, 50  # bytes of any archive, and for each byte of it; text has 3 to 10


def read_lines(path: Path) -> Iterator[str]:
    """The lines of a UTF-8 file, gzipped or not, without their ends, line feeds, carriage returns before these, and a
    byte-order mark. Raises ValueError: a device or a pipe; bytes that are not UTF-8, or NUL, with their line; a damaged
    archive; OSError: the file cannot be read."""
    if is_endless(path):
        raise ValueError(f"{path} is a device or a pipe, not a file, which can be read more than once")
    with opened(path) as plain:
        size, most = os.fstat(plain.fileno()).st_size, 1 << 63
        file: BinaryIO | gzip.GzipFile = plain
        if path.suffix == ".gz":
            file, most = gzip.GzipFile(fileobj=plain), _MOST_UNPACKED + _MOST_RATIO * size
        number = total = 0
        try:
            while line := file.readline(LONGEST):
                if not size:
                    raise ValueError(f"{path} has no size, and may have no end: copy it to a file")
                number, total = number + 1, total + len(line)
                if total > most:
                    raise ValueError(f"{path} unpacks to more than {most >> 20} MiB: if it is no bomb, gunzip it first")
                if len(line) == LONGEST:
                    raise ValueError(f"{path}, line {number} has more than {LONGEST >> 20} MiB")
                yield decoded(line.removesuffix(b"\n"), number, str(path))
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise ValueError(f"{path}: not a whole gzip file ({error})") from None
        except OSError as error:  # of /proc
            raise OSError(error.errno, error.strerror, str(path)) from None


def decoded(line: bytes, number: int, where: str) -> str:
    """A line as text. Raises ValueError: bytes that are not UTF-8, or NUL."""
    try:
        text = line.removeprefix(codecs.BOM_UTF8 if number == 1 else b"").decode()
        wrong = f"not text (NUL, the byte 0x00, at {line.index(0)})" if 0 in line else ""
    except UnicodeDecodeError as error:
        wrong = f"not UTF-8 (byte {error.object[error.start]:#04x} at {error.start})"
    if wrong:
        raise ValueError(f"{where}, line {number}: {wrong}. Save it as UTF-8 in an editor or spreadsheet")
    return text.rstrip("\r")
