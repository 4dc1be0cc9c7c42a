"""The backend "strict": the GPU path without a GPU.

Arrays raise CuPy's errors (``strict_array``), and fused kernels are the CUDA sources themselves, run by an emulator
(``cuda_emulator``). Ranks exchange arrays through a stand-in for NCCL (``nccl``). ``install()`` registers the device
"strict"::

    strict.install()                 # kernels run in the emulator, if there is a g++
    strict.install(emulate=False)    # no kernels: the plain definitions run
"""

import sys
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np

from minigrad import backend
from minigrad.backend import device, random
from minigrad.backend.device import Device
from minigrad.backend.dtype import is_kept, of_numpy
from minigrad.backend.kernels import CUDA_FILES, load

from . import cublas, cuda_emulator, launches, nccl
from .launches import launched
from .strict_array import DEVICE, NAMESPACE, StrictArray, wrap

NAMESPACE.__name__ = "strict_cupy"
NAMESPACE.cuda = nccl.CUDA
NAMESPACE.cuda.cublas, NAMESPACE.cuda.get_cublas_handle = cublas, cublas.get_cublas_handle
sys.modules["strict_cupy.cuda.nccl"] = nccl.NCCL  # as in CuPy, it must be imported explicitly
device.add_type("strict")
_STRICT = Device("strict")


class StrictBackend:
    """Stands in for ``CupyBackend``. ``emulate`` may be switched at any time.

    Attributes:
        emulate: whether there are kernels.
        asked: whether a kernel that a GPU has was requested since it was last set to False.
    """

    name = "strict"
    device_type = "strict"
    array_type: type = StrictArray
    xp: Any = NAMESPACE
    on = nullcontext

    def __init__(self, emulate: bool = True) -> None:
        self.emulate = emulate

    def device_of(self, array: Any) -> Device:
        return _STRICT

    def asarray(self, array: Any, device: Device) -> Any:
        if is_kept(array.dtype):
            raise of_numpy(array.dtype).refused_on(self.device_type)  # type: ignore[attr-defined]
        if isinstance(array, StrictArray):
            return array
        launched("upload")
        return wrap(np.array(array))

    def to_numpy(self, array: Any) -> np.ndarray[Any, Any]:
        return array.get()  # type: ignore[no-any-return]

    def later(self, array: Any) -> Callable[[], np.ndarray[Any, Any]]:
        """Reading counts as a wait unless something was launched since, which keeps the device busy."""
        launched("copy to the host")
        before, copy = launches.total(), array.emulator_array().copy()

        def read() -> np.ndarray[Any, Any]:
            if launches.total() == before:
                launches.synchronized("later")
            return copy

        return read

    def kernels(self, name: str) -> tuple[Any, ...]:
        if name not in CUDA_FILES:
            return ()
        if not self.emulate or cuda_emulator.missing():
            return ()
        return (load(name, CUDA_FILES[name]),)

    def keep_mask(self, shape: tuple[int, ...], p: float, device: Device) -> Any:
        return random.default_generator.draw(shape, p, NAMESPACE, DEVICE)


BACKEND = StrictBackend()


def install(emulate: bool = True) -> StrictBackend:
    """Register the device "strict", or set its mode."""
    BACKEND.emulate = emulate
    backend.register(BACKEND)
    return BACKEND
