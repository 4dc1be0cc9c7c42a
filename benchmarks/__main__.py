"""Runs all benchmarks, with one table per part (--only lists the parts).

    python -m benchmarks [--only steps,layers] [--work small] [--quick]
    python -m benchmarks --readme

If PyTorch or another library is not installed, the columns for it stay empty, and the table says so.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable

from . import decoding, hugging_face, layers, overhead, pages, readme, sentences, serving, size, start, steps
from .machine import describe
from .process import Differ, Failed
from .program import parser, parts_of, show
from .table import Table
from .workloads import WORK

Options = argparse.Namespace
PARTS: dict[str, Callable[[Options], Table]] = {
    "steps": lambda options: steps.table(options.work, options.rounds, options.seconds),
    "layers": lambda options: layers.table(options.rounds, options.seconds / 4),
    "overhead": lambda options: overhead.table(options.rounds, options.seconds / 20),
    "decoding": lambda options: decoding.table(options.rounds, options.seconds / 2),
    "hugging_face": lambda options: hugging_face.table(options.rounds, options.seconds),
    "sentences": lambda options: sentences.table(options.rounds, options.seconds),
    "serving": lambda options: serving.table(options.rounds, 5 * options.seconds),
    "first": lambda options: start.kernels(options.rounds),
    "import": lambda options: start.imports(5 * options.rounds),
    "size": lambda options: size.table(),
    "pages": lambda options: pages.table(),
}


def parse(arguments: list[str]) -> Options:
    """The command line."""
    p = parser("benchmarks", __doc__, WORK, rounds=3, seconds=4.0)
    p.add_argument("--only", type=parts_of(PARTS), default=list(PARTS), help=f"comma-separated: {','.join(PARTS)}")
    p.add_argument("--readme", action="store_true", help="measure the figures in README.md, and write their table")
    p.add_argument("--quick", action="store_true", help="one short round: rough figures")
    options = p.parse_args(arguments)
    options.work = options.work or list(WORK)
    if options.quick:
        options.rounds, options.seconds = 1, 0.5
    return options


def main(arguments: list[str]) -> int:
    """Measure, and print each table once it is complete. Returns 1 if a part failed."""
    options = parse(arguments)
    print(describe("torch") + "\n", flush=True)
    if options.readme:
        readme.write(options.rounds, options.seconds)
        return 0
    failed = 0
    for name in options.only:
        try:
            show(PARTS[name](options))
        except (Differ, Failed) as error:
            print(f"{name}: {error}", file=sys.stderr)
            failed = 1
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
