"""All measurements, as one table for each part.

    python -m benchmarks [--only steps,kernels] [--work small] [--quick]

Parts: steps, peers, kernels, layers, overhead, small, decoding, generation, sentences, first, import, size, graphs,
drawing.
What compares with PyTorch or another library that is not installed leaves that column empty and says so.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from . import (
    decoding,
    drawing,
    first_run,
    generation,
    graph_page,
    import_time,
    kernels,
    layers,
    libraries,
    overhead,
    sentences,
    size,
    steps,
)
from .machine import describe
from .process import Differ, Failed
from .table import Table
from .workloads import WORK

WITHOUT_TORCH = """\
PyTorch is not installed: minigrad is measured alone, and what compares the two leaves PyTorch's column empty.
For the comparison: pip install torch --index-url https://download.pytorch.org/whl/cpu
"""
Given = argparse.Namespace
PARTS: dict[str, Callable[[Given], Table]] = {
    "steps": lambda given: steps.table(given.work, given.rounds, given.seconds),
    "peers": lambda given: libraries.table(given.work, given.rounds, given.seconds),
    "kernels": lambda given: kernels.table(given.rounds, given.seconds / 20),
    "layers": lambda given: layers.table(given.rounds, given.seconds / 4),
    "overhead": lambda given: overhead.table(given.rounds, given.seconds / 20),
    "small": lambda given: overhead.table_alone(given.rounds, given.seconds / 20),
    "decoding": lambda given: decoding.table(given.rounds, given.seconds / 2),
    "generation": lambda given: generation.table(given.rounds, given.seconds / 2),
    "sentences": lambda given: sentences.table(given.rounds, given.seconds),
    "first": lambda given: first_run.table(given.rounds),
    "import": lambda given: import_time.table(5 * given.rounds),
    "size": lambda given: size.table(),
    "graphs": lambda given: graph_page.table(graph_page.measured()),
    "drawing": lambda given: drawing.table(drawing.measure(given.rounds, given.seconds)),
}


def parse(arguments: list[str]) -> Given:
    """The command line."""
    p = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure minigrad beside its peers.")
    p.add_argument("--only", type=_parts, default=list(PARTS), help=f"parts, by comma: {','.join(PARTS)}")
    p.add_argument("--work", choices=WORK, action="append", help="may be repeated (default: all)")
    p.add_argument("--rounds", type=_positive, default=3, help="processes of each library (default: 3)")
    p.add_argument("--seconds", type=_above_zero, default=4.0, help="of steps in each process (default: 4)")
    p.add_argument("--quick", action="store_true", help="one round, little time: rough figures")
    p.add_argument("--markdown", action="store_true", help="print tables for a page")
    p.add_argument("--json", type=Path, metavar="FILE", help="also write all figures there")
    given = p.parse_args(arguments)
    if given.json and not given.json.parent.is_dir():
        p.error(f"--json: there is no folder {given.json.parent}")
    given.work = given.work or list(WORK)
    if given.quick:
        given.rounds, given.seconds = 1, 0.5
    return given


def _parts(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in PARTS:
            raise argparse.ArgumentTypeError(f"no part {name!r}; there are {', '.join(PARTS)}")
    return names


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"at least 1 is needed, not {number}")
    return number


def _above_zero(text: str) -> float:
    number = float(text)
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"more than 0 is needed, not {text}")
    return number


def main(arguments: list[str]) -> int:
    """Measure, and print each table as soon as it is there; 1 if any could not be made."""
    given = parse(arguments)
    if importlib.util.find_spec("torch") is None:
        print(WITHOUT_TORCH, file=sys.stderr)
    machine = describe("torch")
    print(machine + "\n", flush=True)
    results: list[dict[str, Any]] = []
    failed = 0
    for name in given.only:
        start = time.perf_counter()
        try:
            table = PARTS[name](given)
        except (Differ, Failed) as error:
            print(f"{name}: {error}", file=sys.stderr)
            failed = 1
            continue
        print((table.markdown() if given.markdown else table.text()) + "\n", flush=True)
        results.append({"part": name, "seconds": time.perf_counter() - start, **table.values()})
        if given.json:
            written = json.dumps({"machine": machine, "tables": results}, indent=1)
            given.json.write_text(written, encoding="utf-8")
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
