"""Compares jobs in several libraries: first the results, then the timings.

A module defines its jobs in ``jobs(library, **work)``, which returns a dict of functions without arguments. ``jobs``
raises ``Missing`` if the library is not installed.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from functools import partial
from statistics import median
from typing import Any

import numpy as np

from .process import Answer, Differ, alternate, ask, middle, progress
from .steps import repeat

Jobs = dict[str, Callable[[], Any]]


def results(library: str, module: str, **work: Any) -> Answer:
    """The result of each job (an array) as nested lists."""
    return {name: np.asarray(job()).tolist() for name, job in _jobs(library, module, work).items()}


def times(library: str, module: str, seconds: float, **work: Any) -> Answer:
    """The median time of each job in ms."""
    return {name: median(repeat(job, seconds, 1, 2)) for name, job in _jobs(library, module, work).items()}


def _jobs(library: str, module: str, work: dict[str, Any]) -> Jobs:
    jobs: Jobs = importlib.import_module(f"benchmarks.{module}").jobs(library, **work)
    return jobs


def compared(
    module: str, libraries: Iterable[str], rounds: int, seconds: float, tolerance: float = 0.0, **work: Any
) -> dict[str, list[Answer]]:
    """The timings of a module's jobs by library. Raises Differ if the libraries' results differ.

    Args:
        tolerance: the maximum absolute difference.
    """
    what = ", ".join([module, *map(str, work.values())])
    progress(f"{what}: results")
    answers = {library: ask("benchmarks.compare:results", library, module=module, **work) for library in libraries}
    agree(module, answers, tolerance)
    timed = partial(ask, "benchmarks.compare:times", module=module, seconds=seconds, **work)
    return alternate(answers, rounds, timed, what)


def agree(what: str, answers: dict[str, Answer], tolerance: float = 0.0) -> None:
    """Raise Differ if a library's results differ from those of the first library."""
    libraries = [library for library, answer in answers.items() if "missing" not in answer]
    for library in libraries[1:]:
        for job, result in answers[libraries[0]].items():
            ours, theirs = np.array(result), np.array(answers[library][job])
            if ours.shape != theirs.shape or not np.abs(ours - theirs).max() <= tolerance:
                raise Differ(f"{what}, {job}: {libraries[0]} and {library} computed different results")


def speed(answers: Iterable[Answer], job: str, tokens: int) -> float | None:
    """Tokens per second in a job that computes ``tokens`` tokens; None if the library is missing."""
    time = middle(answers, job)
    return None if time is None else 1000 * tokens / time
