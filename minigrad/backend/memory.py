"""Keeps freed memory in the process. Linux's C library returns large blocks to the system immediately, so each step of
training or inference causes page faults for the same memory again. ``keep_freed`` makes it keep some memory: it puts
blocks of any size on the heap, and keeps up to KEEP_BYTES free at the heap's end."""

from __future__ import annotations

import ctypes
import os
import sys
from functools import cache

KEEP_BYTES = 1 << 30
_TRIM_THRESHOLD, _TOP_PAD, _MMAP_MAX = -1, -2, -4  # from malloc.h
_SET_BY_USER = ["MALLOC_TRIM_THRESHOLD_", "MALLOC_TOP_PAD_", "MALLOC_MMAP_THRESHOLD_", "MALLOC_MMAP_MAX_"]
_SET_BY_USER += ["GLIBC_TUNABLES"]


@cache
def keep_freed() -> bool:
    """Make the C library keep freed memory for the next arrays. Returns whether that worked. A user's settings (glibc's
    environment variables) stay in effect. Other C libraries do not have this call."""
    if not sys.platform.startswith("linux") or any(name in os.environ for name in _SET_BY_USER):
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError):
        return False
    settings = ((_MMAP_MAX, 0), (_TRIM_THRESHOLD, KEEP_BYTES), (_TOP_PAD, 16 << 20))
    return all(mallopt(name, value) == 1 for name, value in settings)
