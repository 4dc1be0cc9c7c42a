"""DistributedDataParallel: each rank computes a part of the batch, and all get the mean of their gradients."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import zip_longest
from typing import Any

from ..autograd import is_grad_enabled, no_grad
from ..autograd.mode import at_end
from ..autograd.observer import attach, detach
from ..autograd.tape import wrap
from ..distributed import collectives, objects
from ..distributed.group import ProcessGroup, the_group
from ..functions.comparison import equal
from ..nn.parallel.buckets import Buckets, MiB
from ..nn.parallel.buckets import GradBucket as GradBucket
from ..tensor import Tensor
from .join import Join, JoinHook, gathered
from .one_device import Wrapper
from .reducer import Hook, Reducer

__all__ = ["DistributedDataParallel"]


class DistributedDataParallel(Wrapper, fields=True):
    """Calls ``module``; ``backward()`` gives each parameter the mean of its gradients on all ranks.

    Each rank has a model of its own, which begins with the weights of rank 0, and computes a part of the batch. If a
    loss is a mean over its part, and the parts are equally large, the gradients are those of the whole batch. They are
    reduced in buckets, while the gradients of earlier layers are still computed (Li et al. 2020). The state dict is
    that of PyTorch: names begin with "module.".

    As in PyTorch, whether a backward pass reduces gradients is decided by the forward pass before it, and gradients
    that have accumulated under ``no_sync`` are reduced with those of the first pass after it.

    Args:
        module: has the same parameters and buffers, in the same order, on all ranks.
        device_ids: the rank's GPU, or none. output_device, dim: kept as attributes.
        broadcast_buffers: give all ranks the buffers of rank 0 before each forward pass in training mode.
        init_sync: give all ranks the parameters and buffers of rank 0 now.
        process_group: None for all ranks.
        bucket_cap_mb: MiB of a bucket; 25 by default.
        find_unused_parameters, static_graph: a forward pass may leave parameters out. They count as zero, and those
            that no rank has used get no gradient. Without either, such a pass is an error.
        check_reduction, gradient_as_bucket_view, delay_all_reduce_named_params, param_to_hook_all_reduce,
            mixed_precision, device_mesh, skip_all_reduce_unused_params: kept as attributes, without an effect.

    Raises ValueError: ``init_process_group`` was not called; RuntimeError: nothing requires a gradient, or the ranks'
    models differ; from ``backward()``: a parameter was not used, and ``find_unused_parameters`` is False.
    """

    broadcast_buffers: bool | None = None
    init_sync: bool = True
    process_group: Any = None
    bucket_cap_mb: float | None = None
    find_unused_parameters: bool = False
    check_reduction: bool = False
    gradient_as_bucket_view: bool = False
    static_graph: bool = False
    delay_all_reduce_named_params: Any = None
    param_to_hook_all_reduce: Any = None
    mixed_precision: Any = None
    device_mesh: Any = None
    skip_all_reduce_unused_params: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        self.process_group = the_group(self.process_group)
        self.broadcast_buffers = True if self.broadcast_buffers is None else self.broadcast_buffers
        self.require_backward_grad_sync = True
        self._joining: _Joining | None = None
        named = self._reduced()
        if not named:
            raise RuntimeError("DistributedDataParallel needs a module with parameters that require a gradient.")
        _check_equal(named, self.process_group)
        if self.init_sync:
            send([*self._named("parameters").values(), *self._buffers_to_send], self.process_group)
        self._build(named)

    def _build(self, named: Mapping[str, Tensor]) -> None:
        most = 25.0 if self.bucket_cap_mb is None else self.bucket_cap_mb
        buckets = Buckets(list(named.values()), self.process_group, min(most, 1.0) * MiB, most * MiB)
        self._reducer = Reducer(list(named), buckets, self.find_unused_parameters or self.static_graph)
        weakref.finalize(self, detach, self._reducer)  # a forward pass that nobody walks back has attached it

    def _named(self, kind: str) -> dict[str, Tensor]:
        """The parameters or buffers of now that ranks share: a module may have replaced them."""
        ignored = getattr(self.module, "_ddp_params_and_buffers_to_ignore", ())
        return {name: value for name, value in getattr(self.module, f"named_{kind}")() if name not in ignored}

    @property
    def _buffers_to_send(self) -> list[Tensor]:
        return list(self._named("buffers").values())

    def _reduced(self) -> dict[str, Tensor]:
        return {name: p for name, p in self._named("parameters").items() if p.requires_grad}

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """``module(*inputs, **kwargs)``."""
        source = 0 if self._joining is None else self._joining.begin_step(is_grad_enabled())
        if self.will_sync_module_buffers():
            _refresh(self._buffers_to_send, self.process_group, source)
        output = self.module(*inputs, **kwargs)
        if is_grad_enabled() and self.require_backward_grad_sync:  # other passes leave it as it is
            detach(self._reducer)
            self._reducer.reset()
            attach(self._reducer)
        return output

    def will_sync_module_buffers(self) -> bool:
        """Whether the forward pass begins with the buffers of rank 0."""
        sends = self.broadcast_buffers and self.training and self.require_backward_grad_sync
        return bool(sends and self._buffers_to_send)

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """A context in which gradients only accumulate on each rank. Forward passes belong into it, too."""
        with at_end(setattr, self, "require_backward_grad_sync", self.require_backward_grad_sync) as end, end:
            self.require_backward_grad_sync = False
            yield

    def join(
        self, divide_by_initial_world_size: bool = True, enable: bool = True, throw_on_early_termination: bool = False
    ) -> Join:
        """A context for a loop over numbers of batches that differ between ranks. A rank that has no more takes part in
        the reductions of the others, with gradients of zero, until all are at their end; then all get the weights of
        a rank that was last.

        Args:
            divide_by_initial_world_size: gradients are divided by the number of all ranks; else by those with a batch.
            enable: False leaves the loop as it is. throw_on_early_termination: raise RuntimeError on all ranks as soon
                as one is at its end.
        """
        return Join(
            [self], enable, throw_on_early_termination, divide_by_initial_world_size=divide_by_initial_world_size
        )

    def join_hook(self, divide_by_initial_world_size: bool = True, **kwargs: Any) -> JoinHook:
        """The model's part in ``Join``."""
        return _Joining(self, divide_by_initial_world_size)

    @property
    def join_process_group(self) -> ProcessGroup:
        """The ranks that ``Join`` asks."""
        group: ProcessGroup = self.process_group
        return group

    def register_comm_hook(self, state: Any, hook: Hook) -> None:
        """Let ``hook(state, bucket)`` reduce each bucket. It returns a Future, or a tensor, of the bucket's result,
        which is taken as it is: a hook divides by the number of ranks itself. Raises TypeError: ``hook`` cannot be
        called; RuntimeError: there is a hook already."""
        if not callable(hook):
            raise TypeError("Communication hook must be callable.")
        self._reducer.set_hook(state, hook)

    def __getstate__(self) -> dict[str, Any]:
        detach(self._reducer)
        return {k: v for k, v in self.__dict__.items() if k not in ("process_group", "_reducer")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """A copy belongs to the group of all ranks."""
        super().__setstate__(state)
        self.process_group = the_group()
        self._build(self._reduced())


class _Joining(JoinHook):
    """A model within ``Join``: at each step all ranks say whether they have a batch, and reduce gradients."""

    OVER, WITHOUT, WITH = range(3)  # at the end; a step without a reduction of gradients; with one

    def __init__(self, model: DistributedDataParallel, divides_by_all: bool) -> None:
        self.model, self.divides_by_all = model, divides_by_all
        self.group: ProcessGroup = model.process_group
        self.last = self.group.number  # the last rank that this one saw with a batch

    def _begin(self) -> None:
        self.model._joining = self

    def begin_step(self, grad: bool) -> int:
        """A rank with a batch begins. Returns the first rank of the group that has one."""
        Join.notify_join_context(self.model)
        syncs = grad and self.model.require_backward_grad_sync
        active = self._active(gathered(self.WITH if syncs else self.WITHOUT, self.group))
        reducer = self.model._reducer
        if not self.divides_by_all and reducer.hook is None:
            reducer.factor = 1 / len(active)
        return active[0]

    def main_hook(self) -> None:
        """A step of the others, whose gradients an optimiser that ranks share needs on this one, too."""
        model, buckets = self.model, self.model._reducer.buckets
        detach(model._reducer)
        said = gathered(self.OVER, self.group)
        active = self._active(said)
        self.last = active[-1]
        if model.will_sync_module_buffers():
            _refresh(model._buffers_to_send, self.group, active[0])
        if self.WITH in said:
            model._reducer.shadow()
            for number, parameter in enumerate(buckets.parameters):
                parameter.grad = wrap(buckets.view(number).copy())

    def post_hook(self, is_last_joiner: bool) -> None:
        """All get the weights of a rank that was last."""
        latest = gathered(self.last, self.group)
        last = next((rank for number, rank in enumerate(latest) if rank != number), 0)  # ranks that ended early saw it
        send([*self.model.module.parameters(), *self.model._buffers_to_send], self.group, last)

    def _end(self) -> None:
        self.model._joining = None
        self.model._reducer.factor = self.model._reducer.usual_factor

    def _active(self, said: list[int]) -> list[int]:
        """The ranks that have a batch."""
        return [rank for rank, word in enumerate(said) if word != self.OVER]


def _check_equal(named: Mapping[str, Tensor], group: ProcessGroup) -> None:
    own = [f"{name} of shape {tuple(p.shape)} and {p.dtype}" for name, p in named.items()]
    models: list[list[str]] = [[]] * group.size()
    objects.all_gather_object(models, own, group)
    for rank, model in zip(group.ranks, models, strict=True):
        for mine, first in zip_longest(model, models[0]):
            if mine != first:
                text = f"parameter {mine} in place of {first}"
                raise RuntimeError(f"rank {rank} has another model than rank {group.ranks[0]}: {text}")


def send(tensors: Iterable[Tensor], group: ProcessGroup, source: int = 0) -> None:
    """Give all ranks what one has, by its number in the group."""
    with no_grad():
        works = [collectives.broadcast(t, group=group, async_op=True, group_src=source) for t in tensors]
        for work in works:
            if work is not None:
                work.wait()


def _refresh(buffers: Sequence[Tensor], group: ProcessGroup, source: int) -> None:
    """The same for buffers. Those that are equal stay untouched: a graph that keeps them can still be walked back."""
    copies = [buffer.detach().clone() for buffer in buffers]
    send(copies, group, source)
    with no_grad():
        for buffer, new in zip(buffers, copies, strict=True):
            if not equal(buffer, new):
                buffer.copy_(new)
