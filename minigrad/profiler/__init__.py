"""Where the time goes: ``profile`` records every op, module and step while it is on, by PyTorch's names.

with profile() as p:
    loss = model(x).sum()
    loss.backward()
print(p.by_module().table())
"""

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

__all__ = [
    "DeviceType",
    "ProfilerAction",
    "ProfilerActivity",
    "kineto_available",
    "profile",
    "record_function",
    "schedule",
    "supported_activities",
    "tensorboard_trace_handler",
]


def kineto_available() -> bool:
    """False: PyTorch's library of that name is not used."""
    return False
