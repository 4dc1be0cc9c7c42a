"""The ``compat`` and ``profile`` commands, which run a user's program as ``python program.py`` would."""

from __future__ import annotations

import argparse
import importlib.util
import os
import runpy
import sys
from pathlib import Path

from ..programs.options import whole


def add_program(p: argparse.ArgumentParser) -> None:
    """Add the options for the program and its arguments."""
    p.add_argument("-m", action="store_true", dest="is_module", help="the program is a module, as with python -m")
    p.add_argument("program", help="a file or, with -m, a module")
    p.add_argument("arguments", nargs=argparse.REMAINDER, help="arguments of the program")


def add_profile(p: argparse.ArgumentParser) -> None:
    """Add the options of ``profile``."""
    p.add_argument("--by", choices=("op", "module"), default="op", help="a row for each op (default) or each module")
    p.add_argument("--rows", type=whole(), default=20, metavar="N", help="show the N slowest rows (default: 20)")
    p.add_argument("--memory", action="store_true", help="also measure memory, which takes longer")
    p.add_argument("--trace", type=Path, metavar="FILE", help="write all events, for chrome://tracing or Perfetto")
    p.add_argument("--compat", action="store_true", help="run a PyTorch program, as minigrad compat does")
    add_program(p)


def compat(options: argparse.Namespace) -> int:
    """Run the program with minigrad instead of PyTorch. Returns its exit status."""
    _prepare(options, for_torch=True)
    return _run(options)


def profile(options: argparse.Namespace) -> int:
    """Run the program and print where its time goes, even if it fails. Returns the program's exit status."""
    from minigrad.profiler import profile

    _prepare(options, options.compat)
    recorded = profile(profile_memory=options.memory)
    stop: SystemExit | None = None
    with recorded:
        try:
            status = _run(options)
        except SystemExit as exit:
            status, stop = 0, exit
    sys.stdout.flush()
    if options.by == "module":
        print(recorded.by_module().table(row_limit=options.rows))
    else:
        print(recorded.key_averages().table(sort_by="self_cpu_time_total", row_limit=options.rows))
    if options.trace is not None:
        recorded.export_chrome_trace(str(options.trace))
        print(f"wrote {options.trace}", file=sys.stderr)
    if stop is not None:
        raise stop
    return status


def _prepare(options: argparse.Namespace, for_torch: bool) -> None:
    """Set up ``sys.argv`` and ``sys.path`` for the program."""
    program = options.program
    sys.argv = [program, *options.arguments]
    sys.path[0] = os.getcwd() if options.is_module else os.path.dirname(os.path.realpath(program))
    if options.is_module and importlib.util.find_spec(program) is None:
        raise ModuleNotFoundError(f"no module named {program}")
    if not options.is_module and not os.access(program, os.R_OK):
        raise FileNotFoundError(f"cannot read {program}")
    if for_torch:
        from minigrad.compat import as_torch

        as_torch()


def _run(options: argparse.Namespace) -> int:
    """Run the program as ``__main__``. Returns its exit status; tracebacks start in the program."""
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
