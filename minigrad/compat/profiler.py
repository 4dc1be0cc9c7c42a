"""``torch.profiler`` and ``torch.autograd.profiler``: marks are harmless, profiles are absent."""

from __future__ import annotations

from contextlib import ContextDecorator

from ..missing import names_of
from .refused import Refused

__all__ = ["emit_nvtx", "profile", "record_function", "schedule", "tensorboard_trace_handler"]

__getattr__ = names_of("minigrad.profiler")
_ADVICE = "use cProfile, or time.perf_counter"
profile, schedule, tensorboard_trace_handler, emit_nvtx = (
    Refused(f"torch.profiler.{name}", _ADVICE)
    for name in ("profile", "schedule", "tensorboard_trace_handler", "emit_nvtx")
)


class record_function(ContextDecorator):
    """A name for a part of a program, in a ``with`` or before a function: without effect.

    Args:
        name: what a profile would call it.
        args: what it would say beside.
    """

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name, self.args = name, args

    def __enter__(self) -> record_function:
        return self

    def __exit__(self, *exception: object) -> None:
        """Nothing happens."""
