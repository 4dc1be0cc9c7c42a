"""``map_location``: the device that a saved tensor is loaded to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from ..backend import dtype as dt
from ..backend import for_device
from ..backend.device import Device
from ..backend.dtype import Array

CPU = Device("cpu")


@dataclass(eq=False)
class Storage:
    """The memory of saved tensors, as ``map_location=lambda storage, location: ...`` sees it."""

    array: Any  # the elements in main memory, (n,)
    location: str  # the device that it was saved from: "cpu", "cuda:0"
    device: Device = CPU  # to load it to
    key: str = ""  # of its bytes, in a checkpoint of PyTorch's

    def cpu(self) -> Storage:
        """The storage, to be loaded to main memory."""
        return Storage(self.array, self.location)

    def cuda(self, device: Any = None, non_blocking: bool = False) -> Storage:
        """The storage, to be loaded to a GPU."""
        return Storage(self.array, self.location, Device("cuda" if device is None else device))

    def nbytes(self) -> int:
        """Bytes of all elements."""
        return int(self.array.nbytes)


Placing = Callable[[Storage], Device]


def placing(map_location: Any = None) -> Placing:
    """Storage -> device.

    Args:
        map_location: a device for everything; a dict of locations {"cuda:0": "cpu"}; or a function of
            (storage, location) that returns a storage (``storage.cuda(1)``), a device, or None. Where it
            names no device, a tensor goes to the one that it was saved from if that exists, else to the CPU.
    """
    saved_from = cache(_device_or_cpu)

    def place(storage: Storage) -> Device:
        target = map_location
        if isinstance(target, Mapping):
            target = target.get(storage.location)
        elif callable(target):
            target = target(storage, storage.location)
            target = getattr(target, "device", target)
        return saved_from(storage.location) if target is None else Device(target)

    return place


def on_device(array: Array, device: Device) -> Array:
    """A NumPy array on a device; floats of 8 bits, which a GPU's library lacks, in float32."""
    return for_device(device).asarray(dt.widened(array) if dt.is_kept(array.dtype) else array, device)


def _device_or_cpu(location: str) -> Device:
    try:
        device = Device(location)
        for_device(device).asarray(np.empty(0, np.float32), device)
    except Exception:  # whatever a missing driver or an unknown kind of device raises
        return CPU
    return device
