"""The only place that knows NumPy from CuPy: arrays, random numbers, kernels. Above this folder, code asks
``xp(array)`` for the array's namespace (``numpy`` or ``cupy``: they share names and meaning), and ``of(array)`` for the
rest: an object with the attributes of ``Backend``."""

from . import cpu
from .device import Device as Device
from .registry import ARRAY_TYPES as ARRAY_TYPES
from .registry import Backend as Backend
from .registry import check_indices as check_indices
from .registry import for_device as for_device
from .registry import holds as holds
from .registry import in_order as in_order
from .registry import is_array as is_array
from .registry import of as of
from .registry import register as register
from .registry import where_holds as where_holds
from .registry import xp as xp

register(cpu.NumpyBackend())
