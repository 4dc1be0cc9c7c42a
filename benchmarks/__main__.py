"""All measurements, as one table for each part.

    python -m benchmarks [--only steps,layers] [--work small] [--quick]
    python -m benchmarks --readme

Parts: steps, neighbour, layers, overhead, decoding, generation, sentences, first, import, size, pages.
What compares with PyTorch or another library that is not installed leaves that column empty and says so.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable

from . import decoding, generation, layers, neighbour, overhead, pages, readme, sentences, size, start, steps
from .machine import describe
from .process import Differ, Failed
from .program import parser, parts_of, show
from .table import Table
from .workloads import WORK

Options = argparse.Namespace
PARTS: dict[str, Callable[[Options], Table]] = {
    "steps": lambda asked: steps.table(asked.work, asked.rounds, asked.seconds),
    "neighbour": lambda asked: neighbour.table(asked.work, asked.rounds, asked.seconds),
    "layers": lambda asked: layers.table(asked.rounds, asked.seconds / 4),
    "overhead": lambda asked: overhead.table(asked.rounds, asked.seconds / 20),
    "decoding": lambda asked: decoding.table(asked.rounds, asked.seconds / 2),
    "generation": lambda asked: generation.table(asked.rounds, asked.seconds / 2),
    "sentences": lambda asked: sentences.table(asked.rounds, asked.seconds),
    "first": lambda asked: start.kernels(asked.rounds),
    "import": lambda asked: start.imports(5 * asked.rounds),
    "size": lambda asked: size.table(),
    "pages": lambda asked: pages.table(),
}


def parse(arguments: list[str]) -> Options:
    """The command line."""
    p = parser("benchmarks", __doc__, WORK, rounds=3, seconds=4.0)
    p.add_argument("--only", type=parts_of(PARTS), default=list(PARTS), help=f"parts, by comma: {','.join(PARTS)}")
    p.add_argument("--readme", action="store_true", help="measure the figures of README.md's table, and write it")
    p.add_argument("--quick", action="store_true", help="one round, little time: rough figures")
    options = p.parse_args(arguments)
    options.work = options.work or list(WORK)
    if options.quick:
        options.rounds, options.seconds = 1, 0.5
    return options


def main(arguments: list[str]) -> int:
    """Measure, and print each table as soon as it is there; 1 if any could not be made."""
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
