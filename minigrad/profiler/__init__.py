"""The profiler: ``profile`` records every op, module and step while it is on, under PyTorch's names."""

from .profiler import (
    DeviceType,
    ProfilerAction,
    ProfilerActivity,
    profile,
    record_function,
    schedule,
    supported_activities,
    tensorboard_trace_handler,
)

__all__ = ["DeviceType", "ProfilerAction", "ProfilerActivity", "kineto_available", "profile", "record_function"]
__all__ += ["schedule", "supported_activities", "tensorboard_trace_handler"]


def kineto_available() -> bool:
    """False: PyTorch's library of that name is not used."""
    return False
