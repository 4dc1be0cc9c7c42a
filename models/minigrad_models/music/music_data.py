"""Prepares the training music: reads pieces from files, holds out a validation part, and cuts batches of windows."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import minigrad as mg
from minigrad.utils.bar import watched

from ..programs.folder import command, data_set, find_data_set
from ..programs.validation import NONE, Batch, Ids, moved
from ..text.tokenizer import several
from .chorales import COMPOSED, SPLITS, VOICES, read_chorales
from .languages import LANGUAGES, Chorales, Language
from .midi import PITCHES, Note, Song, read_midi
from .music_settings import BACH, DataSettings

MIDI = (".mid", ".midi")
DEGREES = (0.0, -1.0, -0.5, 0.5, 1.0)  # of stretching; the first leaves a piece unchanged


@dataclass(frozen=True)
class Piece:
    """A training piece: its tokens for each stretch factor, starting with 1, and its lowest and highest pitch."""

    versions: tuple[Ids, ...]
    low: int
    high: int


@dataclass(frozen=True)
class Corpus:
    """The training pieces, and the tokens of the validation and test pieces."""

    name: str
    train: list[Piece]
    valid: list[Ids]
    test: list[Ids] = field(default_factory=list)
    ranges: list[list[int]] = field(default_factory=list)  # lowest and highest pitch of each voice of chorales
    is_held_out: bool = True  # if False, the validation pieces are the training pieces

    @property
    def digest(self) -> str:
        digest = hashlib.blake2b(digest_size=16)
        for part in ([piece.versions[0] for piece in self.train], self.valid, self.test):
            for ids in part:
                digest.update(len(ids).to_bytes(8, "little") + ids.astype("<i8").tobytes())
            digest.update(b"part")
        return digest.hexdigest()

    def part(self, name: str) -> list[Ids]:
        """The pieces in a part, as tokens. Raises ValueError if the part has no pieces."""
        if not (pieces := [piece.versions[0] for piece in self.train] if name == "train" else getattr(self, name)):
            raise ValueError(f"{self.name} has no part {name!r}")
        return list(pieces)


def read(settings: DataSettings) -> Corpus:
    """Read the music that the settings specify. Chorales come from a file with the parts train, valid and test, or from
    files with four voices. The end of each performance is used for validation."""
    language, paths = LANGUAGES[settings.kind], [Path(path) for path in settings.data]
    if settings.kind == "chorales" and settings.data in ((), ("composed",)):
        paths = [(not paths and find_data_set(*BACH)) or COMPOSED]
    elif not paths:
        paths = [data_set("midi", name="maestro", instead="give your own music: --data PATH")]
    about = paths[0].name if len(paths) == 1 else f"{len(paths)} paths"
    if paths == [COMPOSED]:
        about = f"pieces that a program composed, examples/chorales.py (Bach's: {command('data', 'jsb')})"
    corpus = (chorales if settings.kind == "chorales" else performances)(about, paths, settings)
    if not corpus.train or not corpus.valid:
        raise ValueError(f"{corpus.name} has too few {language.plural} for training and validation")
    return corpus


def chorales(about: str, paths: list[Path], settings: DataSettings) -> Corpus:
    """Read chorales from files; see ``read``."""
    language = Chorales()
    if len(paths) == 1 and paths[0].suffix.lower() in (".json", COMPOSED.suffix):
        grids = read_chorales(paths[0])
    else:
        pieces = songs(paths, language)
        part = settings.held_out  # at least one piece, if there is more than one
        border = len(pieces) - (min(max(1, round(part * len(pieces))), len(pieces) - 1) if part else 0)
        grids = {"train": pieces[:border], "valid": pieces[border:], "test": []}
    train, valid, test = ([language.encode(grid) for grid in grids[part]] for part in SPLITS)
    cells = np.concatenate([np.zeros((0, len(VOICES)), np.int64), *grids["train"]])
    ranges = []
    for voice in cells.T if (cells >= 0).any() else ():
        sounding = voice[voice >= 0] if (voice >= 0).any() else cells[cells >= 0]  # a silent voice gets the whole range
        ranges.append([int(sounding.min()), int(sounding.max())])
    return Corpus(about, [piece_of(language, (ids,)) for ids in train], valid or train, test, ranges, bool(valid))


def performances(about: str, paths: list[Path], settings: DataSettings) -> Corpus:
    """Read performances from files; see ``read``."""
    language = LANGUAGES["performance"]
    factors = [1 + settings.stretch * degree for degree in (DEGREES if settings.stretch else DEGREES[:1])]
    train, valid = [], []
    for notes in watched(songs(paths, language), "encoding"):
        begin, end = split(notes, settings.held_out)
        train.append(piece_of(language, tuple(language.encode(begin, factor) for factor in factors)))
        if end:
            valid.append(language.encode(end))
    return Corpus(about, train, valid or [piece.versions[0] for piece in train], is_held_out=bool(valid))


def split(notes: Sequence[Note], part: float) -> tuple[list[Note], list[Note]]:
    """Split notes in time: the second list holds the last ``part`` (a fraction) of the duration, and its times begin at
    0. Notes that sound across the split end there."""
    if not part:
        return list(notes), []
    cut = (1 - part) * max(note.end for note in notes)
    before = [note._replace(end=min(note.end, cut)) for note in notes if note.start < cut]
    return before, [note._replace(start=note.start - cut, end=note.end - cut) for note in notes if note.start >= cut]


def piece_of(language: Any, versions: tuple[Ids, ...]) -> Piece:
    """A piece with its pitch range."""
    pitches = language.pitches(versions[0])
    return Piece(versions, int(pitches.min(initial=127)), int(pitches.max(initial=0)))


def songs(paths: Any, language: Any) -> list[Any]:
    """The pieces in MIDI files and folders. Unreadable files in folders are skipped, with a note on stderr."""
    result = []
    for path in watched([Path(path) for path in several(paths)], "reading"):
        if not path.is_dir():
            result.append(piece_in(path, language)[0])
            continue
        files = sorted(file for file in path.rglob("*") if file.suffix.lower() in MIDI)
        if not files:
            raise FileNotFoundError(f"there are no .mid files in {path}")
        before = len(result)
        for file in watched(files, "reading"):
            try:
                result.append(piece_in(file, language)[0])
            except ValueError as error:
                print(f"note: skipped: {error}", file=sys.stderr)
        if len(result) == before:
            raise ValueError(f"none of the {len(files)} .mid files in {path} can be used for training")
    return result


def song_in(path: Path) -> Song:
    """The song in a MIDI file. Raises FileNotFoundError if it does not exist, ValueError if it has no notes."""
    song = read_midi(path)
    if not song.notes:
        raise ValueError(f"{path} has no notes")
    return song


def piece_in(path: Path, language: Any) -> tuple[Any, Song]:
    """The piece in a MIDI file, and its song. Raises the errors of ``song_in`` and of ``language.piece_of``."""
    song = song_in(path)
    try:
        return language.piece_of(song), song
    except ValueError as error:
        raise ValueError(str(error) if str(path) in str(error) else f"{path}: {error}") from None


@dataclass
class Windows:
    """The batches of a training run, each of B windows of T tokens. A batch depends only on the seed, the epoch and the
    batch's index, so a run can resume at any batch. An epoch contains each piece completely, in a random version, and
    transposed by -``transpose`` to ``transpose`` - 1 semitones, as far as MIDI's range allows. Each epoch cuts a piece
    at different multiples of ``grid``, so a window always begins at the same voice and part of a bar. The first window
    begins with the piece and may overlap with the second. The last window is moved back until it is full, as far as the
    grid allows. The rest of that window is padded with targets that the loss ignores. The last, incomplete batch of an
    epoch is dropped, unless it is the only batch. Raises ValueError if no piece has a note."""

    language: Language
    pieces: Sequence[Piece]
    window: int  # T
    batch: int  # B
    grid: int = 1
    transpose: int = 0
    seed: int = 0
    device: str = "cpu"

    def __post_init__(self) -> None:
        self.pieces = [piece for piece in self.pieces if len(piece.versions[0]) > 1]
        if not self.pieces:
            raise ValueError("the training data has no notes")
        lowest = np.array([max(-self.transpose, 1 - piece.low) for piece in self.pieces])
        highest = np.array([min(max(self.transpose - 1, 0), PITCHES - 1 - piece.high) for piece in self.pieces])
        self.least, self.most = np.minimum(lowest, 0), np.maximum(highest, 0)

    def epoch(self, number: int, start: int = 0) -> Iterator[Batch]:
        generator = np.random.default_rng([self.seed % 2**64, number])
        ids, lengths = self.music(generator)
        begins, ends = self.cuts(lengths, generator)
        order = generator.permutation(len(begins))
        for i in range(start, max(1, len(order) // self.batch)):
            rows = order[i * self.batch : (i + 1) * self.batch]
            yield self.rows(ids, begins[rows], ends[rows])

    def music(self, generator: np.random.Generator) -> tuple[Ids, Ids]:
        """All pieces in the versions of an epoch, concatenated, and the length of each."""
        shifts = generator.integers(self.least, self.most + 1)
        choices = generator.integers([len(piece.versions) for piece in self.pieces])
        versions = [piece.versions[i] for piece, i in zip(self.pieces, choices.tolist(), strict=True)]
        lengths = np.array([len(ids) for ids in versions])
        return self.language.moved(np.concatenate(versions), np.repeat(shifts, lengths)), lengths

    def cuts(self, lengths: Ids, generator: np.random.Generator) -> tuple[Ids, Ids]:
        """The start of each window, and the end of its piece."""
        offsets = self.grid * generator.integers(self.window // self.grid, size=len(lengths))
        begins, ends = [], []
        for place, length, offset in zip(np.cumsum(lengths) - lengths, lengths.tolist(), offsets.tolist(), strict=True):
            last = -(-max(0, length - 1 - self.window) // self.grid) * self.grid  # the earliest that reaches the end
            inside = np.unique(np.arange(offset - self.window, last + self.window, self.window).clip(0, last))
            begins.append(place + inside)
            ends.append(np.full(len(inside), place + length))
        return np.concatenate(begins), np.concatenate(ends)

    def rows(self, ids: Ids, begins: Ids, ends: Ids) -> Batch:
        """The windows that begin at given positions (B,), up to the ends of their pieces (B,)."""
        places = begins[:, None] + np.arange(self.window + 1)  # (B, T + 1)
        inside = places < ends[:, None]
        rows = np.where(inside, ids[np.minimum(places, len(ids) - 1)], 0).astype(np.int64)
        parts = rows[:, :-1].copy(), np.where(inside[:, 1:], rows[:, 1:], NONE)
        tokens, targets = moved(self.device, *map(mg.from_numpy, parts))
        return Batch(tokens, targets, int(inside[:, 1:].sum()))
