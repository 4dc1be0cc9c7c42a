"""Communication hooks of DistributedDataParallel: how the ranks' gradients become one (``register_comm_hook``).

A hook gets what it was registered with, here a group, None for all ranks, and a bucket of gradients, and returns the
future of their mean (``torch.distributed.algorithms.ddp_comm_hooks.default_hooks``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from ..backend.dtype import DType, bfloat16, float16
from ..tensor import Tensor
from .collectives import all_reduce
from .future import Future
from .group import ProcessGroup, the_group


class Bucket(Protocol):
    """What hooks here ask of a ``GradBucket``."""

    def buffer(self) -> Tensor:
        """All gradients in one tensor."""

    def set_buffer(self, buffer: Tensor) -> None:
        """Replace the numbers."""


Hook = Callable[[Any, Any], Future[Tensor]]


def allreduce_hook(process_group: ProcessGroup | None, bucket: Bucket) -> Future[Tensor]:
    """The mean, as without a hook."""
    return _mean(bucket.buffer(), process_group)


def fp16_compress_hook(process_group: ProcessGroup | None, bucket: Bucket) -> Future[Tensor]:
    """The mean of gradients that are rounded to float16. MPI still carries and adds them as float32."""
    return _rounded_mean(bucket.buffer(), process_group, float16)


def bf16_compress_hook(process_group: ProcessGroup | None, bucket: Bucket) -> Future[Tensor]:
    """The same with bfloat16."""
    return _rounded_mean(bucket.buffer(), process_group, bfloat16)


def fp16_compress_wrapper(hook: Hook) -> Hook:
    """A hook whose bucket holds gradients rounded to float16; the result has the bucket's dtype."""
    return _rounded_before(hook, float16)


def bf16_compress_wrapper(hook: Hook) -> Hook:
    """The same with bfloat16."""
    return _rounded_before(hook, bfloat16)


def _mean(gradients: Tensor, group: ProcessGroup | None) -> Future[Tensor]:
    """The mean over the ranks, in place. Each divides first: a sum of halves may exceed their range."""
    g = the_group(group)
    gradients.div_(g.size())
    work = all_reduce(gradients, group=g, async_op=True)
    assert work is not None
    return work.get_future().then(lambda sums: _checked(sums, gradients))


def _checked(future: Future[Any], result: Tensor) -> Tensor:
    """The result. Raises the future's error, if it has one."""
    future.value()
    return result


def _rounded_mean(gradients: Tensor, group: ProcessGroup | None, dtype: DType) -> Future[Tensor]:
    return _mean(gradients.to(dtype), group).then(lambda mean: gradients.copy_(mean.value()))


def _rounded_before(hook: Hook, dtype: DType) -> Hook:
    def rounded(state: Any, bucket: Bucket) -> Future[Tensor]:
        gradients = bucket.buffer()
        gradients.copy_(gradients.to(dtype))
        return hook(state, bucket)

    return rounded
