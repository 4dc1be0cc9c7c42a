"""Modules on several processes, and PyTorch's names for several devices of one process, of which there is one here."""

from __future__ import annotations

import sys

from .distributed import DistributedDataParallel as DistributedDataParallel
from .one_device import DataParallel as DataParallel
from .one_device import data_parallel as data_parallel
from .one_device import gather as gather
from .one_device import parallel_apply as parallel_apply
from .one_device import replicate as replicate
from .one_device import scatter as scatter
from .one_device import scatter_kwargs as scatter_kwargs

__all__ = ["DataParallel", "DistributedDataParallel"]
__all__ += ["data_parallel", "gather", "parallel_apply", "replicate", "scatter"]

# In PyTorch each of these is a file, and some share their name with a function. Entries in ``sys.modules`` let
# programs import them without replacing the functions.
for _name in ("_functions", "data_parallel", "parallel_apply", "replicate", "scatter_gather"):
    sys.modules[f"{__name__}.{_name}"] = sys.modules[f"{__name__}.one_device"]
_functions = sys.modules[f"{__name__}.one_device"]
