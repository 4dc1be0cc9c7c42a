"""``minigrad completion bash``: a shell's completion of the commands and their options."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from minigrad.backend.extras import how_to_install

from ..programs.command_line import RAW

SHELLS = ("bash", "zsh", "fish")
ABOUT = """
to use it:
  bash    eval "$(minigrad completion bash)"              in ~/.bashrc
  zsh     eval "$(minigrad completion zsh)"               in ~/.zshrc, after compinit
  fish    minigrad completion fish | source               in ~/.config/fish/config.fish
"""


def add(p: argparse.ArgumentParser) -> None:
    """The command's options."""
    p.epilog, p.formatter_class = ABOUT, RAW
    p.add_argument("shell", choices=SHELLS, help="the shell to print it for")


def run(options: argparse.Namespace) -> int:
    """Print the completion. Raises ImportError: the library that writes it is missing."""
    try:
        import shtab
    except ImportError:
        raise ImportError(f"completion needs shtab: {how_to_install('completion', 'shtab')}") from None
    (commands,) = (a for a in options.parser._actions if isinstance(a, argparse._SubParsersAction))
    commands.choices.update(options.systems())  # the parsers that systems have
    _complete_files(options.parser, shtab.FILE)
    print(shtab.complete(options.parser, options.shell))
    return 0


def _complete_files(parser: argparse.ArgumentParser, file: Any) -> None:
    """Let options that are paths be completed by files, in all commands."""
    for action in parser._actions:  # argparse has no public way to its options
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                _complete_files(command, file)
        elif action.type is Path or action.dest == "program":
            action.complete = file  # type: ignore[attr-defined]
