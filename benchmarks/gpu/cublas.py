"""cuBLAS by ctypes: products in any precision, also while a stream is captured, where CuPy's own refuse.

Arrays are CuPy's, in C or Fortran order. Numbers are those of cublas_api.h and library_types.h of CUDA 12 and 13.
"""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

from .place import Place

TYPES = {"float32": 0, "float64": 1, "float16": 2, "bfloat16": 14}  # cudaDataType
# cublasComputeType_t: sums in 32 or 64 bits
COMPUTE = {"float32": 68, "float64": 70, "float16": 68, "bfloat16": 68, "TF32": 77}
DEFAULT_ALGORITHM = -1
WORKSPACE = 32 << 20  # bytes; else cuBLAS allocates it in the graph


class CublasError(RuntimeError):
    """cuBLAS refused a call; the message has its status, a cublasStatus_t."""


class Cublas:
    """A handle of cuBLAS, for one device."""

    def __init__(self, cupy: Any) -> None:
        self._cupy = cupy
        self._library = ctypes.CDLL(_loaded(cupy))
        self._handle = ctypes.c_void_p()
        self._call("cublasCreate_v2", ctypes.byref(self._handle))
        self._workspace = cupy.empty(WORKSPACE, cupy.uint8)

    def matmul(self, a: Any, b: Any, out: Any, precision: str | None = None) -> None:
        """``out = a @ b`` on CuPy's current stream, for matrices; ``out`` is in C order.

        Args:
            precision: of TYPES or COMPUTE; None: that of the arrays. bfloat16 is held as uint16.
        """
        (m, k), n = a.shape, b.shape[1]
        name = precision or str(out.dtype)
        kind, compute = TYPES["float32" if name == "TF32" else name], COMPUTE[name]
        one, zero = (ctypes.c_double if name == "float64" else ctypes.c_float for _ in range(2))
        # cuBLAS reads by columns, and so sees the transposed of each array: outᵀ = bᵀ aᵀ.
        right, left = _operand(b), _operand(a)
        self._on_stream()
        self._call(
            "cublasGemmEx", self._handle, right[0], left[0], n, m, k, ctypes.byref(one(1.0)),
            _pointer(b), kind, right[1], _pointer(a), kind, left[1], ctypes.byref(zero(0.0)),
            _pointer(out), kind, n, compute, DEFAULT_ALGORITHM,
        )  # fmt: skip

    def _on_stream(self) -> None:
        stream = self._cupy.cuda.get_current_stream()
        self._call("cublasSetStream_v2", self._handle, ctypes.c_void_p(stream.ptr))  # this forgets the workspace
        size = ctypes.c_size_t(WORKSPACE)
        self._call("cublasSetWorkspace_v2", self._handle, _pointer(self._workspace), size)

    def _call(self, name: str, *arguments: Any) -> None:
        status = getattr(self._library, name)(*arguments)
        if status:
            raise CublasError(f"{name} gives status {status}")


class Plain:
    """In a rehearsal: the same products by the array library."""

    def __init__(self, xp: Any) -> None:
        self._xp = xp

    def matmul(self, a: Any, b: Any, out: Any, precision: str | None = None) -> None:
        """``out = a @ b``."""
        self._xp.matmul(a, b, out=out)


def products(place: Place) -> Any:
    """Products by ctypes, or their stand-in."""
    return Plain(place.xp()) if place.rehearsal else Cublas(place.xp())


def _loaded(cupy: Any) -> str:
    """The file of the cuBLAS that CuPy uses: two of them in one process would hold memory twice."""
    one = cupy.ones((32, 32), cupy.float32)
    cupy.matmul(one, one)
    maps = Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace").split()
    return next((word for word in maps if "/libcublas.so" in word), "libcublas.so")


def _operand(array: Any) -> tuple[int, int]:
    """Whether cuBLAS has to transpose it (0, 1), and the distance of its lines."""
    if array.flags.c_contiguous:
        return 0, max(array.shape[1], 1)
    if array.flags.f_contiguous:
        return 1, max(array.shape[0], 1)
    raise ValueError(f"an array of shape {array.shape} in neither C nor Fortran order")


def _pointer(array: Any) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.data.ptr)
