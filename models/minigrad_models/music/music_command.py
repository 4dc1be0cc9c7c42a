"""The command line: train, generate, harmonise, roll, evaluate and config."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path

from ..programs import command_line as common
from ..programs.command_line import Command, later
from ..programs.folder import find_data_set
from ..programs.options import add_drawing, add_number, positive, whole
from .music_settings import BACH, Settings

ABOUT = "Train a Music Transformer on MIDI files, and generate music with it."
EXAMPLES = """
examples:
  minigrad music train                              chorales: Bach's, or the bundled ones (2 minutes)
  minigrad music generate --output chorale.mid --page chorale.html
  minigrad music harmonise melody.mid --output four-voices.mid
  minigrad music train --preset piano --data MIDI_FOLDER
  minigrad music generate --run runs/piano --seed-file motif.mid --seconds 30 --output out.mid
  minigrad music roll out.mid                       a page that shows and plays it
  minigrad music evaluate --part test
  minigrad music config --preset piano >my.toml

If training was interrupted, run the same command again to resume it.
"""
PRESET = "chorales" if find_data_set(*BACH) else "composed"
DEFAULT_RUN = Path("runs") / PRESET


def _files(p: argparse.ArgumentParser, output: str) -> None:
    p.add_argument(
        "--output", type=Path, default=Path(output), metavar="FILE", help=f"the MIDI file (default: {output})"
    )
    common.add_file(p, "--page", "also write a page: a piano roll that plays, with attention")


def _generate(p: argparse.ArgumentParser) -> None:
    common.add_run(p, DEFAULT_RUN)
    common.add_file(p, "--seed-file", "a MIDI file to continue")
    p.add_argument("--seed-seconds", type=positive(), metavar="S", help="seconds of that file to use (default: all)")
    add_number(p, "--seconds", positive(), 30.0, "seconds of new music", "S")
    tempo = "tempo of chorales, in quarter notes per minute (default: the motif's, or 100)"
    p.add_argument("--tempo", type=positive(), metavar="T", help=tempo)
    _files(p, "generated.mid")
    add_number(p, "--batch", whole(1, 10_000), 1, "files to write, numbered in their names")
    add_drawing(p, "search for the likeliest music with N beams")


def _harmonise(p: argparse.ArgumentParser) -> None:
    p.add_argument("melody", type=Path, help="a MIDI file whose highest notes are the melody")
    common.add_run(p, DEFAULT_RUN)
    _files(p, "harmonised.mid")
    side_by_side = "chorales to generate in parallel; more of them fit the melody better"
    add_number(p, "--particles", whole(1, 10_000), 32, side_by_side, "K")
    add_number(p, "--temperature", positive(), 1.0, "sampling temperature")
    add_number(p, "--seed", whole(0, 2**63 - 1), 0, "seed for sampling")


def _roll(p: argparse.ArgumentParser) -> None:
    p.add_argument("file", type=Path, help="a MIDI file")
    common.add_file(p, "--output", "an .html file (default: the file's name)")
    p.add_argument("--run", type=Path, metavar="DIR", help="a trained model whose attention to draw as well")
    common.add_device(p)


def _evaluate(p: argparse.ArgumentParser) -> None:
    common.add_run(p, DEFAULT_RUN)
    p.add_argument("--data", nargs="+", metavar="PATH", help="MIDI files or folders (default: the training data)")
    p.add_argument(
        "--part", choices=("train", "valid", "test"), default="valid", help="part of the training data (default: valid)"
    )
    keys = "average the probabilities over N keys, in which the model reads the music; takes N times as long"
    add_number(p, "--keys", whole(1, 12), 1, keys)
    common.add_windows(p, "half the window")


run_folder = lambda options, _: common.folder_of(options, PRESET)
settings_of = partial(common.settings_of, kind=Settings, default=PRESET, folder=run_folder)
evaluate = later("music.music_run.evaluate")
measured = lambda o: common.print_numbers(
    evaluate(o.run, o.device, o.part, o.data or (), o.window, o.stride, o.keys), o.json
)


TRAIN, CONFIG = common.training_commands("music.music_run", Settings, settings_of, run_folder, "preset", PRESET)
COMMANDS = (
    TRAIN,
    Command("generate", "generate music, from scratch or from a motif", _generate, later("music.files.generate")),
    Command("harmonise", "add alto, tenor and bass to a melody", _harmonise, later("music.harmony.harmonise")),
    Command("roll", "draw a MIDI file as a piano roll that plays", _roll, later("music.files.roll")),
    Command("evaluate", "compute the loss on music that the model was not trained on", _evaluate, measured),
    CONFIG,
)
parser, main = common.program("minigrad music", ABOUT, EXAMPLES, COMMANDS, "--batch, --window or --particles")
