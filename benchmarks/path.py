"""Lists the files and functions of minigrad that run in a training step, with their numbers of lines.

    python -m benchmarks.path

It trains a small network (linear, tanh, linear, cross-entropy, ``backward`` and ``Adam.step``) without compiled
kernels. It records the second step, as the first step fills caches. The functions in the list make up the whole step.
"""

from __future__ import annotations

import inspect
import sys
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from .process import ROOT, Answer, ask, library_module
from .table import Table

PACKAGE = ROOT / "minigrad"


def measure(library: str) -> Answer:
    """The number of lines of each function that the second step runs, by file: {"ops/op.py": {"Op.plan": 7}}."""
    mg: Any = library_module(library)
    model = mg.nn.Sequential(mg.nn.Linear(4, 8), mg.nn.Tanh(), mg.nn.Linear(8, 3))
    adam = mg.optim.Adam(model.parameters())
    x, target = mg.randn(5, 4), mg.tensor([0, 1, 2, 0, 1])
    ran: set[CodeType] = set()
    files: Answer = {}

    def note(frame: FrameType, event: str, argument: Any) -> None:
        ran.add(frame.f_code)

    for profile in (None, note):
        sys.setprofile(profile)
        mg.nn.functional.cross_entropy(model(x), target).backward()
        adam.step()
    sys.setprofile(None)
    for code in ran:
        path = Path(code.co_filename)
        if path.is_relative_to(PACKAGE) and not code.co_name.startswith("<"):
            lines = [line.lstrip() for line in inspect.getsourcelines(code)[0]]
            begin = next(i for i, line in enumerate(lines) if line.startswith("def "))  # after its decorators
            files.setdefault(str(path.relative_to(PACKAGE)), {})[code.co_qualname] = len(lines) - begin
    return files


def of_a_step() -> Answer:
    """Run ``measure`` in a separate process."""
    return ask("benchmarks.path:measure", "minigrad", environment={"MINIGRAD_FAST": "0"})


def main() -> None:
    """Measure and print."""
    files = of_a_step()
    table = Table("The code of a training step", ("file", "lines", "functions"), ("", ".0f", ""))
    sums = {file: sum(functions.values()) for file, functions in files.items()}
    for file in sorted(sums, key=lambda file: -sums[file]):
        table.add(file, sums[file], ", ".join(f"{name} {n}" for name, n in files[file].items()))
    table.notes.append(f"{len(sums)} files, {sum(sums.values())} lines")
    print(table.text())


if __name__ == "__main__":
    main()
