"""How many kernels a training step launches, and for how long they keep the GPU busy.

On a GPU PyTorch's profiler counts, for minigrad too: CUPTI sees all kernels of the process. On the stand-in the tests'
counter does.
"""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

from ..process import library_module
from .place import NeedsGpu, Place
from .works import Step, larger

WARM_UP = 3
LARGEST = 8  # kernels that are named, by their time


def items(place: Place) -> dict[str, Callable[[], Any]]:
    """Each step in float32, and the larger ones in bfloat16."""
    pairs = [(name, precision) for precision in ("float32", "bfloat16") for name in larger(place)]
    return {f"{name} {precision}": partial(counted, place, name, precision) for name, precision in pairs}


def counted(place: Place, name: str, precision: str) -> dict[str, Any]:
    """Launches and busy milliseconds of one step."""
    if place.rehearsal and place.library == "torch":
        raise NeedsGpu("to count PyTorch's kernels")
    step = Step(place, larger(place)[name], precision)
    for _ in range(WARM_UP):
        step()
    place.synchronize()
    row = {"step": name, "in": precision}
    if not place.rehearsal:
        return {**row, **profiled(place, step)}
    with importlib.import_module("tests.support.launches").count() as counts:
        step()
    return {**row, "minigrad launches": counts.launches, "minigrad waits": counts.syncs}


def profiled(place: Place, step: Callable[[], Any]) -> dict[str, Any]:
    """The kernels of a step as CUPTI sees them."""
    torch = library_module("torch")
    torch.cuda.init()
    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities) as profile:
        step()
        place.synchronize()
        torch.cuda.synchronize()
    on_gpu = [e for e in profile.events() if e.device_type == torch.autograd.DeviceType.CUDA]
    kernels = [e for e in on_gpu if not e.name.startswith(("Memcpy", "Memset"))]
    spent, times = Counter[str](), Counter(e.name for e in kernels)
    for event in kernels:
        spent[event.name] += event.time_range.elapsed_us()
    largest = [f"{ms / 1000:.3f} ms in {times[name]}: {name[:90]}" for name, ms in spent.most_common(LARGEST)]
    who = place.library
    busy = {f"{who} launches": len(kernels), f"{who} copies": len(on_gpu) - len(kernels)}
    return {**busy, f"{who} busy ms": spent.total() / 1000, "largest": largest}
