"""Harmonises a melody with three lower voices, using a particle filter.

The model generates a chorale from left to right, so it cannot look ahead in the melody. Sequential Monte Carlo
compensates for this by generating K chorales in parallel. Their soprano tokens are fixed to the melody, and alto, tenor
and bass are sampled from the model. Each chorale has a weight: the product of the model's probabilities of the melody
notes. When the effective sample size of the weights, (Σw)² / Σw², falls below K / 2, chorales are resampled in
proportion to their weights: chorales that fit the melody well are continued several times, and others are dropped
(Doucet and Johansen 2009, "A Tutorial on Particle Filtering and Smoothing: Fifteen years later", sections 3.4 and 3.5;
Lew et al. 2023, arXiv 2306.03081, for language models). The result is one of the K, sampled in proportion to their
weights; as K grows, its distribution approaches p(alto, tenor, bass | the whole melody).

Shapes: K particles, T steps, V vocabulary.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import minigrad as mg
from minigrad import Tensor
from minigrad.utils.bar import bar

from ..generation.beam_search import Decoder
from ..generation.generate import strides
from ..programs.validation import Ids
from . import files, music_run as run
from .chorales import ROWS, VOICES, grid_of, spans
from .languages import SILENCE, Chorales, Written
from .midi import PITCHES, Note, Song
from .music_data import song_in
from .music_run import Restricted

BAR = 16  # steps
SOPRANO, ALTO = 0, 1  # the melody, and the first voice to generate


@mg.no_grad()
def particle_filter(
    decoder: Decoder, melody: Ids, voices: int = len(VOICES), temperature: float = 1.0, progress: Any = None
) -> tuple[Tensor, Ids]:
    """Sample ``voices`` - 1 tokens after each note of a melody (T,) for the K rows of a decoder, so that they fit the
    rest of the melody as well. The temperature applies to the melody and to sampling. Sampling uses the generator of
    ``minigrad.manual_seed``. ``progress`` is called with 1 after each step. Returns the sequences (K, 1 + ``voices`` T)
    and the logarithms of their weights (K,)."""
    tokens = decoder.start
    count = len(tokens)
    log_weights = np.zeros(count)

    def log_probabilities() -> Tensor:  # of the next token (K, V)
        return (decoder.next_logits(tokens) / temperature).log_softmax(-1)

    for token in melody.tolist():
        log_weights = log_weights + log_probabilities()[:, token].numpy().astype(np.float64)
        tokens = mg.cat((tokens, mg.full((count, 1), token, dtype=mg.int64, device=tokens.device)), 1)
        if effective(log_weights) < count / 2:
            rows = mg.from_numpy(resampled(log_weights, count)).to(tokens.device)
            tokens, log_weights = tokens[rows], np.zeros(count)
            decoder.reorder(rows, 1)
        for _ in range(1, voices):
            tokens = mg.cat((tokens, mg.multinomial(log_probabilities().exp(), 1)), 1)
        if progress is not None:
            progress(1)
    return tokens, log_weights


def effective(log_weights: Ids) -> float:
    """The effective sample size, from 1 to K."""
    weights = np.exp(log_weights - log_weights.max())
    return float(weights.sum() ** 2 / (weights**2).sum())


def resampled(log_weights: Ids, count: int) -> Ids:
    """Sample ``count`` rows in proportion to weights, by systematic resampling: equal steps after a random start."""
    weights = np.exp(log_weights - log_weights.max())
    edges = np.cumsum(weights / weights.sum())
    places = (float(mg.rand(1).item()) + np.arange(count)) / count
    return np.minimum(np.searchsorted(edges, places, side="right"), len(weights) - 1).astype(np.int64)


class Melody(NamedTuple):
    """A melody on the grid, starting from its first bar with a note."""

    song: Song  # its source
    notes: list[Note]
    cells: Ids  # the pitch of each step (T,), 0 for silence
    begin: int  # the song's step at the start of ``cells``

    def step(self, seconds: float) -> int:
        """The step of ``cells`` nearest to a time."""
        return round(ROWS * self.song.quarters(seconds)) - self.begin


def melody_of(path: Path) -> Melody:
    """The melody in a MIDI file: all notes that are the highest when they begin."""
    song = song_in(path)
    highest = grid_of(song, melody=True)[:, SOPRANO]
    notes = [n for n in song.notes if highest[round(ROWS * song.quarters(n.start))] == n.pitch]
    cells = grid_of(Song(tuple(notes), song.tempos), melody=True)[:, SOPRANO]
    begin = int(np.argmax(cells >= 0)) // BAR * BAR
    return Melody(song, [note._replace(track=SOPRANO) for note in notes], np.maximum(cells[begin:], SILENCE), begin)


def into_range(cells: Ids, low: int, high: int) -> int:
    """The smallest transposition, in semitones, that moves pitches into a range, or as near to it as possible."""
    pitches = cells[cells > SILENCE]
    least, most = int(pitches.min()), int(pitches.max())

    def cost(semitones: int) -> tuple[int, int]:
        return max(0, low - least - semitones, most + semitones - high), abs(semitones)

    return min(range(1 - least, PITCHES - most), key=cost)


def harmonise(options: argparse.Namespace) -> int:
    """Harmonise a melody with three lower voices. Returns the exit status."""
    files.check_endings(options.output, options.page)
    trained = run.load(options.run, options.device)
    if trained.language.kind != "chorales":
        about = f"{trained.file} is a model of {trained.language.plural}"
        raise ValueError(f"harmonise needs a chorale model, but {about}: choose another with --run")
    melody = melody_of(options.melody)
    shift = into_range(melody.cells, *trained.ranges[0]) if trained.ranges else 0
    if shift:
        print(
            f"note: the model reads the melody {abs(shift)} semitones {'higher' if shift > 0 else 'lower'}, in the "
            "soprano range of its training data; the output is in the melody's key",
            file=sys.stderr,
        )
    language, cells = Chorales(), np.where(melody.cells > SILENCE, melody.cells + shift, SILENCE)
    mg.manual_seed(options.seed)
    model = Restricted(trained.model, language, 0)
    decoder = model.begin([[language.begin]] * options.particles, **strides(trained.model, 0))
    with bar(len(cells), "harmonising", " steps") as progress:
        tokens, weights = particle_filter(decoder, cells, len(VOICES), options.temperature, progress.update)
    ids = tokens[int(resampled(weights, 1)[0])].numpy()
    music = written_with(melody, language.grid(ids), shift, len(ids))
    files.save(trained, ids, music, files.tempo_of(melody.song), options.output, options.page)
    return 0


def written_with(melody: Melody, grid: Ids, shift: int, count: int) -> Written:
    """Combine the melody with the alto, tenor and bass of a grid, transposed down by ``shift`` semitones to the
    melody's key and timed by the tempos of its file. ``count`` is the number of tokens in the chorale."""
    velocity = round(sum(note.velocity for note in melody.notes) / len(melody.notes))
    notes = [*melody.notes]
    for voice, first, end, pitch in spans(grid):
        if voice >= ALTO:
            start, stop = melody.song.seconds_at((melody.begin + np.array([first, end])) / ROWS).tolist()
            pitch -= shift
            pitch = pitch % 12 if pitch < 0 else min(pitch, 127 - (127 - pitch) % 12)  # by octaves into MIDI's range
            notes.append(Note(pitch, velocity, start, stop, voice))
    notes.sort(key=lambda note: (melody.step(note.start), note.track))
    steps = np.array([melody.step(note.start) for note in notes])
    firsts = 1 + len(VOICES) * steps + np.array([note.track for note in notes])
    owner = np.full(count, -1, np.int64)
    for number, note in enumerate(notes):
        stop = max(melody.step(note.end), int(steps[number]) + 1)
        owner[firsts[number] : 1 + len(VOICES) * stop : len(VOICES)] = number  # the next note overwrites the rest
    return Written(notes, firsts, owner)
