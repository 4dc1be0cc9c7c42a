"""How many bytes are in use, asked at the beginning and end of every event.

NumPy takes the memory of arrays from the C library (of small ones it keeps some to use again), and glibc knows how
much it has handed out: asking takes a microsecond. Python's small objects are not in that figure. Without glibc
``tracemalloc`` counts, which sees every object of Python, and makes programs of many small ops twice as slow or worse.
"""

from __future__ import annotations

import ctypes
import tracemalloc
from collections.abc import Callable
from functools import cache

_FIELDS = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost"


class _Mallinfo2(ctypes.Structure):
    """``struct mallinfo2`` of malloc.h (glibc 2.33 and later)."""

    _fields_ = [(name, ctypes.c_size_t) for name in _FIELDS.split()]


@cache
def malloc_reader() -> Callable[[], int] | None:
    """A function that returns the bytes that malloc has handed out; None where the C library has none."""
    try:
        info = ctypes.CDLL(None).mallinfo2
    except (OSError, TypeError, AttributeError):  # Windows, macOS, musl
        return None
    info.restype, info.argtypes = _Mallinfo2, ()

    def used() -> int:
        now = info()
        return int(now.uordblks + now.hblkhd)  # in the heap, and in mappings of their own

    return used


def traced() -> int:
    """The bytes that ``tracemalloc`` knows of."""
    return tracemalloc.get_traced_memory()[0]
