"""``minigrad profile program.py``: where a program's time goes."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ..programs.command_line import check_output
from ..programs.options import whole
from . import script


def add(p: argparse.ArgumentParser) -> None:
    """The command's options."""
    p.add_argument("--by", choices=("op", "module"), default="op", help="a row for each op (default) or each module")
    p.add_argument("--rows", type=whole(), default=20, metavar="N", help="the most rows, those that took longest (20)")
    p.add_argument("--memory", action="store_true", help="measure memory, too, which takes time itself")
    p.add_argument("--trace", type=Path, metavar="FILE", help="write all events, for chrome://tracing or Perfetto")
    p.add_argument("--compat", action="store_true", help="the program is written for PyTorch")
    script.add(p)


def run(options: argparse.Namespace) -> int:
    """Run the program, and print the table, also when it fails. Returns the program's exit status."""
    from minigrad.profiler import profile

    check_output(None, "")
    script.prepare(options)
    if options.compat:
        from minigrad.compat import as_torch

        as_torch()
    recorded = profile(profile_memory=options.memory)
    stop: SystemExit | None = None
    with recorded:
        try:
            status = script.run(options)
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
