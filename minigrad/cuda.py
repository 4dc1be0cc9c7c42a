"""GPUs, under the names of ``torch.cuda``. CuPy is not imported until a GPU is needed.

Without a GPU, queries return the same values as in PyTorch (no devices, no bytes), and functions that need a GPU raise
a RuntimeError that says what to install. Streams, events and graphs are not supported.
"""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

from .backend import (
    cuda as _cuda,
    for_device,
    random as _random,  # torch.cuda.random is an alias of this module
)
from .backend.device import Device

is_available = _cuda.is_available
device_count = _cuda.device_count
is_initialized = is_available  # GPUs do not need initialization
DeviceLike = Device | str | int | None
_initialized = False  # checked by programs before saving GPU random states; one generator serves all
_peaks: dict[int, int] = {}  # the most bytes in use by GPU since reset_peak_memory_stats
_hook: Any = None  # updates _peaks after reset_peak_memory_stats


def _cupy() -> Any:
    return for_device(Device("cuda")).xp


def _on(device: DeviceLike) -> Any:
    """CuPy's object for a device, which is a context manager."""
    backend: Any = for_device(Device("cuda"))
    return backend.on(Device("cuda" if device is None else device))


class device:
    """A context in which a GPU (a Device, a name or an index) is current. A negative index or None has no effect."""

    def __init__(self, device: DeviceLike) -> None:
        self._device = device
        self._contexts: list[Any] = []

    def __enter__(self) -> None:
        nothing = self._device is None or (isinstance(self._device, int) and self._device < 0)
        self._contexts.append(nullcontext() if nothing else _on(self._device))
        self._contexts[-1].__enter__()

    def __exit__(self, *error: Any) -> None:
        self._contexts.pop().__exit__(*error)


def current_device() -> int:
    """The index of the GPU that "cuda" refers to."""
    return int(_on(None).id)


def set_device(device: DeviceLike) -> None:
    """Make ``device`` the GPU that "cuda" refers to. A negative index has no effect. Raises ValueError for a CPU."""
    if isinstance(device, int) and device < 0:
        return
    if device is not None and Device(device).type == "cpu":
        raise ValueError(f"Expected a cuda device, but got: {device}")
    _on(device).use()


def init() -> None:
    """Look for the GPU now instead of at first use."""
    _on(None)


def synchronize(device: DeviceLike = None) -> None:
    """Wait until the GPU has finished its work."""
    _on(device).synchronize()


def get_device_properties(device: DeviceLike = None) -> Any:
    """The GPU's ``name``, compute capability (``major``, ``minor``), ``total_memory`` and ``multi_processor_count``."""
    properties = _cupy().cuda.runtime.getDeviceProperties(_on(device).id)
    return SimpleNamespace(
        name=properties["name"].decode(),
        major=properties["major"],
        minor=properties["minor"],
        total_memory=properties["totalGlobalMem"],
        multi_processor_count=properties["multiProcessorCount"],
    )


def get_device_name(device: DeviceLike = None) -> str:
    """The GPU's name."""
    return get_device_properties(device).name


def get_device_capability(device: DeviceLike = None) -> tuple[int, int]:
    """The compute capability, such as (8, 0) for an A100 and (9, 0) for an H100."""
    digits: str = _on(device).compute_capability
    return int(digits[:-1]), int(digits[-1])


def manual_seed(seed: int) -> None:
    """Seed the dropout masks. Parameters are drawn on the CPU by the generator that ``minigrad.manual_seed`` seeds."""
    _random.default_generator.seed_masks(seed)


def seed() -> None:
    """Seed the dropout masks randomly."""
    _random.default_generator.seed_masks(_random.Generator().seed())


manual_seed_all, seed_all = manual_seed, seed


def get_rng_state(device: DeviceLike = "cuda") -> Any:
    """The state of the default generator, which also draws for the GPU."""
    _on(device)
    return _random.default_generator.get_state()


def set_rng_state(new_state: Any, device: DeviceLike = "cuda") -> None:
    """Restore a state from ``get_rng_state``."""
    _on(device)
    _random.default_generator.set_state(new_state)


def get_rng_state_all() -> list[Any]:
    """One state for each GPU. All are equal, as the GPUs share one generator."""
    return [_random.default_generator.get_state() for _ in range(device_count())]


def set_rng_state_all(new_states: Any) -> None:
    """Restore the states from ``get_rng_state_all``."""
    for state in new_states:
        set_rng_state(state)


def memory_allocated(device: DeviceLike = None) -> int:
    """The number of bytes used by arrays. Without a GPU, this and all other byte counts here are 0."""
    return _bytes(device, "used_bytes")


def memory_reserved(device: DeviceLike = None) -> int:
    """The number of bytes in CuPy's pool, either used by arrays or cached for later use."""
    return _bytes(device, "total_bytes")


def _bytes(device: DeviceLike, count: str) -> int:
    """A byte count from CuPy's pool."""
    if not is_available():
        return 0
    with _on(device):
        return int(getattr(_pool(), count)())


def _pool() -> Any:
    return _cupy().get_default_memory_pool()


max_memory_reserved = memory_cached = max_memory_cached = memory_reserved  # the pool never shrinks by itself


def mem_get_info(device: DeviceLike = None) -> tuple[int, int]:
    """The free and total memory of the GPU in bytes."""
    with _on(device):
        free, total = _cupy().cuda.runtime.memGetInfo()
    return int(free), int(total)


def empty_cache() -> None:
    """Return unused memory to the system."""
    if is_available():
        _pool().free_all_blocks()


def memory_stats(device: DeviceLike = None) -> dict[str, int]:
    """A dict of the bytes allocated and reserved, now and at peak, under PyTorch's names. Empty without a GPU."""
    if not is_available():
        return {}
    return {
        "allocated_bytes.all.current": memory_allocated(device),
        "allocated_bytes.all.peak": max_memory_allocated(device),
        "reserved_bytes.all.current": memory_reserved(device),
        "reserved_bytes.all.peak": max_memory_reserved(device),
    }


def reset_peak_memory_stats(device: DeviceLike = None) -> None:
    """Reset ``max_memory_allocated``. From then on, each allocation takes slightly longer."""
    global _hook
    if not is_available():
        return
    _peaks[int(_on(device).id)] = memory_allocated(device)
    if _hook is None:
        hook = type("PeakMemory", (_cupy().cuda.MemoryHook,), {"malloc_postprocess": _note_peak})
        _hook = hook()
        _hook.__enter__()


def _note_peak(self: Any, **event: Any) -> None:
    """Update ``_peaks`` after an allocation."""
    number = event["device_id"]
    _peaks[number] = max(_peaks.get(number, 0), _pool().used_bytes())


reset_max_memory_allocated = reset_max_memory_cached = reset_peak_memory_stats


def max_memory_allocated(device: DeviceLike = None) -> int:
    """The peak number of bytes used by arrays since ``reset_peak_memory_stats``. If it has not been called, returns the
    bytes in CuPy's pool, which are the peak so far plus the pool's cache."""
    if not is_available():
        return 0
    return _peaks.get(int(_on(device).id), memory_reserved(device))
