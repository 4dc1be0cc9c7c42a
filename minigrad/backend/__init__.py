"""Arrays, random numbers and kernels. Only this package distinguishes NumPy from CuPy. Other code calls ``xp(array)``
for the array's namespace (``numpy`` or ``cupy``, which share an interface). For everything else, it calls
``of(array)``, which returns an object with the attributes of ``Backend`` (registry.py)."""

from . import cpu
from .device import Device as Device
from .registry import (
    ARRAY_TYPES as ARRAY_TYPES,
    check_indices as check_indices,
    for_device as for_device,
    holds as holds,
    in_order as in_order,
    is_array as is_array,
    of as of,
    register as register,
    where_holds as where_holds,
    xp as xp,
)

register(cpu.NumpyBackend())
