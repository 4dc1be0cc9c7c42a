"""DistributedDataParallel: each rank computes a part of the batch, and all get the mean of their gradients."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ...autograd import is_grad_enabled, no_grad
from ...autograd.observer import Observer, attach, detach
from ...autograd.origin import note_change
from ...autograd.tape import wrap
from ...autograd.walk import nodes_behind
from ...distributed import collectives, objects
from ...distributed.group import ProcessGroup, ReduceOp, the_group
from ...distributed.work import Work
from ...functions.creation import tensor
from ...tensor import Tensor
from ..module import Module
from .buckets import Bucket, Buckets, MiB
from .one_device import Wrapper

__all__ = ["DistributedDataParallel"]

Hook = Callable[[Any, "GradBucket"], Any]


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
        find_unused_parameters: a forward pass may leave parameters out. They count as zero, and those that no rank has
            used get no gradient. Without it, such a pass is an error.
        check_reduction, gradient_as_bucket_view, static_graph, delay_all_reduce_named_params, param_to_hook_all_reduce,
            mixed_precision, device_mesh, skip_all_reduce_unused_params: kept as attributes, without an effect.

    Raises:
        ValueError: ``init_process_group`` was not called. RuntimeError: nothing requires a gradient, or the ranks'
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
        named, ignored = self._reduced(), self._ignored()
        if not named:
            raise RuntimeError(
                "DistributedDataParallel is not needed when a module doesn't have any parameters that require a "
                "gradient."
            )
        self._buffers_to_send = [b for n, b in self.module.named_buffers() if n not in ignored]
        _check_equal(named, self.process_group)
        if self.init_sync:
            _send([p for n, p in self.module.named_parameters() if n not in ignored], self.process_group)
            _send(self._buffers_to_send, self.process_group)
        self._build(named)

    def _build(self, named: Mapping[str, Tensor]) -> None:
        most = 25.0 if self.bucket_cap_mb is None else self.bucket_cap_mb
        buckets = Buckets(list(named.values()), self.process_group, min(most, 1.0) * MiB, most * MiB)
        self._reducer = Reducer(list(named), buckets, self.find_unused_parameters)

    def _ignored(self) -> set[str]:
        return set(getattr(self.module, "_ddp_params_and_buffers_to_ignore", ()))

    def _reduced(self) -> dict[str, Tensor]:
        """The parameters whose gradients are reduced."""
        ignored = self._ignored()
        return {n: p for n, p in self.module.named_parameters() if p.requires_grad and n not in ignored}

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """``module(*inputs, **kwargs)``."""
        detach(self._reducer)
        if self.will_sync_module_buffers():
            _send(self._buffers_to_send, self.process_group)
        output = self.module(*inputs, **kwargs)
        if is_grad_enabled() and self.require_backward_grad_sync:
            attach(self._reducer)
        return output

    def will_sync_module_buffers(self) -> bool:
        """Whether the forward pass begins with the buffers of rank 0."""
        return bool(
            self.broadcast_buffers and self.training and self.require_backward_grad_sync and self._buffers_to_send
        )

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """A context in which gradients only accumulate on each rank. Forward passes belong into it, too."""
        before, self.require_backward_grad_sync = self.require_backward_grad_sync, False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    def register_comm_hook(self, state: Any, hook: Hook) -> None:
        """Let ``hook(state, bucket)`` reduce each bucket. It returns a Future, or a tensor, of the bucket's result,
        which is taken as it is: a hook divides by the number of ranks itself.

        Raises:
            TypeError: ``hook`` cannot be called. RuntimeError: there is a hook already.
        """
        if not callable(hook):
            raise TypeError("Communication hook must be callable.")
        self._reducer.set_hook(state, hook)

    def __getstate__(self) -> dict[str, Any]:
        detach(self._reducer)
        return {k: v for k, v in self.__dict__.items() if k not in ("process_group", "_reducer", "_buffers_to_send")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """A copy belongs to the group of all ranks."""
        super().__setstate__(state)
        self.process_group = the_group()
        self._buffers_to_send = [b for n, b in self.module.named_buffers() if n not in self._ignored()]
        self._build(self._reduced())


class GradBucket:
    """A bucket for a communication hook."""

    def __init__(self, number: int, bucket: Bucket, count: int, parameters: list[Tensor]) -> None:
        self._number, self._bucket, self._count, self._parameters = number, bucket, count, parameters

    def index(self) -> int:
        """Its number; 0 is reduced first."""
        return self._number

    def is_last(self) -> bool:
        """Whether no other follows."""
        return self._number == self._count - 1

    def buffer(self) -> Tensor:
        """All gradients in one tensor of one axis."""
        return self._bucket.flat

    def set_buffer(self, buffer: Tensor) -> None:
        """Replace the numbers."""
        with no_grad():
            self._bucket.flat.copy_(buffer)

    def gradients(self) -> list[Tensor]:
        """Each gradient, in its parameter's shape: views of the buffer."""
        return [wrap(view) for view in self._bucket.views]

    def parameters(self) -> list[Tensor]:
        """The parameters that they belong to."""
        return [self._parameters[number] for number in self._bucket.numbers]


class Reducer(Observer):
    """Watches the walk back: fills the buckets as gradients of parameters arrive, and sets ``.grad`` when it is over.

    A parameter's gradient is whole when the walk has passed the last node that uses it. Which nodes do, is counted
    before the walk begins.
    """

    sees_arrays = False  # between nodes; what arrives at parameters is whole

    def __init__(self, names: list[str], buckets: Buckets, finds_unused: bool) -> None:
        self.names, self.buckets, self.finds_unused = names, buckets, finds_unused
        self.numbers = {id(p): number for number, p in enumerate(buckets.parameters)}
        self.factor = 1.0 / buckets.group.size()
        self._uses: dict[int, int] = {}
        self._open: set[int] = set()  # numbers of parameters whose gradient is not whole
        self._depth = 0  # of spans within the walk; 0: there is no walk
        self._is_reduced = False
        self._error: BaseException | None = None
        self._hook: tuple[Any, Hook] | None = None
        self._futures: list[tuple[Bucket, Any]] = []

    def set_hook(self, state: Any, hook: Hook) -> None:
        """See ``register_comm_hook``."""
        if self._hook is not None:
            raise RuntimeError("register_comm_hook can only be called once.")
        self._hook, self.factor = (state, hook), 1.0
        self.buckets.reduce = self._call_hook

    def _call_hook(self, bucket: Bucket) -> Work | None:
        assert self._hook is not None
        state, hook = self._hook
        all_of_them = self.buckets.buckets
        seen = GradBucket(all_of_them.index(bucket), bucket, len(all_of_them), self.buckets.parameters)
        self._futures.append((bucket, hook(state, seen)))
        return None

    # What the walk tells ------------------------------------------------------------------------------------

    def entered(self, name: str, kind: str, subject: Any) -> None:
        """A walk begins, or a span within it."""
        if self._depth:
            self._depth += 1
        elif kind == "walk" and name == "backward" and self._count(subject):
            self._depth, self._is_reduced, self._error = 1, False, sys.exc_info()[1]
            self.buckets.begin()
            self._futures = []
            self._open = set(range(len(self.names)))
            unused = [number for number in self._open if not self._uses.get(number)]
            if unused and not self.finds_unused:
                self._depth = 0
                raise RuntimeError(_unused_text([self.names[number] for number in unused]))
            for number in unused:
                self._complete(number)

    def _count(self, roots: Any) -> bool:
        """Count the uses of each parameter behind the roots. Returns whether there are any."""
        self._uses = {}
        for node in nodes_behind(roots):
            for edge in node.edges:
                number = self.numbers.get(id(edge[0]))
                if number is not None:
                    self._uses[number] = self._uses.get(number, 0) + 1
        return bool(self._uses)

    def delivered(self, node: Any, position: int, gradient: Any) -> None:
        """A part of a parameter's gradient is there."""
        if self._depth:
            target = node.edges[position][0]
            number = self.numbers.get(id(target))
            if number is not None and not target._hooks:
                self.buckets.add(number, getattr(gradient, "array", gradient))

    def passed(self, node: Any, gradients: Any) -> None:
        """The node has given all it has to give."""
        if not self._depth:
            return
        for target, *_ in node.edges:
            number = self.numbers.get(id(target))
            if number is not None:
                self._uses[number] -= 1
                if not self._uses[number] and not target._hooks:
                    self._complete(number)
        self.buckets.move()

    def arrived(self, target: Any, slot: int, gradient: Any) -> None:
        """The walk is over, and the hooks of a parameter have seen its gradient, perhaps changed it."""
        number = self.numbers.get(id(target)) if self._depth else None
        if number is not None and number in self._open and target._hooks:
            self.buckets.add(number, getattr(gradient, "array", gradient))
            self._complete(number)

    def ended(self) -> None:
        """The walk is over: wait for the other ranks' gradients, unless an error has ended it."""
        if self._depth == 1 and sys.exc_info()[1] is self._error:
            for number in sorted(self._open, reverse=True):
                self._complete(number)
            self.buckets.wait()
            for bucket, future in self._futures:
                result = future.wait() if hasattr(future, "wait") else future
                result = result[0] if isinstance(result, (list, tuple)) else result
                if result is not None and result is not bucket.flat:
                    bucket.flat.array[...] = result.array.reshape(-1)
            self._is_reduced = True

    def left(self) -> None:
        """A span has ended; at last that of the walk, when ``.grad`` holds this rank's own gradients."""
        if self._depth:
            self._depth -= 1
            if not self._depth and self._is_reduced:
                self._hand_out()

    # Gradients ----------------------------------------------------------------------------------------------

    def _complete(self, number: int) -> None:
        """A gradient is whole: add what has accumulated before."""
        parameter = self.buckets.parameters[number]
        self._open.discard(number)
        if parameter.grad is not None:
            self.buckets.add(number, parameter.grad.array)
        self.buckets.complete(number, self.factor)

    def _hand_out(self) -> None:
        """Set ``.grad`` of each parameter that any rank has used."""
        used = self._used()
        for number, parameter in enumerate(self.buckets.parameters):
            view = self.buckets.view(number)
            if parameter.grad is not None:
                parameter.grad.array[...] = view
                note_change(parameter.grad._version, "the reduction of gradients", "backward()")
            elif number in used:
                parameter.grad = wrap(view.copy())

    def _used(self) -> set[int]:
        """The parameters that have a gradient on any rank."""
        own = {number for number, p in enumerate(self.buckets.parameters) if p.grad is not None}
        if not self.finds_unused:
            return own
        marks = tensor([int(number in own) for number in range(len(self.names))])
        collectives.all_reduce(marks, ReduceOp.MAX, self.buckets.group)
        return {number for number, mark in enumerate(marks.tolist()) if mark}


def _unused_text(names: list[str]) -> str:
    shown = ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
    return (
        f"Expected to have finished reduction, but the loss does not depend on {shown}. Every rank must give a "
        "gradient for every parameter: pass find_unused_parameters=True to DistributedDataParallel if a forward pass "
        "may leave some out, set requires_grad=False on those that are never used, and compute the loss from the output "
        "of forward"
    )


def _check_equal(named: Mapping[str, Tensor], group: ProcessGroup) -> None:
    """Raise RuntimeError on all ranks if their parameters differ in names, shapes or dtypes."""
    own = [(name, tuple(p.shape), str(p.dtype)) for name, p in named.items()]
    first: list[Any] = [own]
    objects.broadcast_object_list(first, group=group, group_src=0)
    problem = _difference(first[0], own)
    problems: list[Any] = [None] * group.size()
    objects.all_gather_object(problems, problem, group)
    for rank, text in zip(group.ranks, problems, strict=True):
        if text is not None:
            raise RuntimeError(f"rank {rank} has another model than rank {group.ranks[0]}: {text}")


def _difference(first: list[Any], own: list[Any]) -> str | None:
    for theirs, ours in zip(first, own, strict=False):
        if theirs != ours:
            return "parameter {} of shape {} and {} in place of {} of shape {} and {}".format(*ours, *theirs)
    return None if len(first) == len(own) else f"{len(own)} parameters in place of {len(first)}"


def _send(tensors: list[Tensor], group: ProcessGroup) -> None:
    """Give all ranks what rank 0 has."""
    with no_grad():
        works = [collectives.broadcast(t, group=group, async_op=True, group_src=0) for t in tensors]
        for work in works:
            if work is not None:
                work.wait()


def unwrapped(module: Module) -> Module:
    """The module within a DistributedDataParallel; another as it is."""
    return module.module if isinstance(module, DistributedDataParallel) else module
