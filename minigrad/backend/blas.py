"""How many threads the BLAS under NumPy may use. Beside our own threads it must use one: OpenBLAS's threads go on
looking for work for a while after a product, and take the cores from ours. NumPy's wheels bring OpenBLAS, whose
functions are found in the libraries that NumPy has loaded. Under another BLAS nothing is changed."""

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
_gate: dict[str, object] = {}  # whoever changes these numbers puts itself in here first, and takes itself out
_inside: set[one_thread] = set()  # those that have been entered, in all threads of the program
_outside = 1  # OpenBLAS's number of threads when there are none


@cache
def calls() -> Calls | tuple[()]:
    """The functions that get and set OpenBLAS's number of threads; nothing where there is no OpenBLAS."""
    ends = [(start, end) for start in ("scipy_", "") for end in ("64_", "")]
    names = [[f"{start}openblas_{what}_num_threads{end}" for what in ("get", "set")] for start, end in ends]
    if (known := _functions(names)) is None:
        return ()
    get, put = known
    put.argtypes = [ctypes.c_int]
    return get, put


@cache
def sgemm() -> int:
    """The address of OpenBLAS's cblas_sgemm with 64-bit integers, which compiled loops call; 0 where there is none."""
    known = _functions([["scipy_cblas_sgemm64_"], ["cblas_sgemm64_"]])
    return (ctypes.cast(known[0], ctypes.c_void_p).value or 0) if known else 0


def _functions(names: list[list[str]]) -> list[Any] | None:
    """The functions of a row of names, from the library that has all of them."""
    for path in _libraries():
        with suppress(AttributeError, OSError):
            library = ctypes.CDLL(path)
            for row in names:
                if None not in (functions := [getattr(library, name, None) for name in row]):
                    return functions
    return None


def _libraries() -> Iterator[str]:
    """NumPy's library, through which OpenBLAS's functions are found except on Windows, and then OpenBLAS itself, which
    NumPy's wheels have in a folder beside the package."""
    yield str(sys.modules["numpy._core._multiarray_umath"].__file__)
    folder = os.path.dirname(np.__file__) + ".libs"
    if os.path.isdir(folder):
        yield from (os.path.join(folder, name) for name in sorted(os.listdir(folder)) if "openblas" in name)


def set_num_threads(n: int) -> None:
    """OpenBLAS's number of threads, from when nobody is in ``one_thread``."""
    global _outside
    owner = object()
    try:
        _lock(owner)
        if _inside:
            _outside = n
        elif known := calls():
            known[1](n)
    finally:
        if _gate.get("owner") is owner:
            del _gate["owner"]


class one_thread:
    """``with one_thread() as one, one:`` products are computed by the thread that asks for them.

    OpenBLAS has one number for the whole program: it is put back when the last thread leaves. Ctrl-C may raise
    KeyboardInterrupt before any line, also before the first one of ``__exit__``. So the library enters twice: what the
    inner ``with`` did not put back, the outer one does.
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
            _inside.add(self)  # before the number changes: whoever is in here puts it back
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
    """Wait until the gate is the owner's. It may be already, where an interrupt has kept the owner from opening it: a
    lock of ``threading`` would not know whose it is, and stay locked for ever."""
    while _gate.setdefault("owner", owner) is not owner:
        time.sleep(0)


def _now() -> int:
    """OpenBLAS's number of threads; 1 where there is no OpenBLAS."""
    return known[0]() if (known := calls()) else 1


def _put(n: int) -> None:
    """Set OpenBLAS's number of threads to one that it has started already."""
    if known := calls():
        known[1](n)


def forget_threads() -> None:
    """In a child process the threads that were in ``one_thread`` do not exist."""
    _gate.clear()
    if _inside and _outside != 1 and (known := calls()):
        known[1](_outside)
    _inside.clear()
