"""The command line: train the four networks, print the lesson, and save its page."""

from __future__ import annotations

import argparse
import sys

from minigrad_models.programs.options import whole

from ..lesson import program
from .lesson import lesson
from .results import Results
from .train_digits import EPOCHS


def parser() -> argparse.ArgumentParser:
    """The command-line options."""
    p = program.parser("examples.digits", "Four architectures of one size learn the same handwritten digits.")
    p.add_argument("--epochs", type=whole(), default=EPOCHS, help=f"epochs of each training run (default: {EPOCHS})")
    p.add_argument("--repeat", type=whole(), default=1, help="number of seeds, from --seed up (default: 1)")
    return p


def main(argv: list[str] | None = None) -> int:
    """Run the command line. Returns the exit status, which is 1 if any claim of the lesson does not hold."""
    return program.main(parser(), lambda o: lesson(Results(o.seed, o.epochs, o.repeat)), argv)


if __name__ == "__main__":
    sys.exit(main())
