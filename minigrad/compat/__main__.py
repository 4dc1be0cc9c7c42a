"""Runs a PyTorch program on minigrad, unchanged.

From the command line:

    python -m minigrad.compat program.py arguments ...
    python -m minigrad.compat -m package.module arguments ...
"""

from __future__ import annotations

import argparse
import importlib.util
import io
import os
import sys
from types import ModuleType, TracebackType
from typing import Any

from . import as_torch


def main() -> None:
    """Run the program of the command line, with the arguments after it."""
    parser = argparse.ArgumentParser(
        prog="python -m minigrad.compat",
        description="Run a program written for PyTorch on minigrad: in it, `import torch` gives minigrad.",
    )
    parser.add_argument("-m", action="store_true", help="the program is a module, as with python -m")
    parser.add_argument("program", help="a file, or with -m a module")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="arguments of the program")
    options = parser.parse_args()
    as_torch()
    path, name = _module(options.program) if options.m else (options.program, None)
    try:
        with io.open_code(os.path.abspath(path)) as file:
            source = file.read()
    except OSError as error:
        parser.error(f"cannot read {path}: {error.strerror}")
    sys.argv = [path, *options.arguments]
    sys.path[0] = os.getcwd() if options.m else os.path.dirname(os.path.realpath(path))
    run(source, path, name)


def _module(name: str) -> tuple[str, str]:
    """The file of a module, or of a package's ``__main__``, and its package."""
    sys.path[0] = os.getcwd()
    spec = importlib.util.find_spec(name)
    if spec is not None and spec.submodule_search_locations is not None:
        spec = importlib.util.find_spec(f"{name}.__main__")
    if spec is None or spec.origin is None:
        sys.exit(f"python -m minigrad.compat: no module named {name}")
    return spec.origin, spec.parent or ""


def run(source: bytes, path: str, package: str | None) -> None:
    """Run a program's text as ``__main__``; tracebacks begin in the program.

    Args:
        source: the text.
        path: its file.
        package: the package of a module; None for a file.
    """
    program = ModuleType("__main__")
    program.__file__, program.__package__ = path, package
    vars(program).update(__builtins__=__builtins__, __cached__=None, __annotations__={})
    sys.modules["__main__"] = program
    try:
        exec(compile(source, path, "exec", dont_inherit=True), vars(program))
    except SystemExit:
        raise
    except BaseException as error:
        trace: TracebackType | Any = error.__traceback__
        while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
            trace = trace.tb_next
        sys.excepthook(type(error), error.with_traceback(trace), trace)
        sys.exit(130 if isinstance(error, KeyboardInterrupt) else 1)


if __name__ == "__main__":
    main()
