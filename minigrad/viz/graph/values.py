"""An array as it can be shown: all numbers of a small one, statistics and a coarse heat map of a large one.

Of an array on a GPU only the results of reductions are copied to the host.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...backend import dtype as dt
from ...backend import of, xp
from ...backend.dtype import Array
from .data import Value

TABLE = 64  # the most elements that are shown one by one
CELLS = 32  # the most rows, and columns, of a heat map
_BLOCK = 1 << 16  # elements that statistics are taken of at once on the CPU: they stay in cache


def value_of(array: Array) -> Value:
    """What is shown of an array of any dtype and shape.

    A table has 0 and 1 for bools, and of complex numbers the real and the imaginary parts in turn. Statistics
    and heat maps of complex numbers are those of their moduli. Statistics are of the finite elements.
    """
    table = statistics = heat = None
    if array.size <= TABLE:
        table = _table(array)
    else:
        m = xp(array)
        real = m.absolute(array) if array.dtype.kind == "c" else array
        statistics, heat = _statistics(real), _heat(real)
    shape = tuple(int(n) for n in array.shape)
    device = str(of(array).device_of(array))
    return Value(shape, dt.of(array).name, device, int(array.nbytes), table, statistics, heat)


def outline(shape: tuple[int, ...], dtype: Any, device: str) -> Value:
    """An array whose numbers are gone, or not there yet: its shape (NumPy's dtype, the device's name)."""
    dtype = np.dtype(dtype)
    return Value(tuple(shape), dt.of_numpy(dtype).name, device, math.prod(shape) * dtype.itemsize)


def _table(array: Array) -> list[list[float]]:
    """Its elements as Python numbers, row by row of the last axis."""
    host = of(array).to_numpy(array)
    if host.dtype.kind == "c":
        host = np.stack((host.real, host.imag), -1).reshape(*host.shape[:-1], -1)
    if host.dtype.kind == "b":
        host = host.astype(np.uint8)
    rows: list[list[float]] = host.reshape(_rows_and_columns(host.shape)).tolist()
    return rows


def _rows_and_columns(shape: tuple[int, ...]) -> tuple[int, int]:
    """Of the matrix whose columns are the last axis."""
    return math.prod(shape[:-1]), shape[-1] if shape else 1


def _statistics(array: Array) -> dict[str, float]:
    """min, max, mean, std (divided by n) and norm of the finite elements; zeros and nan are counts.

    Mean and squares are added up in float64, block by block (Chan, Golub and LeVeque 1979, equation 2.1).
    """
    m, flat = xp(array), array.reshape(-1)
    step = _BLOCK if m is np else flat.size
    low, high, count, mean, spread, zeros = math.inf, -math.inf, 0, 0.0, 0.0, 0
    for start in range(0, flat.size, step):
        block = flat[start : start + step]
        zeros += block.size - int(m.count_nonzero(block))
        if block.dtype.kind == "f" and not bool(m.isfinite(block).all()):
            block = block[m.isfinite(block)]
        if not (n := int(block.size)):
            continue
        low, high = min(low, float(block.min())), max(high, float(block.max()))
        wide = block.astype(np.float64)
        own = float(wide.mean())
        wide -= own
        apart = own - mean
        spread += float((wide * wide).sum()) + apart * apart * count * n / (count + n)
        mean += apart * n / (count + n)
        count += n
    if not count:
        low = high = mean = spread = math.nan
    return {
        "min": low, "max": high, "mean": mean, "std": math.sqrt(spread / max(count, 1)),
        "norm": math.sqrt(spread + count * mean * mean), "zeros": zeros, "nan": flat.size - count,
    }  # fmt: skip


def _heat(array: Array) -> list[list[float]]:
    """Means over cells: neighbouring rows of the last axis and neighbouring columns go into one.

    Three digits, which is more than a colour can show, keep files small.
    """
    rows = array.reshape(_rows_and_columns(array.shape))
    with np.errstate(all="ignore"):  # of infinities of both signs NaN, without a warning
        cells = _merged(_merged(rows, 0), 1)
    return [[float(f"{cell:.3g}") for cell in row] for row in of(cells).to_numpy(cells).tolist()]


def _merged(array: Array, axis: int) -> Array:
    """Means over runs of equal length along an axis of a matrix, CELLS at most; the last is shorter."""
    n = array.shape[axis]
    run = max(1, -(-n // CELLS))
    whole = n - n % run
    if axis == 1:
        parts = [array[:, :whole].reshape(array.shape[0], -1, run).mean(axis=2, dtype=np.float64)]
        rest = array[:, whole:]
    else:
        parts = [array[:whole].reshape(-1, run, array.shape[1]).mean(axis=1, dtype=np.float64)]
        rest = array[whole:]
    if n % run:
        parts.append(rest.mean(axis=axis, keepdims=True, dtype=np.float64))
    return xp(array).concatenate(parts, axis=axis)
