"""Devices, named as in PyTorch: "cpu", "cuda", "cuda:1"."""

from __future__ import annotations

import re
from _thread import _local as local
from typing import Any

_TYPES: set[str] = {"cpu", "cuda", "meta"}
# PyTorch's other types, which programs may name and compare, but on which they cannot create tensors
_ELSEWHERE = "fpga hip hpu ipu lazy maia mkldnn mps mtia opencl opengl privateuseone ve vulkan xla xpu"
NO_DATA = "Cannot copy out of meta tensor; no data!"


class Device:
    """A device type and, for GPUs, an index. The counterpart of ``torch.device``.

    Args:
        type: "cpu", "cuda", "cuda:INDEX", or "meta" for tensors with a shape but no elements. A Device is copied.
            PyTorch's other types ("mps", "xla") can be named and compared, but tensors cannot be created there.
        index: the GPU's index, unless ``type`` contains it.

    Raises RuntimeError if the string does not name a device.

    >>> mg.device("cpu"), mg.device("cuda", 1).index
    (device(type='cpu'), 1)
    """

    __slots__ = ("index", "type")

    type: str
    index: int | None

    def __init__(self, type: str | Device | int = "cpu", index: int | None = None) -> None:
        if isinstance(type, Device):
            self.type, self.index = type.type, type.index if index is None else index
            return
        if isinstance(type, int) and not isinstance(type, bool):
            self.type, self.index = "cuda", type
            return
        kind, colon, number = type.partition(":") if isinstance(type, str) else ("", "", "")
        is_type = kind in _TYPES or kind in _ELSEWHERE.split()
        if not is_type or (colon and not re.fullmatch(r"\d{1,9}", number)) or (colon and index is not None):
            names = ", ".join(repr(name) for name in sorted(_TYPES))
            text = repr(type[:60]) if isinstance(type, str) else f"an object of type {type.__class__.__name__}"
            raise RuntimeError(f"{text} is not a device: expected one of {names}, or a numbered GPU such as 'cuda:0'")
        self.type = kind
        self.index = int(number) if colon else index

    def __repr__(self) -> str:
        return f"device(type={self.type!r}" + ("" if self.index is None else f", index={self.index}") + ")"

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __eq__(self, other: Any) -> bool:
        if isinstance(other, str):
            return str(self) == other
        return isinstance(other, Device) and (self.type, self.index) == (other.type, other.index)

    def __hash__(self) -> int:
        return hash((self.type, self.index))

    def __enter__(self) -> Device:
        """Within ``with device:``, create new tensors on this device unless they name another device."""
        _entered.devices = (*_entered.devices, self)
        return self

    def __exit__(self, *raised: object) -> None:
        _entered.devices = _entered.devices[:-1]

    def __reduce__(self) -> tuple[Any, ...]:
        return Device, (self.type, self.index)


class _Entered(local):
    devices: tuple[Device, ...] = ()  # entered by this thread, the innermost last


_entered = _Entered()
_default: Device | None = None


def default() -> Device | None:
    """The device of new tensors that do not specify a device, or None for the CPU."""
    return _entered.devices[-1] if _entered.devices else _default


def set_default_device(device: str | Device | int | None) -> None:
    """Create new tensors on this device unless they specify another. None restores the CPU."""
    global _default
    _default = None if device is None else Device(device)


def get_default_device() -> Device:
    """The device of new tensors that do not specify a device."""
    return default() or Device("cpu")


def add_type(name: str) -> None:
    """Make ``Device`` accept ``name`` as a device type (for a backend that is being registered)."""
    _TYPES.add(name)
