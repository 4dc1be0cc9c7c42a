"""``torch.autograd.profiler``: the older way to call ``minigrad.profiler``."""

from __future__ import annotations

from typing import Any

from ..profiler import ProfilerActivity, kineto_available, record_function
from ..profiler import profile as _profile
from ..profiler.averages import EventList, FunctionEventAvg
from ..profiler.watch import Event as FunctionEvent

__all__ = ["EventList", "FunctionEvent", "FunctionEventAvg", "kineto_available", "profile", "record_function"]


class profile(_profile):
    """``minigrad.profiler.profile`` in its older form, which is a list of events, too. Without ``enabled`` it records
    nothing. With ``use_cuda``, or a ``use_device`` of "cuda", it waits for the GPU at each event."""

    def __init__(
        self, enabled: bool = True, *, use_cuda: bool = False, use_device: str | None = None, **options: Any
    ) -> None:
        gpu = [ProfilerActivity.CUDA] if use_cuda or use_device == "cuda" else []
        super().__init__(activities=[ProfilerActivity.CPU, *gpu], **options)
        self.enabled = enabled

    def __enter__(self) -> profile:
        if self.enabled:
            self.start()
        return self

    def __exit__(self, *raised: object) -> None:
        if self.enabled:
            self.stop()

    def __str__(self) -> str:
        return "<unfinished torch.autograd.profile>" if self._done is None else self.table()

    @property
    def function_events(self) -> EventList:
        """All events."""
        return self.events()

    @property
    def self_cpu_time_total(self) -> float:
        """The time of all events, in µs."""
        return self.events().self_cpu_time_total

    def table(self, *args: Any, **kwargs: Any) -> str:
        """``EventList.table`` of all events, one in each row."""
        return self.events().table(*args, **kwargs)
