"""The accelerator, whichever there is, under the names of ``torch.accelerator``: CuPy's GPU, or none."""

from __future__ import annotations

from typing import Any

from .. import cuda
from ..backend import Device

__all__ = [
    "current_accelerator",
    "current_device_index",
    "device_count",
    "is_available",
    "set_device_index",
    "synchronize",
]

is_available = cuda.is_available
device_count = cuda.device_count
empty_cache = cuda.empty_cache
max_memory_allocated = cuda.max_memory_allocated
memory_allocated = cuda.memory_allocated
memory_reserved = cuda.memory_reserved
reset_peak_memory_stats = cuda.reset_peak_memory_stats


def current_accelerator(check_available: bool = False) -> Device | None:
    """The device "cuda", or None where there is none."""
    return Device("cuda") if is_available() else None


def current_device_index() -> int:
    """The number of the GPU that "cuda" means."""
    return cuda.current_device()


current_device_idx = current_device_index


def set_device_index(device: Any) -> None:
    """Make a GPU the one that "cuda" means."""
    cuda.set_device(device)


set_device_idx = set_device_index


def synchronize(device: Any = None) -> None:
    """Wait until the GPU has done all it was given."""
    cuda.synchronize(device)
