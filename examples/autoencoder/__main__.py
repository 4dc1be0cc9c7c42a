"""The command line: train, evaluate, print the lesson, and save its page."""

from __future__ import annotations

import argparse
import sys

from minigrad_models.programs.options import whole
from minigrad_models.viz.blocks import Lesson

from ..lesson import program
from .lesson import DEFAULT, PARTS, Sizes, lesson


def parser() -> argparse.ArgumentParser:
    """The command-line options."""
    about = "Autoencoders of handwritten digits and of sentences: a few minutes of training, and the results."
    p = program.parser("examples.autoencoder", about)
    names = ", ".join(PARTS)
    p.add_argument("parts", nargs="*", type=_part, metavar="part", help=f"parts to run: {names} (default: all)")
    for option, updates, of in (
        ("--updates", DEFAULT.updates, "digits"),
        ("--sentence-updates", DEFAULT.sentence_updates, "sentences"),
    ):
        about = f"updates of each network for {of} (default: {updates:,})"
        p.add_argument(option, type=whole(1, 1_000_000), default=updates, metavar="N", help=about)
    return p


def main(argv: list[str] | None = None) -> int:
    """Run the command line. Returns the exit status, which is 1 if any claim of the lesson does not hold."""

    def build(options: program.Options) -> Lesson:
        return lesson(options.parts or list(PARTS), Sizes(options.updates, options.sentence_updates), options.seed)

    return program.main(parser(), build, argv)


def _part(text: str) -> str:
    """The name of a part."""
    if text not in PARTS:
        raise argparse.ArgumentTypeError(f"unknown part {text!r}; choose from {', '.join(PARTS)}")
    return text


if __name__ == "__main__":
    sys.exit(main())
