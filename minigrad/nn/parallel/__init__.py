"""Data parallelism over processes, and PyTorch's names for several devices in one process (only one here).

``buckets.py`` reduces gradients; the classes are in ``compat``.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # imported when first used
    from ...compat.ddp import DistributedDataParallel
    from ...compat.one_device import DataParallel, data_parallel, gather, parallel_apply, replicate, scatter

__all__ = ["DataParallel", "DistributedDataParallel", "data_parallel", "gather", "parallel_apply", "replicate"]
__all__ += ["scatter"]
