"""``map_location``: on which device a tensor that was saved on some device is to be loaded."""

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
        array: the elements in main memory, (n,). location: where it was saved from: "cpu", "cuda:0".
        device: where it is to be.
    """

    def __init__(self, array: Any, location: str, device: Device = CPU) -> None:
        self.array, self.location, self.device = array, location, device

    def cpu(self) -> Storage:
        """To be in main memory."""
        return Storage(self.array, self.location)

    def cuda(self, device: Any = None, non_blocking: bool = False) -> Storage:
        """To be on a GPU."""
        return Storage(self.array, self.location, Device("cuda" if device is None else device))

    def nbytes(self) -> int:
        """Bytes of all elements."""
        return int(self.array.nbytes)


class Placing:
    """Answers where to put what was saved at a location.

    Args:
        map_location: a device for everything; a dict of locations {"cuda:0": "cpu"}; a function of
            (storage, location) that returns the storage as it is to be placed (``storage.cuda(1)``), a
            device, or None. Of what these leave open, and if None: the device that it was saved from where
            there is one here, else the CPU.
    """

    def __init__(self, map_location: Any = None) -> None:
        self.map_location = map_location
        self._here: dict[str, Device] = {"cpu": CPU}

    def __call__(self, storage: Storage) -> Device:
        wanted, location = self.map_location, storage.location
        if isinstance(wanted, Mapping):
            wanted = wanted.get(location)
        elif callable(wanted):
            wanted = wanted(storage, location)
            wanted = getattr(wanted, "device", wanted)
        if wanted is not None:
            return Device(wanted)
        if location not in self._here:
            self._here[location] = _if_here(location)
        return self._here[location]


def _if_here(location: str) -> Device:
    """A device by name if it can be used, else the CPU."""
    try:
        device = Device(location)
        for_device(device).asarray(np.empty(0, np.float32), device)
    except Exception:  # whatever a missing driver or an unknown kind of device makes of it
        return CPU
    return device
