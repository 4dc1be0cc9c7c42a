"""``torch.autograd.profiler``: the older interface to ``minigrad.profiler``."""

from __future__ import annotations

from typing import Any

from ..profiler import ProfilerActivity, kineto_available, profile as _profile, record_function
from ..profiler.averages import EventList, FunctionEventAvg
from ..profiler.watch import Event as FunctionEvent

__all__ = ["EventList", "FunctionEvent", "FunctionEventAvg", "kineto_available", "profile", "record_function"]


class profile(_profile):
    """The older form of ``minigrad.profiler.profile``, which doubles as a list of events.

    Args:
        enabled: if False, record nothing.
        use_cuda: synchronise with the GPU at each event.
        use_device: "cuda" has the same effect. The other arguments are as in ``profile``, or ignored.
    """

    def __init__(
        self,
        enabled: bool = True,
        *,
        use_cuda: bool = False,
        use_device: str | None = None,
        record_shapes: bool = False,
        with_flops: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_modules: bool = True,
        use_kineto: bool = False,
        use_cpu: bool = True,
        experimental_config: Any = None,
        acc_events: bool = False,
        custom_trace_id_callback: Any = None,
        post_processing_timeout_s: Any = None,
        activity_filters: Any = None,
    ) -> None:
        gpu = use_cuda or use_device == "cuda"
        super().__init__(
            activities=[ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if gpu else [])],
            record_shapes=record_shapes,
            with_flops=with_flops,
            profile_memory=profile_memory,
            with_stack=with_stack,
            with_modules=with_modules,
            acc_events=acc_events,
        )
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
        """The total time of all events in µs."""
        return self.events().self_cpu_time_total

    def table(self, *args: Any, **kwargs: Any) -> str:
        """``EventList.table`` of all events, one per row."""
        return self.events().table(*args, **kwargs)
