"""Products by ctypes: the arguments of cublasGemmEx, which a stand-in reads as cuBLAS does, by columns."""

import ctypes
import importlib
from operator import attrgetter
from typing import Any

import numpy as np
import pytest

from benchmarks.gpu import cublas
from benchmarks.gpu.cublas import COMPUTE, TYPES, Cublas
from tests.support import strict  # noqa: F401 (it gives the stand-in its streams)
from tests.support.strict_array import NAMESPACE, wrap

NUMBERS = {number: np.dtype(name) for name, number in TYPES.items() if name != "bfloat16"}
# The names of CuPy that benchmarks.gpu uses on a GPU.
NAMES = """
    __version__ RawModule RawModule.compile cuda.Device cuda.Device.synchronize cuda.Event cuda.Event.record
    cuda.get_current_stream cuda.get_elapsed_time cuda.MemoryPool cuda.MemoryPool.malloc cuda.Stream
    cuda.Stream.begin_capture cuda.Stream.end_capture cuda.Stream.synchronize cuda.Graph.launch cuda.using_allocator
    cuda.runtime.getDeviceProperties cuda.runtime.runtimeGetVersion cuda.runtime.driverGetVersion
"""


class Library:
    """libcublas.so in NumPy."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def cublasCreate_v2(self, handle: Any) -> int:
        return self._called("create")

    def cublasSetStream_v2(self, handle: Any, stream: Any) -> int:
        return self._called("stream")

    def cublasSetWorkspace_v2(self, handle: Any, workspace: Any, size: Any) -> int:
        assert size.value > 0
        return self._called("workspace")

    def cublasGemmEx(self, _: Any, turn_a: int, turn_b: int, m: int, n: int, k: int, alpha: Any, *rest: Any) -> int:
        a, a_type, lda, b, b_type, ldb, beta, c, c_type, ldc, compute, _ = rest
        scale = np.float64 if compute == COMPUTE["float64"] else np.float32
        for number, value in ((alpha, 1), (beta, 0)):
            assert np.frombuffer(number._obj, scale)[0] == value
        left = columns(a, (k, m) if turn_a else (m, k), lda, a_type)
        right = columns(b, (n, k) if turn_b else (k, n), ldb, b_type)
        columns(c, (m, n), ldc, c_type)[...] = (left.T if turn_a else left) @ (right.T if turn_b else right)
        return self._called("product")

    def _called(self, name: str) -> int:
        self.calls.append(name)
        return 0


def columns(pointer: ctypes.c_void_p, shape: tuple[int, int], distance: int, kind: int) -> Any:
    """A matrix in memory by columns."""
    assert distance >= shape[0]
    dtype = NUMBERS[kind]
    buffer: Any = (ctypes.c_char * (distance * shape[1] * dtype.itemsize)).from_address(pointer.value or 0)
    return np.frombuffer(buffer, dtype).reshape(shape[1], distance).T[: shape[0]]


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Library:
    fake = Library()
    monkeypatch.setattr(cublas, "_loaded", lambda cupy: "libcublas.so")
    monkeypatch.setattr(ctypes, "CDLL", lambda name: fake)
    return fake


@pytest.mark.parametrize(
    ("turned", "precision"),
    [((False, False), "float16"), ((True, False), "float32"), ((False, True), "float64"), ((True, True), "TF32")],
)
def test_products_in_both_orders(turned: tuple[bool, bool], precision: str, library: Library) -> None:
    dtype = "float32" if precision == "TF32" else precision
    draw = np.random.default_rng(0)
    a, b = (draw.integers(-4, 5, shape).astype(dtype) for shape in ((3, 5), (5, 2)))
    both = zip((a, b), turned, strict=True)
    operands: list[Any] = [wrap(np.ascontiguousarray(x.T)).T if turn else wrap(x) for x, turn in both]
    out = NAMESPACE.zeros((3, 2), dtype)
    Cublas(NAMESPACE).matmul(operands[0], operands[1], out, precision)
    np.testing.assert_array_equal(out.get(), a @ b)
    assert library.calls == ["create", "stream", "workspace", "product"]  # a new stream forgets the workspace


def test_arrays_with_gaps_are_refused(library: Library) -> None:
    x = NAMESPACE.zeros((6, 6))[::2, ::2]
    with pytest.raises(ValueError, match="neither C nor Fortran"):
        Cublas(NAMESPACE).matmul(x, x, NAMESPACE.zeros((3, 3)))


def test_all_names_are_cupys() -> None:
    cupy = pytest.importorskip("cupy")
    for name in NAMES.split():
        assert attrgetter(name)(cupy) is not None
    assert importlib.import_module("cupy_backends.cuda.libs.nvrtc").getVersion
