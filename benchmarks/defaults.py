"""Measures how long each program takes in an empty folder without options or data sets, and shows its last lines:
``python -m benchmarks.defaults [--only gpt,music]``."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time

from .machine import describe
from .process import ROOT, progress
from .program import parser, parts_of, show
from .table import Table

PROGRAMS = {"translation": "minigrad train", "gpt": "minigrad gpt train", "music": "minigrad music train"}
PROGRAMS |= {task: f"minigrad bert {task}" for task in ("pretrain", "sst2", "mrpc", "conll", "squad")}
LESSONS = "digits", "autoencoder", "embeddings", "compare", "ablations"
PROGRAMS |= {name: f"examples.{name}" for name in LESSONS}
LIMIT = 120  # seconds


def main() -> int:
    """Run all programs and print a row for each. Returns 1 if any fails or exceeds the limit."""
    p = parser("benchmarks.defaults", __doc__)
    p.add_argument("--only", type=parts_of(PROGRAMS), default=[*PROGRAMS], metavar="NAMES", help=", ".join(PROGRAMS))
    table, worst = Table(describe(), ("command", "seconds", "at its end"), ("", ".0f", "")), 0.0
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT}/models", "MINIGRAD_DATA": f"{folder}/none"}
        for name in p.parse_args().only:
            progress(PROGRAMS[name])
            start = time.perf_counter()
            command = [sys.executable, "-m", *PROGRAMS[name].split()]
            ran = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
            seconds = time.perf_counter() - start
            worst = max(worst, seconds if ran.returncode == 0 else float("inf"))
            lines = (ran.stdout if ran.returncode == 0 else ran.stderr).strip().splitlines()
            table.add(PROGRAMS[name].replace("examples", "python -m examples"), seconds, "; ".join(lines[-2:]))
    show(table)
    return int(worst > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
