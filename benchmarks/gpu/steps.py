"""Measures the times and kernel launches of training steps in minigrad and PyTorch, for the workloads and for a model
of nanoGPT's size."""

from __future__ import annotations

import gc
import importlib
from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from typing import Any

from ..process import Missing, library_module, peak_mebibytes
from ..workloads import TINY, WORK, Work, build, loss_function, optimizer
from .place import NeedsGpu, Place

GPT = replace(WORK["gpt-384"], title="decoder-only 12 × 768, T 1024, V 50,304", layers=12, width=768, heads=12)
# GPT-2's vocabulary, rounded up as in nanoGPT
GPT = replace(GPT, hidden=3072, vocabulary=50_304, batch=4, length=1024, dropout=0.0)
WARM_UP = 3  # steps before launches are counted
LARGEST = 8  # number of slowest kernels to list


class Step:
    """A training step that does not wait for the device.

    Args:
        precision: "float32", "TF32" (for matrix products) or "bfloat16" (by autocast).

    Raises:
        Missing: if a package for bfloat16 is not installed.
    """

    def __init__(self, place: Place, work: Work, precision: str) -> None:
        torch = self.torch = place.module()
        if precision == "bfloat16" and place.library == "minigrad" and not find_spec("ml_dtypes"):
            raise Missing("ml_dtypes is not installed")
        self.device, self.precision = place.named(), precision
        torch.set_float32_matmul_precision("high" if precision == "TF32" else "highest")
        torch.manual_seed(0)
        self.model = build(torch, work, work.dropout).to(self.device)
        self.loss_of = loss_function(torch, work, device=self.device)
        self.optimizer = optimizer(torch, work, self.model)

    def __call__(self) -> None:
        """Run the forward pass, the backward pass and the update."""
        self.optimizer.zero_grad()
        with self.torch.autocast(self.device, self.torch.bfloat16) if self.precision == "bfloat16" else nullcontext():
            loss = self.loss_of(self.model)
        loss.backward()
        self.optimizer.step()


def items(place: Place) -> dict[str, Callable[[], Any]]:
    """Each step in each precision. The ``launches`` stage skips TF32."""
    counts = place.stage.startswith("launches")
    precisions = ("float32", "bfloat16") if counts else ("float32", "bfloat16", "TF32")
    function = counted if counts else timed
    works = place.choose({**WORK, "gpt-768": GPT}, TINY)
    pairs = [(name, precision) for precision in precisions for name in works]
    return {f"{name} {p}": partial(function, place, {"step": name, "in": p}, works[name]) for name, p in pairs}


def timed(place: Place, row: dict[str, Any], work: Work) -> dict[str, Any]:
    """The times of a step, and the peak size of the library's memory pool."""
    cuda = None if place.rehearsal else _memory(place)
    step = Step(place, work, row["in"])
    times = place.time(step, place.choose(0.8, 0.01), most=place.choose(50, 2))
    peak = cuda.max_memory_reserved() / 2**20 if cuda else peak_mebibytes()
    figures = {f"{place.library} {key}": value for key, value in times.items()}
    return {**row, **figures, f"{place.library} MiB": peak}


def _memory(place: Place) -> Any:
    """The library's ``cuda`` module, after it has freed the memory of earlier items."""
    gc.collect()
    if place.library == "torch":
        cuda = place.module().cuda
        cuda.empty_cache()
        cuda.reset_peak_memory_stats()
    else:  # counting the peak would slow all later steps; the pool never shrinks
        cuda = importlib.import_module("minigrad.cuda")
        cuda.empty_cache()
    return cuda


def counted(place: Place, row: dict[str, Any], work: Work) -> dict[str, Any]:
    """How many kernels a step launches, and how long they keep the GPU busy.

    On a GPU, PyTorch's profiler counts them, even for minigrad, as CUPTI sees all kernels in the process. On the fake
    GPU, the counter from the tests does.
    """
    if place.rehearsal and place.library == "torch":
        raise NeedsGpu("to count PyTorch's kernels")
    step = Step(place, work, row["in"])
    for _ in range(WARM_UP):
        step()
    place.synchronize()
    if not place.rehearsal:
        return {**row, **profiled(place, step)}
    with importlib.import_module("tests.support.launches").count() as counts:
        step()
    return {**row, "minigrad launches": counts.launches, "minigrad waits": counts.syncs}


def profiled(place: Place, step: Callable[[], Any]) -> dict[str, Any]:
    """The kernels of a step, as recorded by CUPTI."""
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
