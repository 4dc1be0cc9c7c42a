"""The emulator of CUDA kernels runs correct kernels and reports errors in wrong ones."""

import platform
from typing import Any

import numpy as np
import pytest

from tests.support import cuda_emulator
from tests.support.cases import cases, raises
from tests.support.kernel_checks import needs_emulator
from tests.support.strict_array import wrap

pytestmark = needs_emulator

SOURCE = r"""
extern "C" __global__ void reverse(const float* x, float* out, long long synced) {
    __shared__ float line[64];
    line[threadIdx.x] = x[threadIdx.x];
    if (synced) __syncthreads();
    out[threadIdx.x] = line[63 - threadIdx.x];
}
extern "C" __global__ void copy_rows(const float* x, long long row, float* out) {
    out[blockIdx.x * 32 + threadIdx.x] = x[blockIdx.x * row + threadIdx.x];
}
extern "C" __global__ void write_at(float* out, long long at) { if (threadIdx.x == 0) out[at] = 1; }
extern "C" __global__ void write_shared(float* out, long long at) {
    extern __shared__ float memory[];
    if (threadIdx.x == 0) memory[at] = 1;
    __syncthreads();
    out[threadIdx.x] = memory[threadIdx.x];
}
extern "C" __global__ void write_in(float* const* table, long long row, long long at) {
    if (threadIdx.x == 0) table[row][at] = 1;
}
extern "C" __global__ void half_of(const float* x, float* out, double* wide) {
    out[threadIdx.x] = x[threadIdx.x] / 2;
    wide[threadIdx.x] = wide[threadIdx.x] / 2;
}
extern "C" __global__ void some_wait(float* out, double unused) { if (threadIdx.x < 40) __syncthreads(); }
""".replace("extern __shared__ float memory[];", "DYNAMIC_SHARED(float, memory);")


@pytest.fixture(scope="module")
def module() -> Any:
    return cuda_emulator.RawModule(code=SOURCE, options=("-std=c++17",))


def array(*shape: int, dtype: str = "float32") -> Any:
    return wrap(np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype))


def test_shared_memory_and_barriers(module: Any) -> None:
    x, out = array(64), array(64)
    module.get_function("reverse")((1,), (64,), (x, out, 1))
    np.testing.assert_array_equal(out.get(), x.get()[::-1])


def test_a_missing_barrier_shows(module: Any) -> None:
    x, out = array(64), array(64)
    module.get_function("reverse")((1,), (64,), (x, out, 0))
    assert np.isnan(out.get()).any()  # shared memory that was not yet written


def test_a_strided_array_is_passed_with_its_strides(module: Any) -> None:
    whole, out = array(3, 100), array(3, 32)
    part, other = whole[:, 5:37], whole[:, 40:72]
    module.get_function("copy_rows")((3,), (32,), (part, 100, out))
    np.testing.assert_array_equal(out.get(), part.get())
    for args in ((part, 32, out), (whole.T, 1, out)):
        with pytest.raises(cuda_emulator.EmulatorError, match="not contiguous, without its strides"):
            module.get_function("copy_rows")((3,), (32,), args)
    before = whole.get()
    module.get_function("copy_rows")((1,), (32,), (part, 100, other[1]))  # both in the same memory
    np.testing.assert_array_equal(other.get()[1], part.get()[0])
    assert (whole.get() != before).sum() == 32


@cases("at", [64, 70, -1, 500])
def test_writing_outside_an_array(module: Any, at: int) -> None:
    with pytest.raises(cuda_emulator.EmulatorError, match="outside an array"):
        module.get_function("write_at")((1,), (32,), (array(64), at))


def test_a_table_of_addresses(module: Any) -> None:
    a, b = array(64), array(5)
    table = wrap(np.array([a.data.ptr, 0, b.data.ptr]))
    write = module.get_function("write_in")
    write((1,), (32,), (table, 2, 4))
    np.testing.assert_array_equal(b.get(), [0, 1, 2, 3, 1])
    np.testing.assert_array_equal(a.get(), np.arange(64))
    for at in -1, 5, 60:
        with pytest.raises(cuda_emulator.EmulatorError, match="outside an array"):
            write((1,), (32,), (table, 2, at))


def test_a_table_holds_addresses_of_living_arrays_of_the_kernels_type(module: Any) -> None:
    write, host, double = module.get_function("write_in"), np.zeros(64, "float32"), array(64, dtype="float64")
    with pytest.raises(cuda_emulator.EmulatorError, match="address of no array"):
        write((1,), (32,), (wrap(np.array([host.ctypes.data])), 0, 0))
    with pytest.raises(cuda_emulator.EmulatorError, match=r"float64 where the kernel declares \*f"):
        write((1,), (32,), (wrap(np.array([double.data.ptr])), 0, 0))
    table = wrap(np.array([double.data.ptr]))
    del double
    raises(cuda_emulator.EmulatorError, "address of no array", lambda: write((1,), (32,), (table, 0, 0)))


def test_shared_memory_is_poisoned_and_guarded(module: Any) -> None:
    out = array(32)
    module.get_function("write_shared")((1,), (32,), (out, 5), shared_mem=128)
    assert out.get()[5] == 1
    assert np.isnan(np.delete(out.get(), 5)).all()
    with pytest.raises(cuda_emulator.EmulatorError, match="end of dynamic shared memory"):
        module.get_function("write_shared")((1,), (32,), (out, 32), shared_mem=128)


def test_much_shared_memory_must_be_requested(module: Any) -> None:
    kernel, args = module.get_function("write_shared"), ((1,), (32,), (array(32), 5))
    raises(cuda_emulator.EmulatorError, "shared memory", lambda: kernel(*args, shared_mem=50_000))
    kernel.max_dynamic_shared_size_bytes = 50_000
    kernel(*args, shared_mem=50_000)


def test_a_deadlock_is_an_error_and_does_not_hang(module: Any) -> None:
    with pytest.raises(cuda_emulator.EmulatorError, match="40 threads wait at __syncthreads"):
        module.get_function("some_wait")((1,), (64,), (array(1), 0.0))
    test_shared_memory_and_barriers(module)


@cases(
    "args, message",
    [
        ((array(64),), "takes 2 arguments"),
        ((array(64, dtype="float64"), 1), r"float64 where the kernel declares \*f"),
        ((array(64), 1.0), "declares q"),
        ((array(64), True), "declares q"),
        ((array(64), None), "declares q"),
        ((None, 1), r"declares \*f"),
        ((array(8, 8).T, 1), "not contiguous"),
        ((np.zeros(64, "float32"), 1), r"declares \*f"),
    ],
)
def test_arguments_are_checked(module: Any, args: Any, message: str) -> None:
    raises(cuda_emulator.EmulatorError, message, lambda: module.get_function("write_at")((1,), (32,), args))


@cases("grid, block", [((0,), (32,)), ((1, 70_000), (32,)), ((1,), (2048,)), ((1,), (33,))])
def test_launches_are_checked(module: Any, grid: Any, block: Any) -> None:
    raises(cuda_emulator.EmulatorError, None, lambda: module.get_function("write_at")(grid, block, (array(64), 1)))


def test_a_kernel_that_does_not_compile() -> None:
    with pytest.raises(cuda_emulator.EmulatorError, match="undeclared"):
        cuda_emulator.RawModule(code='extern "C" __global__ void f(float* x) { x[0] = undeclared; }')


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="the emulator flushes on x86 only")
def test_subnormal_floats_are_zeros(module: Any) -> None:
    """Doubles, in kernels for doubles, are not."""
    least, wide = np.full(32, np.finfo(np.float32).smallest_normal), np.full(32, np.finfo(np.float64).smallest_normal)
    out = np.empty_like(least)
    module.get_function("half_of")((1,), (32,), (wrap(least), wrap(out), wrap(wide.copy())))
    assert (out == 0).all()
    assert (least / 2 > 0).all()  # the caller's floats are unchanged
    exact = cuda_emulator.RawModule(code=SOURCE, options=("-std=c++17", "-DREAL_BITS=64"))
    exact.get_function("half_of")((1,), (32,), (wrap(least), wrap(out), wrap(wide)))
    assert (wide == np.finfo(np.float64).smallest_normal / 2).all()
