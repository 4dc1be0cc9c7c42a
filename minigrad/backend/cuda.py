"""The backend for CuPy on NVIDIA GPUs. CuPy is imported on the first use of a GPU."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from contextlib import nullcontext
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np

from . import cublas, kernels, random
from .device import Device
from .dtype import Array, of_numpy
from .extras import how_to_install


class CupyBackend:
    """Arrays are ``cupy.ndarray``, and fused kernels are CUDA sources in ``kernels``, compiled on first use."""

    name = "cupy"
    device_type = "cuda"

    def __init__(self, cupy: Any) -> None:
        self.xp: Any = cupy
        self.array_type: type = cupy.ndarray
        self._devices = [Device("cuda", i) for i in range(cupy.cuda.runtime.getDeviceCount())]
        self._kernels: dict[str, tuple[Any, ...]] = {}
        self._copies: list[tuple[Any, Any]] = []

    def device_of(self, array: Array) -> Device:
        number: int = array.device.id
        return self._devices[number]

    def on(self, device: Device) -> Any:
        """CuPy's device for a Device, for ``with``. "cuda" is the current GPU. Raises RuntimeError if it is missing."""
        if device.index is not None and device.index >= len(self._devices):
            raise RuntimeError(f"there is no {device}: this machine has {len(self._devices)} GPU(s)")
        return self.xp.cuda.Device(device.index)

    def asarray(self, array: Array, device: Device) -> Array:
        with self.on(device) as target:
            if isinstance(array, (np.ndarray, np.generic)):
                try:
                    return self.xp.asarray(array)
                except ValueError:  # a dtype that CuPy lacks: floats of 8 bits, and bfloat16 before CuPy 14
                    raise of_numpy(array.dtype).refused_on("cuda") from None
            return array if array.device.id == target.id else array.copy()

    def to_numpy(self, array: Array) -> np.ndarray[Any, Any]:
        return array.get()

    def later(self, array: Array) -> Callable[[], np.ndarray[Any, Any]]:
        with array.device:
            copy = importlib.import_module("cupyx").empty_pinned(array.shape, array.dtype)
            array.get(out=copy, blocking=False)
            event = self.xp.cuda.Event(disable_timing=True)
            event.record()
        # the pool reuses pinned memory once nothing refers to it, even if a copy is still pending
        self._copies = [(e, c) for e, c in self._copies if not e.done] + [(event, copy)]
        return lambda: event.synchronize() or copy

    def kernels(self, name: str) -> tuple[Any, ...]:
        if name not in kernels.CUDA_FILES:
            return ()
        if name not in self._kernels:
            kernel = kernels.load(name, kernels.CUDA_FILES[name])
            self._kernels[name] = (kernel if len(self._devices) == 1 else OnDevice(kernel),)
        return self._kernels[name]

    def erf(self, x: Array) -> Array:
        """The error function, elementwise. minigrad uses no other function that CuPy has and NumPy lacks."""
        return importlib.import_module("cupyx.scipy.special").erf(x)

    def keep_mask(self, shape: tuple[int, ...], p: float, device: Device) -> random.Draw:
        return random.default_generator.draw(shape, p, self.xp, self.on(device))


class OnDevice:
    """A kernel module on a machine with several GPUs. Functions run on the GPU of their first array (or ``Many``)."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        function = getattr(self._module, name)

        def run(*args: Any) -> Any:
            with next((a.device for a in args if hasattr(a, "device")), nullcontext()):
                return function(*args)

        setattr(self, name, run)
        return run


def _install() -> str:
    command = how_to_install("cupy-cuda12x")
    return f"install CuPy for your driver (`nvidia-smi` shows its CUDA version; for 13, cupy-cuda13x): {command}"


@cache
def why_not() -> str:
    """The reason why no GPU can be used here, with advice, or "" if a GPU can be used."""
    if importlib.util.find_spec("cupy") is None:
        return f"CuPy is not installed: {_install()}"
    try:
        count = importlib.import_module("cupy").cuda.runtime.getDeviceCount()
    except ImportError as error:
        return f"CuPy cannot be imported ({error}): {_install()}"
    except RuntimeError as error:  # CUDARuntimeError: no driver, or one older than this CuPy's CUDA
        return f"CuPy cannot find a usable NVIDIA driver ({error}): {_install()}"
    return "" if count else "CuPy cannot find an NVIDIA GPU: see `nvidia-smi` and CUDA_VISIBLE_DEVICES"


def load() -> CupyBackend:
    """The backend for this machine's GPUs. Raises RuntimeError, with advice, if CuPy, a driver or a GPU is missing."""
    if why_not():
        raise RuntimeError(f"the 'cuda' device cannot be used. {why_not()}")
    cupy = importlib.import_module("cupy")
    cublas.allow_tf32(cublas.is_tf32_allowed(), cupy)
    return CupyBackend(cupy)


def is_available() -> bool:
    """Whether a GPU, a driver and CuPy are available."""
    return not why_not()


def device_count() -> int:
    """The number of GPUs."""
    return 0 if why_not() else int(importlib.import_module("cupy").cuda.runtime.getDeviceCount())


def has_nccl() -> bool:
    """Whether CuPy finds NCCL, regardless of whether there is a GPU."""
    if importlib.util.find_spec("cupy") is None:
        return False
    return bool(importlib.import_module("cupy.cuda.nccl").available)
