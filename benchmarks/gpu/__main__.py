"""Everything there is to know of minigrad on a GPU, by one command; docs/gpu.md says how to read what it writes.

python -m benchmarks.gpu --out FOLDER [--seconds 410] [--only machine,probes]
python -m benchmarks.gpu --rehearse               all of it, tiny, without a GPU
python -m benchmarks.gpu --pack                   what has to be carried to the machine, in carry/
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
from . import pack, results
from .runner import ROOT, Result, Run, run
from .stages import BY_NAME, STAGES, Stage

RESERVE = 2.0  # seconds in which the tables are written
REHEARSAL = 600.0  # seconds: other programs may run beside a rehearsal
WHY_NOT = "from minigrad.backend import cuda; print(cuda.why_not())"


def parse(arguments: list[str]) -> argparse.Namespace:
    """The command line."""
    p = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description="Measure and check minigrad on a GPU.")
    p.add_argument("--out", type=Path, metavar="FOLDER", help="where results.json and table.md are written")
    p.add_argument("--seconds", type=float, default=410.0, help="for all of it (default: 410)")
    p.add_argument("--only", type=_stages, default=STAGES, metavar="STAGE,...", help="some of the stages (see --list)")
    p.add_argument("--list", action="store_true", help="print the stages, and do nothing")
    p.add_argument("--rehearse", action="store_true", help="all stages, with tiny sizes, on the tests' stand-in")
    p.add_argument("--pack", action="store_true", help=f"gather texts and wheels in {pack.FOLDER.name}/")
    p.add_argument("--missing", default="", metavar="PACKAGE,...", help="with --pack: packages that the machine lacks")
    p.add_argument(
        "--python", default="3.12", metavar="VERSION", help="with --pack: the machine's Python (default: 3.12)"
    )
    given = p.parse_args(arguments)
    if not given.seconds > 0:
        p.error(f"--seconds: more than 0 is needed, not {given.seconds:g}")
    if not (given.out or given.rehearse or given.pack or given.list):
        p.error("--out FOLDER is needed, or one of --rehearse, --pack, --list")
    return given


def _stages(text: str) -> list[Stage]:
    unknown = set(text.split(",")) - set(BY_NAME)
    if unknown:
        raise argparse.ArgumentTypeError(f"there is no stage {sorted(unknown)[0]!r}; see --list")
    return [stage for stage in STAGES if stage.name in text.split(",")]


def measure(stages: list[Stage], shared: Run, out: Path, seconds: float, about: dict[str, Any]) -> list[Result]:
    """Run the stages that the time allows, and write the results after each."""
    end = time.monotonic() + seconds - RESERVE
    found: list[Result] = []
    for stage in stages:
        left = end - time.monotonic()
        result = Result(stage.name) if left < stage.least else run(stage, shared, left)
        found.append(result)
        results.write(out, about, found)
        print(f"{stage.name}: {result.status}, {result.seconds:.1f} s, {len(result.rows)} rows", flush=True)
        if result.status == "failed":
            print("".join(f"    {line}\n" for line in result.tail[-5:]), end="", flush=True)
    return found


def environment(work: Path, rehearsal: bool) -> dict[str, str]:
    """What the stages find: one cache of kernels, the texts and the packages that were carried."""
    if rehearsal:
        return {"MINIGRAD_FAST": "0"}  # no kernel is compiled that no GPU needs
    known = {"CUPY_CACHE_DIR": os.environ.get("CUPY_CACHE_DIR", str(Path.home() / ".cupy" / "kernel_cache"))}
    if pack.FOLDER.is_dir() and "MINIGRAD_DATA" not in os.environ:
        known["MINIGRAD_DATA"] = str(pack.FOLDER)
    if site := pack.install(work / "site"):
        known["PYTHONPATH"] = os.pathsep.join(filter(None, (str(site), os.environ.get("PYTHONPATH"))))
    return known


def main(arguments: list[str]) -> int:
    """Do what the command line says. Returns 1 if a stage of a rehearsal failed."""
    given = parse(arguments)
    if given.list:
        print("\n".join(f"{s.name:18} at most {s.seconds:3.0f} s  {s.title}" for s in STAGES))
        return 0
    if given.pack:
        return pack.gather(given.missing.split(",") if given.missing else [], given.python)
    signal.signal(signal.SIGTERM, _stop)
    with tempfile.TemporaryDirectory(prefix="minigrad-gpu-") as folder:
        out = given.out or Path(folder)
        out.mkdir(parents=True, exist_ok=True)
        shared = Run("strict" if given.rehearse else "cuda", Path(folder), environment(Path(folder), given.rehearse))
        if not given.rehearse and (why := why_not(shared)):
            print(f"error: there is no GPU to measure: {why}\n--rehearse runs all of it without one", file=sys.stderr)
            return 1
        now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
        about = {"date": now, "machine": describe("torch"), "rehearsal": given.rehearse, "seconds": given.seconds}
        stages, seconds = given.only, given.seconds
        if given.rehearse:
            stages, seconds = [replace(s, seconds=REHEARSAL, patience=REHEARSAL) for s in stages], REHEARSAL
        found = measure(stages, shared, out, seconds, about)
        print("\n" + results.markdown(about, found), flush=True)
    return int(given.rehearse and any(r.status != "ok" for r in found))


def why_not(shared: Run) -> str:
    """Why there is no GPU; "" where there is one. A process of its own asks: this one stays free of CUDA."""
    known = {**os.environ, **shared.environment}
    asked = subprocess.run(
        [sys.executable, "-c", WHY_NOT], cwd=ROOT, env=known, capture_output=True, text=True, check=False
    )
    return asked.stdout.strip() if asked.returncode == 0 else asked.stderr.strip()[-500:]


def _stop(number: int, frame: object) -> NoReturn:
    sys.exit(128 + number)  # the stage's processes end with this one, and what they found is written


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
