"""Times reading and writing MIDI files: by minigrad_models.music, and by the libraries mido and symusic.

    python -m benchmarks.midi [FOLDER] [--notes 100000] [--rounds 3]

FOLDER holds .mid files; without one only a file of that many notes, made here, is read. Of several rounds the best
counts, since all else that a machine does only adds. minigrad_models.music reads with mido, and then pairs the notes,
applies the pedal and computes seconds.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from minigrad_models.music import Note, decode, encode, read_midi, write_midi

from .machine import describe
from .process import Missing, library_module, progress
from .table import Table


def best(work: Callable[[Any], Any], things: Sequence[Any], rounds: int) -> float | None:
    """Seconds for all things, of the fastest of some rounds; None without things."""
    times = []
    for _ in range(rounds if things else 0):
        start = time.perf_counter()
        for thing in things:
            work(thing)
        times.append(time.perf_counter() - start)
    return min(times, default=None)


def invented(count: int) -> list[Note]:
    """Notes of a piano, of which some ten sound at a time."""
    draw = random.Random(0)
    return [Note(draw.randrange(21, 109), draw.randrange(1, 128), i / 50, i / 50 + 0.2) for i in range(count)]


def readers() -> dict[str, Callable[[Path], Any]]:
    """What reads a file, of what is installed."""
    found: dict[str, Callable[[Path], Any]] = {"minigrad_models.music": read_midi}
    for name, reader in (("mido", "MidiFile"), ("symusic", "Score")):
        try:
            found[name] = getattr(library_module(name), reader)
        except Missing:
            print(f"{name} is not installed, and is not measured", file=sys.stderr)
    return found


def table(files: Sequence[Path], count: int, rounds: int) -> Table:
    """A row for each reader, then for writing, encoding and decoding."""
    result = Table("MIDI files, seconds", ("what", f"{len(files)} files", f"{count:,} notes"), ("", ".4f", ".4f"))
    with tempfile.TemporaryDirectory() as folder:
        large, again = Path(folder) / "large.mid", Path(folder) / "again.mid"
        notes = invented(count)
        write_midi(large, notes)
        songs = [read_midi(file).notes for file in files]
        work: list[tuple[str, Callable[[Any], Any], Sequence[Any], Any]]
        work = [(f"read, {name}", read, files, large) for name, read in readers().items()]
        work += [("write, minigrad_models.music", lambda song: write_midi(again, song), songs, notes)]
        work += [("events of notes", encode, songs, notes)]
        work += [("notes of events", decode, [encode(song) for song in songs], encode(notes))]
        for what, function, small, big in work:
            progress(f"midi: {what}")
            result.add(what, best(function, small, rounds), best(function, [big], rounds))
    return result


def main(arguments: list[str]) -> int:
    """Measure and print."""
    p = argparse.ArgumentParser(
        prog="python -m benchmarks.midi", description="Measure reading and writing of MIDI files."
    )
    p.add_argument("folder", nargs="?", type=Path, help="with .mid files")
    p.add_argument("--notes", type=int, default=100_000, help="of the file that is made (default: 100,000)")
    p.add_argument("--rounds", type=int, default=3, help="of which the fastest counts (default: 3)")
    given = p.parse_args(arguments)
    files = sorted(given.folder.glob("*.mid")) if given.folder else []
    if given.folder and not files:
        p.error(f"{given.folder} has no .mid files")
    print(describe("mido", "symusic"))
    print(table(files, given.notes, given.rounds).text())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
