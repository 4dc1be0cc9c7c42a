"""The command line: train, generate, evaluate, export and config."""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path

from ..programs import command_line as common
from ..programs.command_line import Command, later
from ..programs.folder import find_data_set
from ..programs.options import add_drawing, add_number, whole
from .gpt_settings import SHAKESPEARE, Settings

ABOUT = "Train a language model on text, and generate text with it."
EXAMPLES = """
examples:
  minigrad gpt train                               Shakespeare, or the bundled sentences (1 to 2 minutes)
  minigrad gpt generate --prompt "My friends"      generate text with the trained model
  minigrad gpt train --input book.txt --tokenizer subwords
  minigrad gpt train --preset shakespeare          the larger model
  minigrad gpt train --from GPT2DIR --input book.txt --window 256
  minigrad gpt evaluate
  minigrad gpt export DIR
  minigrad gpt config --preset shakespeare >my.toml

If training was interrupted, run the same command again to resume it.
"""
PRESET = "shakespeare-cpu" if find_data_set(*SHAKESPEARE) else "sentences"
DEFAULT_RUN = Path("runs") / PRESET


def _run(p: argparse.ArgumentParser) -> None:
    common.add_run(p, DEFAULT_RUN, "a run folder, a model file, or a GPT-2 folder in transformers' format")


def _generate(p: argparse.ArgumentParser) -> None:
    _run(p)
    p.add_argument("--prompt", nargs="+", metavar="TEXT", help="texts to continue (default: the beginning of a line)")
    add_number(p, "--tokens", whole(), 500, "tokens to generate")
    add_number(p, "--batch", whole(1, 10_000), 1, "texts per prompt")
    add_drawing(p)


def _evaluate(p: argparse.ArgumentParser) -> None:
    _run(p)
    common.add_file(p, "--input", "a text file (default: the validation part of the training text)")
    common.add_windows(p, "the window")


def _export(p: argparse.ArgumentParser) -> None:
    p.add_argument("folder", type=Path, metavar="DIR", help="output folder; existing model files in it are replaced")
    _run(p)


def run_folder(options: argparse.Namespace, settings: Settings) -> Path:
    """The folder of a run: ``--run``, or a folder named after the preset and the text."""
    return common.folder_of(options, PRESET, Path(settings.data.input).stem)


sizes = later("gpt.gpt_run.sizes")
settings_of = partial(common.settings_of, kind=Settings, default=PRESET, folder=run_folder, sizes=sizes)
evaluate = later("gpt.gpt_run.evaluate")
measured = lambda o: common.print_numbers(evaluate(o.run, o.device, o.input, o.window, o.stride), o.json)


def _do_export(options: argparse.Namespace) -> int:
    from .gpt_run import export, load

    export(load(options.run), options.folder)
    print(f"wrote {options.folder}", file=sys.stderr)
    return 0


names = "preset and the text"
TRAIN, CONFIG = common.training_commands("gpt.gpt_run", Settings, settings_of, run_folder, names, PRESET, start="from")
COMMANDS = (
    TRAIN,
    Command("generate", "generate texts", _generate, later("gpt.gpt_run.generate")),
    Command("evaluate", "compute the loss, perplexity and bits per character of a text", _evaluate, measured),
    Command("export", "write a folder that the transformers library can read", _export, _do_export),
    CONFIG,
)
parser, main = common.program("minigrad gpt", ABOUT, EXAMPLES, COMMANDS, "--batch or --window")
