"""A CPU emulator of CUDA kernels: g++ builds the same source that the GPU gets (see cuda_emulator.h).

It offers the part of ``cupy.RawModule`` that the library uses. Unlike CUDA, a launch checks that each argument has the
type that the kernel declares, that arrays are contiguous or followed by their strides (of all axes except the last, in
elements), and that no kernel writes outside its arrays (they are copied between guard bytes, which read as NaN). A
table of addresses (``real* const*``) is an int64 array with addresses of living arrays on the device; the kernel gets
the addresses of their copies.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import weakref
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds

from ..launches import launched

_FOLDER = Path(__file__).parent
_COMPILER = shutil.which("g++")
_FLAGS = ("-O1", "-shared", "-fPIC", "-w", "-fno-strict-aliasing", "-U_FORTIFY_SOURCE")
_FLAGS += (
    "-march=native",
    "-ffp-contract=fast",
    "-fexpensive-optimizations",
)  # as on a GPU, a product and a sum are rounded once
_KERNEL = re.compile(r'extern\s+"C"\s+__global__\s+void\s+(?:__launch_bounds__\([^)]*\)\s*)?(\w+)\s*\(')
_GUARD_BYTES = 4096
_POISON = 0xFF
_FREE_SHARED_BYTES = 48 * 1024
at_address: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()  # arrays whose address was read


def missing() -> str:
    """Why kernels cannot be emulated on this machine; "" if they can."""
    if sys.platform != "linux":
        return "CUDA kernels are emulated on Linux only"
    return "" if _COMPILER else "no g++ on this machine: CUDA kernels cannot be emulated"


class EmulatorError(RuntimeError):
    """A kernel that does not compile, a launch that CUDA would refuse, or a fault during the run."""


class RawModule:
    """Stands in for ``cupy.RawModule``: kernels are the ``extern "C" __global__`` functions in ``code``."""

    def __init__(self, *, code: str, options: tuple[str, ...] = ()) -> None:
        self.kernels = _KERNEL.findall(code)
        defines = [option for option in options if option.startswith("-D")]
        if "-DREAL_BITS=16" in defines:
            defines.append("-DEMULATOR_BFLOAT" if "-DREAL_BFLOAT=1" in defines else "-DEMULATOR_HALF")
        wrappers = "".join(f"EMULATOR_KERNEL({name})\n" for name in self.kernels)
        self.library = ctypes.CDLL(str(_build(f'{code}\n#line 1 "emulator"\n{wrappers}', tuple(defines))))

    def get_function(self, name: str) -> RawKernel:
        if name not in self.kernels:
            raise EmulatorError(f"no kernel {name!r} in this source, which has {self.kernels}")
        return RawKernel(self.library, name)


class RawKernel:
    """Stands in for ``cupy.RawKernel``."""

    def __init__(self, library: ctypes.CDLL, name: str) -> None:
        self.name = name
        self.max_dynamic_shared_size_bytes = _FREE_SHARED_BYTES
        self._launch = library[f"launch_{name}"]
        self._launch.restype = ctypes.c_char_p
        signature = library[f"signature_{name}"]
        signature.restype = ctypes.c_char_p
        self.parameters = re.findall(r"\**.", signature().decode())

    def __call__(
        self, grid: tuple[int, ...], block: tuple[int, ...], args: tuple[Any, ...], *, shared_mem: int = 0
    ) -> None:
        grid, block = (*grid, 1, 1)[:3], (*block, 1, 1)[:3]
        self._check(grid, block, args, shared_mem)
        launched(self.name)
        memory = _Memory(args)
        values = [_value(args[i:], kind, memory) for i, kind in enumerate(self.parameters)]
        addresses = (ctypes.c_void_p * len(values))(*(ctypes.addressof(v) for v in values))
        sizes = [(ctypes.c_uint * 3)(*size) for size in (grid, block)]
        error = self._launch(*sizes, ctypes.c_size_t(shared_mem), addresses)
        if error:
            raise EmulatorError(f"{self.name}: {error.decode()}")
        memory.give_back(self.name)

    def _check(self, grid: tuple[int, ...], block: tuple[int, ...], args: tuple[Any, ...], shared_mem: int) -> None:
        threads = block[0] * block[1] * block[2]
        if not (0 < grid[0] < 2**31 and 0 < grid[1] < 65536 and 0 < grid[2] < 65536):
            raise EmulatorError(f"{self.name}: CUDA refuses a grid of {grid}")
        if not 0 < threads <= 1024 or threads % 32 or block[2] > 64:
            raise EmulatorError(f"{self.name}: a block of {block} is not 1 to 32 whole warps")
        if shared_mem > self.max_dynamic_shared_size_bytes:
            limit = self.max_dynamic_shared_size_bytes
            raise EmulatorError(f"{self.name}: {shared_mem} bytes of shared memory, {limit} allowed")
        if len(args) != len(self.parameters):
            raise EmulatorError(f"{self.name} takes {len(self.parameters)} arguments, not {len(args)}")


def _build(code: str, defines: tuple[str, ...]) -> Path:
    """The shared library of a source, cached in one of the user's folders."""
    if _COMPILER is None:
        raise EmulatorError(missing())
    header = (_FOLDER / "cuda_emulator.h").read_text()
    key = hashlib.sha256(repr((code, defines, header, _FLAGS, _COMPILER)).encode()).hexdigest()[:32]
    folder = Path(tempfile.gettempdir()) / f"minigrad-cuda-emulator-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    library = folder / f"{key}.so"
    if not library.exists():
        with open(folder / f"{key}.lock", "w") as lock:
            import fcntl  # which Windows lacks

            fcntl.flock(lock, fcntl.LOCK_EX)  # tests run in parallel: one builds it, the others wait
            if not library.exists():
                _compile(code, defines, folder, library)
    return library


def _compile(code: str, defines: tuple[str, ...], folder: Path, library: Path) -> None:
    """Let g++ write a shared library, which replaces the file atomically."""
    with tempfile.TemporaryDirectory(dir=folder) as work:
        source, binary = Path(work) / "kernel.cpp", Path(work) / "kernel.so"
        source.write_text(code)
        include = (f"-I{_FOLDER}", "-include", "cuda_emulator.h")
        command = [str(_COMPILER), "-std=c++17", *_FLAGS, *defines, *include, str(source), "-o", str(binary)]
        process = subprocess.run(command, capture_output=True, text=True, check=False)
        if process.returncode:
            raise EmulatorError(f"g++ refuses the kernel:\n{process.stderr}")
        os.replace(binary, library)


class _Memory:
    """The arrays of one launch, copied between guards; an array that is not contiguous is copied with the memory
    between its elements. Arrays that share memory share their copy."""

    def __init__(self, args: tuple[Any, ...]) -> None:
        self._copies: list[tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]] = []
        arrays = [arg.emulator_array() for arg in args if hasattr(arg, "emulator_array")]
        start = stop = 0  # the span of overlapping strided arrays
        for (low, high), dense in sorted((byte_bounds(a), a.flags.c_contiguous) for a in arrays if a.size):
            if low < stop or not dense:
                if low >= stop:
                    self._lend_span(start, stop)
                    start = low
                stop = max(stop, high)
        self._lend_span(start, stop)

    def _lend_span(self, start: int, stop: int) -> None:
        if stop > start:
            self.lend(np.ctypeslib.as_array((ctypes.c_uint8 * (stop - start)).from_address(start)))

    def lend(self, array: np.ndarray[Any, Any]) -> int:
        """The address of an array's copy."""
        for original, copy in self._copies:
            offset = array.ctypes.data - original.ctypes.data
            if 0 <= offset <= original.nbytes - (array.nbytes if array.flags.c_contiguous else 1):
                return copy.ctypes.data + _GUARD_BYTES + offset
            if np.may_share_memory(original, array):
                raise EmulatorError("two arrays of a launch overlap in part")
        copy = np.full(array.nbytes + 2 * _GUARD_BYTES, _POISON, np.uint8)
        copy[_GUARD_BYTES : _GUARD_BYTES + array.nbytes] = _bytes(array)
        self._copies.append((array, copy))
        return copy.ctypes.data + _GUARD_BYTES

    def give_back(self, name: str) -> None:
        """Copy the kernel's output back."""
        for original, copy in self._copies:
            stop = _GUARD_BYTES + original.nbytes
            if (copy[:_GUARD_BYTES] != _POISON).any() or (copy[stop:] != _POISON).any():
                raise EmulatorError(f"{name} wrote outside an array of shape {original.shape}")
            if (copy[_GUARD_BYTES:stop] != _bytes(original)).any():  # an input may be read-only: expanded
                _bytes(original)[...] = copy[_GUARD_BYTES:stop]


def _bytes(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return array.reshape(-1).view(np.uint8)


def _lent(table: np.ndarray[Any, Any], kind: str, memory: _Memory) -> np.ndarray[Any, Any]:
    """A table of addresses, with the addresses of the arrays' copies."""
    copies = []
    for address in table.tolist():
        array = at_address.get(address)
        if address and array is None:
            raise EmulatorError(f"a table holds {address}, which is the address of no array on the device")
        copies.append(_value((array if address else 0,), kind, memory).value)
    return np.array([copy or 0 for copy in copies], np.int64)


def _strided(array: np.ndarray[Any, Any], after: tuple[Any, ...]) -> bool:
    """Whether an array is followed by its strides for all axes except the last, which is contiguous."""
    steps = [step // array.itemsize for step in array.strides]
    return array.ndim > 1 and steps[-1] == 1 and list(after[: array.ndim - 1]) == steps[:-1]


def _value(args: tuple[Any, ...], kind: str, memory: _Memory) -> Any:
    """The first argument as CuPy would pass it: arrays by address, int as long long, float as double."""
    arg = args[0]
    if hasattr(arg, "emulator_array"):
        array = arg.emulator_array()
        if kind.startswith("**") and array.dtype == np.int64:
            return ctypes.c_void_p(memory.lend(_lent(array, kind[1:], memory)))
        if kind != f"*{array.dtype.char}" and not (kind == "*q" and array.dtype == np.int64):
            raise EmulatorError(f"an array of {array.dtype} where the kernel declares {kind}")
        if not (array.flags.c_contiguous or _strided(array, args[1:])):
            raise EmulatorError(f"an array of shape {array.shape} that is not contiguous, without its strides")
        return ctypes.c_void_p(memory.lend(array))
    if type(arg) is int and kind.startswith("*") and arg == 0:
        return ctypes.c_void_p(None)
    if type(arg) is int and kind == "q":
        return ctypes.c_longlong(arg)
    if type(arg) is float and kind == "d":
        return ctypes.c_double(arg)
    raise EmulatorError(f"{arg!r} ({type(arg).__name__}) where the kernel declares {kind}")
