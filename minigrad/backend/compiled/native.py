"""Functions for compiled loops that Python cannot express (bits, addresses, atomics, BLAS). An address is an int. A
float32 array passed as ``Strided`` is the address of its array object. The body of each function emits its LLVM
instructions with ``intrinsics.py``. Only ``build.py`` runs these bodies."""

from __future__ import annotations

from typing import Any

from ..deferred import Deferred

Flat = Any  # float32 as one row: see loops.py
Flags = Any  # uint8 as one row
Single = Any  # a float32
Bits = Any  # an int32
Lanes = Any  # sixteen float32 in registers

llvm: Any = Deferred(f"{__package__}.intrinsics")


def rint(x: Single) -> Single:
    """Round a float32 to an integer, ties to even."""
    return llvm.call("llvm.rint.f32", llvm.F32, x)


def from_bits(bits: Bits) -> Single:
    """The float32 with the bits of an int32."""
    return llvm.b.bitcast(bits, llvm.F32)


def to_bits(x: Single) -> Bits:
    """The bits of a float32."""
    return llvm.b.bitcast(x, llvm.I32)


def fma(a: Single, b: Single, c: Single) -> Single:
    """a b + c, rounded once."""
    return llvm.call("llvm.fma.f32", llvm.F32, a, b, c)


def word(address: int) -> int:
    """The int64 at an address."""
    return llvm.b.load(llvm.pointer(address, llvm.I64))


def double(address: int) -> float:
    """The float64 at an address."""
    return llvm.b.load(llvm.pointer(address, llvm.F64))


def row(address: int, count: int) -> Flat:
    """The ``count`` float32 values starting at an address, as an array."""
    return llvm.array("Flat", address, count)


def flags(address: int, count: int) -> Flags:
    """The ``count`` bools starting at an address, as an array of uint8."""
    return llvm.array("Flags", address, count)


def load16(address: int) -> Lanes:
    """The sixteen float32 values starting at an address."""
    return llvm.b.load(llvm.pointer(address, llvm.LANES), align=4)


def store16(address: int, lanes: Lanes) -> None:
    """Write sixteen float32 values."""
    llvm.b.store(lanes, llvm.pointer(address, llvm.LANES), align=4)


def spread16(x: Single) -> Lanes:
    """A float32 value sixteen times."""
    return llvm.spread(x)


def first16(count: int, lanes: Lanes, other: Single) -> Lanes:
    """The first ``count`` of sixteen values, with ``other`` in place of the rest."""
    return llvm.b.select(llvm.first(count), lanes, llvm.spread(other))


def max16(x: Lanes, y: Lanes) -> Lanes:
    """The larger of each pair, or y's value if one is NaN."""
    return llvm.larger(x, y)


def top16(lanes: Lanes) -> Single:
    """The largest of sixteen values."""
    return llvm.folded(llvm.larger, lanes)


def sum16(lanes: Lanes) -> Single:
    """The sum of sixteen values."""
    return llvm.folded(llvm.b.fadd, lanes)


def bools16(address: int) -> Lanes:
    """The sixteen bools starting at an address as 1 and 0."""
    return llvm.b.uitofp(llvm.b.load(llvm.pointer(address, llvm.BOOLS), align=1), llvm.LANES)


def bytes16(address: int) -> Lanes:
    """The sixteen int8 values starting at an address."""
    return llvm.b.sitofp(llvm.b.load(llvm.pointer(address, llvm.BOOLS), align=1), llvm.LANES)


def halves16(address: int) -> Lanes:
    """The sixteen bfloat16 values starting at an address."""
    return llvm.from_halves(llvm.b.load(llvm.pointer(address, llvm.HALVES), align=1))


def turn16(x: int, step: int, last: int, out: int) -> None:
    """Transpose sixteen rows of sixteen values, ``step`` bytes apart. Rows after row ``last`` repeat it."""
    llvm.turn(x, step, last, out)


def load(address: int) -> int:
    """Atomically load the int64 at an address."""
    return llvm.b.load_atomic(llvm.pointer(address, llvm.I64), "seq_cst", 8)


def store(address: int, value: int) -> None:
    """Atomically store an int64 at an address."""
    llvm.b.store_atomic(value, llvm.pointer(address, llvm.I64), "seq_cst", 8)


def add(address: int, value: int) -> int:
    """Atomically add to the int64 at an address. Returns the old value."""
    return llvm.b.atomic_rmw("add", llvm.pointer(address, llvm.I64), value, "seq_cst")


def exchange(address: int, expected: int, value: int) -> bool:
    """Atomic compare-and-swap: write ``value`` if ``expected`` is there. Returns whether it was."""
    return llvm.b.extract_value(llvm.b.cmpxchg(llvm.pointer(address, llvm.I64), expected, value, "seq_cst"), 1)


def pause() -> None:
    """Pause a spinning thread briefly, which leaves the core to its other hardware thread."""
    triple = llvm.b.module.triple or ""
    if triple.startswith(("x86_64", "i686")):
        llvm.assembly("pause")
    elif triple.startswith(("aarch64", "arm64")):
        llvm.assembly("yield")


def run(function: int, start: int, stop: int, thread: int, words: int) -> None:
    """Call a compiled loop."""
    llvm.call(function, llvm.VOID, start, stop, thread, words)


def acquire(function: int, lock: int) -> None:
    """PyThread_acquire_lock, which waits without the GIL."""
    llvm.call(function, llvm.I32, lock, llvm.I32(1))


def release(function: int, lock: int) -> None:
    """PyThread_release_lock."""
    llvm.call(function, llvm.VOID, lock)


def sgemm(
    function: int, turn_a: bool, turn_b: bool, m: int, n: int, k: int, alpha: Single, a: int, lda: int, b: int,
    ldb: int, beta: Single, c: int, ldc: int,
) -> None:  # fmt: skip
    """C = alpha A B + beta C by BLAS, row-major. With ``turn_a``, A is stored as its transpose (K, M). ``function`` is
    ``blas.sgemm()``; a, b and c are float32 addresses; lda, ldb and ldc count the elements from row to row."""
    order, plain, turned = (llvm.I32(n) for n in (101, 111, 112))  # CBLAS's names: row-major and so on
    turns = [llvm.b.select(llvm.truth(turn), turned, plain) for turn in (turn_a, turn_b)]
    x, y, z = (llvm.pointer(place, llvm.I8) for place in (a, b, c))
    llvm.call(function, llvm.VOID, order, *turns, m, n, k, alpha, x, lda, y, ldb, beta, z, ldc)


def sgemv(
    function: int, turn: bool, m: int, n: int, a: int, lda: int, x: int, beta: Single, y: int
) -> None:  # fmt: skip
    """y = A x + beta y by BLAS for a row-major A (M, N), or y = Aᵀ x + beta y with ``turn``. ``function`` is
    ``blas.sgemv()``; for the others see ``sgemm``."""
    order, plain, turned = (llvm.I32(n) for n in (101, 111, 112))
    way, ones = llvm.b.select(llvm.truth(turn), turned, plain), llvm.I64(1)
    places = [llvm.pointer(place, llvm.I8) for place in (a, x, y)]
    llvm.call(
        function, llvm.VOID, order, way, m, n, llvm.F32(1.0), places[0], lda, places[1], ones, beta, places[2], ones
    )
