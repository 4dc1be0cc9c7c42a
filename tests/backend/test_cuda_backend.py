"""The CuPy backend, as far as it can be tested without a GPU, and on a GPU if there is one."""

from __future__ import annotations

import importlib
import importlib.util
import subprocess
import sys
import weakref
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import minigrad.cuda
from minigrad import backend
from minigrad.backend import cuda, kernels
from minigrad.backend.device import Device
from minigrad.backend.random import Draw

no_gpu = pytest.mark.skipif(cuda.is_available(), reason="this machine has a GPU")


@no_gpu
def test_without_a_gpu_the_error_says_what_to_do() -> None:
    assert not minigrad.cuda.is_available()
    assert minigrad.cuda.device_count() == 0
    for ask in (cuda.load, lambda: backend.for_device(Device("cuda")), minigrad.cuda.synchronize):
        with pytest.raises(RuntimeError, match=r"pip install cupy|nvidia-smi"):
            ask()


def test_nothing_imports_cupy_unasked() -> None:
    program = "import sys, minigrad.cuda, minigrad.backend.cuda; sys.exit('cupy' in sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True, cwd=Path(__file__).parents[2])


def why_not(monkeypatch: pytest.MonkeyPatch, *, installed: bool, count: Any) -> str:
    """The reason given on a machine with this CuPy."""

    def get_device_count() -> int:
        if isinstance(count, Exception):
            raise count
        return int(count)

    module = ModuleType("cupy")
    module.cuda = SimpleNamespace(runtime=SimpleNamespace(getDeviceCount=get_device_count))  # type: ignore[attr-defined]
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: module if installed else None)
    monkeypatch.setitem(sys.modules, "cupy", module)
    return cuda.why_not.__wrapped__()


def test_why_not(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "pip install cupy" in why_not(monkeypatch, installed=False, count=1)
    failed = why_not(monkeypatch, installed=True, count=RuntimeError("old"))
    assert "cannot find a usable NVIDIA driver (old)" in failed
    assert "cannot find an NVIDIA GPU" in why_not(monkeypatch, installed=True, count=0)
    assert why_not(monkeypatch, installed=True, count=2) == ""


class FakeGpu:
    """Stands in for cupy.cuda.Device: records the current device."""

    current = 0

    def __init__(self, number: int | None = None) -> None:
        self.id = FakeGpu.current if number is None else number

    def __enter__(self) -> FakeGpu:
        self.before, FakeGpu.current = FakeGpu.current, self.id
        return self

    def __exit__(self, *exception: object) -> None:
        FakeGpu.current = self.before


class FakeArray:
    """Stands in for cupy.ndarray: lives on the device on which it was created."""

    def __init__(self) -> None:
        self.device = FakeGpu(FakeGpu.current)

    def copy(self) -> FakeArray:
        return FakeArray()


@pytest.fixture
def two_gpus() -> cuda.CupyBackend:
    runtime = SimpleNamespace(getDeviceCount=lambda: 2)
    return cuda.CupyBackend(
        SimpleNamespace(
            ndarray=FakeArray, asarray=lambda array: FakeArray(), cuda=SimpleNamespace(Device=FakeGpu, runtime=runtime)
        )
    )


def test_devices(two_gpus: cuda.CupyBackend) -> None:
    on_1 = two_gpus.asarray(np.zeros(3), Device("cuda:1"))
    assert two_gpus.device_of(on_1) == Device("cuda:1")
    assert two_gpus.asarray(on_1, Device("cuda:1")) is on_1
    assert two_gpus.device_of(two_gpus.asarray(on_1, Device("cuda:0"))) == Device("cuda:0")
    with FakeGpu(1):
        assert two_gpus.device_of(two_gpus.asarray(np.zeros(3), Device("cuda"))) == Device("cuda:1")
    assert FakeGpu.current == 0
    with pytest.raises(RuntimeError, match="no cuda:2: this machine has 2"):
        two_gpus.asarray(np.zeros(3), Device("cuda:2"))


def test_kernels_run_where_their_arrays_live(two_gpus: cuda.CupyBackend) -> None:
    module: Any = SimpleNamespace(forward=lambda needs, x, dim: (FakeGpu.current, dim))
    kernel = cuda.OnDevice(module)
    with FakeGpu(1):
        array = FakeArray()
    assert kernel.forward((True,), array, 3) == (1, 3)
    assert not hasattr(kernel, "backward")
    together = cuda.OnDevice(SimpleNamespace(Many=lambda rows: rows, step_all=lambda many, lr: FakeGpu.current))
    assert together.Many([(array,)]) == [(array,)]  # it finds their device itself
    assert together.step_all(SimpleNamespace(device=array.device), 0.1) == 1
    assert isinstance(two_gpus.kernels("softmax")[0], cuda.OnDevice)
    assert two_gpus.kernels("no such kernel") == ()


class FakeStream:
    """Stands in for a GPU that computes only when somebody waits for an event."""

    def __init__(self) -> None:
        self.work: list[Any] = []

    def array(self, value: float) -> Any:
        def get(out: Any, blocking: bool) -> None:
            assert not blocking
            self.work.append(lambda: out.fill(value))

        return SimpleNamespace(device=FakeGpu(1), shape=(), dtype=np.dtype("float32"), get=get)

    def event(self, disable_timing: bool) -> Any:
        event = SimpleNamespace(done=False)

        def record() -> None:
            assert FakeGpu.current == 1
            self.work.append(lambda: vars(event).update(done=True))

        def synchronize() -> None:
            while not event.done:
                self.work.pop(0)()

        event.record, event.synchronize = record, synchronize
        return event


def test_a_number_is_copied_after_the_work_before_it(
    two_gpus: cuda.CupyBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its pinned memory is also held until then, even if nobody reads it, because the pool would reuse it."""
    stream, pinned = FakeStream(), []

    def empty_pinned(shape: tuple[int, ...], dtype: Any) -> Any:
        memory = np.empty(shape, dtype)
        pinned.append(weakref.ref(memory))
        return memory

    monkeypatch.setitem(sys.modules, "cupyx", SimpleNamespace(empty_pinned=empty_pinned))
    two_gpus.xp.cuda.Event = stream.event
    first, unread, last = (two_gpus.later(stream.array(value)) for value in (1.5, 2.5, 3.5))
    assert first() == 1.5 and len(stream.work) == 4  # it did not wait for later work
    del first, unread
    assert pinned[1]() is not None
    assert last() == 3.5
    two_gpus.later(stream.array(4.5))
    assert [memory() is None for memory in pinned] == [True, True, False, False]


def test_every_kernel_has_a_module_and_a_source() -> None:
    folder = Path(kernels.__path__[0])
    assert {path.stem for path in folder.glob("*_cuda.py")} <= {*kernels.CUDA_FILES.values()}
    for name, file in kernels.CUDA_FILES.items():
        kernel = kernels.load(name, file)
        assert hasattr(kernel, "forward") or hasattr(kernel, "Many")


def test_manual_seed_repeats_the_masks() -> None:
    def seeds(seed: Callable[[int], object]) -> list[int]:
        seed(5)
        return [backend.random.default_generator.draw((3,), 0.5).seed for _ in range(3)]

    first = seeds(minigrad.cuda.manual_seed)
    assert first == seeds(minigrad.cuda.manual_seed_all) and len(set(first)) == 3


@pytest.mark.cuda
@pytest.mark.skipif(not cuda.is_available(), reason=cuda.why_not() or "there is a GPU")
def test_on_a_gpu() -> None:
    there = backend.for_device(Device("cuda"))
    x = there.asarray(np.arange(6.0).reshape(2, 3), Device("cuda"))
    kernel = there.kernels("softmax")[0]
    assert kernel is not None
    actual = there.to_numpy(kernel.forward((False, False), x, -1)[0])
    np.testing.assert_allclose(actual.sum(-1), 1)
    draw = there.keep_mask((1000,), 0.5, Device("cuda"))
    np.testing.assert_array_equal(
        there.to_numpy(draw.array()), Draw(draw.shape, draw.bound, draw.seed, np, nullcontext()).array()
    )
    read = there.later(x)
    x += 1
    np.testing.assert_array_equal(read(), np.arange(6.0).reshape(2, 3))
    minigrad.cuda.reset_peak_memory_stats()
    assert minigrad.cuda.max_memory_allocated() >= 0
    assert minigrad.cuda.memory_allocated() > 0
    assert minigrad.cuda.get_device_name()
    minigrad.cuda.synchronize()
