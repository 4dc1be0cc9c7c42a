"""What compiled loops may say that Python cannot: bits, addresses, atomics, BLAS. ``intrinsics.py`` has the code.

An address is an int. A float32 array that is handed over as ``Strided`` is the address of its array object.
"""

from __future__ import annotations

from typing import Any


def rint(x: Any) -> Any:
    """A float32 rounded to a whole number, to even where two are as near."""
    raise NotImplementedError


def from_bits(bits: Any) -> Any:
    """The float32 of an int32's bits."""
    raise NotImplementedError


def to_bits(x: Any) -> Any:
    """The bits of a float32, int32."""
    raise NotImplementedError


def fma(a: Any, b: Any, c: Any) -> Any:
    """a b + c of float32, rounded once."""
    raise NotImplementedError


def word(address: int) -> int:
    """The int64 there."""
    raise NotImplementedError


def row(address: int, count: int) -> Any:
    """The ``count`` float32 from there on, as an array."""
    raise NotImplementedError


def rows(address: int, count: int, width: int) -> Any:
    """The float32 from there on, as an array (count, width)."""
    raise NotImplementedError


def cube(address: int, count: int, height: int, width: int) -> Any:
    """The float32 from there on, as an array (count, height, width)."""
    raise NotImplementedError


def flags(address: int, count: int) -> Any:
    """The ``count`` bools from there on, as an array of uint8."""
    raise NotImplementedError


def integers(address: int, count: int) -> Any:
    """The ``count`` int64 from there on, as an array."""
    raise NotImplementedError


def words(address: int, count: int) -> Any:
    """The ``count`` uint64 from there on, as an array."""
    raise NotImplementedError


def doubles(address: int, count: int) -> Any:
    """The ``count`` float64 from there on, as an array."""
    raise NotImplementedError


def double(address: int) -> Any:
    """The float64 there."""
    raise NotImplementedError


def load(address: int) -> int:
    """The int64 there, as other threads see it."""
    raise NotImplementedError


def store(address: int, value: int) -> None:
    """Write the int64 there for all threads."""
    raise NotImplementedError


def add(address: int, value: int) -> int:
    """Add to the int64 there, in one step for all threads; returns what was there."""
    raise NotImplementedError


def exchange(address: int, expected: int, value: int) -> bool:
    """Write ``value`` if ``expected`` is there, in one step for all threads; whether it was."""
    raise NotImplementedError


def pause() -> None:
    """A moment's rest for a thread that looks for work: the core's other thread is faster meanwhile."""
    raise NotImplementedError


def run(function: int, start: int, stop: int, thread: int, words: int) -> None:
    """Call a compiled loop."""
    raise NotImplementedError


def acquire(function: int, lock: int) -> None:
    """PyThread_acquire_lock, which waits without Python."""
    raise NotImplementedError


def release(function: int, lock: int) -> None:
    """PyThread_release_lock."""
    raise NotImplementedError


def sgemm(
    function: int,
    turn_a: bool,
    turn_b: bool,
    m: int,
    n: int,
    k: int,
    alpha: Any,
    a: int,
    lda: int,
    b: int,
    ldb: int,
    beta: Any,
    c: int,
    ldc: int,
) -> None:
    """C = alpha A B + beta C by BLAS, row by row; ``turn_a``: A lies as its transpose (K, M). ``function`` is
    ``blas.sgemm()``, the addresses are of float32, lda to ldc the elements from row to row."""
    raise NotImplementedError


def zeros16() -> Any:
    """Sixteen float32 side by side, in registers, all 0. What these are for: tiles.py."""
    raise NotImplementedError


def load16(address: int, count: int) -> Any:
    """The first ``count`` of sixteen float32 there, and zeros."""
    raise NotImplementedError


def store16(address: int, lanes: Any, count: int) -> None:
    """Write the first ``count`` of sixteen float32."""
    raise NotImplementedError


def fma16(x: Any, lanes: Any, added: Any) -> Any:
    """x lanes + added, x a float32."""
    raise NotImplementedError


def spread16(x: Any) -> Any:
    """A float32, sixteen times."""
    raise NotImplementedError


def add16(a: Any, b: Any) -> Any:
    """a + b"""
    raise NotImplementedError


def mul16(a: Any, b: Any) -> Any:
    """a b"""
    raise NotImplementedError


def max16(a: Any, b: Any) -> Any:
    """The larger of each two; b where one is NaN."""
    raise NotImplementedError


def sum16(a: Any) -> Any:
    """The sum of all, float32."""
    raise NotImplementedError


def top16(a: Any) -> Any:
    """The largest of all, float32."""
    raise NotImplementedError


def first16(a: Any, count: int, other: Any) -> Any:
    """The first ``count`` as they are, the rest ``other``."""
    raise NotImplementedError


def bools16(address: int, count: int) -> Any:
    """The first ``count`` of sixteen bools there as 1 and 0, the rest 0."""
    raise NotImplementedError


def transpose8(x: int, step: int, count: int, out: int) -> None:
    """The transpose of 8 rows of 8 float32, ``step`` bytes apart, to rows 64 bytes apart. Of ``count`` rows, if these
    are fewer, the last one stands for the others."""
    raise NotImplementedError
