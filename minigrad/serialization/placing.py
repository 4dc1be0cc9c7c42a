"""``map_location``: the device that a saved tensor is loaded to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..backend import for_device
from ..backend.device import Device

CPU = Device("cpu")


class Storage:
    """The memory of saved tensors, as ``map_location=lambda storage, location: ...`` sees it.

    Attributes:
        array: the elements in main memory, (n,).
        location: the device that it was saved from: "cpu", "cuda:0".
        device: the device to load it to.
    """

    def __init__(self, array: Any, location: str, device: Device = CPU) -> None:
        self.array, self.location, self.device = array, location, device

    def cpu(self) -> Storage:
        """The storage, to be loaded to main memory."""
        return Storage(self.array, self.location)

    def cuda(self, device: Any = None, non_blocking: bool = False) -> Storage:
        """The storage, to be loaded to a GPU."""
        return Storage(self.array, self.location, Device("cuda" if device is None else device))

    def nbytes(self) -> int:
        """Bytes of all elements."""
        return int(self.array.nbytes)


class Placing:
    """Storage -> device.

    Args:
        map_location: a device for everything; a dict of locations {"cuda:0": "cpu"}; or a function of
            (storage, location) that returns a storage (``storage.cuda(1)``), a device, or None. Where it
            names no device, a tensor goes to the one that it was saved from if that exists, else to the CPU.
    """

    def __init__(self, map_location: Any = None) -> None:
        self.map_location = map_location
        self._devices: dict[str, Device] = {"cpu": CPU}  # by location

    def __call__(self, storage: Storage) -> Device:
        target, location = self.map_location, storage.location
        if isinstance(target, Mapping):
            target = target.get(location)
        elif callable(target):
            target = target(storage, location)
            target = getattr(target, "device", target)
        if target is not None:
            return Device(target)
        if location not in self._devices:
            self._devices[location] = _device_or_cpu(location)
        return self._devices[location]


def _device_or_cpu(location: str) -> Device:
    try:
        device = Device(location)
        for_device(device).asarray(np.empty(0, np.float32), device)
    except Exception:  # whatever a missing driver or an unknown kind of device raises
        return CPU
    return device
