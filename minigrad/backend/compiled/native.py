"""What compiled loops may say that Python cannot: bits, addresses, atomics, vectors, BLAS.

An address is an int. A float32 array that is handed over as ``Strided`` is the address of its array object.

The body of each function writes LLVM's instructions for it, with ``intrinsics.py``; only ``build.py`` runs it.
"""

from __future__ import annotations

from typing import Any

from ..deferred import Deferred

Flat = Any  # float32 as one row: see loops.py
Single = Any  # a float32
Bits = Any  # an int32
Lanes = Any  # sixteen float32 side by side, in registers: see tiles.py

llvm: Any = Deferred(f"{__package__}.intrinsics")


def rint(x: Single) -> Single:
    """A float32 rounded to a whole number, to even where two are as near."""
    return llvm.call("llvm.rint.f32", llvm.F32, x)


def from_bits(bits: Bits) -> Single:
    """The float32 of an int32's bits."""
    return llvm.b.bitcast(bits, llvm.F32)


def to_bits(x: Single) -> Bits:
    """The bits of a float32."""
    return llvm.b.bitcast(x, llvm.I32)


def fma(a: Single, b: Single, c: Single) -> Single:
    """a b + c, rounded once."""
    return llvm.call("llvm.fma.f32", llvm.F32, a, b, c)


def word(address: int) -> int:
    """The int64 there."""
    return llvm.b.load(llvm.pointer(address, llvm.I64))


def double(address: int) -> float:
    """The float64 there."""
    return llvm.b.load(llvm.pointer(address, llvm.F64))


def row(address: int, count: int) -> Flat:
    """The ``count`` float32 from there on, as an array."""
    return llvm.array("Flat", address, count)


def load(address: int) -> int:
    """The int64 there, as other threads see it."""
    return llvm.b.load_atomic(llvm.pointer(address, llvm.I64), "seq_cst", 8)


def store(address: int, value: int) -> None:
    """Write the int64 there for all threads."""
    llvm.b.store_atomic(value, llvm.pointer(address, llvm.I64), "seq_cst", 8)


def add(address: int, value: int) -> int:
    """Add to the int64 there, in one step for all threads; returns what was there."""
    return llvm.b.atomic_rmw("add", llvm.pointer(address, llvm.I64), value, "seq_cst")


def exchange(address: int, expected: int, value: int) -> bool:
    """Write ``value`` if ``expected`` is there, in one step for all threads; whether it was."""
    return llvm.b.extract_value(llvm.b.cmpxchg(llvm.pointer(address, llvm.I64), expected, value, "seq_cst"), 1)


def pause() -> None:
    """A moment's rest for a thread that looks for work: the core's other thread is faster meanwhile."""
    triple = llvm.b.module.triple or ""
    if triple.startswith(("x86_64", "i686")):
        llvm.assembly("pause")
    elif triple.startswith(("aarch64", "arm64")):
        llvm.assembly("yield")


def run(function: int, start: int, stop: int, thread: int, words: int) -> None:
    """Call a compiled loop."""
    llvm.call(function, llvm.VOID, start, stop, thread, words)


def acquire(function: int, lock: int) -> None:
    """PyThread_acquire_lock, which waits without Python."""
    llvm.call(function, llvm.I32, lock, llvm.I32(1))


def release(function: int, lock: int) -> None:
    """PyThread_release_lock."""
    llvm.call(function, llvm.VOID, lock)


def sgemm(
    function: int,
    turn_a: bool,
    turn_b: bool,
    m: int,
    n: int,
    k: int,
    alpha: Single,
    a: int,
    lda: int,
    b: int,
    ldb: int,
    beta: Single,
    c: int,
    ldc: int,
) -> None:
    """C = alpha A B + beta C by BLAS, row by row; ``turn_a``: A lies as its transpose (K, M). ``function`` is
    ``blas.sgemm()``, the addresses are of float32, lda to ldc the elements from row to row."""
    order, plain, turned = (llvm.I32(n) for n in (101, 111, 112))  # CBLAS's names: row-major and so on
    turns = [llvm.b.select(llvm.truth(turn), turned, plain) for turn in (turn_a, turn_b)]
    x, y, z = (llvm.pointer(place, llvm.I8) for place in (a, b, c))
    llvm.call(function, llvm.VOID, order, *turns, m, n, k, alpha, x, lda, y, ldb, beta, z, ldc)


def zeros16() -> Lanes:
    """All sixteen 0."""
    return llvm.LANES(None)


def load16(address: int, count: int) -> Lanes:
    """The first ``count`` of sixteen float32 there, and zeros."""
    return llvm.load_first(address, count, llvm.LANES)


def store16(address: int, lanes: Lanes, count: int) -> None:
    """Write the first ``count`` of sixteen float32."""
    place, align = llvm.pointer(address, llvm.LANES), llvm.I32(4)
    llvm.call("llvm.masked.store.v16f32.p0", llvm.VOID, lanes, place, align, llvm.first(count))


def fma16(x: Single, lanes: Lanes, added: Lanes) -> Lanes:
    """x lanes + added."""
    return llvm.call("llvm.fmuladd.v16f32", llvm.LANES, llvm.spread(x), lanes, added)


def spread16(x: Single) -> Lanes:
    """A float32, sixteen times."""
    return llvm.spread(x)


def add16(a: Lanes, b: Lanes) -> Lanes:
    """a + b"""
    return llvm.b.fadd(a, b)


def mul16(a: Lanes, b: Lanes) -> Lanes:
    """a b"""
    return llvm.b.fmul(a, b)


def max16(a: Lanes, b: Lanes) -> Lanes:
    """The larger of each two; b where one is NaN."""
    return llvm.larger(a, b)


def sum16(a: Lanes) -> Single:
    """The sum of all."""
    return llvm.folded(llvm.b.fadd, a)


def top16(a: Lanes) -> Single:
    """The largest of all."""
    return llvm.folded(llvm.larger, a)


def first16(a: Lanes, count: int, other: Single) -> Lanes:
    """The first ``count`` as they are, the rest ``other``."""
    return llvm.b.select(llvm.first(count), a, llvm.spread(other))


def bools16(address: int, count: int) -> Lanes:
    """The first ``count`` of sixteen bools there as 1 and 0, the rest 0."""
    return llvm.b.uitofp(llvm.load_first(address, count, llvm.BOOLS), llvm.LANES)


def transpose8(x: int, step: int, count: int, out: int) -> None:
    """The transpose of 8 rows of 8 float32, ``step`` bytes apart, to rows 64 bytes apart. Of ``count`` rows, if these
    are fewer, the last one stands for the others.

    Pairs of rows are joined three times, by what x86 has an instruction for: numbers, pairs of them, halves."""
    b, eight, last = llvm.b, llvm.EIGHT, llvm.b.sub(count, llvm.I64(1))
    lines = []
    for i in range(8):
        number = llvm.I64(i)
        place = b.add(x, b.mul(b.select(b.icmp_signed("<", number, last), number, last), step))
        lines.append(b.load(llvm.pointer(place, eight), align=4))
    joins = (1, 2, (0, 8, 1, 9, 4, 12, 5, 13)), (2, 2, (0, 1, 8, 9, 4, 5, 12, 13)), (4, 4, (0, 1, 2, 3, 8, 9, 10, 11))
    for distance, ahead, order in joins:
        for i in (i for i in range(8) if not i & distance):
            pair = lines[i], lines[i + distance]
            lines[i], lines[i + distance] = (llvm.shuffled(*pair, [n + more for n in order]) for more in (0, ahead))
    for i, j in enumerate((0, 2, 1, 3, 4, 6, 5, 7)):
        b.store(lines[j], llvm.pointer(b.add(out, llvm.I64(64 * i)), eight), align=4)
