"""How many threads the BLAS under NumPy may use.

Beside our own threads it must use one: OpenBLAS's threads go on looking for work for a tenth of a second after
a product, and take the cores from ours. NumPy's wheels bring OpenBLAS, whose functions are found in the
libraries that NumPy has loaded. Under another BLAS nothing is found, and nothing is changed.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import numpy as np

_NAMES = ("scipy_openblas_{}_num_threads64_", "scipy_openblas_{}_num_threads",
          "openblas_{}_num_threads64_", "openblas_{}_num_threads")  # fmt: skip
Calls = tuple[Callable[[], int], Callable[[int], object]]
_found: Calls | tuple[()] | None = None


def calls() -> Calls | tuple[()]:
    """The functions that get and set OpenBLAS's number of threads; nothing where there is no OpenBLAS."""
    global _found
    if _found is None:
        _found = _find()
    return _found


def _find() -> Calls | tuple[()]:
    try:
        core = getattr(np, "_core", None) or np.core  # NumPy 2 or 1
        library = ctypes.CDLL(core._multiarray_umath.__file__)
    except (AttributeError, OSError):
        return ()
    for name in _NAMES:
        get, put = (getattr(library, name.format(what), None) for what in ("get", "set"))
        if get is not None and put is not None:
            put.argtypes = [ctypes.c_int]
            return get, put
    return ()


class one_thread:
    """``with one_thread():`` products are computed by the thread that asks for them."""

    __slots__ = ("before", "put")

    def __enter__(self) -> None:
        known = calls()
        self.before = 1
        if known:
            self.before, self.put = known[0](), known[1]
            if self.before != 1:
                self.put(1)

    def __exit__(self, *exception: object) -> None:
        if self.before != 1:
            self.put(self.before)
