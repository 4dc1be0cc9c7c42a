"""A program's commands as a person types them, for messages that say what to do next."""

from __future__ import annotations

import os
import shlex

from minigrad.backend.extras import is_on_path

TYPED = "MINIGRAD_COMMAND"  # what a program that runs ``minigrad`` for a person was called by


def command(name: str, *arguments: str) -> str:
    """A command of a program.

    Args:
        name: of its module. Those of the package are commands of ``minigrad``, the others run in the checkout.
    """
    return shlex.join([*(_minigrad() if name.startswith("minigrad.") else ["python", "-m", name]), *arguments])


def _minigrad() -> list[str]:
    """``minigrad``, where the shell knows it."""
    if typed := os.environ.get(TYPED):
        return shlex.split(typed)
    return ["minigrad"] if is_on_path("minigrad") else ["python", "-m", "minigrad"]
