"""Kinds of options that several programs have: what argparse takes as the ``type`` of one."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable

from .models import check_device

TINY = math.nextafter(0, 1)


def device(text: str) -> str:
    """A device of this machine."""
    try:
        check_device(text)
    except RuntimeError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return text


def whole(least: int = 1, most: int | None = None) -> Callable[[str], int]:
    """A whole number, within limits."""
    limits = f"from {least:,} on" if most is None else f"from {least:,} to {most:,}"

    def number(text: str) -> int:
        value = int(text) if text.removeprefix("-").isdecimal() and text.isascii() and len(text) < 20 else None
        if value is None or value < least or (most is not None and value > most):
            raise argparse.ArgumentTypeError(f"a whole number {limits} is needed, not {text[:60]!r}")
        return value

    return number


def positive(least: float = TINY) -> Callable[[str], float]:
    """A finite number above 0, or from ``least`` on."""
    limits = "above 0" if least == TINY else f"from {least:g} on"

    def number(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not least <= value < math.inf:
            raise argparse.ArgumentTypeError(f"a number {limits} is needed, not {text[:60]!r}")
        return value

    return number
