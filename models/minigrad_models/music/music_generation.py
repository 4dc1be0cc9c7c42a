"""Music that a model writes: from nothing, or as a motif goes on."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import minigrad as mg
from minigrad.utils.bar import bar

from ..generation import generate as generation
from ..generation.generate import Search
from ..programs.options import search_of
from ..programs.validation import Ids
from . import files
from . import music_data as data
from . import music_run as run
from .allowed import Restricted
from .attention import attention_of_notes
from .chorales import ROWS, VOICES
from .languages import TEMPO, Language, Written, elapsed
from .notes import Note
from .performance import STEPS

LEAST = 0.01  # seconds of a note


def compose(
    model: Any,
    language: Language,
    prompt: Ids,
    seconds: float,
    search: Search,
    count: int = 1,
    tempo: float = TEMPO,
    progress: Any = None,
) -> list[Ids]:
    """Several sequences that go on from one for so many seconds; the prompt is their beginning.

    Args:
        prompt: (T,), with ``language.begin``. tempo: of chorales.
        progress: called with seconds of music, as they are written.
    """
    before = float(language.seconds(prompt, tempo).sum())
    total = before + seconds

    def heard(_: int, token: int) -> None:
        progress(float(language.seconds(np.array([token]), tempo)[0]))

    hypotheses = generation.write(
        Restricted(model, lambda rows: language.rules(rows, total)),
        [prompt.tolist()] * count,
        language.room(seconds, tempo),
        search,
        language.begin,
        None if progress is None else heard,
    )
    return [np.array([*prompt, *(i for i in h.tokens if i != language.begin)], np.int64) for h in hypotheses]


def closed(written: Written, seconds: float) -> Written:
    """The same, with notes that end after so many seconds at the latest."""
    notes = [note._replace(end=max(min(note.end, seconds), note.start + LEAST)) for note in written.notes]
    return written._replace(notes=notes)


def example(model: Any, language: Language, seconds: float, seed: int) -> Ids:
    """A sequence to show while the model trains: the same draws each time."""
    mg.manual_seed(seed)
    return compose(model, language, np.array([language.begin]), seconds, Search(temperature=0.9))[0]


# Motifs -------------------------------------------------------------------------------------------------------


def motif(path: Path, language: Language, seconds: float | None) -> tuple[Ids, float]:
    """The beginning of a MIDI file as tokens, and its tempo. Notes that sound at its end are not closed.

    Raises:
        FileNotFoundError, ValueError: it cannot be read, or there is no note in it.
    """
    song = data.song_in(path)
    ids = language.encode(data.piece_in(path, song, language))
    if seconds is not None:
        if language.kind == "chorales":
            ids = ids[: 1 + language.unit * max(1, round(ROWS * song.quarters(seconds)))]
        else:
            ids = ids[elapsed(ids) <= STEPS * seconds]
    if not len(language.pitches(ids)):
        raise ValueError(f"{path} has no note in its first {seconds:g} s: give more --seed-seconds")
    return ids, files.tempo_of(song)


# The command --------------------------------------------------------------------------------------------------


def generate(options: argparse.Namespace) -> int:
    """Write music. Returns the exit status."""
    files.check_endings(options.output, options.page, options.wav)
    search = search_of(options)
    trained = run.load(options.run, options.device)
    language, tempo, prompt = trained.language, TEMPO, np.array([trained.language.begin])
    if options.tempo is not None and language.kind != "chorales":
        raise ValueError("--tempo is for chorales: a performance's times are seconds")
    if options.seed_seconds is not None and options.seed_file is None:
        raise ValueError("--seed-seconds is the length of a motif: give one, --seed-file")
    if options.seed_file is not None:
        prompt, tempo = motif(options.seed_file, language, options.seed_seconds)
    tempo = files.checked_tempo(tempo if options.tempo is None else options.tempo)
    if len(prompt) > trained.model.context:
        print(
            f"note: the motif has {len(prompt):,} tokens, and the model sees the last {trained.model.context:,}",
            file=sys.stderr,
        )
    mg.manual_seed(options.seed)
    begin = time.perf_counter()
    with bar(options.seconds * options.batch, "writing", " s of music") as shown:
        sequences = compose(
            trained.model, language, prompt, options.seconds, search, options.batch, tempo, shown.update
        )
    spent = time.perf_counter() - begin
    count = sum(len(ids) - len(prompt) for ids in sequences)
    total = float(language.seconds(prompt, tempo).sum()) + options.seconds
    for number, ids in enumerate(sequences, 1):
        paths = [p and files.numbered(p, number, options.batch) for p in (options.output, options.page, options.wav)]
        save(trained, ids, closed(language.decode(ids, tempo), total), tempo, *paths)
    print(f"{count:,} tokens, {count / spent:,.0f} a second", file=sys.stderr)
    return 0


def save(
    trained: run.Trained, ids: Ids, written: Written, tempo: float, output: Path, page: Path | None, wav: Path | None
) -> None:
    """Write the files of a sequence. Raises as ``files.write``, and ValueError: there is no note in it."""
    check_notes(written.notes, output)
    attention = None if page is None else seen(trained, ids, written)
    names = VOICES if trained.language.kind == "chorales" else None
    files.write(written.notes, output, page, wav, tempo, attention, names)


def check_notes(notes: Sequence[Note], output: Path) -> None:
    """Raise ValueError: there are none to write."""
    if not notes:
        raise ValueError(
            f"the model wrote silence: {output} is not written. Another --seed or more --seconds may help, or a longer "
            "training"
        )


def seen(trained: run.Trained, ids: Ids, written: Written) -> Any:
    """The attention of a page's notes; None, with a note, if they are too many."""
    attention = attention_of_notes(trained.model, ids, written, trained.settings.grid)
    if attention is None:
        print(f"note: {len(written.notes):,} notes are too many for arcs: the page has none", file=sys.stderr)
    return attention
