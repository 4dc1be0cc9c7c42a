"""The LAPACK that NumPy brings, on arrays of any backend."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import numpy as np

from ...backend.dtype import Array
from ...backend.registry import of

Function = TypeVar("Function", bound=Callable[..., Any])


class LinAlgError(RuntimeError):
    """LAPACK's: a matrix is singular, or not positive definite, or the algorithm did not converge."""


def on_host(function: Any, *arrays: Array) -> Any:
    """A function of NumPy's on arrays of any backend; float16 is computed in float32.

    Integers among the results keep their dtype; floats get that of the arrays, or its real or complex counterpart (of
    arrays of integers they keep theirs, too). Errors of LAPACK are raised as LinAlgError.
    """
    backend = of(arrays[0])
    get = _stand_in if backend.device_type == "meta" else backend.to_numpy
    host = [get(a) for a in arrays]
    kind = np.result_type(*(a for a in host if a.dtype.kind in "fc")) if host[0].dtype.kind in "fc" else host[0].dtype
    try:
        results = function(*(a.astype(np.float32) if a.dtype == np.float16 else a for a in host))
    except np.linalg.LinAlgError as error:
        raise LinAlgError(f"linalg: {error}") from error
    device, moved = backend.device_of(arrays[0]), []
    for part in map(np.asarray, results if isinstance(results, tuple) else (results,)):
        if part.dtype.kind in "fc" and kind.kind in "fc":
            real = np.finfo(kind).dtype
            part = part.astype(np.result_type(real, np.complex64) if part.dtype.kind == "c" else real, copy=False)
        moved.append(backend.asarray(part, device))
    return tuple(moved) if isinstance(results, tuple) else moved[0]


def on_cpu(function: Function) -> Function:
    """Let a function of NumPy arrays, its first arguments of type Array, take those of any backend: see ``on_host``."""
    arrays = list(function.__annotations__.values())[:-1].count("Array")

    @wraps(function)
    def on_any(*args: Any) -> Any:
        return on_host(lambda *host: function(*host, *args[arrays:]), *args[:arrays])

    return on_any  # type: ignore[return-value]


def _stand_in(x: Array) -> Array:
    """For a matrix without elements one that every algorithm takes."""
    return np.broadcast_to(np.eye(*x.shape[-2:], dtype=x.dtype) if x.ndim > 1 else np.ones((), x.dtype), x.shape)
