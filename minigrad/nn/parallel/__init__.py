"""Modules on several processes, and PyTorch's names for several devices of one process, of which there is one here."""

from __future__ import annotations

import sys

from . import one_device
from .distributed import DistributedDataParallel as DistributedDataParallel
from .one_device import *
from .one_device import scatter_kwargs as scatter_kwargs

__all__ = ["DistributedDataParallel"]
__all__ += one_device.__all__

# In PyTorch each of these is a file, and some share their name with a function. Entries in ``sys.modules`` let
# programs import them without replacing the functions.
for _name in ("_functions", "data_parallel", "parallel_apply", "replicate", "scatter_gather"):
    sys.modules[f"{__name__}.{_name}"] = one_device
_functions = one_device
