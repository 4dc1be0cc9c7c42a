"""Loops over numbers of batches that differ between ranks, under the name of ``torch.distributed.algorithms.join``.

    with Join([model, optimizer]):  # a DistributedDataParallel, a ZeroRedundancyOptimizer, or Joinables
        for batch in batches:
            ...

A rank at its end follows the others: for each of their steps it calls the ``main_hook`` of each object, which takes
part in that object's collectives, until no rank has a batch. For that, each step begins with a sum over all ranks: of
ones from those with a batch, which the first object calls by ``notify_join_context``, and of zeros from the others.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

from ..autograd.tape import wrap
from ..autograd.tracebacks import warn
from ..backend import Device
from ..distributed import collectives
from ..distributed.group import ProcessGroup, the_group
from ..functions.creation import tensor
from ..optim.zero_redundancy import ZeroRedundancyOptimizer
from .ddp import DistributedDataParallel, Joining

__all__ = ["Join", "JoinHook", "Joinable"]


class JoinHook:
    """The part that a rank at its end takes in an object's work."""

    def main_hook(self) -> None:
        """Take part in the collectives of a step of the other ranks."""

    def post_hook(self, is_last_joiner: bool) -> None:
        """Called once when all ranks are at their end. ``is_last_joiner``: whether this one was among the last."""


class _JoinConfig(NamedTuple):
    enable: bool = False
    throw_on_early_termination: bool = False
    is_first_joinable: bool = False


class Joinable(ABC):
    """An object with collectives in each step, which calls ``Join.notify_join_context(self)`` before them."""

    @abstractmethod
    def __init__(self) -> None:
        super().__init__()
        self._join_config = _JoinConfig()

    @abstractmethod
    def join_hook(self, **kwargs: Any) -> JoinHook:
        """The hook; the keywords are those of ``Join``."""

    @property
    @abstractmethod
    def join_device(self) -> Device:
        """The device of the sums over all ranks."""

    @property
    @abstractmethod
    def join_process_group(self) -> Any:
        """The ranks."""


class Join:
    """The context.

    Args:
        joinables: the objects, in the order in which a step uses them.
        enable: False leaves the loop as it is.
        throw_on_early_termination: raise RuntimeError on all ranks as soon as one is at its end.
        kwargs: for the hooks. ``divide_by_initial_world_size`` is DistributedDataParallel's.

    Raises ValueError for no object, and for objects of different groups.
    """

    def __init__(
        self, joinables: Sequence[Any], enable: bool = True, throw_on_early_termination: bool = False, **kwargs: Any
    ) -> None:
        if not joinables:
            raise ValueError("The join context manager requires at least one joinable")
        groups = {id(_group(each)): _group(each) for each in joinables}
        if len(groups) > 1:
            raise ValueError("Using join context manager with multiple process groups")
        (self._group,) = groups.values()
        self._joinables, self._enable, self._throws = list(joinables), enable, throw_on_early_termination
        self._join_hooks: list[Any] = [_hook(each, kwargs) for each in joinables]
        for number, each in enumerate(joinables):
            each._join_config = _JoinConfig(enable, throw_on_early_termination, number == 0)

    def __enter__(self) -> None:
        if self._enable:
            for hook in self._join_hooks:
                if isinstance(hook, (_Model, _Optimizer)):
                    hook.begin()

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        try:
            if self._enable and kind is None:
                self._follow()
        finally:
            for each, hook in zip(self._joinables, self._join_hooks, strict=True):
                each._join_config = _JoinConfig()
                if isinstance(hook, (_Model, _Optimizer)) and self._enable:
                    hook.end()

    def _follow(self) -> None:
        is_last, steps = True, 0
        for each in self._joinables:  # whose hooks begin no step
            each._join_config = _JoinConfig()
        while _sum(self._group, 0):
            if self._throws:
                raise RuntimeError(_EXHAUSTED)
            is_last, steps = False, steps + 1
            if steps == 1000:
                warn(f"rank {self._group.rank()} has followed the others for 1000 steps: their inputs are very uneven")
            for hook in self._join_hooks:
                hook.main_hook()
        for hook in self._join_hooks:
            hook.post_hook(is_last)

    @staticmethod
    def notify_join_context(joinable: Any) -> Any:
        """Say that this rank begins a step; only the first object of a context does. Gives None: the sum is complete.

        Raises RuntimeError if a rank is at its end, and the context is to throw.
        """
        config = getattr(joinable, "_join_config", _JoinConfig())
        if not (config.is_first_joinable and config.enable):
            return
        group = _group(joinable)
        if _sum(group, 1) < group.size() and config.throw_on_early_termination:
            raise RuntimeError(_EXHAUSTED)


_EXHAUSTED = "Detected at least one rank that exhausted inputs. Throwing across all ranks."


def _sum(group: ProcessGroup, word: int) -> int:
    words = tensor([word])
    collectives.all_reduce(words, group=group)
    return int(words.item())


def _group(joinable: Any) -> ProcessGroup:
    if isinstance(joinable, (DistributedDataParallel, ZeroRedundancyOptimizer)):
        group: ProcessGroup = joinable.process_group
        return group
    return the_group(joinable.join_process_group)


def _hook(joinable: Any, options: dict[str, Any]) -> Any:
    if isinstance(joinable, DistributedDataParallel):
        return _Model(joinable, options.get("divide_by_initial_world_size", True))
    if isinstance(joinable, ZeroRedundancyOptimizer):
        return _Optimizer(joinable)
    return joinable.join_hook(**options)


class _Steps(Joining):
    """DistributedDataParallel's own words before a step, after the context's."""

    def begin_step(self, grad: bool) -> int:
        Join.notify_join_context(self.model)
        return super().begin_step(grad)


class _Model(JoinHook):
    def __init__(self, model: DistributedDataParallel, divides_by_all: bool) -> None:
        self.model, self.steps = model, _Steps(model, divides_by_all, throws=False)

    def begin(self) -> None:
        self.model._joining = self.steps

    def main_hook(self) -> None:
        """The others' gradients, which an optimiser that is shared among ranks needs on this one, too."""
        self.steps.follow()
        buckets = self.model._reducer.buckets
        for number, parameter in enumerate(buckets.parameters):
            parameter.grad = wrap(buckets.view(number).copy())

    def post_hook(self, is_last_joiner: bool) -> None:
        self.steps.finish()

    def end(self) -> None:
        self.model._joining = None
        self.model._reducer.factor = self.model._reducer.usual_factor


class _Optimizer(JoinHook):
    def __init__(self, optimizer: ZeroRedundancyOptimizer) -> None:
        self.optimizer = optimizer
        self.main_hook = optimizer.step  # type: ignore[method-assign]

    def begin(self) -> None:
        notify = Join.notify_join_context
        self.handle = self.optimizer.register_step_pre_hook(lambda optimizer, *arguments: notify(optimizer))

    def end(self) -> None:
        self.handle.remove()
