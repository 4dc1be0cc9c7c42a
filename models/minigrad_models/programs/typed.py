"""A program's commands as a person types them, for messages that say what to do next."""

from __future__ import annotations

import os
import shlex

from minigrad.backend.extras import is_on_path

TYPED = "MINIGRAD_COMMAND"  # what a program that runs ``minigrad`` for a person was called by


def command(name: str, *arguments: str) -> str:
    """A command of a program.

    Args:
        name: of its package: "minigrad_models.gpt" has the commands ``minigrad gpt ...``. The translator's have no
            such word, nor have the words of the process, which are complete ("").
    """
    system = name.rpartition(".")[2].removeprefix("translation")
    return shlex.join([*_minigrad(), *filter(None, [system]), *arguments])


def _minigrad() -> list[str]:
    """``minigrad``, where the shell knows it."""
    if typed := os.environ.get(TYPED):
        return shlex.split(typed)
    return ["minigrad"] if is_on_path("minigrad") else ["python", "-m", "minigrad"]
