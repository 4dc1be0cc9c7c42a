"""Feed minigrad hostile input, and report the harm.

    python -m tests.fuzz                              a minute: bombs, then files
    python -m tests.fuzz files --seconds 36000        a night of hostile files
    python -m tests.fuzz bombs --seconds 36000        small files of huge values, at every position of every format
    python -m tests.fuzz files --seed 7               the same files as the last time with this seed

A finding is a hang over 10 s (bombs: 1 s), a traceback, or over 1 GiB of memory (bombs: 500 MiB).
Findings are printed as they occur, and make the exit status 1. Each should become a test.
"""

from __future__ import annotations

import argparse
import importlib
import itertools
import os
import random
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

PARTS = ("bombs", "files")
LONGEST = 3000  # characters in a finding


def main(argv: list[str] | None = None) -> int:
    """Run the command line. Returns the exit status."""
    raw = argparse.RawDescriptionHelpFormatter
    p = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__, formatter_class=raw)
    p.add_argument("part", nargs="?", choices=PARTS, help="(default: both)")
    p.add_argument("--seconds", type=float, default=60.0, help="for both parts together (default: 60)")
    p.add_argument("--cases", type=int, metavar="N", help="the most of each part (default: what the time allows)")
    p.add_argument("--seed", type=int, default=int(time.time()), help="of the random input (default: the time)")
    options = p.parse_args(argv)
    if not hasattr(os, "fork"):
        p.error("each case runs in a forked process, and this system cannot fork")
    parts = [options.part] if options.part else PARTS
    faults = [attack(name, options.seconds / len(parts), options.cases, options.seed) for name in parts]
    return 1 if any(faults) else 0


def attack(part: str, seconds: float, cases: int | None, seed: int) -> int:
    """Run cases of a part, at least one, for some seconds. Returns the number of findings."""
    count = faults = 0
    start = time.monotonic()
    module = importlib.import_module(f".{part}", __package__)
    with (
        tempfile.TemporaryDirectory(prefix="fuzz-") as folder,
        closing(module.cases(Path(folder), random.Random(f"{part} {seed}"))) as findings,
    ):
        for finding in itertools.islice(findings, cases):
            count += 1
            if finding.fault:
                faults += 1
                print(f"FOUND with --seed {seed}: {finding.case}\n{finding.fault[-LONGEST:]}\n", flush=True)
            if time.monotonic() - start > seconds:
                break
    took = time.monotonic() - start
    print(f"{part}: {count:,} cases in {took:.0f} s with --seed {seed}, {faults} findings", flush=True)
    return faults


if __name__ == "__main__":
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    sys.exit(main())
