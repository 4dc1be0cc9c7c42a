"""``torch.distributed.algorithms.join``: loops with different numbers of batches on different ranks.

    with Join([model, optimizer]):  # a DistributedDataParallel, a ZeroRedundancyOptimizer, or Joinables
        for batch in batches:
            ...

A rank that has run out of batches follows the others. For each of their steps, it calls each object's ``main_hook``,
which takes part in that object's collectives, until no rank has a batch. To announce this, each rank begins each step
by sending a number: 1 if it has a batch (sent by the first object in ``notify_join_context``), otherwise 0.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

from ..autograd.tracebacks import warn
from ..backend import Device
from ..distributed.group import ProcessGroup, the_group
from ..distributed.objects import all_gather_object
from ..optim.zero_redundancy import ZeroRedundancyOptimizer

__all__ = ["Join", "JoinHook", "Joinable"]


class JoinHook:
    """Runs an object's part of a step on a rank without a batch. ``_begin`` and ``_end`` are called around the loop."""

    def main_hook(self) -> None:
        """Take part in the collectives for a step of the other ranks."""

    def post_hook(self, is_last_joiner: bool) -> None:
        """Finish up once all ranks have run out. ``is_last_joiner``: whether this rank was among the last to do so."""

    _begin: Any = lambda self: None
    _end: Any = _begin


class _JoinConfig(NamedTuple):
    enable: bool = False
    throw_on_early_termination: bool = False
    is_first_joinable: bool = False


class Joinable(ABC):
    """An object that calls ``Join.notify_join_context(self)`` in each step, and then runs collectives."""

    @abstractmethod
    def __init__(self) -> None:
        super().__init__()
        self._join_config = _JoinConfig()

    @abstractmethod
    def join_hook(self, **kwargs: Any) -> JoinHook:
        """The hook, given the keyword arguments of ``Join``."""

    @property
    @abstractmethod
    def join_device(self) -> Device:
        """The device. PyTorch's protocol requires it, but it is unused, because ranks exchange numbers as objects."""

    @property
    @abstractmethod
    def join_process_group(self) -> Any:
        """The group of ranks."""


class Join:
    """A context for such a loop. Raises ValueError if there are no objects, or if their groups differ.

    Args:
        joinables: the objects, in the order in which each step uses them.
        enable: if False, the context has no effect.
        throw_on_early_termination: raise RuntimeError on all ranks as soon as one runs out of batches.
        kwargs: passed to ``join_hook``, such as DistributedDataParallel's ``divide_by_initial_world_size``.
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
        self._join_hooks: list[JoinHook] = [
            _Optimizer(each) if isinstance(each, ZeroRedundancyOptimizer) else each.join_hook(**kwargs)
            for each in joinables
        ]
        for number, each in enumerate(joinables):
            each._join_config = _JoinConfig(enable, throw_on_early_termination, number == 0)

    def __enter__(self) -> None:
        for hook in self._join_hooks if self._enable else ():
            hook._begin()

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        try:
            if self._enable and kind is None:
                self._follow()
        finally:
            for each, hook in zip(self._joinables, self._join_hooks, strict=True):
                each._join_config = _JoinConfig()
                if self._enable:
                    hook._end()

    def _follow(self) -> None:
        is_last, steps = True, 0
        for each in self._joinables:  # their hooks do not begin a step
            each._join_config = _JoinConfig()
        while any(gathered(0, self._group)):
            if self._throws:
                raise RuntimeError(_EXHAUSTED)
            is_last, steps = False, steps + 1
            if steps == 1000:
                warn(f"rank {self._group.rank()} ran out of inputs 1000 steps ago: the ranks' inputs are very uneven")
            for hook in self._join_hooks:
                hook.main_hook()
        for hook in self._join_hooks:
            hook.post_hook(is_last)

    @staticmethod
    def notify_join_context(joinable: Any) -> Any:
        """Announce that this rank begins a step. Only a context's first object does this. Returns None after all ranks
        have answered. With ``throw_on_early_termination``, raises RuntimeError if a rank has run out."""
        config = getattr(joinable, "_join_config", _JoinConfig())
        begins = config.is_first_joinable and config.enable
        if begins and not all(gathered(1, _group(joinable))) and config.throw_on_early_termination:
            raise RuntimeError(_EXHAUSTED)


_EXHAUSTED = "Detected at least one rank that exhausted inputs. Throwing across all ranks."


def gathered(word: int, group: ProcessGroup) -> list[int]:
    """Gather a number from each rank of a group."""
    words = [0] * group.size()
    all_gather_object(words, word, group)
    return words


def _group(joinable: Any) -> ProcessGroup:
    is_optimizer = isinstance(joinable, ZeroRedundancyOptimizer)
    return the_group(joinable.process_group if is_optimizer else joinable.join_process_group)


class _Optimizer(JoinHook):
    def __init__(self, optimizer: ZeroRedundancyOptimizer) -> None:
        self.optimizer = optimizer
        self.main_hook = optimizer.step  # type: ignore[method-assign]

    def _begin(self) -> None:
        notify = Join.notify_join_context
        self.handle = self.optimizer.register_step_pre_hook(lambda optimizer, *arguments: notify(optimizer))

    def _end(self) -> None:
        self.handle.remove()
