"""Communication hooks of DistributedDataParallel, which combine gradients across ranks. A hook receives the state that
was passed to ``register_comm_hook`` (a group, or None for all ranks) and a gradient bucket, and returns a future of the
mean. PyTorch defines these hooks in ``torch.distributed.algorithms.ddp_comm_hooks.default_hooks``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..backend.dtype import DType, bfloat16, float16
from ..tensor import Tensor
from .collectives import all_reduce
from .group import the_group
from .work import Future

Hook = Callable[[Any, Any], Future[Tensor]]


def _mean(dtype: DType | None, what: str) -> Hook:
    """A hook that averages gradients rounded to a dtype. It divides before adding, as float16 has a narrow range."""

    def hook(process_group: Any, bucket: Any) -> Future[Tensor]:
        whole, g = bucket.buffer(), the_group(process_group)
        gradients = (whole if dtype is None else whole.to(dtype)).div_(g.size())
        work = all_reduce(gradients, group=g, async_op=True)
        assert work is not None
        return work.get_future().then(lambda sums: whole.copy_(sums.value()[0]))

    hook.__doc__ = f"The mean of the gradients{what}."
    return hook


allreduce_hook = _mean(None, ", as without a hook")
fp16_compress_hook = _mean(float16, " rounded to float16, which MPI sends and adds as float32")
bf16_compress_hook = _mean(bfloat16, " rounded to bfloat16, which MPI sends and adds as float32")
