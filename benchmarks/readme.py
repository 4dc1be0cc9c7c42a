"""Measures the figures in README.md and writes their table (under half an hour): ``python -m benchmarks --readme``."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from . import decoding, start, steps
from .machine import describe
from .process import ROOT, progress
from .table import Table
from .workloads import WORK

README = ROOT / "README.md"
BEGIN, END = "<!-- figures: python -m benchmarks --readme -->\n", "<!-- end of figures -->\n"


def write(rounds: int, seconds: float) -> None:
    """Measure, and write the table into README.md."""
    how = "Ratios are minigrad divided by eager PyTorch, measured in the same run."
    lines = [f"On {describe('torch')}, {datetime.now(UTC):%Y-%m-%d}. {how}\n"]
    lines += ["\n| | figure | command |\n", "|---|---|---|\n"]
    lines += [f"| {name} | {figure} | `{command}` |\n" for name, figure, command in figures(rounds, seconds)]
    before, _, rest = README.read_text(encoding="utf-8").partition(BEGIN)
    README.write_text(before + BEGIN + "".join(lines) + END + rest.partition(END)[2], encoding="utf-8")


def figures(rounds: int, seconds: float) -> Iterator[tuple[str, str, str]]:
    """The rows: the name of a figure, the figure, and the command that measures it."""
    exact, minutes = zip(*map(translated, range(3)), strict=True)
    count = f"{', '.join(map(str, exact))} of 1,000 (3 seeds), after {max(minutes):.1f} minutes"
    yield "English to Italian: unseen sentences translated exactly", count, "minigrad train"
    step, command = steps.table(WORK, rounds, seconds), "python -m benchmarks --only steps"
    yield "time per training step, five transformers (lower is better)", extremes(step, "ratio"), command
    yield "the same without Numba (lower is better)", extremes(step, "ratio on NumPy"), command
    yield "peak memory of a training step (lower is better)", extremes(step, "memory ratio"), command
    speed = extremes(decoding.table(rounds, seconds / 2), "times PyTorch's")
    yield "throughput of greedy decoding (higher is better)", speed, "python -m benchmarks --only decoding"
    imports = dict(zip(("numpy", "minigrad", "torch"), column(start.imports(5 * rounds), "to numpy's"), strict=True))
    ours = f"{imports['minigrad']:.2f} × `import numpy` (PyTorch: {imports['torch']:.0f} ×)"
    yield "import time, including NumPy", ours, "python -m benchmarks --only import"


def translated(seed: int) -> tuple[int, float]:
    """How many of 1,000 test sentences the default translator gets right, and the minutes that the command takes."""
    with tempfile.TemporaryDirectory() as folder:
        progress(f"translator with seed {seed}")
        command = [sys.executable, "-m", "minigrad", "train", "--seed", str(seed), "--run", folder]
        begin = time.perf_counter()
        subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
        minutes = (time.perf_counter() - begin) / 60
        return json.loads((Path(folder) / "test.json").read_text(encoding="utf-8"))["exact"], minutes


def extremes(table: Table, name: str) -> str:
    """The range of a column."""
    return f"{min(column(table, name)):.2f} to {max(column(table, name)):.2f}"


def column(table: Table, name: str) -> list[float]:
    return [float(row[table.columns.index(name)] or 0) for row in table.rows]
