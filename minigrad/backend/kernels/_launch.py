"""Compiles and launches CUDA kernels. ``NAME.cu`` is next to its launcher ``NAME_cuda.py``. It is compiled when first
needed, once per number format, with ``common.cuh`` prepended. The compiler is the ``RawModule`` of the arrays' own
namespace (``cupy.RawModule``), so that the CuPy substitute in the tests can provide its own compiler."""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path
from typing import Any

from ..dtype import Array, kind_of, name_of
from ..random import Draw
from ..registry import xp

NULL = 0  # the address of a missing array (None would crash in the driver)
WARP = 32
BLOCK = 256  # threads in a block, unless a kernel sets another number
_LONG_ROW = 1024  # from this length on, a whole block instead of a single warp works on a row
_MOST_BLOCKS = 1 << 16  # kernels loop over the remaining work
_FREE_SHARED_BYTES = 48 * 1024  # more shared memory requires setting a kernel attribute
_FOLDER = Path(__file__).parent
Defines = tuple[tuple[str, int], ...]


def launch(
    like: Array, source: str, name: str, grid: tuple[int, ...], block: tuple[int, ...], args: tuple[Any, ...],
    shared_bytes: int = 0, defines: Defines = (),
) -> None:  # fmt: skip
    """Run the kernel ``name`` in ``source``.cu, compiled for the dtype of ``like``, on the current device.

    Args:
        like: an array whose dtype becomes the kernel's ``real``.
        grid, block: the number of blocks, and of threads per block, along x, y and z.
        args: arrays (contiguous or ``strided``), NULL, Python ints (``long long`` in CUDA) and floats (``double``).
        shared_bytes: dynamic shared memory per block.
        defines: macros (name, number). Each set of macros gets its own compiled kernel.

    Raises TypeError if ``like`` is not a floating-point array.
    """
    if kind_of(like) not in "fb":  # kernels for masks do not use ``real``
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
    """The text to compile for ``source``.cu. Compile errors name the lines of that file."""
    parts = ("common.cuh", f"{source}.cu")
    return "\n".join(f'#line 1 "{part}"\n{(_FOLDER / part).read_text("utf-8")}' for part in parts)


def options(bits: int, defines: Defines = ()) -> tuple[str, ...]:
    """The compiler options for numbers of ``bits`` bits. CuPy appends -ftz=true, which no option can undo."""
    return ("-std=c++17", f"-DREAL_BITS={bits}", *(f"-D{name}={value}" for name, value in defines))


@cache
def _function(raw_module: Any, source: str, name: str, bits: int, defines: Defines) -> Any:
    return _module(raw_module, source, bits, defines).get_function(name)


@cache
def _module(raw_module: Any, source: str, bits: int, defines: Defines) -> Any:
    return raw_module(code=code(source), options=options(bits, defines))


def over_elements(like: Array, source: str, name: str, *args: Any) -> None:
    """Run a kernel ``(args..., count)`` that loops with EACH_ELEMENT over the elements of ``like``."""
    launch(like, source, name, *each_element(like.size), (*args, like.size))


def each_element(count: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The grid and block for a kernel that loops with EACH_ELEMENT."""
    return (min(-(-count // BLOCK), _MOST_BLOCKS),), (BLOCK,)


def over_rows(like: Array, source: str, name: str, *args: Any) -> None:
    """Run a kernel ``(args..., rows, length)`` that loops with EACH_ROW over the rows of ``like``, its last axis."""
    rows, length = row_count(like), like.shape[-1]
    lanes = WARP if length <= _LONG_ROW else BLOCK
    rows_at_once = BLOCK // lanes
    grid = (min(-(-rows // rows_at_once), _MOST_BLOCKS) if length else 0,)
    launch(like, source, name, grid, (lanes, rows_at_once), (*args, rows, length))


def row_count(x: Array) -> int:
    """The number of rows (along the last axis) of an array."""
    return math.prod(x.shape[:-1])


def contiguous(x: Array, dtype: Any = None) -> Array:
    """``x``, or a contiguous copy (in ``dtype``)."""
    dense = xp(x).ascontiguousarray(x, dtype=dtype)
    return dense if x.ndim else dense.reshape(())


def unset_like(x: Array) -> Array:
    """Uninitialized memory of the size of a contiguous array. Takes a third of the time of CuPy's ``empty_like``."""
    return xp(x).empty(x.shape, x.dtype)


def strided(x: Array, dtype: Any = None) -> tuple[Any, ...]:
    """Kernel arguments for an array that may not be contiguous: the array, and its strides in elements, except along
    the last axis. An array whose dtype differs, or that has gaps along its last axis, is copied."""
    if x.strides[-1] != x.itemsize or x.dtype != (dtype or x.dtype):
        x = contiguous(x, dtype)
    return (x, *(step // x.itemsize for step in x.strides[:-1]))


def wide(x: Array) -> Any:
    """The dtype in which kernels accumulate (see common.cuh)."""
    return xp(x).float64 if x.dtype.itemsize == 8 else xp(x).float32


def address(x: Array | None, dtype: Any = None) -> Array | int:
    """An optional array as a kernel argument."""
    return NULL if x is None else contiguous(x, dtype)


def drawn(keep: Any) -> tuple[Any, int, int]:
    """Kernel arguments for ``is_kept`` from a mask, None to keep everything, or a ``Draw``, which stores no mask."""
    if isinstance(keep, Draw):
        return NULL, (keep.seed + 2**63) % 2**64 - 2**63, keep.bound
    return address(keep, bool), 0, 0
