"""Items of stages that fail, for the tests of ``benchmarks.gpu``."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.gpu.place import NeedsGpu, Place
from benchmarks.gpu.runner import TAIL
from benchmarks.process import Missing


def items(place: Place) -> dict[str, Callable[[], Any]]:
    """One item that works, one of each kind that fails, and another that works."""
    if place.stage == "broken":
        raise RuntimeError("this stage does not even begin")
    kinds: dict[str, Callable[[], Any]] = {
        "works": lambda: {"ms": 1.5},
        "raises": raises,
        "lacks": lacks,
        "needs": needs,
        "dies": lambda: os._exit(3),
        "writes garbage": lambda: garbage(place),
        "hangs": lambda: hangs(place),
        "works, too": lambda: [{"ms": 2.5}, {"ms": float("nan")}],
    }
    return {name: kinds[name] for name in kinds if place.stage == "all" or name.split(",")[0] in (place.stage, "works")}


def raises() -> None:
    """Raise an error after many lines of output."""
    for number in range(TAIL + 20):
        print(f"line {number}")
    raise ValueError("all is\nwrong")


def lacks() -> None:
    raise Missing("not installed")


def needs() -> None:
    raise NeedsGpu("something that only a GPU has")


def garbage(place: Place) -> dict[str, float]:
    """Write invalid lines to the stage's file."""
    with place.rows.open("ab") as rows:
        rows.write(b'\xff\xfe no JSON\n[1, 2]\n{"something": 3}\n')
    return {"ms": 3.5}


def hangs(place: Place) -> None:
    """Hang with a child process that also hangs; their process ids are in a file."""
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    (Path(place.work) / "pids").write_text(f"{os.getpid()} {child.pid}")
    time.sleep(600)
