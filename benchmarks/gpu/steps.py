"""Training steps of the workloads, and of nanoGPT's size, on minigrad and on PyTorch."""

from __future__ import annotations

import gc
import importlib
from collections.abc import Callable
from functools import partial
from typing import Any

from ..process import peak_mebibytes
from .place import Place
from .works import PRECISIONS, Step, larger


def items(place: Place) -> dict[str, Callable[[], Any]]:
    """Each step in each precision."""
    pairs = [(name, precision) for precision in PRECISIONS for name in larger(place)]
    return {f"{name} {precision}": partial(timed, place, name, precision) for name, precision in pairs}


def timed(place: Place, name: str, precision: str) -> dict[str, Any]:
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
