"""Small pieces of music for tests: chorales of a few bars that step through chords, and a pianist's scales."""

from typing import Any

import numpy as np

from minigrad_models.music.chorales import ROWS, spans
from minigrad_models.music.languages import EVENTS, name
from minigrad_models.music.midi import Note, ordered

CHORDS = np.array([[72, 67, 64, 48], [71, 67, 62, 43], [72, 69, 65, 41], [74, 67, 59, 55]])
SIZES = ("--layers", "1", "--d-model", "16", "--heads", "2", "--context", "32", "--cycle", "16", "--batch", "4")
SMALL = (*SIZES, "--warm-up", "3", "--evaluate-every", "10", "--sample", "2", "--transpose", "3", "--ema", "0.9")


def chorale(seed: int, steps: int = 24) -> np.ndarray:
    """Chords that each last a quarter note (steps, 4)."""
    chords = np.random.default_rng(seed).integers(len(CHORDS), size=-(-steps // 4))
    return np.repeat(CHORDS[chords], 4, axis=0)[:steps]


def scale(first: int, count: int = 40) -> list[Note]:
    """A pianist's scale, with two velocities."""
    return [Note(first + i % 12, 40 + 40 * (i % 2), 0.25 * i, 0.25 * i + 0.2) for i in range(count)]


def notes_of(grid: Any, tempo: float = 100.0, velocity: int = 80) -> list[Note]:
    """The notes of a grid (T, 4); the voice is the track."""
    row = 60 / tempo / ROWS
    return ordered(Note(s.pitch, velocity, s.first * row, s.end * row, s.voice) for s in spans(grid))


IDS = {name(i): i for i in range(EVENTS)}


def parse(text: str) -> Any:
    """The events in a text, separated by commas or spaces: (T,) int64."""
    return np.array([IDS[word] for word in text.replace(",", " ").split()], np.int64)
