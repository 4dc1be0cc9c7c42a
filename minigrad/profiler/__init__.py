"""The profiler. While it is running, ``profile`` records every op, module and step under PyTorch's names."""

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
    """Always False, as minigrad does not use PyTorch's Kineto library."""
    return False
