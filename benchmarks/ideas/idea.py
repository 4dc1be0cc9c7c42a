"""What an idea is, and how the measured ways are compared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from minigrad.backend import parallel

from ..process import Missing
from ..workloads import SIZES
from .ways import Way, take

PAID, REJECTED, LIMIT = "Ideas that paid", "Ideas that were not taken", "Limits of pure NumPy"
HEADINGS = {PAID: ("with", "without"), REJECTED: ("with", "without"), LIMIT: ("takes", "compared with")}
Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Given:
    """How long to measure each way, in seconds, and what to divide sizes by (tests are in a hurry)."""

    seconds: float = 0.4
    shrink: int = 1

    def part(self, size: int) -> int:
        return max(2, size // self.shrink)

    def work(self, name: str) -> str:
        """The training step to take in place of ``name``."""
        return name if self.shrink == 1 else "tiny-gpt" if SIZES[name].decoder_only else "tiny"

    def random(self, *shape: int) -> Array:
        """Standard normal numbers, float32."""
        return np.random.default_rng(0).standard_normal(shape, np.float32)

    def compare(self, what: str, with_it: Way, without: Way, rest: float = 0.0) -> Row:
        """The medians of two ways."""
        return Row(what, medians(take([with_it, without], self.seconds, min(rest, self.seconds))))


class Row(NamedTuple):
    """What was measured; the figures with and without."""

    what: str
    figures: list[float]
    unit: str = "ms"


class Idea(NamedTuple):
    """An idea, where in minigrad it stands (or would), and how it is measured."""

    kind: str
    title: str
    where: str
    measure: Callable[[Given], list[Row]]


IDEAS: dict[str, Idea] = {}


def idea(kind: str, title: str, where: str) -> Callable[[Callable[[Given], list[Row]]], Any]:
    """Enter a function into ``IDEAS`` under its own name."""

    def enter(measure: Callable[[Given], list[Row]]) -> Callable[[Given], list[Row]]:
        IDEAS[measure.__name__] = Idea(kind, title, where, measure)
        return measure

    return enter


def medians(times: list[list[float]]) -> list[float]:
    """The median of each way's times."""
    return [median(each) for each in times]


def two_threads() -> None:
    """See to it that there are at least two threads.

    Raises:
        Missing: there are not.
    """
    if parallel.get_num_threads() < 2:
        raise Missing("needs two threads")
