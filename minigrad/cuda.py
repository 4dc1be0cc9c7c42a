"""GPUs, under the names of ``torch.cuda``. Nothing here imports CuPy before a GPU is asked for.

Functions that need a GPU raise RuntimeError where there is none, and say what to install.
"""

from __future__ import annotations

from typing import Any

from .backend import cuda as _cuda
from .backend import for_device, random
from .backend.device import Device

__all__ = [
    "current_device", "device", "device_count", "empty_cache", "get_device_capability", "get_device_name",
    "is_available", "manual_seed", "manual_seed_all", "max_memory_allocated", "mem_get_info",
    "memory_allocated", "memory_reserved", "reset_peak_memory_stats", "set_device", "synchronize",
]  # fmt: skip

is_available = _cuda.is_available
device_count = _cuda.device_count
DeviceLike = Device | str | int | None
_peaks: dict[int, int] = {}  # most bytes in use, by GPU, while they are being watched
_watch: Any = None


def _cupy() -> Any:
    return for_device(Device("cuda")).xp


def _on(device: DeviceLike) -> Any:
    """A device as CuPy's, for ``with``."""
    backend: Any = for_device(Device("cuda"))
    return backend.on(Device("cuda" if device is None else device))


def device(device: DeviceLike) -> Any:
    """A context in which ``device`` is the current GPU."""
    return _on(device)


def current_device() -> int:
    """The number of the GPU that "cuda" means."""
    return int(_on(None).id)


def set_device(device: DeviceLike) -> None:
    """Make ``device`` the GPU that "cuda" means."""
    _on(device).use()


def synchronize(device: DeviceLike = None) -> None:
    """Wait until the GPU has done all it was given."""
    _on(device).synchronize()


def get_device_name(device: DeviceLike = None) -> str:
    """What the GPU is called."""
    name: bytes = _cupy().cuda.runtime.getDeviceProperties(_on(device).id)["name"]
    return name.decode()


def get_device_capability(device: DeviceLike = None) -> tuple[int, int]:
    """The compute capability: (8, 0) is an A100, (9, 0) an H100."""
    digits: str = _on(device).compute_capability
    return int(digits[:-1]), int(digits[-1])


def manual_seed(seed: int) -> None:
    """Start the draws of dropout masks from ``seed``. Parameters are drawn on the CPU, from its own seed."""
    random.default_generator.seed_masks(seed)


manual_seed_all = manual_seed


def memory_allocated(device: DeviceLike = None) -> int:
    """Bytes that arrays hold."""
    with _on(device):
        return int(_cupy().get_default_memory_pool().used_bytes())


def memory_reserved(device: DeviceLike = None) -> int:
    """Bytes that CuPy's pool holds: those of arrays, and those kept for the next ones."""
    with _on(device):
        return int(_cupy().get_default_memory_pool().total_bytes())


def mem_get_info(device: DeviceLike = None) -> tuple[int, int]:
    """Free and total bytes of the GPU."""
    with _on(device):
        free, total = _cupy().cuda.runtime.memGetInfo()
    return int(free), int(total)


def empty_cache() -> None:
    """Give the memory that no array uses back to the system."""
    _cupy().get_default_memory_pool().free_all_blocks()


def reset_peak_memory_stats(device: DeviceLike = None) -> None:
    """Begin to watch the most memory in use, for ``max_memory_allocated``; it costs a little time."""
    global _watch
    _peaks[int(_on(device).id)] = memory_allocated(device)
    if _watch is None:
        _watch = _watcher(_cupy())
        _watch.__enter__()


def max_memory_allocated(device: DeviceLike = None) -> int:
    """The most bytes that arrays held since ``reset_peak_memory_stats``.

    Raises:
        RuntimeError: nothing was watched, as ``reset_peak_memory_stats`` was not called.
    """
    number = int(_on(device).id)
    if number not in _peaks:
        raise RuntimeError("max_memory_allocated needs reset_peak_memory_stats() before the work it measures")
    return _peaks[number]


def _watcher(cupy: Any) -> Any:
    """A hook on CuPy's pool that keeps ``_peaks``."""
    pool = cupy.get_default_memory_pool()

    def after_allocation(self: Any, **event: Any) -> None:
        number = event["device_id"]
        _peaks[number] = max(_peaks.get(number, 0), pool.used_bytes())

    hook = type("PeakMemory", (cupy.cuda.MemoryHook,), {"malloc_postprocess": after_allocation})
    return hook()
