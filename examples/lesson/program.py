"""What the command lines of lessons share: their options, what they print and save, and errors in one line."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from minigrad.viz.page import written
from minigrad_models.programs.command_line import run_program
from minigrad_models.programs.options import whole

from .blocks import Lesson
from .plain import plain

Options = argparse.Namespace
run = partial(run_program, less_memory="training")


def parser(name: str, about: str, seeded: bool = True) -> argparse.ArgumentParser:
    """The options that all have. ``name`` is that of the module: "examples.digits"."""
    p = argparse.ArgumentParser(prog=f"python -m {name}", description=about)
    p.add_argument(
        "--save",
        type=Path,
        metavar="DIR",
        help="also save the page, as DIR/NAME.html (and a picture, if there is one, as DIR/NAME.svg)",
    )
    if seeded:
        p.add_argument("--seed", type=whole(0, 2**63 - 1), default=0, help="of all random numbers (default: 0)")
    return p


def main(p: argparse.ArgumentParser, lesson: Callable[[Options], Lesson], argv: list[str] | None = None) -> int:
    """Run the command line of one lesson; returns the exit status: 1 as well where a claim of it does not hold."""
    options = p.parse_args(argv)
    return run(lambda: 2 if bad_folder(options.save) else show(lambda: lesson(options), options.save))


def bad_folder(path: Path | None) -> bool:
    """Make the folder of pages, if one is asked for; tell why, if that cannot be."""
    if path is None:
        return False
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        print(f"error: --save: {path} is no folder, and none can be made: {error.strerror}", file=sys.stderr)
        return True
    return False


def show(make: Callable[[], Lesson], folder: Path | None, skipped: str = "") -> int:
    """Make a lesson, print it, and save its page. Returns the exit status.

    Args:
        skipped: a name, under which the lesson is left out, and no error, where a file is missing that it needs.
    """
    try:
        lesson = make()
    except (OSError, ImportError, ValueError, RuntimeError, MemoryError) as error:
        left_out = skipped and isinstance(error, FileNotFoundError)
        print(f"{f'skipped {skipped}' if left_out else 'error'}: {error}", file=sys.stderr)
        return 0 if left_out else 1
    print(plain(lesson))
    saved = folder is None or _saved(lesson, folder)
    return 0 if saved and all(check.holds for check in lesson.checks()) else 1


def _saved(lesson: Lesson, folder: Path) -> bool:
    """Write the page and the picture; tell where they are, or why they are not."""
    texts = {f"{lesson.name}.html": lesson.page().html()}
    if lesson.picture is not None:
        texts[f"{lesson.name}.svg"] = lesson.picture.svg()
    for name, text in texts.items():
        path = folder / name
        try:
            written(path, text)
        except OSError as error:
            print(f"error: {path} cannot be written: {error}", file=sys.stderr)
            return False
        print(f"wrote {path}", file=sys.stderr)
    return True
