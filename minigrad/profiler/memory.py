"""How many bytes are in use, asked at the beginning and end of every event.

NumPy takes the memory of arrays from the C library, and glibc tells how much it has given out: asking takes a
microsecond and slows nothing else. Python's own small objects are not in that figure, as Python keeps them in
memory of its own. Where there is no glibc, ``tracemalloc`` counts: NumPy reports to it. It sees every object
of Python as well, and makes programs of many small ops slower by a factor of two or three.
"""

from __future__ import annotations

import ctypes
import tracemalloc
from collections.abc import Callable
from functools import cache


class _Mallinfo2(ctypes.Structure):
    """``struct mallinfo2`` of malloc.h (glibc 2.33 and later)."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in (
            "arena",
            "ordblks",
            "smblks",
            "hblks",
            "hblkhd",
            "usmblks",
            "fsmblks",
            "uordblks",
            "fordblks",
            "keepcost",
        )
    ]


@cache
def malloc_reader() -> Callable[[], int] | None:
    """What tells the bytes that malloc has given out; None where the C library cannot tell."""
    try:
        info = ctypes.CDLL(None).mallinfo2
    except (OSError, TypeError, AttributeError):  # Windows, macOS, musl
        return None
    info.restype, info.argtypes = _Mallinfo2, ()

    def used() -> int:
        found = info()
        return int(found.uordblks + found.hblkhd)  # in the heap, and in mappings of their own

    return used


def traced() -> int:
    """The bytes that ``tracemalloc`` knows of."""
    return tracemalloc.get_traced_memory()[0]
