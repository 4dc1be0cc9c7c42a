"""Measures and checks minigrad on a GPU with a single command; docs/gpu.md explains the results.

python -m benchmarks.gpu --out FOLDER [--seconds 410] [--only machine,probes]
python -m benchmarks.gpu --rehearse               all of it, tiny, without a GPU
python -m benchmarks.gpu --list                   the stages
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NoReturn

from ..machine import describe
from ..program import parser, parts_of
from . import results
from .runner import ROOT, Result, Run, run
from .stages import BY_NAME, STAGES, Stage

RESERVE = 2.0  # seconds for writing the tables
REHEARSAL = 600.0  # seconds, as other programs may run at the same time
ENDS = ("SIGINT", "SIGTERM", "SIGHUP")  # from the keyboard, another program, a lost connection
WHY_NOT = "from minigrad.backend import cuda; print(cuda.why_not())"


def parse(arguments: list[str]) -> argparse.Namespace:
    """The command line."""
    p = parser("benchmarks.gpu", __doc__, seconds=410.0)
    p.add_argument("--out", type=Path, metavar="FOLDER", help="folder for results.json and table.md")
    p.add_argument(
        "--only",
        type=parts_of(BY_NAME),
        default=list(BY_NAME),
        metavar="STAGE,...",
        help="run only these stages (see --list)",
    )
    p.add_argument("--list", action="store_true", help="print the stages and exit")
    p.add_argument("--rehearse", action="store_true", help="run tiny versions of all stages on the tests' fake GPU")
    options = p.parse_args(arguments)
    if not (options.out or options.rehearse or options.list):
        p.error("give --out FOLDER, --rehearse or --list")
    return options


def measure(stages: list[Stage], shared: Run, out: Path, seconds: float, about: dict[str, Any]) -> list[Result]:
    """Run the stages for which there is time, and write the results after each stage."""
    end = time.monotonic() + seconds - RESERVE
    outcomes: list[Result] = []
    for stage in stages:
        left = end - time.monotonic()
        result = Result(stage.name) if left < stage.least else run(stage, shared, left)
        outcomes.append(result)
        results.write(out, about, outcomes)
        print(f"{stage.name}: {result.status}, {result.seconds:.1f} s, {len(result.rows)} rows", flush=True)
        if result.status == "failed":
            print("".join(f"    {line}\n" for line in result.tail[-5:]), end="", flush=True)
    return outcomes


def environment() -> dict[str, str]:
    """The environment variables of all stages. minigrad need not be installed, and the CPU, which only checks results,
    does not wait for compiled kernels."""
    paths = [str(ROOT), str(ROOT / "models"), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {"MINIGRAD_FAST": "0", "PYTHONPATH": os.pathsep.join(paths)}


def main(arguments: list[str]) -> int:
    """Run the command. Returns 1 if it cannot start, or if a stage failed in a rehearsal."""
    options = parse(arguments)
    if options.list:
        print("\n".join(f"{s.name:18} at most {s.seconds:3.0f} s  {s.title}" for s in STAGES))
        return 0
    for name in ENDS:
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), _stop)
    with tempfile.TemporaryDirectory(prefix="minigrad-gpu-") as folder:
        out = options.out or Path(folder)
        shared = Run("strict" if options.rehearse else "cuda", Path(folder), environment())
        if not options.rehearse and (why := why_not(shared)):
            print(f"error: no GPU: {why}\n--rehearse runs everything without one", file=sys.stderr)
            return 1
        now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
        about = {"date": now, "machine": describe("torch"), "rehearsal": options.rehearse, "seconds": options.seconds}
        try:
            out.mkdir(parents=True, exist_ok=True)
            results.write(out, about, [])
        except OSError as error:
            print(f"error: --out: {error}", file=sys.stderr)
            return 1
        stages, seconds = [BY_NAME[name] for name in options.only], options.seconds
        if options.rehearse:
            stages, seconds = [replace(s, seconds=REHEARSAL, patience=REHEARSAL) for s in stages], REHEARSAL
        outcomes = measure(stages, shared, out, seconds, about)
        print("\n" + results.markdown(about, outcomes), flush=True)
    return int(options.rehearse and any(r.status != "ok" for r in outcomes))


def why_not(shared: Run) -> str:
    """Why there is no GPU; "" if there is one. Checks in another process, so that this one stays free of CUDA."""
    variables = {**os.environ, **shared.environment}
    answer = subprocess.run(
        [sys.executable, "-c", WHY_NOT], cwd=ROOT, env=variables, capture_output=True, text=True, check=False
    )
    return answer.stdout.strip() if answer.returncode == 0 else answer.stderr.strip()[-500:]


def _stop(number: int, frame: object) -> NoReturn:
    sys.exit(128 + number)  # the processes of the stage end too; the files have the earlier results


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
