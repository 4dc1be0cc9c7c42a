"""A person's program, run as ``python program.py`` would, by the commands that do something around it."""

from __future__ import annotations

import argparse
import importlib.util
import os
import runpy
import sys


def add(p: argparse.ArgumentParser) -> None:
    """The options that name the program and its arguments."""
    p.add_argument("-m", action="store_true", dest="is_module", help="the program is a module, as with python -m")
    p.add_argument("program", help="a file, or with -m a module")
    p.add_argument("arguments", nargs=argparse.REMAINDER, help="arguments of the program")


def prepare(options: argparse.Namespace) -> None:
    """Put the program's folder and arguments where it expects them. Raises FileNotFoundError: there is no such file;
    ModuleNotFoundError: there is no such module."""
    program = options.program
    sys.argv = [program, *options.arguments]
    sys.path[0] = os.getcwd() if options.is_module else os.path.dirname(os.path.realpath(program))
    if options.is_module and importlib.util.find_spec(program) is None:
        raise ModuleNotFoundError(f"no module named {program}")
    if not options.is_module and not os.access(program, os.R_OK):
        raise FileNotFoundError(f"cannot read {program}")


def run(options: argparse.Namespace) -> int:
    """Run the program as ``__main__``. Returns its exit status; tracebacks begin in the program."""
    try:
        if options.is_module:
            runpy.run_module(options.program, run_name="__main__", alter_sys=True)
        else:
            runpy.run_path(options.program, run_name="__main__")
    except (Exception, KeyboardInterrupt) as error:
        trace, above = error.__traceback__, (__file__, runpy.run_path.__code__.co_filename)
        while trace is not None and trace.tb_frame.f_code.co_filename in above:
            trace = trace.tb_next
        sys.excepthook(type(error), error.with_traceback(trace), trace)
        return 130 if isinstance(error, KeyboardInterrupt) else 1
    return 0
