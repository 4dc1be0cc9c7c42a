"""Data parallelism across processes, and PyTorch's names for several devices in one process (minigrad uses only one).

``buckets.py`` reduces gradients. The classes are in ``compat``.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # imported on first use
    from ...compat.ddp import DistributedDataParallel
    from ...compat.one_device import DataParallel, data_parallel, gather, parallel_apply, replicate, scatter

__all__ = ["DataParallel", "DistributedDataParallel", "data_parallel", "gather", "parallel_apply", "replicate"]
__all__ += ["scatter"]
