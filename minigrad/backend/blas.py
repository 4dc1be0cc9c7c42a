"""Controls the number of threads in NumPy's BLAS. The number must be one while our own threads run, since OpenBLAS
threads spin for a while after a product and take cores from ours. NumPy's wheels ship OpenBLAS, whose functions are
looked up in the libraries that NumPy has loaded. With another BLAS, nothing changes."""

from __future__ import annotations

import ctypes
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from typing import Any

import numpy as np

Calls = tuple[Callable[[], int], Callable[[int], object]]
_gate: dict[str, object] = {}  # a lock: a thread that changes these numbers adds itself first, then removes itself
_inside: set[one_thread] = set()  # the active contexts in all threads of the program
_outside = 1  # OpenBLAS's number of threads outside of these contexts


@cache
def calls() -> Calls | tuple[()]:
    """The functions that get and set OpenBLAS's number of threads, or an empty tuple without OpenBLAS."""
    ends = [(start, end) for start in ("scipy_", "") for end in ("64_", "")]
    names = [[f"{start}openblas_{what}_num_threads{end}" for what in ("get", "set")] for start, end in ends]
    if (functions := _functions(names)) is None:
        return ()
    get, setter = functions
    setter.argtypes = [ctypes.c_int]
    return get, setter


@cache
def sgemm(name: str = "sgemm") -> int:
    """The address of OpenBLAS's cblas_sgemm with 64-bit integers, which compiled loops call, or 0 if it is missing."""
    matches = _functions([[f"scipy_cblas_{name}64_"], [f"cblas_{name}64_"]])
    return (ctypes.cast(matches[0], ctypes.c_void_p).value or 0) if matches else 0


def sgemv() -> int:
    """The address of cblas_sgemv, or 0."""
    return sgemm("sgemv")


def _functions(names: list[list[str]]) -> list[Any] | None:
    """The functions named in one of these lists, from a library that has them all."""
    for path in _libraries():
        with suppress(AttributeError, OSError):
            library = ctypes.CDLL(path)
            for row in names:
                if None not in (functions := [getattr(library, name, None) for name in row]):
                    return functions
    return None


def _libraries() -> Iterator[str]:
    """Yield the path of NumPy's library, which gives access to OpenBLAS's functions except on Windows, and then the
    path of OpenBLAS itself, which NumPy's wheels put in a folder next to the package."""
    yield str(sys.modules["numpy._core._multiarray_umath"].__file__)
    folder = os.path.dirname(np.__file__) + ".libs"
    if os.path.isdir(folder):
        yield from (os.path.join(folder, name) for name in sorted(os.listdir(folder)) if "openblas" in name)


def set_num_threads(n: int) -> None:
    """Set OpenBLAS's number of threads, which applies once no thread is in ``one_thread``."""
    global _outside
    owner = object()
    try:
        _lock(owner)
        if _inside:
            _outside = n
        elif functions := calls():
            functions[1](n)
    finally:
        if _gate.get("owner") is owner:
            del _gate["owner"]


class one_thread:
    """``with one_thread() as one, one:`` makes the calling thread compute products by itself.

    OpenBLAS has one thread count for the whole program, which is restored when the last thread leaves. Ctrl-C may raise
    KeyboardInterrupt before any line, even before the first line of ``__exit__``. So the context is entered twice: if
    the inner ``with`` does not restore the number, the outer one does.
    """

    __slots__ = ()

    def __enter__(self) -> one_thread:
        global _outside
        if self in _inside:
            return self
        try:
            _lock(self)
            now = _now()
            if not _inside:
                _outside = now
            _inside.add(self)  # before the number changes, as only a context in this set restores it
            if now != 1:
                _put(1)
            del _gate["owner"]
            return self
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *exception: object) -> None:
        if self in _inside or _gate.get("owner") is self:
            _lock(self)
            if len(_inside) == 1 and self in _inside and _outside != 1:
                _put(_outside)
            _inside.discard(self)
            del _gate["owner"]


def _lock(owner: object) -> None:
    """Wait until the owner holds the lock. It may already hold the lock if an interrupt kept it from releasing it. (A
    ``threading`` lock does not know its owner, and would stay locked forever.)"""
    while _gate.setdefault("owner", owner) is not owner:
        time.sleep(0)


def _now() -> int:
    """OpenBLAS's number of threads, or 1 without OpenBLAS."""
    return functions[0]() if (functions := calls()) else 1


def _put(n: int) -> None:
    """Set OpenBLAS's number of threads to at most the number that it has already started."""
    if functions := calls():
        functions[1](n)


def forget_threads() -> None:
    """Reset the state in a child process, where the threads that were in ``one_thread`` do not exist."""
    _gate.clear()
    if _inside and _outside != 1 and (functions := calls()):
        functions[1](_outside)
    _inside.clear()
