"""The compiled loops in memory, which are loaded from the cache (``machine_code.py``) when first needed. With
``MINIGRAD_FAST=0`` in the environment, the compiled loops are not used, as if Numba were not installed."""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import sys
import warnings
from _thread import RLock
from collections.abc import Iterable
from typing import Any

import numpy as np

from . import THREAD_POOL, Code

# The units for training a transformer are built together, and each of the others when it is first needed.
_FIRST = "cross_entropy dropout elementwise layer_norm many products scaled_dot_product_attention scatter_add_rows"
_FIRST += " softmax"
FIRST = (THREAD_POOL, *(f"{name}_numba" for name in _FIRST.split()))
_C_NAMES: tuple[str, ...] = ("memset", "memcpy", "memmove", "exp", "expf", "log", "logf", "log1p", "log1pf")
_C_NAMES += ("pow", "powf", "sqrt", "sqrtf")
# Numba's error functions, which loops never call. While one is missing, memset and memcpy are not resolved either.
_UNUSED = tuple(f"numba_{name}" for name in ("do_raise", "gil_ensure", "gil_release", "unpickle"))
_UNUSED += ("numba_runtime_build_excinfo_struct", "NRT_Free", "NRT_MemInfo_call_dtor")
_lock = RLock()
_library: Library | None = None
_attempts: set[str] = set()  # units that were loaded or failed to load


class Library:
    """Compiled functions in memory: their ``addresses`` by name, and the loaded ``units``."""

    def __init__(self) -> None:
        from llvmlite import binding

        binding.initialize_native_target()
        binding.initialize_native_asmprinter()
        libc = ctypes.CDLL("ucrtbase" if sys.platform == "win32" else None)
        for name in _C_NAMES:  # compilers turn some loops into calls to these functions
            if binding.address_of_symbol(name) is None and (function := getattr(libc, name, None)) is not None:
                binding.add_symbol(name, ctypes.cast(function, ctypes.c_void_p).value)
        for symbol in _UNUSED:
            if binding.address_of_symbol(symbol) is None:
                binding.add_symbol(symbol, ctypes.cast(ctypes.pythonapi.Py_FatalError, ctypes.c_void_p).value)
        self._machine = binding.Target.from_default_triple().create_target_machine(jit=True)
        self._kept: list[Any] = []  # engines and the code in memory that they reference
        self.units: set[str] = set()
        self.addresses: dict[str, int] = {}
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self))  # threads run its code until the process ends

    def add(self, units: Iterable[str], code: Code) -> None:
        """Load units."""
        from llvmlite import binding

        engine = binding.create_mcjit_compiler(binding.parse_assembly(""), self._machine)
        for _, machine_code in code.values():
            engine.add_object_file(binding.ObjectFileRef.from_data(machine_code))
        engine.finalize_object()
        self._kept += engine, code
        self.units.update(units)
        self.addresses |= {name: engine.get_function_address(symbol) for name, (symbol, _) in code.items()}
        with contextlib.suppress(OSError, AttributeError, ValueError):
            _release_pages("llvmlite")

    def function(self, name: str, result: Any, *arguments: Any) -> Any:
        """A function in thread_pool.py, which is called without the GIL."""
        return ctypes.CFUNCTYPE(result, *arguments)(self.addresses[f"thread_pool.{name}"])


def _release_pages(name: str) -> None:
    """On Linux, release a shared library's code pages (30 MiB for LLVM), which the system reads again on demand."""
    if not sys.platform.startswith("linux"):
        return
    advise, no_need = ctypes.CDLL(None).madvise, 4  # MADV_DONTNEED, for unmodified pages
    with open("/proc/self/maps", encoding="utf-8") as maps:
        for line in maps:
            place, rights, *about = line.split()
            if rights == "r-xp" and name in about[-1]:
                start, end = (int(address, 16) for address in place.split("-"))
                advise(ctypes.c_void_p(start), ctypes.c_size_t(end - start), no_need)


def library(unit: str = THREAD_POOL) -> Library | None:
    """The compiled loops, including those of a unit, or None if Numba is missing or they cannot be built."""
    if unit not in _attempts:
        with _lock:
            if THREAD_POOL not in _attempts:
                _ask(FIRST)
            if unit not in _attempts:
                _ask((unit,))
    return _library if _library is not None and unit in _library.units else None


def prepare() -> None:
    """Load or compile the loops in a background thread. A caller that needs them earlier waits."""
    if THREAD_POOL not in _attempts and is_wanted():
        from threading import Thread  # imported here, as it takes 3% of minigrad's import time

        Thread(target=library, name="minigrad kernels", daemon=True).start()


def _ask(units: tuple[str, ...]) -> None:
    """Load units, unless the first ones could not be loaded."""
    global _library
    try:
        if is_wanted() if THREAD_POOL in units else _library:
            from . import machine_code  # imported here, as its imports take a third as long as importing minigrad

            code = machine_code.load(units)
            library = _library or Library()
            library.add(units, code)
            _library = library
    except Exception as error:  # whatever fails in the compiler, disk or loader, NumPy's kernels still work
        reason = str(error).strip().splitlines() or [type(error).__name__]
        warnings.warn(
            f"minigrad's compiled kernels cannot be used here, so NumPy is used instead: {reason[-1]} "
            f"(set MINIGRAD_FAST=0 in the environment to silence this warning)",
            RuntimeWarning,
            stacklevel=2,
        )
    finally:
        _attempts.update(units)  # last, as other threads wait until then


def is_wanted() -> bool:
    """Whether Numba is installed and the compiled loops are not switched off."""
    if (
        os.environ.get("MINIGRAD_FAST", "1") in ("0", "off", "no", "false")
        or platform.python_implementation() != "CPython"
    ):
        return False
    from importlib.util import find_spec

    return find_spec("numba") is not None and _has_known_layout()


def _has_known_layout() -> bool:
    """Whether the fields of an array are where ``functions.py`` expects them."""
    probe = np.zeros((3, 5), np.float32)[:, ::2]
    fields = (ctypes.c_int64 * 7).from_address(id(probe) + object.__basicsize__)
    at = probe.__array_interface__["data"][0]
    shape, steps = ((ctypes.c_int64 * 2).from_address(fields[i]) for i in (2, 3))
    where = fields[0] == at and fields[1] & 0xFFFF == 2 and tuple(shape) == (3, 3) and tuple(steps) == (20, 8)
    dtype = fields[5] == id(probe.dtype) and (fields[6] & 1) == 0
    return where and dtype and sys.byteorder == "little" and ctypes.sizeof(ctypes.c_void_p) == 8


def forget_threads() -> None:
    """Reset the lock in a child process, where the thread that held it does not exist."""
    global _lock
    _lock = RLock()
