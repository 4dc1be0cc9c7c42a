"""Options shared by several programs: functions for argparse's ``type``, and options for choosing the next token."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .models import check_device

if TYPE_CHECKING:
    from ..generation.generate import GenerationConfig

TINY = math.nextafter(0, 1)


def device(text: str) -> str:
    """The type of an option that names a device of this machine."""
    try:
        check_device(text)
    except RuntimeError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return text


def whole(least: int = 1, most: int | None = None) -> Callable[[str], int]:
    """The type of a whole number within limits."""
    limits = f"of at least {least:,}" if most is None else f"from {least:,} to {most:,}"

    def number(text: str) -> int:
        value = int(text) if text.removeprefix("-").isdecimal() and text.isascii() and len(text) < 20 else None
        if value is None or value < least or (most is not None and value > most):
            raise argparse.ArgumentTypeError(f"expected a whole number {limits}, not {text[:60]!r}")
        return value

    return number


def positive(least: float = TINY, below: float = math.inf) -> Callable[[str], float]:
    """The type of a finite number that is above 0 (or at least ``least``) and less than ``below``."""
    limits = "above 0" if least == TINY else f"of at least {least:g}"
    limits += "" if below == math.inf else f" and below {below:g}"

    def number(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not least <= value < below:
            raise argparse.ArgumentTypeError(f"expected a number {limits}, not {text[:60]!r}")
        return value

    return number


def add_number(p: Any, name: str, kind: Callable[[str], Any], default: float, meaning: str, metavar: str = "N") -> None:
    """Add an option that is a number to a parser or a group of options."""
    p.add_argument(name, type=kind, default=default, metavar=metavar, help=f"{meaning} (default: {default:g})")


def add_drawing(p: argparse.ArgumentParser, beams: str = "search for the likeliest text with N beams") -> None:
    """Add the options of ``generation_config``. ``beams`` is the help of ``--num-beams``."""
    p.add_argument("--temperature", type=positive(0), help="sampling temperature (default: 1); 0: the likeliest token")
    add_limits(p)
    add_number(p, "--repetition-penalty", positive(), 1.0, "values above 1 make tokens repeat less", "R")
    p.add_argument("--num-beams", "--beams", type=whole(1, 1000), default=1, metavar="N", help=beams)
    stride = "tokens by which the window moves when a text outgrows it; 1: each token sees the most context, but "
    stride += "takes longer (default: half the window)"
    p.add_argument("--stride", type=whole(0), default=0, metavar="N", help=stride)
    add_number(p, "--seed", whole(0, 2**63 - 1), 0, "seed for sampling")


def add_limits(p: argparse.ArgumentParser) -> None:
    """Add the options that restrict sampling."""
    p.add_argument("--top-k", type=whole(), metavar="K", help="sample from the K likeliest tokens")
    likeliest = "sample from the likeliest tokens with a total probability of P"
    p.add_argument("--top-p", type=float, metavar="P", help=likeliest)


def generation_config(options: argparse.Namespace) -> GenerationConfig:
    """The configuration of a search, from its options. Raises ValueError if options are mutually exclusive."""
    from ..generation.generate import GenerationConfig, check_exclusive

    limits = options.top_k, options.top_p
    check_exclusive(options.temperature, *limits, options.num_beams, lambda name: "--" + name.replace("_", "-"))
    temperature = 1.0 if options.temperature is None else options.temperature
    return GenerationConfig(temperature, *limits, options.repetition_penalty, options.num_beams, options.stride)
