"""Memory that is kept, and what is not computed."""

from __future__ import annotations

import os
import sys
from statistics import median
from unittest.mock import patch

from ..process import Answer, Missing, alternate, ask
from ..steps import WARM_UP, repeat, time_of
from .idea import PAID, Given, Row, idea
from .training import trainer


def train(library: str, work: str, seconds: float) -> Answer:
    """Times of training steps in ms, and page faults of each."""
    if sys.platform == "win32":
        raise Missing("the system does not count page faults")
    import resource

    step = trainer(work)
    step()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    times = repeat(step, seconds)
    faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
    return {"times": times, "faults": faults / (len(times) + WARM_UP)}


def asked(function: str, work: str, seconds: float, without: dict[str, str], rounds: int) -> list[list[Answer]]:
    """Answers of processes with the idea, and with the environment that switches it off."""

    def measure(which: str) -> Answer:
        with patch.dict(os.environ, without if which == "without" else {}):
            return ask(function, "minigrad", work=work, seconds=seconds)

    found = alternate(("with", "without"), rounds, measure, work)
    if "missing" in found["with"][0]:
        raise Missing(found["with"][0]["missing"])
    return list(found.values())


@idea(PAID, "freed memory kept", "backend/memory.py")
def kept(given: Given) -> list[Row]:
    """The C library gives large blocks back to the system at once, and each step then faults in all its pages
    again."""
    off = {"GLIBC_TUNABLES": ""}
    found = asked("benchmarks.ideas.memory:train", given.work("gpt-384"), 5 * given.seconds, off, 2)
    what = "step of decoder-only 6 × 384, T 256"
    times = [time_of(answers) or 0.0 for answers in found]
    faults = [median(answer["faults"] for answer in answers) for answers in found]
    return [Row(what, times), Row(f"{what}: page faults", faults, "")]
