"""The arithmetic of CuPy's kernels, where it differs from NumPy's.

CuPy compiles its own kernels and ours with ``-ftz=true``: in float32 and complex64, a number between 0 and the smallest
normal one is read and written as 0. Memory itself is unchanged, and copies keep these numbers.
"""

from typing import Any

import numpy as np

_LEAST = np.finfo(np.float32).smallest_normal


def flushes(device: str, dtype: Any) -> bool:
    """Whether a device flushes subnormal numbers of a dtype to 0."""
    return not device.startswith("cpu") and np.dtype(dtype).char in "fF"


def as_read(values: Any, device: str) -> Any:
    """A NumPy array as the device's kernels read it."""
    return flushed(values) if flushes(device, values.dtype) else values


def flushed(x: Any, in_place: bool = False) -> Any:
    """x, if it is a NumPy array, with 0 for its subnormal float32 numbers; a copy if it has any."""
    if not isinstance(x, np.ndarray) or x.dtype.char not in "fF":
        return x
    parts = (x.real, x.imag) if x.dtype.char == "F" else (x,)
    if not any(((np.abs(part) < _LEAST) & (part != 0)).any() for part in parts):
        return x
    if not in_place:
        return flushed(x.copy(), in_place=True)
    for part in parts:
        part[np.abs(part) < _LEAST] *= 0  # it keeps the sign
    return x


def _quotient(a: Any, b: Any, **options: Any) -> Any:
    """``cupy.floor_divide``."""
    is_float = np.result_type(a, b).kind == "f"
    return np.floor(np.true_divide(a, b), **options) if is_float else np.floor_divide(a, b, **options)


def _remainder(a: Any, b: Any, **options: Any) -> Any:
    """``cupy.remainder``."""
    is_float = np.result_type(a, b).kind == "f"
    return np.subtract(a, _quotient(a, b) * b, **options) if is_float else np.remainder(a, b, **options)


def _fmod(a: Any, b: Any) -> Any:
    """``cupy.fmod``, which sends integers through float64."""
    kind = np.result_type(a, b)
    return np.fmod(a, b) if kind.kind == "f" else np.fmod(np.float64(a), np.float64(b)).astype(kind)


FORMULAS: dict[str, Any] = {"floor_divide": _quotient, "remainder": _remainder, "fmod": _fmod}
