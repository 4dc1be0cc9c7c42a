"""Writes docs/mistakes.md: common mistakes, and the error messages of PyTorch and minigrad for each.

    python docs/generate_mistakes.py            write it
    python docs/generate_mistakes.py --check    fail if it is out of date

The messages come from tests/mistakes.toml, and a test compares them with the messages of both libraries.
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE, TABLE = ROOT / "docs" / "mistakes.md", ROOT / "tests" / "mistakes.toml"
INTRODUCTION = """\
# Error messages

Written by `python tasks.py index` from [tests/mistakes.toml](../tests/mistakes.toml); a test runs each mistake on
minigrad and on PyTorch 2.13. In the programs `torch` is either library. None of our messages is worse: the error has
PyTorch's type, and the message names the op and contains every number that PyTorch's does.

Tracebacks end at your line: minigrad's frames are hidden, but your `forward` and hooks stay. To see
all, call `minigrad.set_traceback_filtering(False)`, or set `MINIGRAD_TRACEBACK_FILTERING=off` in the environment.
"""


def page() -> str:
    """The whole page."""
    parts = [INTRODUCTION]
    for row in tomllib.loads(TABLE.read_text(encoding="utf-8"))["mistake"]:
        name = row["name"]
        messages = f"PyTorch:  {row['theirs']}\nminigrad: {row['ours']}"
        parts.append(f"## {name[0].upper()}{name[1:]}\n\n```text\n{row['code']}\n```\n\n```text\n{messages}\n```\n")
    return "\n".join(parts)


def main() -> None:
    """Write the page, or check it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="fail if the page is out of date")
    if not parser.parse_args().check:
        PAGE.write_text(page(), encoding="utf-8")
    elif not PAGE.exists() or PAGE.read_text(encoding="utf-8") != page():
        sys.exit(f"{PAGE.relative_to(ROOT)} is out of date: run python tasks.py index")


if __name__ == "__main__":
    main()
