"""All of PyTorch's databases on minigrad.

    python -m tests.peers [RUN ...]

A run is a dtype or "second-order", which test operators, "modules", "optimizers", "errors" or "extremes", which tests
all gradient rules; by default all runs. Prints the differences and the counts, and writes the counts to
``counts.toml``, the source for docs/pytorch.md. The exit status is 1 if a result does not match ``left.toml``.
"""

import sys
import tomllib
from collections import Counter
from pathlib import Path

import torch

import minigrad

from . import errors, extremes, modules, operators, optimizers
from .left import problems
from .report import counts, show, verdicts

FILE = Path(__file__).with_name("counts.toml")
DTYPES = ("float64", "float32", "float16", "bfloat16", "int64", "bool", "complex128")


def main() -> int:
    """Execute the requested runs, and write their counts. Returns 1 if a result does not match ``left.toml``."""
    choices = (*DTYPES, operators.SECOND, "modules", "optimizers", "errors", "extremes")
    runs = sys.argv[1:] or choices
    if unknown := [name for name in runs if name not in choices]:
        sys.exit(f"unknown run {unknown[0]!r}: choose from {', '.join(choices)}")
    tables = tomllib.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    wrong = []
    for name in runs:
        if name == "extremes":
            wrong += extremes.problems()
            continue
        tables[name], mismatches = run_errors() if name == "errors" else run(name)
        wrong += mismatches
    tables["pytorch"] = torch.__version__.partition("+")[0]
    lines = ["# Written by python -m tests.peers.", f'pytorch = "{tables.pop("pytorch")}"']
    for name in sorted(tables):
        lines += ["", f"[{name}]", *(f"{what} = {number}" for what, number in tables[name].items())]
    FILE.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")
    for line in wrong:
        print(line)
    return 1 if wrong else 0


def run(name: str) -> tuple[dict[str, int], list[str]]:
    """The counts of operators, modules or optimisers, and the mismatches with the table."""
    database = {"modules": modules, "optimizers": optimizers}.get(name, operators)
    if name == operators.SECOND:
        results = list(operators.reports(torch.float64, second=True))
    else:
        results = list(database.reports(getattr(torch, name, torch.float64)))
    show(name, results)
    sys.stdout.flush()
    return counts(results), list(problems(verdicts(results), name if database is operators else "float64"))


def run_errors() -> tuple[dict[str, int], list[str]]:
    """The same for inputs that PyTorch rejects."""
    minigrad.set_traceback_filtering(False)  # the last frame shows who wrote the message
    refusals = list(errors.refusals())
    tally = Counter(refusal.verdict for refusal in refusals)
    print(f"errors: {errors.summary(tally)}", flush=True)
    wrong = [f"{r.name} {r.number} is rejected in others' words: {r.ours}" for r in refusals if r.verdict == "others"]
    wrong += problems((f"{r.name} {r.number}", r.verdict, r.theirs) for r in refusals)
    return {verdict: tally[verdict] for verdict in ("clear", "others", "accepted")}, wrong


if __name__ == "__main__":
    sys.exit(main())
