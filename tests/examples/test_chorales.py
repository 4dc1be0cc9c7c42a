"""The shipped chorales follow the rules of harmony and counterpoint, checked independently of the composer, and the
composer writes the same file again."""

import gzip
from functools import cache
from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
import pytest

from examples import chorales as composer
from minigrad_models.music import chorales
from minigrad_models.music.chorales import Grid, read_chorales

BEAT, BAR = 4, 16  # rows
RANGES = {"soprano": "C4 G5", "alto": "G3 D5", "tenor": "C3 G4", "bass": "E2 C4"}
# Each chord's semitones from the tonic, root first, by mode; and its function.
TRIADS = {
    "major": {"I": (0, 4, 7), "ii": (2, 5, 9), "IV": (5, 9, 0), "V": (7, 11, 2), "vi": (9, 0, 4), "vii": (11, 2, 5)},
    "minor": {"I": (0, 3, 7), "ii": (2, 5, 8), "IV": (5, 8, 0), "V": (7, 11, 2), "vi": (8, 0, 3), "vii": (11, 2, 5)},
}
FUNCTIONS = {"I": "T", "vi": "T", "ii": "S", "IV": "S", "V": "D", "vii": "D"}


@cache
def pieces() -> list[Grid]:
    return [piece for part in read_chorales(chorales.COMPOSED).values() for piece in part]


def key_of(piece: Grid) -> tuple[int, str]:
    """The tonic (the last bass note) and the mode."""
    tonic = int(piece[-1, 3]) % 12
    thirds = {int(pitch - tonic) % 12 for pitch in piece[-1]} & {3, 4}
    return tonic, {(3,): "minor", (4,): "major"}[tuple(thirds)]


def chords_of(piece: Grid) -> list[str]:
    """The chord of each beat: "I", "V7", or "I64" if its fifth is in the bass."""
    tonic, mode = key_of(piece)
    names = []
    for row in piece[::BEAT]:
        classes = {int(pitch - tonic) % 12 for pitch in row}
        seventh = classes - set(TRIADS[mode]["V"]) == {5}
        fitting = [
            name
            for name, (root, third, fifth) in TRIADS[mode].items()
            if {root, third} <= classes <= {root, third, fifth}
        ]
        (name,) = ["V7"] if seventh and {7, 11} <= classes else fitting
        names.append(name + "64" if name != "V7" and int(row[3] - tonic) % 12 == TRIADS[mode][name][2] else name)
    return names


def parallels(rows: Grid) -> list[tuple[int, int, int]]:
    """Rows and voices where two voices move in parallel fifths or octaves."""
    wrong = []
    for number, (one, other) in enumerate(pairwise(rows.tolist())):
        for i, j in combinations(range(4), 2):
            both_move = one[i] != other[i] and one[j] != other[j]
            if both_move and (one[i] - one[j]) % 12 == (other[i] - other[j]) % 12 in (0, 7):
                wrong.append((number, i, j))
    return wrong


def test_no_voices_move_in_parallel_fifths_or_octaves() -> None:
    """The test checks eighths and beats, and that mistakes are detected."""
    for piece in pieces():
        assert not parallels(piece) and not parallels(piece[::BEAT])
    assert parallels(np.array([[67, 64, 60, 48], [69, 65, 62, 50]])) == [(0, 0, 2), (0, 0, 3), (0, 2, 3)]


def test_voices_stay_in_their_ranges_do_not_cross_and_lie_close() -> None:
    names = ("C", "C#", "D", "Eb", "E", "F", "F#", "G", "Ab", "A", "Bb", "B")
    ends = [[12 * (int(end[-1]) + 1) + names.index(end[:-1]) for end in text.split()] for text in RANGES.values()]
    for piece in pieces():
        for voice, (low, high) in zip(piece.T, ends, strict=True):
            assert low <= voice.min() and voice.max() <= high
        gaps = piece[:, :-1] - piece[:, 1:]
        assert gaps.min() > 0 and gaps[:, :2].max() <= 12 and gaps.max() <= 24


def test_leaps_can_be_sung_and_the_melody_mostly_steps() -> None:
    """No tritone, no seventh, nothing above an octave; no augmented second in minor."""
    melody = []
    for piece in pieces():
        moves = abs(np.diff(piece, axis=0))
        assert moves.max() <= 12 and not np.isin(moves, (6, 10, 11)).any() and moves[:, :3].max() <= 7
        melody += moves[:, 0][moves[:, 0] > 0].tolist()
        classes = (piece - key_of(piece)[0]) % 12
        if key_of(piece)[1] == "minor":
            assert not (np.sort(np.stack([classes[:-1], classes[1:]]), 0) == [[[8]], [[11]]]).all(0).any()
    assert np.mean(np.array(melody) <= 2) > 0.75


def test_leading_tones_rise_and_sevenths_fall() -> None:
    """A leading tone on a beat rises to the tonic; the seventh of a dominant falls by a step."""
    count = 0
    for piece in pieces():
        tonic, chords = key_of(piece)[0], chords_of(piece)
        for voice in piece.T:
            changes = np.flatnonzero(np.diff(voice)) + 1
            for row in range(0, len(piece), BEAT):
                next_change = changes[changes > row][:1]
                move = int(voice[next_change[0]] - voice[row]) if len(next_change) else None
                if (voice[row] - tonic) % 12 == 11:
                    assert move == 1
                    count += 1
                elif chords[row // BEAT] == "V7" and (voice[row] - tonic) % 12 == 5:
                    assert move in (-1, -2)
                    count += 1
    assert count > 10 * len(pieces())


def test_harmony_moves_from_tonic_to_subdominant_to_dominant_and_back() -> None:
    """Each beat has a chord of the key; a six-four chord moves to the dominant; the end is V, I, with I on top."""
    for piece in pieces():
        chords, tonic = chords_of(piece), key_of(piece)[0]
        functions = ["D" if name == "I64" else FUNCTIONS[name.removesuffix("7").removesuffix("64")] for name in chords]
        assert {"TT", "TS", "TD", "SS", "SD", "DD", "DT"} >= {a + b for a, b in pairwise(functions)}
        assert all(name == "I64" for name in chords if name.endswith("64"))
        assert all(after in ("I64", "V", "V7") for name, after in pairwise(chords) if name == "I64")
        assert chords[0] == "I" and chords[-2:] == ["I", "I"] and chords[-3] in ("V", "V7")
        assert (piece[-1, 0] - tonic) % 12 == 0 and {"S", "D"} <= set(functions)


def test_rhythm_fits_a_chorale() -> None:
    """Bars are whole, chords change on beats, and eighths between beats are passing or auxiliary notes."""
    busy = []
    for piece in pieces():
        assert len(piece) % BAR == 0 and 8 <= len(piece) // BAR <= 16
        first, second, third, last = piece.reshape(-1, BEAT, 4).swapaxes(0, 1)
        assert (first == second).all() and (third == last).all()
        moves = third != first
        assert not moves[-1].any()
        into, out = abs(third - first), abs(first[1:] - third[:-1])
        assert into.max() <= 2 and out[moves[:-1]].max(initial=0) <= 2
        busy.append(moves.any(1).mean())
    assert 0.2 < np.mean(busy) < 0.6


def test_pieces_are_in_all_keys_and_distinct() -> None:
    parts = read_chorales(chorales.COMPOSED)
    assert {name: len(part) for name, part in parts.items()} == {"train": 200, "valid": 25, "test": 25}
    assert len({key_of(piece) for piece in parts["train"]}) == len({key_of(piece) for piece in parts["valid"]}) == 24
    assert len({(piece - piece[0, 3]).tobytes() for piece in pieces()}) == 250


def test_the_command_writes_the_shipped_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shipped, path = chorales.COMPOSED.read_bytes(), tmp_path / "composed.json.gz"
    monkeypatch.setattr(chorales, "COMPOSED", path)
    composer.main()
    assert gzip.decompress(path.read_bytes()) == gzip.decompress(shipped)
    assert path.read_bytes()[4:8] == shipped[4:8] == bytes(4), "no time"
    assert len(shipped) <= 150_000
