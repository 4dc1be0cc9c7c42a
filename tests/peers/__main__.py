"""All of PyTorch's databases on minigrad.

    python -m tests.peers [RUN ...]

A run is a dtype, for that of operators, "modules", "optimizers" or "errors"; all by default. Prints what differs and
the counts, and writes the counts to ``counts.toml``, from which docs/pytorch.md has them.
"""

from __future__ import annotations

import sys
import tomllib
from collections import Counter
from pathlib import Path

import torch

from . import errors, modules, operators, optimizers
from .report import counts, show

FILE = Path(__file__).with_name("counts.toml")
DTYPES = ("float64", "float32", "float16", "bfloat16", "int64", "bool", "complex128")


def main() -> None:
    """Run what was asked for, and write its counts."""
    runs = sys.argv[1:] or [*DTYPES, "modules", "optimizers", "errors"]
    found = {name: count(name) for name in runs}
    tables = (tomllib.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}) | found
    tables["pytorch"] = torch.__version__.partition("+")[0]
    lines = ["# Written by python -m tests.peers.", f'pytorch = "{tables.pop("pytorch")}"']
    for name in sorted(tables):
        lines += ["", f"[{name}]", *(f"{what} = {number}" for what, number in tables[name].items())]
    FILE.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")


def count(name: str) -> dict[str, int]:
    """The counts of a run, which are printed, too."""
    if name == "errors":
        verdicts = Counter(refusal.verdict for refusal in errors.refusals())
        print(f"errors: {errors.summary(verdicts)}", flush=True)
        return {verdict: verdicts[verdict] for verdict in ("clear", "others", "accepted")}
    room = {"modules": modules, "optimizers": optimizers}.get(name, operators)
    done = list(room.reports(getattr(torch, name) if room is operators else torch.float64))
    show(name, done)
    sys.stdout.flush()
    return counts(done)


if __name__ == "__main__":
    main()
