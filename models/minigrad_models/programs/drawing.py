"""The options of programs that write with a model: how the next token is chosen."""

from __future__ import annotations

import argparse

from ..generation.generate import Search, check_exclusive
from .command_line import add_number
from .options import positive, whole


def add_drawing(p: argparse.ArgumentParser, beams: str = "search for the likeliest text with N beams") -> None:
    """The options of ``search_of``. ``beams`` says what that option does."""
    p.add_argument("--temperature", type=positive(0), help="of the draws (default: 1); 0: the likeliest token")
    p.add_argument("--top-k", type=whole(), metavar="K", help="draw from the K likeliest tokens")
    p.add_argument(
        "--top-p", type=float, metavar="P", help="draw from the likeliest tokens with probability P together"
    )
    add_number(p, "--repetition-penalty", positive(), 1.0, "above 1, tokens repeat less", "R")
    p.add_argument("--beams", type=whole(1, 1000), default=1, metavar="N", help=beams)
    p.add_argument(
        "--stride",
        type=whole(0),
        default=0,
        metavar="N",
        help="tokens by which the window moves when a text outgrows it; 1: each token sees as many as it can, and "
        "takes longer (default: half the window)",
    )
    add_number(p, "--seed", whole(0, 2**63 - 1), 0, "of the draws")


def search_of(options: argparse.Namespace) -> Search:
    """The search of the options.

    Raises:
        ValueError: some of them have no effect beside others.
    """
    limits = options.top_k, options.top_p
    check_exclusive(options.temperature, *limits, options.beams, lambda name: "--" + name.replace("_", "-"))
    temperature = 1.0 if options.temperature is None else options.temperature
    return Search(temperature, *limits, options.repetition_penalty, options.beams, options.stride)
