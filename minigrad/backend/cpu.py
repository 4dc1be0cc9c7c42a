"""NumPy on the CPU."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

import numpy as np

from . import memory, random
from .device import Device

_CPU = Device("cpu")
_KERNELS = frozenset(
    {
        "adam",
        "cross_entropy",
        "dropout",
        "gelu",
        "gru",
        "layer_norm",
        "linear",
        "linear_cross_entropy",
        "linear_r_drop",
        "log_softmax",
        "log_softmax_gradient",
        "lstm",
        "rms_norm",
        "rnn",
        "scaled_dot_product_attention",
        "scatter_add_rows",
        "softmax",
        "softmax_gradient",
    }
)


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
        found = self._kernels.get(name)
        if found is None and name in _KERNELS:
            found = self._kernels[name] = importlib.import_module(f"{__package__}.kernels.{name}")
        return found

    def keep_mask(self, shape: tuple[int, ...], p: float, device: Device) -> np.ndarray[Any, Any]:
        return random.cpu_keep_mask(shape, p)
