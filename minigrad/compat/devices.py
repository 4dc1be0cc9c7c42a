"""Devices that PyTorch knows and that are not here: they say that they are not available."""

from __future__ import annotations

from contextlib import nullcontext, suppress
from importlib import import_module
from typing import Any

from ..backend import random
from .names import TableModule


class NoDevice(TableModule):
    """A module such as ``torch.mps`` where there is no such device.

    Args:
        name: "mps".
    """

    def __init__(self, name: str) -> None:
        super().__init__(f"minigrad.{name}", f"There is no {name} device here.")
        self._device = name

    def is_available(self) -> bool:
        """False."""
        return False

    def is_initialized(self) -> bool:
        """False."""
        return False

    def is_bf16_supported(self, including_emulation: bool = True) -> bool:
        """False."""
        return False

    def device_count(self) -> int:
        """0."""
        return 0

    def manual_seed(self, seed: int) -> None:
        """Start the draws of dropout masks from ``seed``, as ``cuda.manual_seed``."""
        random.default_generator.seed_masks(seed)

    manual_seed_all = manual_seed

    def seed(self) -> None:
        """There is nothing to seed."""

    def empty_cache(self) -> None:
        """There is nothing to give back."""

    def current_allocated_memory(self) -> int:
        """0."""
        return 0

    driver_allocated_memory = memory_allocated = memory_reserved = current_allocated_memory

    def synchronize(self, device: Any = None) -> None:
        """Refused.

        Raises:
            RuntimeError: there is no such device.
        """
        raise RuntimeError(f"there is no {self._device} device here: guard the call with is_available()")


class Cpu(NoDevice):
    """``torch.cpu``: the device that is always there and has nothing to wait for."""

    def is_available(self) -> bool:
        """True."""
        return True

    def device_count(self) -> int:
        """1."""
        return 1

    def synchronize(self, device: Any = None) -> None:
        """Nothing runs in the background."""

    def current_device(self) -> str:
        """ "cpu"."""
        return "cpu"

    def set_device(self, device: Any) -> None:
        """There is one."""

    def stream(self, stream: Any) -> Any:
        """A context that does nothing."""
        return nullcontext()


cpu = Cpu("cpu")
mps = NoDevice("mps")
xpu = NoDevice("xpu")


class OutOfMemoryError(RuntimeError):
    """A GPU's memory does not suffice. Where there is CuPy, the name stands for CuPy's error of that name."""


with suppress(ImportError):
    OutOfMemoryError = import_module("cupy").cuda.memory.OutOfMemoryError  # type: ignore[misc]
