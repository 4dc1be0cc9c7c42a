"""Compiled loops: functions over a range [start, stop), and the arrays that they read and write.

    @loop
    def scale(start: int, stop: int, x: Flat, factor: float, out: Flat) -> None:
        for i in range(start, stop):
            out[i] = x[i] * np.float32(factor)

    scale(x.size, grain(x.size, 8), x, 0.5, out)

The call cuts [0, count) into blocks of ``grain``, which threads take as they become free. Blocks do not depend on the
number of threads, so the results are bitwise identical for any number. If a loop has a parameter ``thread``, it
receives the index of the thread that runs a block, for per-thread memory.

Numba compiles a loop once, for the types named by its annotations. Nothing is compiled while a program runs.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import numpy as np

from ..dtype import Array
from ..order import back, memory_order
from ..parallel import get_num_threads, launch
from . import store

# The annotations. All arrays are C-contiguous, except Strided ones. None is passed as an empty array.
Flat = Any  # float32 of any shape, as one row
Rows = Any  # float32 (..., n), as (rows, n)
Cube = Any  # float32 (..., m, n), as (count, m, n)
Flags = Any  # bool of any shape, as one row of uint8
Indices = Any  # int64 of any shape, as one row
Words = Any  # uint64 of any shape, as one row
Doubles = Any  # float64 of any shape, as one row
Strided = Any  # float32 with any strides: the address of its object, for ``at``, ``step`` and ``length``

_DTYPES: dict[str, type] = {"Flags": np.bool_, "Indices": np.int64, "Words": np.uint64, "Doubles": np.float64}
_DTYPES |= dict.fromkeys(("Flat", "Rows", "Cube", "Strided"), np.float32)
_EMPTY: dict[str, Array] = {kind: np.empty(0, dtype) for kind, dtype in _DTYPES.items()}
_NOTHING, _NONE = {kind: id(array) for kind, array in _EMPTY.items()}, id(None)  # passed for None
FLOAT32 = np.dtype(np.float32)
BLOCK = 1 << 18  # bytes that a block accesses: part of an L2 cache

LOOPS: list[Loop] = []
INLINE: list[Callable[..., Any]] = []


def inline(function: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a function that loops may call, which is then inlined into them."""
    INLINE.append(function)
    return function


def loop(body: Callable[..., None]) -> Loop:
    """Turn a function into a compiled loop. See the top of this file."""
    return Loop(body)


class Loop:
    """A function (``body``) that Numba compiles, and how to call it. ``kinds`` are the annotations of its arguments
    after start, stop (and thread, if it ``takes_thread``). ``address``: its machine code, or 0 until it is loaded."""

    def __init__(self, body: Callable[..., None]) -> None:
        self.body, self.name = body, f"{body.__module__.rpartition('.')[2]}.{body.__name__}"
        names = [name for name in body.__annotations__ if name != "return"]
        self.takes_thread = "thread" in names
        self.kinds = [body.__annotations__[name] for name in names if name not in ("start", "stop", "thread")]
        self.address = 0
        self._pack = struct.Struct("".join("d" if kind == "float" else "q" for kind in self.kinds)).pack
        self._numbers = [i for i, kind in enumerate(self.kinds) if kind in ("int", "float")]
        # what each argument must be: 0 for a number, else its dtype's address, negative if it must be contiguous
        dtypes = [id(np.dtype(_DTYPES[kind])) if kind in _DTYPES else 0 for kind in self.kinds]
        spec = [d if kind == "Strided" else -d for d, kind in zip(dtypes, self.kinds, strict=True)]
        self._spec = struct.pack(f"{len(spec)}q", *spec)
        self.__doc__ = body.__doc__
        LOOPS.append(self)

    def __repr__(self) -> str:
        return f"<compiled loop {self.name}>"

    def __call__(self, count: int, grain: int, *args: Any) -> None:
        """Run the loop over [0, ``count``) on all threads, in blocks of ``grain``. Raises TypeError if an array is not
        contiguous or lacks the dtype named by its annotation, and RuntimeError if Numba is missing."""
        if not self.address:
            if (library := store.library(self.name.partition(".")[0])) is None:
                raise RuntimeError(f"the compiled loop {self.name} is unavailable: see minigrad.backend.compiled")
            self.address = library.addresses[self.name]
        if len(args) != len(self.kinds):
            raise TypeError(f"{self.name} takes {len(self.kinds)} arguments, not {len(args)}")
        words = list(map(id, args))
        for i in self._numbers:
            words[i] = args[i]
        if _NONE in words:
            pairs = zip(args, words, self.kinds, strict=True)
            words = [_NOTHING[kind] if a is None else word for a, word, kind in pairs]
        wrong = launch(self.address, self._pack(*words), self._spec, len(words), count, max(1, grain))
        if wrong and any(map(_has_another_name, args)):
            return self(count, grain, *(a.view(a.dtype.type) if _has_another_name(a) else a for a in args))
        if wrong:
            raise TypeError(f"{self.name}: argument {wrong - 1} does not match {self.kinds[wrong - 1]}")


def _has_another_name(value: Any) -> bool:
    """Whether a value is an array whose dtype object is a copy of NumPy's, as after unpickling."""
    if not isinstance(value, np.ndarray):
        return False
    usual = np.dtype(value.dtype.type)
    return value.dtype is not usual and value.dtype == usual


def grain(count: int, bytes_each: int, block: int = BLOCK) -> int:
    """The number of rows (of ``count``) in a block of about ``block`` bytes, or fewer if that makes too few blocks."""
    rows = max(1, block // max(1, bytes_each))
    return rows if count * bytes_each > 4 * block else max(rows // 4, -(-count // 4)) if count > rows // 4 else count


def fits(first: Array, *more: Array | None) -> bool:
    """Whether compiled loops support these arrays: float32 NumPy arrays, of which the first is not empty."""
    return bool(first.size) and all(a is None or (type(a) is np.ndarray and a.dtype == FLOAT32) for a in (first, *more))


def laid(array: Array) -> Array:
    """The array, or a contiguous copy for loops. None stays None."""
    if array is None or (array.dtype is FLOAT32 and array.flags.c_contiguous):
        return array
    return array.astype(FLOAT32, order="C")  # np.array would keep the dtype object of an unpickled array


def in_memory_order(forward: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap an elementwise function so that it gets x with axes in memory order, and its result has the layout of x."""

    def call(needs: Any, x: Array, *args: Any) -> Any:
        if type(x) is not np.ndarray or x.flags.c_contiguous:
            return forward(needs, x, *args)
        order = memory_order(x)
        others = (a.transpose(order) if getattr(a, "shape", None) == x.shape else a for a in args)
        results = forward(needs, x.transpose(order), *others)
        if results is NotImplemented:
            return results
        return tuple(a if a is None else a.transpose(back(order)) for a in results)

    return call


def scratch(count: int) -> Array:
    """Uninitialized memory for ``count`` float32 values per thread, (threads, ≥ count). Rows are whole cache lines."""
    threads, columns = get_num_threads(), -(-count // 16) * 16
    memory = np.empty(threads * columns + 16, FLOAT32)
    start = -memory.__array_interface__["data"][0] // 4 % 16
    return memory[start : start + threads * columns].reshape(threads, columns)
