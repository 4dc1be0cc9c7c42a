"""Code shared by the command lines of lessons: options, printing and saving, and one-line errors."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from minigrad.viz.page import written
from minigrad_models.programs.command_line import Parser, run_program
from minigrad_models.programs.options import whole
from minigrad_models.viz.blocks import Lesson

from .plain import plain

Options = argparse.Namespace
run = partial(run_program, less_memory="training")


def parser(name: str, about: str, seeded: bool = True) -> Parser:
    """The options of every lesson. ``name`` is the module name: "examples.digits"."""
    p = Parser(prog=f"python -m {name}", description=about)
    page = "also save the page, as DIR/NAME.html (and a picture, if there is one, as DIR/NAME.svg)"
    p.add_argument("--save", type=Path, metavar="DIR", help=page)
    if seeded:
        p.add_argument("--seed", type=whole(0, 2**63 - 1), default=0, help="seed of all random numbers (default: 0)")
    return p


def main(p: argparse.ArgumentParser, lesson: Callable[[Options], Lesson], argv: list[str] | None = None) -> int:
    """Run the command line of a lesson. Returns the exit status, which is 1 if any claim does not hold."""
    options = p.parse_args(argv)

    def shown() -> int:
        make_folder(options.save)
        return show(lesson(options), options.save)

    return run(shown)


def make_folder(path: Path | None) -> None:
    """Create the folder for pages, if requested, before the lesson starts its work. Raises OSError on failure."""
    if path is not None:
        path.mkdir(parents=True, exist_ok=True)


def show(lesson: Lesson, folder: Path | None) -> int:
    """Print a lesson, and save its page and picture. Returns the exit status. Raises OSError if that fails."""
    print(plain(lesson))
    if folder is not None:
        print(f"wrote {lesson.save(folder / f'{lesson.name}.html')}", file=sys.stderr)
        if lesson.picture is not None:
            try:
                print(f"wrote {written(folder / f'{lesson.name}.svg', lesson.picture.svg())}", file=sys.stderr)
            except ImportError as error:
                print(f"note: no picture was saved with the page: {error}", file=sys.stderr)
    return 0 if all(check.holds for check in lesson.checks()) else 1
