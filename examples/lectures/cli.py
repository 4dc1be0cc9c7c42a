"""The command line: print worked examples, and save their pages."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from .lesson import Lesson
from .plain import plain

DEFAULT_RUN = Path("runs") / "toy"
LESSONS = {  # name: (module, what it is about)
    "self-attention": ("self_attention", "by hand on I like cats: Q, K, V, scores, softmax, output"),
    "softmax": ("softmax", "step by step; sharper versions, temperature, gradient"),
    "scaling": ("scaling", "why 1/√d: the variance of a dot product, measured"),
    "multi-head": ("multi_head", "on Your cat is a lovely cat, with shapes at every step"),
    "causal-mask": ("causal_mask", "before and after softmax"),
    "positions": ("positions", "sinusoidal positional encoding: a table, a heat map, curves"),
    "layer-norm": ("layer_norm", "of a batch of three, step by step"),
    "they": ("they", "what a trained translator's they attends to; needs a run of examples.translate"),
}


def parser() -> argparse.ArgumentParser:
    """The options."""
    p = argparse.ArgumentParser(
        prog="python -m examples.lectures",
        description="Worked examples of the transformer lectures; all numbers are computed by minigrad.",
    )
    p.add_argument("names", nargs="*", metavar="name", help="which to print (default: all; see --list)")
    p.add_argument("--list", action="store_true", help="list them")
    p.add_argument("--save", type=Path, metavar="DIR", help="also save a page of each, as DIR/NAME.html")
    p.add_argument(
        "--run", type=Path, metavar="DIR", help=f"the trained translator of the lesson they (default: {DEFAULT_RUN})"
    )
    return p


def make(name: str, run: Path = DEFAULT_RUN) -> Lesson:
    """Compute a lesson.

    Raises:
        KeyError: there is no such lesson. FileNotFoundError: it needs a run, and there is none.
    """
    module = import_module(f".{LESSONS[name][0]}", __package__)
    lesson: Callable[..., Lesson] = module.lesson
    return lesson(run) if name == "they" else lesson()


def main(argv: list[str] | None = None) -> int:
    """Run the command line; returns the exit status: 1 as well where a claim of a lesson does not hold.

    The lesson that needs a run is skipped where none is trained and nobody asked for it.
    """
    options = parser().parse_args(argv)
    if options.list:
        size = max(map(len, LESSONS))
        print("\n".join(f"{name:{size}}  {about}" for name, (_, about) in LESSONS.items()))
        return 0
    unknown = [name for name in options.names if name not in LESSONS]
    if unknown:
        print(f"error: there is no lesson {', '.join(unknown)}; there are {', '.join(LESSONS)}", file=sys.stderr)
        return 2
    if options.save is not None and not _folder(options.save):
        return 2
    asked = bool(options.names) or options.run is not None
    try:
        return _all(options.names or list(LESSONS), options.run or DEFAULT_RUN, options.save, asked)
    except BrokenPipeError:  # whoever read has had enough; nothing is to be flushed there on the way out
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        return 130


def _folder(path: Path) -> bool:
    """Make the folder of pages; tell why, if that cannot be."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        print(f"error: --save: {path} is no folder, and none can be made: {error.strerror}", file=sys.stderr)
        return False
    return True


def _all(names: list[str], run: Path, folder: Path | None, asked: bool) -> int:
    status = 0
    for name in names:
        try:
            lesson = make(name, run)
        except (OSError, ImportError, ValueError, RuntimeError) as error:
            skipped = not asked and isinstance(error, FileNotFoundError)
            print(f"{f'skipped {name}' if skipped else 'error'}: {error}", file=sys.stderr)
            status = status if skipped else 1
            continue
        print(plain(lesson))
        status = 1 if not all(check.holds for check in lesson.checks()) else status
        if folder is not None and not _saved(lesson, folder):
            status = 1
    return status


def _saved(lesson: Lesson, folder: Path) -> bool:
    """Write the page; tell where it is, or why it is not."""
    path = folder / f"{lesson.name}.html"
    try:
        lesson.page().save(path)
    except OSError as error:
        print(f"error: {path} cannot be written: {error}", file=sys.stderr)
        return False
    print(f"wrote {path}", file=sys.stderr)
    return True
