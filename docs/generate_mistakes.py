"""Writes docs/mistakes.md: mistakes that people make, with what PyTorch and minigrad say about each.

    python docs/generate_mistakes.py            write it
    python docs/generate_mistakes.py --check    fail if it is not up to date

The messages are those of tests/mistakes.toml, which a test compares with what both libraries say.
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE, TABLE = ROOT / "docs" / "mistakes.md", ROOT / "tests" / "mistakes.toml"
INTRODUCTION = """\
# What mistakes say

Written by `python tasks.py index` from [tests/mistakes.toml](../tests/mistakes.toml); a test runs each mistake, with
PyTorch 2.13 beside it. In the programs `torch` stands for either library. None of our messages is worse: the type of
the error is PyTorch's, the op is named, and every number that PyTorch tells.

Tracebacks end at your line: frames within minigrad are left out, those of your own `forward` and hooks stay. To see
all, call `minigrad.set_traceback_filtering(False)`, or set `MINIGRAD_TRACEBACK_FILTERING=off` in the environment.
"""


def page() -> str:
    """The whole page."""
    parts = [INTRODUCTION]
    for row in tomllib.loads(TABLE.read_text(encoding="utf-8"))["mistake"]:
        name = row["name"]
        said = f"PyTorch:  {row['theirs']}\nminigrad: {row['ours']}"
        parts.append(f"## {name[0].upper()}{name[1:]}\n\n```text\n{row['code']}\n```\n\n```text\n{said}\n```\n")
    return "\n".join(parts)


def main() -> None:
    """Write the page, or check it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="fail if the page is not up to date")
    if not parser.parse_args().check:
        PAGE.write_text(page(), encoding="utf-8")
    elif not PAGE.exists() or PAGE.read_text(encoding="utf-8") != page():
        sys.exit(f"{PAGE.relative_to(ROOT)} is out of date: run python tasks.py index")


if __name__ == "__main__":
    main()
