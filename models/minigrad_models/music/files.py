"""Writes MIDI files and pages: the ``generate`` and ``roll`` commands.

Shapes: L layers, H heads, T tokens, N notes.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import minigrad as mg
from minigrad import viz
from minigrad.utils.bar import bar

from ..programs.options import generation_config
from ..programs.validation import Ids, pieces
from ..viz import piano_roll
from . import music_data as data, music_run as run
from .chorales import ROWS
from .languages import STEPS, TEMPO, Language, Written, shifts
from .midi import TEMPOS, Song, check_tempo, write_midi
from .music_run import closed, compose

ENDINGS = {"--output": (".mid", ".midi"), "--page": (".html",)}
MOST = 1 << 28  # maximum elements of the attention in a page: half a gigabyte in half precision


def tempo_of(song: Song) -> float:
    """A song's initial tempo, clamped to the range that a file supports."""
    return min(max(float(song.tempos[0][1]), TEMPOS[0]), TEMPOS[1])


def check_endings(output: Path, page: Path | None) -> None:
    """Raise ValueError if an output file has the wrong extension."""
    for option, path in (("--output", output), ("--page", page)):
        if path is not None and path.suffix.lower() not in ENDINGS[option]:
            raise ValueError(f"{option} {path}: the name must end in {' or '.join(ENDINGS[option])}")


def save(trained: run.Trained, ids: Ids, music: Written, tempo: float, output: Path, page: Path | None) -> None:
    """Write a sequence (T,) to a MIDI file and, if ``page`` is a path, to a page. Report both on stderr."""
    if not music.notes:
        advice = "Another --seed, more --seconds, or longer training may help"
        raise ValueError(f"the model generated silence, so {output} was not written. {advice}")
    output.parent.mkdir(parents=True, exist_ok=True)
    write_midi(output, music.notes, tempo, names=dict(enumerate(trained.voices)))
    print(f"wrote {output}", file=sys.stderr)
    if page is not None:
        path = page_of(trained, ids, music, tempo, output.stem).save(page)
        print(f"wrote {path}", file=sys.stderr)


def page_of(trained: run.Trained, ids: Ids, music: Written, tempo: float, title: str) -> Any:
    """A piano roll. It shows the model's attention unless there are too many notes, which is reported on stderr. It
    shows bars only if the music has voices, as the tempo of a performance does not determine its bars."""
    attention = attention_of_notes(trained.model, ids, music, trained.settings.grid)
    if attention is None:
        print(f"note: the page has no attention arcs, as {len(music.notes):,} notes are too many", file=sys.stderr)
    bars: dict[str, Any] = {"tempo": tempo, "tracks": trained.voices} if trained.voices else {}
    return piano_roll(music.notes, attention=attention, title=f"Piano roll: {title}", **bars)


def attention_of_notes(model: Any, ids: Ids, music: Written, grid: int = 1) -> Ids | None:
    """Each note's attention to every other note (L, H, N, N), float16; None if there are too many notes for a page. A
    model predicts a note at the position before the note's first token. The weights of that position are summed over
    the tokens of each note (``Written.owner``); weights of other tokens are dropped. If a piece (T,) exceeds the
    model's context, the window advances by half its length, and begins at multiples of ``grid``."""
    count, config = len(music.notes), model.config
    if config.layers * config.heads * count**2 > MOST:
        return None
    result = np.zeros((config.layers, config.heads, count, count), np.float16)
    context, device = model.context, next(iter(model.parameters())).device
    for begin, first, end in pieces(len(ids), context, max(grid, context // 2), grid):
        selected = np.flatnonzero((music.first > first) & (music.first <= end))
        if len(selected):
            tokens = mg.from_numpy(ids[begin:end].astype(np.int64))[None].to(device)
            weights = np.stack(viz.attention(model, tokens).weights())  # (L, H, T, T)
            rows = weights[:, :, music.first[selected] - 1 - begin]
            owner = music.owner[begin:end]
            places = np.argsort(owner, kind="stable")
            places = places[owner[places] >= 0]
            if len(places):
                owners, begins = np.unique(owner[places], return_index=True)
                result[:, :, selected[:, None], owners] = np.add.reduceat(rows[..., places], begins, axis=-1)
    return result


def motif(path: Path, language: Language, seconds: float | None) -> tuple[Ids, float]:
    """The beginning of a MIDI file as tokens, and the file's tempo. Notes that still sound at the end remain open."""
    piece, song = data.piece_in(path, language)
    ids = language.encode(piece)
    if seconds is not None:
        if language.kind == "chorales":
            ids = ids[: 1 + language.unit * max(1, round(ROWS * song.quarters(seconds)))]
        else:
            ids = ids[np.cumsum(shifts(ids)) <= STEPS * seconds]
    if not len(language.pitches(ids)):
        raise ValueError(f"{path} has no notes in its first {seconds:g} s: increase --seed-seconds")
    return ids, tempo_of(song)


def generate(options: argparse.Namespace) -> int:
    """The ``generate`` command. Returns the exit status."""
    check_endings(options.output, options.page)
    config = generation_config(options)
    trained = run.load(options.run, options.device)
    language, tempo, prompt = trained.language, TEMPO, np.array([trained.language.begin])
    if options.tempo is not None and language.kind != "chorales":
        raise ValueError("--tempo is only for chorales: performances are timed in seconds")
    if options.seed_seconds is not None and options.seed_file is None:
        raise ValueError("--seed-seconds limits the motif, so it needs --seed-file")
    if options.seed_file is not None:
        prompt, tempo = motif(options.seed_file, language, options.seed_seconds)
    tempo = tempo if options.tempo is None else options.tempo
    check_tempo(tempo, "--tempo")
    if len(prompt) > (context := trained.model.context):
        print(f"note: of the motif's {len(prompt):,} tokens, the model sees only the last {context:,}", file=sys.stderr)
    mg.manual_seed(options.seed)
    begin = time.perf_counter()
    with bar(options.seconds * options.batch, "writing", " s of music") as progress:
        args = options.seconds, config, options.batch, tempo
        sequences = compose(trained.model, language, prompt, *args, progress.update)
    spent = time.perf_counter() - begin
    count = sum(len(ids) - len(prompt) for ids in sequences)
    total = float(language.seconds(prompt, tempo).sum()) + options.seconds
    for number, ids in enumerate(sequences, 1):
        paths = [options.output, options.page]
        if options.batch > 1:  # out-1.mid, out-2.mid, …
            paths = [path and path.with_stem(f"{path.stem}-{number}") for path in paths]
        save(trained, ids, closed(language.decode(ids, tempo), total), tempo, *paths)
    print(f"{count:,} tokens, {count / spent:,.0f} a second", file=sys.stderr)
    return 0


def roll(options: argparse.Namespace) -> int:
    """Draw a MIDI file, with the attention of the model in ``--run`` if there is one. Returns the exit status."""
    output = options.output or Path(options.file.stem + ".html")
    if options.run is None:
        print(piano_roll(options.file).save(output))
        return 0
    trained = run.load(options.run, options.device)
    piece, song = data.piece_in(options.file, trained.language)
    tempo = tempo_of(song)
    ids = trained.language.encode(piece)
    music = trained.language.decode(ids, tempo)
    if not music.notes:
        raise ValueError(f"{options.file} has no notes that the model can read")
    print(page_of(trained, ids, music, tempo, options.file.stem).save(output))
    return 0
