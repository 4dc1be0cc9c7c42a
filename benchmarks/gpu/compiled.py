"""Compiles all CUDA code in several processes before anything is timed. Later stages load it from CuPy's cache."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from ..workloads import TINY
from .place import Place

PROCESSES = 14
BITS = {"float32": 32, "float16": 16, "bfloat16": 16, "float64": 64}
HEADS = (32, 64)  # attention head sizes in the workloads
SMALL = 4  # the head size in a rehearsal, which compiles fewer variants


def items(place: Place) -> dict[str, Callable[[], Any]]:
    """``sources`` compiles each CUDA source for each dtype. ``warm`` compiles CuPy's array functions, in parts."""
    workers = place.choose(min(PROCESSES, os.cpu_count() or 1), 2)
    pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"))
    if place.stage == "warm":
        parts = place.choose(workers, PROCESSES)
        return {f"part {n}": pool.submit(used, place.device, n, parts).result for n in range(workers)}
    from minigrad.backend import kernels

    jobs: dict[str, Callable[[], Any]] = {}
    for source in sorted(path.stem for path in Path(kernels.__path__[0]).glob("*.cu")):
        for dtype in place.choose(tuple(BITS), ("float32",)):
            for head in place.choose(HEADS, (SMALL,)) if source == "scaled_dot_product_attention" else (0,):
                name = f"{source} {dtype}{f' {head}' if head else ''}"
                jobs[name] = pool.submit(compiled, place.device, source, dtype, head).result
    return jobs


def _place(device: str) -> Place:
    place = Place("compiled", Path("none"), device, Path("none"), 0.0)
    place.begin()
    return place


def compiled(device: str, source: str, dtype: str, head: int) -> None:
    """Compile a source. ``head`` is the attention head size, or 0 for other sources."""
    place = _place(device)
    from minigrad.backend.kernels import _launch
    from minigrad.backend.kernels.scaled_dot_product_attention_cuda import plan

    bits = BITS[dtype]
    cut = plan(head, 1024 if head > SMALL else SMALL, max(bits, 32) // 8, 227 << 10) if head else None
    macros = (*(cut.macros if cut else ()), *((("REAL_BFLOAT", 1),) if dtype == "bfloat16" else ()))
    module = place.xp().RawModule(code=_launch.code(source), options=_launch.options(bits, macros))
    if not place.rehearsal:
        module.compile()


def used(device: str, number: int, parts: int) -> None:
    """Run a share of the probes and training steps to compile their functions. The ``probes`` stage reports errors."""
    place = _place(device)
    from . import probes
    from .steps import Step

    jobs = list(probes.items(place).values())
    for work in TINY.values():
        for precision in ("float32", "bfloat16"):
            jobs.append(partial(lambda *step: Step(place, *step)(), work, precision))
    for job in jobs[number::parts]:
        with suppress(Exception):
            job()
