"""``minigrad compat program.py``: a PyTorch program on minigrad, unchanged."""

from __future__ import annotations

import argparse

from . import script

add = script.add


def run(options: argparse.Namespace) -> int:
    """Run the program with minigrad in PyTorch's place. Returns its exit status."""
    from minigrad.compat import as_torch

    script.prepare(options)
    as_torch()
    return script.run(options)
