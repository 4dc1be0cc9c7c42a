"""Every CUDA source is compiled, in several processes, before anything is timed: later stages find it in the cache."""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor
from functools import cache, partial
from pathlib import Path
from typing import Any

from .place import Place

PROCESSES = 14
BITS = {"float32": 32, "float16": 16, "bfloat16": 16, "float64": 64}
HEADS = (32, 64)  # widths of attention's heads in the workloads
TINY = 4  # and in a rehearsal, which compiles less of all


def items(place: Place) -> dict[str, Callable[[], Any]]:
    """Each source in each dtype."""
    from minigrad.backend import kernels

    sources = sorted(path.stem for path in Path(kernels.__path__[0]).glob("*.cu"))
    jobs = {
        f"{source} {dtype}{f' {head}' if head else ''}": (source, dtype, head)
        for source in sources
        for dtype in place.choose(tuple(BITS), ("float32",))
        for head in (place.choose(HEADS, (TINY,)) if source == "scaled_dot_product_attention" else (0,))
    }
    start = cache(partial(_start, place, tuple(jobs.values())))
    return {name: partial(_result, start, job) for name, job in jobs.items()}


Job = tuple[str, str, int]


def _start(place: Place, jobs: tuple[Job, ...]) -> dict[Job, Future[float]]:
    """All jobs at once, when the first is asked for."""
    workers = min(PROCESSES, os.cpu_count() or 1)
    pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"))
    return {job: pool.submit(compiled, str(place.work), place.device, *job) for job in jobs}


def _result(start: Callable[[], dict[Job, Future[float]]], job: Job) -> dict[str, Any]:
    return {"seconds to compile": start()[job].result()}


def compiled(work: str, device: str, source: str, dtype: str, head: int) -> float:
    """Seconds to compile a source."""
    place = Place("sources", Path(work), device, Path(work), 0.0)
    place.begin()
    from minigrad.backend.kernels import _launch
    from minigrad.backend.kernels.scaled_dot_product_attention_cuda import plan

    begin = time.perf_counter()
    bits = BITS[dtype]
    cut = plan(head, 1024 if head > TINY else TINY, max(bits, 32) // 8, 227 << 10) if head else None
    macros = (*(cut.macros if cut else ()), *((("REAL_BFLOAT", 1),) if dtype == "bfloat16" else ()))
    options = _launch.options(bits, macros)
    module = place.xp().RawModule(code=_launch.code(source), options=options)
    if not place.rehearsal:
        module.compile()
    return time.perf_counter() - begin
