"""DistributedDataParallel: each rank processes a part of the batch, and all ranks get the mean gradients."""

from __future__ import annotations

import sys
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import zip_longest
from typing import Any

from ..autograd import is_grad_enabled, no_grad
from ..autograd.mode import at_end
from ..autograd.observer import Observer, attach, detach
from ..autograd.origin import note_change
from ..autograd.tape import wrap
from ..autograd.walk import nodes_behind
from ..distributed import collectives, objects
from ..distributed.group import ProcessGroup, ReduceOp, the_group
from ..functions.comparison import equal
from ..functions.creation import tensor
from ..nn.parallel.buckets import Buckets, GradBucket as GradBucket, MiB
from ..tensor import Tensor
from .join import Join, JoinHook, gathered
from .one_device import Wrapper

__all__ = ["DistributedDataParallel"]

Hook = Callable[[Any, GradBucket], Any]


class DistributedDataParallel(Wrapper, fields=True):
    """Wraps ``module``, so that ``backward()`` sets each parameter's gradient to its mean over all ranks.

    Each rank has its own model, which starts with rank 0's weights, and processes a part of the batch. If each loss is
    the mean over a part, and all parts have the same size, the gradients equal those of the whole batch. They are
    reduced in buckets while the gradients of earlier layers are still being computed (Li et al. 2020). As in PyTorch,
    the forward pass decides whether the next backward pass reduces gradients; gradients accumulated under ``no_sync``
    are reduced along with the new ones. Names in the state dict begin with "module.".

    Args:
        module: must have the same parameters and buffers, in the same order, on all ranks.
        device_ids: the rank's GPU, or None. process_group: the ranks; if None, all ranks.
        broadcast_buffers: whether to broadcast rank 0's buffers before each forward pass in training mode.
        init_sync: whether to broadcast rank 0's parameters and buffers now.
        bucket_cap_mb: the bucket size in MiB, 25 by default.
        find_unused_parameters, static_graph: allow a forward pass to leave parameters unused. Their gradients count as
            zero; a parameter unused on all ranks gets no gradient. By default, unused parameters are an error.
        output_device, dim, check_reduction, gradient_as_bucket_view: stored as attributes, but without effect.

    Raises ValueError if ``init_process_group`` was not called, and RuntimeError if no parameter requires a gradient or
    the models differ. Without ``find_unused_parameters``, ``backward()`` raises RuntimeError if a parameter is unused.
    """

    broadcast_buffers: bool | None = None
    init_sync: bool = True
    process_group: Any = None
    bucket_cap_mb: float | None = None
    find_unused_parameters: bool = False
    check_reduction: bool = False
    gradient_as_bucket_view: bool = False
    static_graph: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        self.process_group = the_group(self.process_group)
        self.broadcast_buffers = True if self.broadcast_buffers is None else self.broadcast_buffers
        self.require_backward_grad_sync = True
        self._joining: _Joining | None = None
        parameters = {name: p for name, p in self._named("parameters").items() if p.requires_grad}
        if not parameters:
            raise RuntimeError("DistributedDataParallel needs a module with parameters that require a gradient.")
        group = self.process_group
        models: list[list[str]] = [[]] * group.size()
        own = [f"{name} of shape {tuple(p.shape)} and {p.dtype}" for name, p in parameters.items()]
        objects.all_gather_object(models, own, group)
        for rank, model in zip(group.ranks, models, strict=True):
            for mine, first in zip_longest(model, models[0]):
                if mine != first:
                    text = f"parameter {mine} instead of {first}"
                    raise RuntimeError(f"rank {rank}'s model differs from rank {group.ranks[0]}'s: {text}")
        if self.init_sync:
            send([*self._named("parameters").values(), *self._buffers_to_send], self.process_group)
        self._build()

    def _build(self) -> None:
        parameters = {name: p for name, p in self._named("parameters").items() if p.requires_grad}
        most = 25.0 if self.bucket_cap_mb is None else self.bucket_cap_mb
        buckets = Buckets(list(parameters.values()), self.process_group, min(most, 1.0) * MiB, most * MiB)
        self._reducer = Reducer(list(parameters), buckets, self.find_unused_parameters or self.static_graph)
        weakref.finalize(self, detach, self._reducer)  # without a backward pass, the reducer stays attached

    def _named(self, kind: str) -> dict[str, Tensor]:
        """The current parameters or buffers that ranks share. The module may replace them between calls."""
        ignored = getattr(self.module, "_ddp_params_and_buffers_to_ignore", ())
        return {name: value for name, value in getattr(self.module, f"named_{kind}")() if name not in ignored}

    @property
    def _buffers_to_send(self) -> list[Tensor]:
        return list(self._named("buffers").values())

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """Call ``module(*inputs, **kwargs)``."""
        source = 0 if self._joining is None else self._joining.begin_step(is_grad_enabled())
        if self.will_sync_module_buffers():
            _refresh(self._buffers_to_send, self.process_group, source)
        output = self.module(*inputs, **kwargs)
        if is_grad_enabled() and self.require_backward_grad_sync:  # other passes leave the reducer unchanged
            detach(self._reducer)
            self._reducer.reset()
            attach(self._reducer)
        return output

    def will_sync_module_buffers(self) -> bool:
        """Whether the forward pass starts by broadcasting rank 0's buffers."""
        sends = self.broadcast_buffers and self.training and self.require_backward_grad_sync
        return bool(sends and self._buffers_to_send)

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """A context in which ranks accumulate gradients without reducing them. Forward passes must also run in it."""
        with at_end(setattr, self, "require_backward_grad_sync", self.require_backward_grad_sync) as end, end:
            self.require_backward_grad_sync = False
            yield

    def join(
        self, divide_by_initial_world_size: bool = True, enable: bool = True, throw_on_early_termination: bool = False
    ) -> Join:
        """A context for loops with different numbers of batches per rank; see ``Join``. A rank without batches
        contributes zero gradients. At the end, all ranks get the weights of a rank that finished last. Gradients are
        divided by the number of all ranks or, if ``divide_by_initial_world_size`` is False, of ranks with a batch."""
        options = {"divide_by_initial_world_size": divide_by_initial_world_size}
        return Join([self], enable, throw_on_early_termination, **options)

    def join_hook(self, divide_by_initial_world_size: bool = True, **kwargs: Any) -> JoinHook:
        """The model's hook for ``Join``."""
        return _Joining(self, divide_by_initial_world_size)

    @property
    def join_process_group(self) -> ProcessGroup:
        """The group of ranks that take part in ``Join``."""
        group: ProcessGroup = self.process_group
        return group

    def register_comm_hook(self, state: Any, hook: Hook) -> None:
        """Reduce each bucket with ``hook(state, bucket)``, which returns the result as a Future or a tensor. The result
        is used unchanged, so the hook itself must divide by the number of ranks. Raises TypeError if ``hook`` is not
        callable, and RuntimeError if there already is a hook."""
        if not callable(hook):
            raise TypeError("Communication hook must be callable.")
        self._reducer.set_hook(state, hook)

    def __getstate__(self) -> dict[str, Any]:
        detach(self._reducer)
        return {k: v for k, v in self.__dict__.items() if k not in ("process_group", "_reducer")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a copy, whose process group contains all ranks."""
        super().__setstate__(state)
        self.process_group = the_group()
        self._build()


class _Joining(JoinHook):
    """A model's hook for ``Join``. At each step, all ranks report whether they have a batch, and reduce gradients."""

    OVER, WITHOUT, WITH = range(3)  # finished; a step without gradient reduction; a step with it

    def __init__(self, model: DistributedDataParallel, divides_by_all: bool) -> None:
        self.model, self.divides_by_all = model, divides_by_all
        self.group: ProcessGroup = model.process_group
        self.last = self.group.number  # the last rank known to have a batch

    def _begin(self) -> None:
        self.model._joining = self

    def begin_step(self, grad: bool) -> int:
        """Begin a step of a rank with a batch. Returns the first rank in the group that has a batch."""
        Join.notify_join_context(self.model)
        syncs = grad and self.model.require_backward_grad_sync
        active = self._active(gathered(self.WITH if syncs else self.WITHOUT, self.group))
        reducer = self.model._reducer
        if not self.divides_by_all and reducer.hook is None:
            reducer.factor = 1 / len(active)
        return active[0]

    def main_hook(self) -> None:
        """Take part in a step of the other ranks. Optimisers sharded across ranks need their gradients here too."""
        model, buckets = self.model, self.model._reducer.buckets
        detach(model._reducer)
        replies = gathered(self.OVER, self.group)
        active = self._active(replies)
        self.last = active[-1]
        if model.will_sync_module_buffers():
            _refresh(model._buffers_to_send, self.group, active[0])
        if self.WITH in replies:
            model._reducer.shadow()
            for number, parameter in enumerate(buckets.parameters):
                parameter.grad = wrap(buckets.view(number).copy())

    def post_hook(self, is_last_joiner: bool) -> None:
        """Give all ranks the weights of a rank that finished last."""
        latest = gathered(self.last, self.group)
        last = next((rank for number, rank in enumerate(latest) if rank != number), 0)  # from a rank that ended early
        send([*self.model.module.parameters(), *self.model._buffers_to_send], self.group, last)

    def _end(self) -> None:
        self.model._joining = None
        self.model._reducer.factor = self.model._reducer.usual_factor

    def _active(self, replies: list[int]) -> list[int]:
        return [rank for rank, reply in enumerate(replies) if reply != self.OVER]


def send(tensors: Iterable[Tensor], group: ProcessGroup, source: int = 0) -> None:
    """Broadcast one rank's tensors to all ranks of a group. ``source`` is the sender's rank in the group."""
    with no_grad():
        works = [collectives.broadcast(t, group=group, async_op=True, group_src=source) for t in tensors]
        for work in works:
            if work is not None:
                work.wait()


def _refresh(buffers: Sequence[Tensor], group: ProcessGroup, source: int) -> None:
    """``send`` for buffers. Buffers that are already equal are not modified, because a graph may still need them."""
    copies = [buffer.detach().clone() for buffer in buffers]
    send(copies, group, source)
    with no_grad():
        for buffer, new in zip(buffers, copies, strict=True):
            if not equal(buffer, new):
                buffer.copy_(new)


class Reducer(Observer):
    """Observes the backward pass: fills the buckets as gradients arrive, and sets ``.grad`` at the end. A gradient is
    complete once the pass has left the last node that uses its parameter, as counted beforehand."""

    lasts = True  # the backward pass may run after a profile that contains the forward pass

    def __init__(self, names: list[str], buckets: Buckets, finds_unused: bool) -> None:
        self.names, self.buckets, self.finds_unused = names, buckets, finds_unused
        self.numbers = {id(p): number for number, p in enumerate(buckets.parameters)}
        self.factor = self.usual_factor = 1.0 / buckets.group.size()
        self._uses: Counter[int] = Counter()
        self._open: set[int] = set()  # indices of parameters whose gradients are incomplete
        self._spans: list[bool] = []  # for each active span, outermost first: whether it walks the graph
        self._is_reduced = False
        self._error: BaseException | None = None
        self.hook: Hook | None = None
        self._futures: list[tuple[GradBucket, Any]] = []

    def set_hook(self, state: Any, hook: Hook) -> None:
        """Set the communication hook; see ``register_comm_hook``."""
        if self.hook is not None:
            raise RuntimeError("register_comm_hook can only be called once.")

        def reduce(bucket: GradBucket) -> None:
            self._futures.append((bucket, hook(state, bucket)))

        self.hook, self.buckets.reduce = hook, reduce
        self.factor = self.usual_factor = 1.0

    def entered(self, name: str, kind: str, subject: Any) -> None:
        """Handle the start of a backward pass or of a span within it."""
        if self._spans:
            self._spans.append(kind == "walk")
        elif kind == "walk" and name == "backward":
            ends = (id(edge[0]) for node in nodes_behind(subject) for edge in node.edges)
            self._uses = Counter(self.numbers[end] for end in ends if end in self.numbers)
            if self._uses:
                self._begin()

    def _begin(self) -> None:
        unused = [number for number in range(len(self.names)) if not self._uses[number]]
        if unused and not self.finds_unused:
            names = [self.names[number] for number in unused]
            text = ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
            raise RuntimeError(
                f"Expected to have finished reduction, but the loss does not depend on {text}. Every rank must produce "
                "a gradient for every parameter: pass find_unused_parameters=True to DistributedDataParallel if a "
                "forward pass may not use all parameters, set requires_grad=False on any that are never used, and "
                "compute the loss from the output of forward"
            )
        self._spans, self._is_reduced, self._error = [True], False, sys.exc_info()[1]
        self.buckets.begin()
        self._futures, self._open = [], set(range(len(self.names)))
        for number in unused:
            self._complete(number)

    def reset(self) -> None:
        """Discard a backward pass that ended in an error."""
        self._spans = []

    def _is_in_walk(self) -> bool:
        return sum(self._spans) == 1

    def delivered(self, node: Any, position: int, gradient: Any) -> None:
        """Handle a contribution to a parameter's gradient."""
        if self._is_in_walk():
            target = node.edges[position][0]
            number = self.numbers.get(id(target))
            if number is not None and not target._hooks:
                self.buckets.add(number, getattr(gradient, "array", gradient))

    def passed(self, node: Any, gradients: Any) -> None:
        """Handle a node that has passed on all its gradients."""
        if not self._is_in_walk():
            return
        for target, *_ in node.edges:
            number = self.numbers.get(id(target))
            if number is not None:
                self._uses[number] -= 1
                if not self._uses[number] and not target._hooks:
                    self._complete(number)
        self.buckets.move()

    def arrived(self, target: Any, slot: int, gradient: Any) -> None:
        """Handle a final gradient, after the backward pass and the parameter's hooks, which may have changed it."""
        number = self.numbers.get(id(target)) if self._is_in_walk() else None
        if number is not None and number in self._open and target._hooks:
            self.buckets.add(number, getattr(gradient, "array", gradient))
            self._complete(number)

    def ended(self) -> None:
        """Handle the end of the backward pass: wait for the other ranks' gradients unless there was an error."""
        if self._is_in_walk() and sys.exc_info()[1] is self._error:
            for number in sorted(self._open, reverse=True):
                self._complete(number)
            self._wait()
            self._is_reduced = True

    def left(self) -> None:
        """Handle the end of a span. After the outermost span, ``.grad`` contains this rank's own gradients."""
        if self._spans:
            self._spans.pop()
            if not self._spans and self._is_reduced:
                self._set_gradients()
                detach(self)  # one reduction for each forward pass, as in PyTorch

    def shadow(self) -> None:
        """Take part in the reductions of other ranks' backward passes with zero gradients."""
        self.buckets.begin()
        self._futures = []
        for number in reversed(range(len(self.names))):
            self.buckets.complete(number)
        self._wait()
        if self.finds_unused:
            self._marks(set())

    def _complete(self, number: int) -> None:
        """Mark a gradient as complete, and add previously accumulated gradients."""
        parameter = self.buckets.parameters[number]
        self._open.discard(number)
        if parameter.grad is not None:
            self.buckets.add(number, parameter.grad.array)
        self.buckets.complete(number, self.factor)

    def _wait(self) -> None:
        self.buckets.wait()
        for bucket, future in self._futures:
            result = future.wait() if hasattr(future, "wait") else future
            result = result[0] if isinstance(result, (list, tuple)) else result
            if result is not None and result is not bucket.flat:
                bucket.set_buffer(result)

    def _set_gradients(self) -> None:
        numbers = {number for number, p in enumerate(self.buckets.parameters) if p.grad is not None}
        numbers = self._marks(numbers) if self.finds_unused else numbers
        for number, parameter in enumerate(self.buckets.parameters):
            view = self.buckets.view(number)
            if parameter.grad is not None:
                parameter.grad.array[...] = view
                note_change(parameter.grad._changes, "the reduction of gradients", "backward()")
            elif number in numbers:
                parameter.grad = wrap(view.copy())

    def _marks(self, own: set[int]) -> set[int]:
        marks = tensor([int(number in own) for number in range(len(self.names))])
        collectives.all_reduce(marks, ReduceOp.MAX, self.buckets.group)
        return {number for number, mark in enumerate(marks.tolist()) if mark}
