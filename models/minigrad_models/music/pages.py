"""The commands that show a file: its piano roll, and its events."""

from __future__ import annotations

import argparse
import textwrap
from pathlib import Path

from ..viz import piano_roll
from . import files
from . import music_data as data
from . import music_run as run
from .chorales import VOICES
from .midi import write_midi
from .music_generation import seen
from .performance import decode, encode, name

WIDTH = 100  # characters of a line of events


def roll(options: argparse.Namespace) -> int:
    """Draw a file, with the attention of a model that reads it, if there is one. Returns the exit status."""
    output = options.output or Path(options.file.stem + ".html")
    if options.run is None:
        print(piano_roll(options.file).save(output))
        return 0
    trained = run.load(options.run, options.device)
    language, song = trained.language, data.song_in(options.file)
    tempo = files.tempo_of(song)
    ids = language.encode(data.piece_in(options.file, song, language))
    written = language.decode(ids, tempo)
    if not written.notes:
        raise ValueError(f"{options.file} has no notes that the model could read")
    names = VOICES if language.kind == "chorales" else None
    attention = seen(trained, ids, written)
    print(files.roll_of(written.notes, attention, tempo, names, options.file.stem).save(output))
    return 0


def events(options: argparse.Namespace) -> int:
    """Print a file's events, and write what they say as MIDI. Returns the exit status."""
    files.check_endings(options.output)
    song = data.song_in(options.file)
    ids = encode(song.notes)
    shown = ids if options.count is None else ids[: options.count]
    line = ", ".join(name(int(i)) for i in shown) + (", …" if len(shown) < len(ids) else "")
    print("\n".join(textwrap.wrap(line, WIDTH, break_long_words=False, break_on_hyphens=False)))
    if options.output is not None:
        options.output.parent.mkdir(parents=True, exist_ok=True)
        write_midi(options.output, decode(ids), files.tempo_of(song))
        files.say(options.output)
    return 0
