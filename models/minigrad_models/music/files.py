"""The files that commands write: MIDI, sound and pages."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..viz import piano_roll
from .midi import TEMPOS, Song, write_midi
from .notes import Note
from .synthesis import write_wav

ENDINGS = {"--output": (".mid", ".midi"), "--page": (".html",), "--wav": (".wav",)}


def checked_tempo(tempo: float) -> float:
    """A tempo. Raises ValueError: a file cannot say it."""
    if not TEMPOS[0] <= tempo <= TEMPOS[1]:
        raise ValueError(f"--tempo {tempo:g}: it is {TEMPOS[0]:g} to {TEMPOS[1]:g} quarter notes a minute")
    return tempo


def tempo_of(song: Song) -> float:
    """The tempo at a song's beginning, in the range of a file's."""
    return min(max(float(song.tempos[0][1]), TEMPOS[0]), TEMPOS[1])


def check_endings(output: Path | None, page: Path | None = None, wav: Path | None = None) -> None:
    """Raise ValueError: a file to write has a name that its kind does not have."""
    for option, path in (("--output", output), ("--page", page), ("--wav", wav)):
        if path is not None and path.suffix.lower() not in ENDINGS[option]:
            raise ValueError(f"{option} {path}: the name must end in {' or '.join(ENDINGS[option])}")


def numbered(path: Path, number: int, count: int) -> Path:
    """The path of the n-th of several files: out-1.mid, out-2.mid, …; of a single one, itself."""
    return path if count == 1 else path.with_stem(f"{path.stem}-{number}")


def write(
    notes: Sequence[Note],
    output: Path,
    page: Path | None,
    wav: Path | None,
    tempo: float,
    attention: Any = None,
    tracks: Sequence[str] | None = None,
) -> None:
    """Write a MIDI file, and if they are wanted, its sound and its page, and say so.

    Raises:
        OSError: a file cannot be written. ImportError, RuntimeError: there is no synthesiser.
    """
    output.parent.mkdir(parents=True, exist_ok=True)
    write_midi(output, notes, tempo, names=dict(enumerate(tracks)) if tracks else None)
    say(output)
    if page is not None:
        say(roll_of(notes, attention, tempo, tracks, output.stem).save(page))
    if wav is not None:
        write_wav(wav, output)
        say(wav)


def roll_of(notes: Sequence[Note], attention: Any, tempo: float, tracks: Sequence[str] | None, title: str) -> Any:
    """A piano roll, with bars if the music has voices: a performance's tempo says nothing of its bars."""
    shown = tempo if tracks else None
    return piano_roll(list(notes), attention=attention, tempo=shown, tracks=tracks, title=title)


def say(path: Path) -> None:
    """Tell that a file was written."""
    print(f"wrote {path}", file=sys.stderr)
