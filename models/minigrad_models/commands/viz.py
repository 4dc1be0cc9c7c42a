"""``minigrad viz``: draws a file, a run folder, or a model's attention for a sentence."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from ..programs.command_line import RAW, add_device

if TYPE_CHECKING:
    from minigrad.viz.view import View

MIDI = (".mid", ".midi")
MODEL = ".safetensors"
EXAMPLES = """
examples:
  minigrad viz runs/first                        training curves and weights
  minigrad viz runs/first runs/second            compare two runs
  minigrad viz runs/first "A sentence."          a translator's attention; a model.safetensors works too
  minigrad viz song.mid                          a piano roll that plays
  minigrad viz runs/first --output loss.svg      write a file instead of opening the browser
"""


def add(p: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    p.epilog, p.formatter_class = EXAMPLES, RAW
    what = "run folders, log.jsonl files, a MIDI file, or a model and a sentence"
    p.add_argument("what", nargs="+", metavar="WHAT", help=what)
    output = "output file: a page (.html), or an image (.svg, .png, .pdf) of the loss or attention"
    p.add_argument("--output", type=Path, metavar="FILE", help=output)
    add_device(p)


def run(options: argparse.Namespace) -> int:
    """Show or save the view. Returns the exit status."""
    view = view_of(options.what, options.device)
    if options.output is None:
        view.show()
        return 0
    view.save(options.output)
    print(f"wrote {options.output}", file=sys.stderr)
    return 0


def view_of(words: list[str], device: str = "cpu") -> View:
    """The view of some runs, a MIDI file, or a model and a sentence."""
    from ..viz import piano_roll, training

    first, *rest = words
    if not Path(first).exists():
        raise FileNotFoundError(f"{first} does not exist: pass a run folder, a MIDI file, or a model")
    if sentences := [word for word in rest if not Path(word).exists()]:
        if len(rest) > 1:
            raise ValueError(f"expected a model and one sentence in quotation marks, but {sentences[0]!r} is no file")
        return _attention(Path(first), sentences[0], device)
    if single := [word for word in words if Path(word).suffix.lower() in (*MIDI, MODEL)]:
        if Path(single[0]).suffix.lower() == MODEL:
            example = f'minigrad viz {single[0]} "A sentence."'
            raise ValueError(f"{single[0]} is a model: also give a sentence, as in {example}")
        if rest:
            raise ValueError("viz draws only one MIDI file at a time")
        return piano_roll(first)
    return training(*words)


def _attention(model: Path, sentence: str, device: str) -> View:
    from ..translation import Translator

    translator = Translator.load(model, device)
    (translation,) = translator.translate([sentence])
    for note in translation.notes:
        print(f"note: {note}", file=sys.stderr)
    print(translation.text)
    return translator.look(translation)
