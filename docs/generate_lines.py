"""Writes the table of lines by place in docs/architecture.md.

python docs/generate_lines.py            write it
python docs/generate_lines.py --check    fail if a count is wrong by more than one in a hundred
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "architecture.md"
BEGIN, END = "<!-- lines by place: python tasks.py index -->\n", "<!-- end of lines by place -->\n"
ENGINE = ("minigrad/ops/op.py", "minigrad/autograd/tape.py", "minigrad/autograd/walk.py")
PLACES = [  # label, places, description; a file counts only in the first row that includes it
    ("`examples/engine.py`", ["examples/engine.py"], "a tape and a backward pass on the library's own ops"),
    ("the engine", ENGINE, "`ops/op.py`, `autograd/tape.py`, `autograd/walk.py`"),
    ("`ops/`", ["minigrad/ops"], "every primitive: forward, rule, formula"),
    ("`autograd/`", ["minigrad/autograd"], "promotion, views, in-place changes, observers"),
    ("`backend/`", ["minigrad/backend"], "arrays, random numbers, threads, kernels for NumPy and CuPy"),
    ("`tensor.py`, `functions/`", ["minigrad/functions", "minigrad/*.py"], "PyTorch's names and arguments"),
    ("`nn/`", ["minigrad/nn"], "layers, losses, initialisation"),
    ("`optim/`", ["minigrad/optim"], "optimisers, schedules"),
    ("`utils/`, `serialization/`", ["minigrad/utils", "minigrad/serialization"], "data loaders, files"),
    ("`profiler/`, `viz/`", ["minigrad/profiler", "minigrad/viz"], "instrumentation: timings, graphs, HTML pages"),
    ("`distributed/`", ["minigrad/distributed"], "several processes, over MPI and NCCL"),
    ("`compat/`", ["minigrad/compat"], "parts that only PyTorch programs need"),
    ("`minigrad/`", ["minigrad"], "the whole framework"),
    ("`models/`", ["models"], "translation, GPT, BERT, music, and shared parts"),
    ("`examples/`", ["examples"], "digits, gradients, comparisons of architectures"),
]
WHOLE = "`minigrad/`"


def files(places: Iterable[str]) -> set[Path]:
    """The Python files at some places: a file, a folder, or a pattern."""
    paths: set[Path] = set()
    for place in places:
        path = ROOT / place
        paths |= set(path.rglob("*.py")) if path.is_dir() else set(ROOT.glob(place))
    return paths


def table() -> str:
    """The table."""
    rows, counted = ["| place | lines | what it is |\n", "|---|---|---|\n"], set[Path]()
    for name, places, what in PLACES:
        mine = files(places) - (set() if name == WHOLE else counted)
        counted |= mine
        count = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in mine)
        rows.append(f"| {name} | {count:,} | {what} |\n")
    return "".join(rows)


def is_stale(old: str, new: str) -> bool:
    """Whether a page names other places than the table does, or a count that is off by more than one in a hundred."""
    pattern = re.compile(r"(?<=\| )[\d,]+(?= \|)")
    if pattern.sub("", old) != pattern.sub("", new):
        return True
    counts = ([int(text.replace(",", "")) for text in pattern.findall(page)] for page in (old, new))
    return any(abs(a - b) > b / 100 for a, b in zip(*counts, strict=True))


def main() -> int:
    """Write the table, or check it."""
    parser = argparse.ArgumentParser(description="Write the table of lines by place in docs/architecture.md.")
    parser.add_argument("--check", action="store_true", help="write nothing; fail if the table is stale")
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    new = before + BEGIN + table() + END + rest.split(END)[1]
    if parser.parse_args().check:
        stale = is_stale(text, new)
        if stale:
            print("the table of lines in docs/architecture.md is out of date: python tasks.py index", file=sys.stderr)
        return int(stale)
    PAGE.write_text(new, encoding="utf-8")
    print("wrote the table of lines in docs/architecture.md")
    return 0


if __name__ == "__main__":
    sys.exit(main())
