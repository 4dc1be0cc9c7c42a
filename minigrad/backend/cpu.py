"""The backend for NumPy on the CPU."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from functools import cache
from typing import Any

import numpy as np

from . import kernels, random
from .compiled import store
from .device import Device

_CPU = Device("cpu")


class NumpyBackend:
    """Arrays are ``numpy.ndarray``, and kernels are compiled loops on all cores if Numba is installed."""

    name = "numpy"
    device_type = "cpu"
    array_type: type = np.ndarray
    xp: Any = np
    on = nullcontext

    def device_of(self, array: Any) -> Device:
        return _CPU

    def asarray(self, array: Any, device: Device) -> np.ndarray[Any, Any]:
        return np.asarray(array)

    def to_numpy(self, array: Any) -> np.ndarray[Any, Any]:
        return np.asarray(array)

    def later(self, array: Any) -> Callable[[], np.ndarray[Any, Any]]:
        copy = np.array(array)
        return lambda: copy

    @staticmethod
    @cache
    def kernels(name: str) -> tuple[Any, ...]:
        compiled = kernels.CPU_FILES.get(name)
        files = [compiled] if compiled and store.library(compiled) else []
        files += [kernels.NUMPY_FILES[name]] if name in kernels.NUMPY_FILES else []
        return tuple(kernels.load(name, file) for file in files)

    def keep_mask(self, shape: tuple[int, ...], p: float, device: Device) -> np.ndarray[Any, Any]:
        return random.default_generator.keep_mask(shape, p)
