"""From a CUDA source to a running kernel: the one place that compiles and launches. ``NAME.cu`` stands beside its
launcher ``NAME_cuda.py``. It is compiled when it is first needed, once for each number format, with ``common.cuh``
before it. The compiler is the ``RawModule`` of the arrays' own namespace (``cupy.RawModule``), so that the stand-in for
CuPy that the tests use can bring another."""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path
from typing import Any

from ..dtype import Array, kind_of, name_of
from ..random import Draw
from ..registry import xp

NULL = 0  # the address of an array that is not there (None would crash in the driver)
WARP = 32
BLOCK = 256  # threads in a block, unless a kernel says otherwise
_LONG_ROW = 1024  # numbers in a row from which a whole block works on it, not a single warp
_MOST_BLOCKS = 1 << 16  # kernels loop over the rest
_FREE_SHARED_BYTES = 48 * 1024  # more shared memory needs an attribute of the kernel
_FOLDER = Path(__file__).parent
Defines = tuple[tuple[str, int], ...]


def launch(
    like: Array,
    source: str,
    name: str,
    grid: tuple[int, ...],
    block: tuple[int, ...],
    args: tuple[Any, ...],
    shared_bytes: int = 0,
    defines: Defines = (),
) -> None:
    """Run kernel ``name`` of ``source``.cu, compiled for the dtype of ``like``, on the current device.

    Args:
        like: an array; its dtype is the kernel's ``real``.
        grid, block: how many blocks, and threads in a block, along x, y and z.
        args: arrays, which are contiguous or ``strided``, NULL, Python ints (``long long`` in CUDA) and floats
            (``double``).
        shared_bytes: dynamic shared memory of a block.
        defines: macros (name, number): another set of them is another compiled kernel.

    Raises TypeError: ``like`` does not hold floating point numbers.
    """
    if kind_of(like) not in "fb":  # a kernel that has only masks has no ``real``
        raise TypeError(f"the {name} kernel computes with floating point numbers, not {like.dtype}")
    if name_of(like.dtype) == "bfloat16":
        defines = (*defines, ("REAL_BFLOAT", 1))
    if 0 in grid:
        return
    bits = max(8 * like.dtype.itemsize, 16)
    function = _function(xp(like).RawModule, source, name, bits, defines)
    if shared_bytes > _FREE_SHARED_BYTES:
        function.max_dynamic_shared_size_bytes = shared_bytes
    function(grid, block, args, shared_mem=shared_bytes)


def code(source: str) -> str:
    """The text to compile for ``source``.cu; compile errors name the lines of that file."""
    parts = ("common.cuh", f"{source}.cu")
    return "\n".join(f'#line 1 "{part}"\n{(_FOLDER / part).read_text("utf-8")}' for part in parts)


def options(bits: int, defines: Defines = ()) -> tuple[str, ...]:
    """The compiler's options for numbers of ``bits`` bits. CuPy adds -ftz=true after them, so none can undo it."""
    return ("-std=c++17", f"-DREAL_BITS={bits}", *(f"-D{name}={value}" for name, value in defines))


@cache
def _function(raw_module: Any, source: str, name: str, bits: int, defines: Defines) -> Any:
    return _module(raw_module, source, bits, defines).get_function(name)


@cache
def _module(raw_module: Any, source: str, bits: int, defines: Defines) -> Any:
    return raw_module(code=code(source), options=options(bits, defines))


def over_elements(like: Array, source: str, name: str, *args: Any) -> None:
    """Run a kernel ``(args..., count)`` that loops with EACH_ELEMENT over as many as ``like`` has."""
    launch(like, source, name, *each_element(like.size), (*args, like.size))


def each_element(count: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The grid and block of a kernel that loops with EACH_ELEMENT."""
    return (min(-(-count // BLOCK), _MOST_BLOCKS),), (BLOCK,)


def over_rows(like: Array, source: str, name: str, *args: Any) -> None:
    """Run a kernel ``(args..., rows, length)`` that loops with EACH_ROW over the rows of ``like``, its last axis."""
    rows, length = row_count(like), like.shape[-1]
    lanes = WARP if length <= _LONG_ROW else BLOCK
    rows_at_once = BLOCK // lanes
    grid = (min(-(-rows // rows_at_once), _MOST_BLOCKS) if length else 0,)
    launch(like, source, name, grid, (lanes, rows_at_once), (*args, rows, length))


def row_count(x: Array) -> int:
    """How many rows, along the last axis, an array holds."""
    return math.prod(x.shape[:-1])


def contiguous(x: Array, dtype: Any = None) -> Array:
    """``x``, or a copy whose numbers lie one after the other (and are of ``dtype``)."""
    dense = xp(x).ascontiguousarray(x, dtype=dtype)
    return dense if x.ndim else dense.reshape(())


def unset_like(x: Array) -> Array:
    """Unset numbers, as many as a contiguous array has, in a third of the time of CuPy's ``empty_like``."""
    return xp(x).empty(x.shape, x.dtype)


def strided(x: Array, dtype: Any = None) -> tuple[Any, ...]:
    """A kernel's arguments for an array that need not be contiguous: itself, and its strides of all axes but the last
    in elements. One of another dtype, or whose last axis has gaps, is copied."""
    if x.strides[-1] != x.itemsize or x.dtype != (dtype or x.dtype):
        x = contiguous(x, dtype)
    return (x, *(step // x.itemsize for step in x.strides[:-1]))


def wide(x: Array) -> Any:
    """The dtype that kernels add up in: see common.cuh."""
    return xp(x).float64 if x.dtype.itemsize == 8 else xp(x).float32


def address(x: Array | None, dtype: Any = None) -> Array | int:
    """An optional array as a kernel's argument."""
    return NULL if x is None else contiguous(x, dtype)


def drawn(keep: Any) -> tuple[Any, int, int]:
    """A kernel's arguments for ``is_kept``: a mask, None to keep all, or a draw, whose mask is never in memory."""
    if isinstance(keep, Draw):
        return NULL, (keep.seed + 2**63) % 2**64 - 2**63, keep.bound
    return address(keep, bool), 0, 0
