"""Moving between devices."""

from __future__ import annotations

from ..backend import Device, for_device, of
from ..backend.dtype import Array
from .op import op


@op
def moved(x: Array, device: Device, source: Device) -> Array:
    """The same values on another device"""
    own, target = of(x), for_device(device)
    return target.asarray(x if own is target else own.to_numpy(x), device)


moved.gradient("dx = g on the device of x", x=lambda g, device, source: moved(g, source, device))
