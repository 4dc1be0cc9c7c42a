"""Writes docs/ecosystem.md from libraries.toml and from results.json, which a run of all libraries has written.

python -m tests.ecosystem.report
"""

import json
import re
from typing import Any

from .architectures import results as architectures
from .architectures.results import cell
from .table import HERE, libraries
from .trial import RIGHT, Trial

RESULTS, PAGE = HERE / "results.json", HERE.parents[1] / "docs" / "ecosystem.md"
INTRODUCTION = """\
# Libraries written for PyTorch

This page is written by `python -m tests.ecosystem --write`. A test fails if the page differs from
[results.json](../tests/ecosystem/results.json).

Each library is installed from PyPI, unmodified, in two scratch environments: one with PyTorch, and one with minigrad
instead. Both environments run the same [example](../tests/ecosystem/libraries), a PyTorch program, from the same seed.
The verdict is "right" if all results of the example agree: numbers to within 1e-4 of the largest number in their array,
and integers, strings, shapes and dtypes exactly. Most libraries were chosen before any were tried. The seconds are the
time that the example's `run()` took on one core, without imports, while other programs were running, so they show
orders of magnitude rather than exact ratios.
"""


def record(trials: dict[str, Trial], machine: str) -> None:
    """Add the results of some libraries to the stored results."""
    rows = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    for name, trial in trials.items():
        rows[name] = {
            "version": libraries()[name].version,
            "verdict": trial.verdict,
            "difference": float(f"{trial.difference:.1e}"),
            "seconds": [round(seconds, 2) for seconds in trial.seconds],
            "why": re.sub(r"\S*[/\\](?=site-packages)", "", trial.why),  # the environment's folder
            "machine": machine,
        }
    table = {name: rows[name] for name in libraries() if name in rows}
    RESULTS.write_text(json.dumps(table, indent=1, ensure_ascii=False) + "\n", encoding="utf-8", newline="\n")


def page() -> str:
    """The whole page."""
    rows: dict[str, Any] = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    right = [name for name, row in rows.items() if row["verdict"] == RIGHT]
    parts = [INTRODUCTION, f'The verdict is "right" for {len(right)} of {len(libraries())} libraries.\n']
    parts += [f"Measured on {machine}.\n" for machine in sorted({row["machine"] for row in rows.values()})]
    parts.append("| library | release | example | verdict | largest difference | s, PyTorch | s, minigrad |")
    parts.append("|---|---|---|---|---|---|---|")
    parts += [_row(name, rows[name]) for name in libraries() if name in rows]
    left = [name for name in rows if name not in right]
    if left:
        parts.append("\n## Libraries that do not run\n\n| library | reason | error |\n|---|---|---|")
        parts += [f"| {name} | {cell(libraries()[name].differs)} | {cell(rows[name]['why'])} |" for name in left]
    if architectures.FILE.exists():
        parts.append("\n" + architectures.section(json.loads(architectures.FILE.read_text(encoding="utf-8"))))
    return "\n".join(parts).rstrip() + "\n"


def _row(name: str, row: dict[str, Any]) -> str:
    difference = f"{row['difference']:.1e}" if row["difference"] else "0"
    theirs, ours = (f"{seconds:.2f}" if seconds else "" for seconds in row["seconds"])
    file = libraries()[name].program.relative_to(HERE.parents[1]).as_posix()
    example = f"[{libraries()[name].example}](../{file})"
    return f"| {name} | {row['version']} | {example} | {row['verdict']} | {difference} | {theirs} | {ours} |"


def write() -> None:
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    write()
