"""Training steps of the workloads, and of nanoGPT's size, on minigrad and on PyTorch: eager, and as a CUDA graph."""

from __future__ import annotations

import gc
import importlib
from collections.abc import Callable
from functools import partial
from typing import Any

from ..process import peak_mebibytes
from .place import NeedsGpu, Place
from .works import PRECISIONS, Step, as_graph, larger


def items(place: Place) -> dict[str, Callable[[], Any]]:
    """Each step in each precision; for PyTorch also as a graph."""
    pairs = [(name, precision) for precision in PRECISIONS for name in larger(place)]
    checks: dict[str, Callable[[], Any]] = {f"{n} {p}": partial(eager, place, n, p) for n, p in pairs}
    if place.library == "torch":
        checks |= {f"{n} {p} as a graph": partial(graph, place, n, p) for n, p in pairs if p != "TF32"}
    return checks


def eager(place: Place, name: str, precision: str) -> dict[str, Any]:
    """Times of a step, and the most memory that the library's pool holds."""
    cuda = None if place.rehearsal else _memory(place)
    step = Step(place, larger(place)[name], precision)
    times = place.time(step, place.choose(0.8, 0.01), most=place.choose(50, 2))
    peak = cuda.max_memory_reserved() / 2**20 if cuda else peak_mebibytes()
    named = {f"{place.library} {key}": value for key, value in times.items()}
    return {"step": name, "in": precision, **named, f"{place.library} MiB": peak}


def _memory(place: Place) -> Any:
    """The library's functions of memory, after it has freed the memory of earlier items."""
    gc.collect()
    if place.library == "torch":
        cuda = place.module().cuda
        cuda.empty_cache()
        cuda.reset_peak_memory_stats()
    else:  # whose count of the peak would make all later steps slower; its pool keeps its largest size
        cuda = importlib.import_module("minigrad.cuda")
        cuda.empty_cache()
    return cuda


def graph(place: Place, name: str, precision: str) -> dict[str, Any]:
    """Times of PyTorch's step as a CUDA graph."""
    step = Step(place, larger(place)[name], precision, capturable=not place.rehearsal)
    if place.rehearsal:
        step()
        raise NeedsGpu("PyTorch's CUDA graphs")
    ms = place.time(as_graph(step), 0.5, most=50)["ms"]
    return {"step": name, "in": precision, "torch graph ms": ms}
