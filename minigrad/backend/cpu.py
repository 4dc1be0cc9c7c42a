"""NumPy on the CPU."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

import numpy as np

from . import kernels, memory, random
from .device import Device

_CPU = Device("cpu")


class NumpyBackend:
    """Arrays are ``numpy.ndarray``; kernels run in cache-sized blocks on all cores."""

    name = "numpy"
    device_type = "cpu"
    array_type: type = np.ndarray
    xp: Any = np

    def __init__(self) -> None:
        self._kernels: dict[str, ModuleType] = {}
        memory.keep_freed()

    def device_of(self, array: Any) -> Device:
        return _CPU

    def asarray(self, array: Any, device: Device) -> np.ndarray[Any, Any]:
        return np.asarray(array)

    def to_numpy(self, array: Any) -> np.ndarray[Any, Any]:
        return np.asarray(array)

    def kernel(self, name: str) -> Any:
        module = self._kernels.get(name)
        if module is None and name in kernels.NAMES:
            module = self._kernels[name] = importlib.import_module(f"{__package__}.kernels.{name}")
        return module

    def keep_mask(self, shape: tuple[int, ...], p: float, device: Device) -> np.ndarray[Any, Any]:
        return random.cpu_keep_mask(shape, p)
