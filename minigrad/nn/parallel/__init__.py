"""Data parallelism across processes, and PyTorch's names for multiple devices in one process (here only one).

Gradients are reduced in ``buckets.py``. The classes are in ``compat``.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # imported on first use
    from ...compat.ddp import DistributedDataParallel
    from ...compat.one_device import DataParallel, data_parallel, gather, parallel_apply, replicate, scatter

__all__ = ["DataParallel", "DistributedDataParallel", "data_parallel", "gather", "parallel_apply", "replicate"]
__all__ += ["scatter"]
