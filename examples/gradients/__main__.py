"""The command line: print the lesson, and save its page and picture."""

from __future__ import annotations

import argparse
import sys

from minigrad_models.programs.options import whole

from ..lesson import program
from .lesson import LENGTHS, UPDATES, lesson


def parser() -> argparse.ArgumentParser:
    """The options."""
    about = (
        "Gradients that vanish and explode: measured against distance in chains of products, recurrent networks and a "
        "transformer, beside what theory says; and trainings on tasks that ask for memory."
    )
    p = program.parser("examples.gradients", about)
    updates = f"of each training at most (default: {UPDATES}); 0 leaves the trainings out"
    p.add_argument("--updates", type=whole(0), default=UPDATES, metavar="N", help=updates)
    lengths = f"of the tasks that are trained (default: {' '.join(map(str, LENGTHS))})"
    p.add_argument("--lengths", type=whole(2), nargs="+", default=LENGTHS, metavar="N", help=lengths)
    return p


def main(argv: list[str] | None = None) -> int:
    """Run the command line; returns the exit status: 1 as well where a claim of the lesson does not hold."""
    return program.main(
        parser(), lambda options: lesson(options.seed, sorted({*options.lengths}), options.updates), argv
    )


if __name__ == "__main__":
    sys.exit(main())
