"""The ``minigrad`` command line; ``minigrad --help`` lists its commands."""

from __future__ import annotations

import platform
import sys
from contextlib import suppress
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version as version_of
from typing import Any

from ..programs.command_line import Command, Parser, act, parser_of, run_program
from ..translation.translation_command import COMMANDS as TRANSLATE
from . import course, data, script, serve, viz

ABOUT = "A deep-learning framework in plain Python: models, pictures and a profiler."
EXAMPLES = """
examples:
  minigrad train                              a translator, English to Italian (some minutes on 2 cores)
  minigrad translate "I like cats"            translate with it
  minigrad train --data corpus.tsv            your own sentence pairs
  minigrad train --preset multi30k --data DIR --source en --target de
  minigrad evaluate --run runs/multi30k-en-de
  minigrad translate --run runs/multi30k-en-de <text.en >text.de
  minigrad serve                              a translation page on this machine
  minigrad config --preset base >my.toml      settings to edit, for train --config my.toml
  minigrad gpt train --input book.txt         a language model; minigrad gpt --help lists its commands
  minigrad bert sst2 --data DIR               BERT, fine-tuned
  minigrad music generate --output out.mid    music
  minigrad serve --model minilm               sentence embeddings over HTTP, with OpenAI's API
  minigrad data tinyshakespeare jsb           download published data sets
  minigrad course                             a course in twelve notebooks, with exercises
  minigrad viz runs/toy                       training curves
  minigrad viz runs/toy "I like cats"         a translator's attention
  minigrad profile program.py                 where a program's time goes
  minigrad compat program.py                  run a PyTorch program

If training was interrupted, run the same command again to resume it.
"""
CUPY = ("cupy", "cupy-cuda11x", "cupy-cuda12x", "cupy-cuda13x")  # CuPy's names on PyPI
SYSTEMS = {  # systems with their own commands: ``minigrad gpt ...``
    "gpt": "train a language model on text, and generate text with it",
    "bert": "pre-train BERT, fine-tune it, or search by meaning",
    "music": "train a Music Transformer, and generate music with it",
}

COMMANDS = (
    *TRANSLATE,
    Command("serve", "serve a page that translates, or OpenAI's API for BERT or GPT", serve.add, serve.run),
    *(Command(name, about, lambda p: None, lambda options: 0) for name, about in SYSTEMS.items()),  # see ``main``
    Command("data", "list published data sets, and download them", data.add, data.run),
    Command("course", "write the course's chapters as notebooks", course.add, course.run),
    Command("viz", "draw training curves, a piano roll, or a translator's attention", viz.add, viz.run),
    Command("profile", "run a program, and show where its time goes", script.add_profile, script.profile),
    Command("compat", "run a PyTorch program on minigrad, which replaces torch", script.add_program, script.compat),
)


def parser() -> Parser:
    """The parser of all commands and their options."""
    p = parser_of("minigrad", ABOUT, EXAMPLES, COMMANDS)
    about = "print the versions of minigrad and its dependencies"
    p.add_argument("--version", action="version", version=versions(), help=about)
    return p


def system(name: str) -> Any:
    """The command line of a system, imported only when it runs, as ``minigrad --help`` needs no model."""
    return import_module(f"..{name}.{name}_command", __package__)


def main(argv: list[str] | None = None) -> int:
    """Run the command line. Returns the exit status."""
    words = sys.argv[1:] if argv is None else argv
    if words and words[0] in SYSTEMS:
        return system(words[0]).main(words[1:])
    return run_program(lambda: act(parser(), argv), "--batch-tokens or --batch")


def versions() -> str:
    """The versions of minigrad, NumPy, Python and CuPy, without importing CuPy, which takes seconds."""
    import numpy

    from minigrad.backend.version import project

    cupy = "none"
    for name in CUPY:
        with suppress(PackageNotFoundError):
            cupy = version_of(name)
    return f"minigrad {project}\nNumPy {numpy.__version__}, Python {platform.python_version()}, CuPy {cupy}"
