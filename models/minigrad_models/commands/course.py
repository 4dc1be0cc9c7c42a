"""``minigrad course``: writes the course's chapters as notebooks."""

from __future__ import annotations

import argparse
from pathlib import Path


def add(p: argparse.ArgumentParser) -> None:
    """Add the options of ``course``."""
    p.add_argument(
        "--folder", type=Path, default=Path("course"), metavar="DIR", help="for the notebooks (default: course)"
    )
    p.add_argument("--teacher", action="store_true", help="with solutions, hints and usual mistakes")


def run(options: argparse.Namespace) -> int:
    """Write the notebooks. Returns the exit status. Raises FileExistsError if one of them exists."""
    from ..course.notebooks import write

    options.folder.mkdir(parents=True, exist_ok=True)
    files = write(options.folder, options.teacher)
    print(f"wrote {len(files)} notebooks; to open the first: jupyter lab {files[0]}")
    return 0
