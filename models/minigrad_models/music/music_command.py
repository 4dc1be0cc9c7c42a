"""The command line: train, generate, harmonise, roll, events, evaluate, config."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..programs.command_line import (
    Command,
    act,
    add_device,
    add_run,
    add_settings,
    add_training,
    add_windows,
    check_output,
    parser_of,
    print_settings,
    run_program,
    start_of,
    values_of,
    write_json,
)
from ..programs.options import add_drawing, positive, whole
from .music_settings import Settings

ABOUT = "Train a Music Transformer on MIDI files, and write music with it."
EXAMPLES = """
examples:
  minigrad music train                              Bach's chorales
  minigrad music generate --output chorale.mid --page chorale.html
  minigrad music harmonise melody.mid --output four-voices.mid
  minigrad music train --preset piano --data MIDI_FOLDER
  minigrad music generate --run runs/piano --seed-file motif.mid --seconds 30 --output out.mid
  minigrad music roll out.mid                       a page to see and to hear
  minigrad music events in.mid --output out.mid
  minigrad music evaluate --part test
  minigrad music config --preset piano >my.toml

The same command again resumes a training that was stopped in any way.
"""
PRESET = "chorales"
DEFAULT_RUN = Path("runs") / PRESET


def parser() -> argparse.ArgumentParser:
    """The command line's commands and their options."""
    return parser_of("minigrad music", ABOUT, EXAMPLES, COMMANDS)


def _train(p: argparse.ArgumentParser) -> None:
    add_training(p, Settings, "preset's", PRESET)


def _config(p: argparse.ArgumentParser) -> None:
    add_settings(p, Settings, PRESET)


def _files(p: argparse.ArgumentParser, output: str) -> None:
    p.add_argument(
        "--output", type=Path, default=Path(output), metavar="FILE", help=f"the MIDI file (default: {output})"
    )
    p.add_argument(
        "--page", type=Path, metavar="FILE", help="write a page, too: a piano roll that plays, with attention"
    )
    p.add_argument("--wav", type=Path, metavar="FILE", help="write its sound, too, by fluidsynth or timidity")


def _generate(p: argparse.ArgumentParser) -> None:
    add_run(p, DEFAULT_RUN)
    p.add_argument("--seed-file", type=Path, metavar="FILE", help="a MIDI file: its music is continued")
    p.add_argument("--seed-seconds", type=positive(), metavar="S", help="of its beginning alone (default: all of it)")
    p.add_argument("--seconds", type=positive(), default=30.0, metavar="S", help="of new music (default: 30)")
    p.add_argument(
        "--tempo",
        type=positive(),
        metavar="T",
        help="of chorales: quarter notes a minute (default: the motif's, or 100)",
    )
    _files(p, "generated.mid")
    p.add_argument(
        "--batch",
        type=whole(1, 10_000),
        default=1,
        metavar="N",
        help="files to write, with a number in their names (default: 1)",
    )
    add_drawing(p, "search for the likeliest music with N beams")


def _harmonise(p: argparse.ArgumentParser) -> None:
    p.add_argument("melody", type=Path, help="a MIDI file; of its first track, the highest notes")
    add_run(p, DEFAULT_RUN)
    _files(p, "harmonised.mid")
    p.add_argument(
        "--particles",
        type=whole(1, 10_000),
        default=32,
        metavar="K",
        help="chorales that are written side by side; more suit the melody better (default: 32)",
    )
    p.add_argument("--temperature", type=positive(), default=1.0, help="of the draws (default: 1)")
    p.add_argument("--seed", type=whole(0, 2**63 - 1), default=0, help="of the draws (default: 0)")


def _roll(p: argparse.ArgumentParser) -> None:
    p.add_argument("file", type=Path, help="a MIDI file")
    p.add_argument(
        "--output", type=Path, metavar="FILE", help="an .html or .svg file (default: the file's name, .html)"
    )
    p.add_argument("--run", type=Path, metavar="DIR", help="a trained model, whose attention is drawn when it reads it")
    add_device(p)


def _events(p: argparse.ArgumentParser) -> None:
    p.add_argument("file", type=Path, help="a MIDI file")
    p.add_argument("--output", type=Path, metavar="FILE", help="write what the events say as a MIDI file")
    p.add_argument("--count", type=whole(), metavar="N", help="print the first N alone")


def _evaluate(p: argparse.ArgumentParser) -> None:
    add_run(p, DEFAULT_RUN)
    p.add_argument("--data", nargs="+", metavar="PATH", help="MIDI files or folders (default: the training's data)")
    p.add_argument(
        "--part", choices=("train", "valid", "test"), default="valid", help="of the training's data (default: valid)"
    )
    add_windows(p, "half the window")


def settings_of(options: argparse.Namespace) -> Settings:
    """The settings from a preset or a file, and from options."""
    return start_of(options, Settings, lambda: Settings.preset(PRESET)).changed(values_of(options, Settings))


def run_folder(options: argparse.Namespace) -> Path:
    """The folder of a run: --run, or one that is named after the preset."""
    if options.run is not None:
        return Path(options.run)
    return Path("runs") / (options.preset or (options.config.stem if options.config else PRESET))


def main(argv: list[str] | None = None) -> int:
    """Run the command line. Returns the exit status."""

    def program() -> int:
        return act(parser(), argv)

    return run_program(program, "--batch, --window or --particles")


def _do_train(options: argparse.Namespace) -> int:
    from ..programs.ranks import train_as_ranks
    from .train_music import train

    settings = settings_of(options)
    go = lambda: train(settings, run_folder(options), options.fresh)
    return train_as_ranks(["music", *options.words], settings.training, go)


def _do_generate(options: argparse.Namespace) -> int:
    from .music_generation import generate

    return generate(options)


def _do_harmonise(options: argparse.Namespace) -> int:
    from .harmony import harmonise

    return harmonise(options)


def _do_roll(options: argparse.Namespace) -> int:
    from .pages import roll

    return roll(options)


def _do_events(options: argparse.Namespace) -> int:
    check_output(options.output, "--output")
    from .pages import events

    return events(options)


def _do_evaluate(options: argparse.Namespace) -> int:
    check_output(options.json, "--json")
    from .music_evaluation import evaluate

    numbers = evaluate(options.run, options.device, options.part, options.data or (), options.window, options.stride)
    print("\n".join(f"{name:<12} {value:,.6g}" for name, value in numbers.items()))
    write_json(numbers, options.json)
    return 0


def _do_config(options: argparse.Namespace) -> int:
    return print_settings(settings_of(options), options, "minigrad music train", PRESET)


COMMANDS = (
    Command("train", "train a model, or resume a training", _train, _do_train),
    Command("generate", "write music, from nothing or from a motif on", _generate, _do_generate),
    Command("harmonise", "write alto, tenor and bass below a melody", _harmonise, _do_harmonise),
    Command("roll", "draw a MIDI file as a piano roll that plays", _roll, _do_roll),
    Command("events", "print a MIDI file as events, and write them as MIDI again", _events, _do_events),
    Command("evaluate", "the loss of music that the model has not learned from", _evaluate, _do_evaluate),
    Command("config", "print all settings as a configuration file", _config, _do_config),
)
