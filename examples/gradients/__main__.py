"""The command line: print the lesson, and save its page and picture."""

from __future__ import annotations

import argparse
import sys

from minigrad_models.programs.options import whole

from ..lesson import program
from .lesson import LENGTHS, UPDATES, lesson


def parser() -> argparse.ArgumentParser:
    """The command-line options."""
    about = (
        "Vanishing and exploding gradients: measured by distance in chains of products, recurrent networks and a "
        "transformer, and compared with theory; and training runs on tasks that require memory."
    )
    p = program.parser("examples.gradients", about)
    updates = f"maximum per training run (default: {UPDATES}); 0 skips training"
    p.add_argument("--updates", type=whole(0), default=UPDATES, metavar="N", help=updates)
    lengths = f"lengths of the trained tasks (default: {' '.join(map(str, LENGTHS))})"
    p.add_argument("--lengths", type=whole(2), nargs="+", default=LENGTHS, metavar="N", help=lengths)
    return p


def main(argv: list[str] | None = None) -> int:
    """Run the command line. Returns the exit status, which is 1 if any claim of the lesson does not hold."""
    return program.main(
        parser(), lambda options: lesson(options.seed, sorted({*options.lengths}), options.updates), argv
    )


if __name__ == "__main__":
    sys.exit(main())
