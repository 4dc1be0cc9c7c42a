"""Runs a PyTorch program on minigrad, unchanged.

From the command line:

    python -m minigrad.compat program.py arguments ...
    python -m minigrad.compat -m package.module arguments ...
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import runpy
import sys

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
    program = options.program
    sys.argv = [program, *options.arguments]
    sys.path[0] = os.getcwd() if options.m else os.path.dirname(os.path.realpath(program))
    if options.m and importlib.util.find_spec(program) is None:
        sys.exit(f"python -m minigrad.compat: no module named {program}")
    if not options.m and not os.access(program, os.R_OK):
        parser.error(f"cannot read {program}")
    as_torch()
    run(program, options.m)


def run(program: str, is_module: bool) -> None:
    """Run a program as ``__main__``; tracebacks begin in the program."""
    try:
        if is_module:
            runpy.run_module(program, run_name="__main__", alter_sys=True)
        else:
            runpy.run_path(program, run_name="__main__")
    except (Exception, KeyboardInterrupt) as error:
        trace, above = error.__traceback__, (__file__, runpy.run_path.__code__.co_filename)
        while trace is not None and trace.tb_frame.f_code.co_filename in above:
            trace = trace.tb_next
        sys.excepthook(type(error), error.with_traceback(trace), trace)
        sys.exit(130 if isinstance(error, KeyboardInterrupt) else 1)


if __name__ == "__main__":
    main()
