"""A composer of short chorales: ``python -m examples.chorales`` writes the pieces that ``minigrad music train`` learns.
It draws chords following the rules of harmony, searches for the best voices that the rules of counterpoint allow, and
adds passing notes. Pitches are MIDI numbers; pitch classes count semitones from the tonic."""

from __future__ import annotations

import gzip
import json
from functools import cache
from itertools import accumulate, chain, combinations, pairwise, product
from random import Random
from typing import Any

import numpy as np

from minigrad_models.music import chorales
from minigrad_models.music.chorales import ROWS, Grid

SIZES = {"train": 200, "valid": 25, "test": 25}
RANGES = ((60, 79), (55, 74), (48, 67), (40, 60))  # of the soprano, alto, tenor and bass
SOPRANO = np.arange(60, 80)
SCALES = ((0, 2, 4, 5, 7, 9, 11), (0, 2, 3, 5, 7, 8, 11))  # major, harmonic minor
CHORDS = {"I": (0, 0), "I6": (0, 1), "I64": (0, 2), "ii": (1, 0), "ii6": (1, 1), "IV": (3, 0), "V": (4, 0)}
CHORDS |= {"V6": (4, 1), "V7": (4, 0), "vi": (5, 0), "vii6": (6, 1)}  # the root's scale degree, the inversion
FOLLOWING = {"I": "I6 IV IV ii ii6 V V6 vi vii6", "I6": "I IV ii6 V vii6", "vi": "IV ii ii6 V"}  # tonic
FOLLOWING |= {"IV": "ii6 V V7 vii6 I64", "ii": "V V7 vii6 I64", "ii6": "V V7 I64", "I64": "V V7"}  # subdominant
FOLLOWING |= {"V": "I I6 vi V7", "V6": "I", "V7": "I I vi", "vii6": "I I6"}  # dominant
BARS = ((1, 1, 1, 1), (1, 1, 1, 1), (2, 1, 1), (1, 1, 2))  # beats of each chord
MELODY = np.array([1.4, 0, 0, 0.7, 0.9, 1.6, 9, 2.4])  # the cost of soprano steps and leaps, by semitones
Array = np.ndarray[Any, np.dtype[Any]]


def compose(seed: int) -> Grid:
    """A piece of four phrases, a b a c, as a grid (T, 4). The seed determines the piece; ``seed % 24`` is the key."""
    random, tonic, minor = Random(seed), seed % 12, seed // 12 % 2
    while True:
        a = phrase(random, "I", random.choice("IV"))
        b, c = (phrase(random, "I I6" if a[0][-1] == "V" else "I I6 IV V vi", "I") for _ in range(2))
        c[2][-1] += 99 * ((SOPRANO - tonic) % 12 > 0)  # the melody ends on the tonic
        chords, beats, wishes = (list(chain(*parts)) for parts in zip(a, b, a, c, strict=True))
        if (voices := search(chords, wishes, tonic, minor)) is not None:
            return with_eighths(voices, beats, tonic, minor, random)


def phrase(random: Random, starts: str, end: str) -> tuple[list[Any], ...]:
    """Draw two to four bars, from one of the chords ``starts`` to a cadence on ``end``. Returns L chords, their beats,
    and the cost of each soprano pitch (20,) at each chord, so that the soprano forms an arch."""
    chords, beats = [""], [0]
    while chords[-1] != end or (end == "I" and chords[-2] not in ("V", "V7")):
        beats = list(chain(*random.choices(BARS, k=random.choice((1, 1, 1, 2, 3))), (1, 1, 2)))
        chords = [random.choice(starts.split())]
        for begin in accumulate(beats[:-1]):
            chords.append(random.choice(FOLLOWING[chords[-1]].split()))
            if chords[-1] == "I64" and begin % 2:  # a cadential chord on a weak beat
                chords[-1] = "V"
    low, high = random.randint(65, 68), random.randint(72, 76)
    arch = [low + (high - low) * 4 * x * (1 - x) for x in np.linspace(0, 1, len(chords))]
    wishes = [[0.06 * (pitch - top) ** 2 + 1.5 * random.random() for pitch in SOPRANO] for top in arch]
    return chords, beats, [*np.array(wishes)]


@cache
def voicings(chord: str, tonic: int, minor: int) -> tuple[Array, Array]:
    """All voicings of a chord (N, 4), and their costs (N,). In minor, ii is a diminished triad, so it is inverted."""
    root, inversion = CHORDS["ii6" if minor and chord == "ii" else chord]
    tones = np.array([SCALES[minor][(root + i) % 7] for i in ((0, 2, 4, 6) if chord == "V7" else (0, 2, 4))])
    rows = np.array([*product(*([p for p in range(a, b + 1) if (p - tonic) % 12 in tones] for a, b in RANGES))])
    counts = ((rows[..., None] - tonic) % 12 == tones).sum(1)  # of each tone
    good = (counts[:, :2] > 0).all(1) & (counts[:, 2] >= inversion) & ((rows[:, 3] - tonic) % 12 == tones[inversion])
    good &= (counts[:, 3:] == 1).all(1) & (counts[:, tones == 11] == 1).all(1)  # the leading tone is not doubled
    costs = np.maximum(counts[:, 1] - 1, 0) * (chord != "vii6") + (counts[:, 2] == 0.0)
    return rows[good & allowed(rows, rows)], costs[good & allowed(rows, rows)]


def allowed(one: Array, other: Array) -> Array:
    """Whether voices (..., 4) may move to others, which must be close together, without crossings or parallels."""
    gaps = other[..., :-1] - other[..., 1:]
    good = ((gaps > 0) & (gaps <= (12, 12, 24))).all(-1)
    for i, j in combinations(range(4), 2):
        before, after = (one[..., i] - one[..., j]) % 12, (other[..., i] - other[..., j]) % 12
        good = good & ((before != after) | (after % 7 > 0) | (one == other)[..., [i, j]].any(-1))
    return np.asarray(good)


@cache
def steps(chord: str, following: str, tonic: int, minor: int) -> Array:
    """The cost of moving from each voicing of a chord to each voicing of the next (N, M); inf if a rule forbids it."""
    one, other = voicings(chord, tonic, minor)[0][:, None], voicings(following, tonic, minor)[0][None]
    move, before, after = other - one, (one - tonic) % 12, (other - tonic) % 12
    size = abs(move)
    wrong = (size > (7, 7, 7, 12)) | np.isin(size, (6, 10, 11))
    wrong |= (before == 11) & (move != 0) & (move != 1)  # the leading tone rises
    wrong |= (chord == "V7") & (before == 5) & (move != -1) & (move != -2)  # the seventh falls
    wrong |= np.isin(before, (3, 8)) & (after == 11)  # augmented and diminished intervals
    wrong[..., 1:] |= (other[..., :-1] < one[..., 1:]) | (other[..., 1:] > one[..., :-1])  # voices overlap
    hidden = (move[..., 0] * move[..., 3] > 0) & (size[..., 0] > 2) & ((other[..., 0] - other[..., 3]) % 12 % 7 == 0)
    costs = MELODY[np.minimum(size[..., 0], 7)] + size[..., 1:] @ [0.15, 0.15, 0.05]
    return np.where(wrong.any(-1) | hidden | ~allowed(one, other), np.inf, costs)


def search(chords: list[str], wishes: list[Array], tonic: int, minor: int) -> Array | None:
    """The cheapest voices for L chords (L, 4), by dynamic programming; None if the rules do not allow any."""
    rows, total = voicings(chords[0], tonic, minor)
    paths, total = rows[:, None], total + wishes[0][rows[:, 0] - SOPRANO[0]]
    for pair, wish in zip(pairwise(chords), wishes[1:], strict=True):
        costs = total[:, None] + steps(*pair, tonic, minor)
        rows, total = voicings(pair[1], tonic, minor)
        paths = np.concatenate((paths[costs.argmin(0)], rows[:, None]), 1)
        total = total + costs.min(0) + wish[rows[:, 0] - SOPRANO[0]]
    return paths[total.argmin()] if np.isfinite(total).any() else None


def with_eighths(voices: Array, beats: list[int], tonic: int, minor: int, random: Random) -> Grid:
    """The grid of chords (L, 4), with passing and auxiliary notes in the eighth before the next chord."""
    rows: list[Array] = []
    for row, following, length in zip(voices, [*voices[1:], voices[-1]], beats, strict=True):
        last = row
        for voice, (low, high) in random.sample([*enumerate(RANGES)], 4):
            one, other = int(row[voice]), int(following[voice])
            often = {0: 0.15 * ((one - tonic) % 12 != 11), 3: 0.6, 4: 0.6}.get(abs(other - one), 0)  # by semitones
            scale = (*SCALES[1], 9, 10) if minor and one != other else SCALES[minor]
            near = {*range(max(low, one - 2, other - 2), min(high, one + 2, other + 2) + 1)} - {one, other}
            if random.random() < often:
                trial = last.copy()
                trial[voice] = pitch = random.choice([p for p in sorted(near) if (p - tonic) % 12 in scale])
                clash = ((trial - pitch) % 12 % 10 == 1).any()  # a semitone or a major seventh, across octaves
                if allowed(row, trial) and allowed(trial, following) and not clash:
                    last = trial
        rows += [row] * (length * ROWS - 2) + [last] * 2
    return np.array([*rows[:-2], row, row])


def main() -> None:
    """Write the file of pieces that minigrad ships, in Coconet's format: split -> piece -> row -> four pitches."""
    seeds = iter(range(sum(SIZES.values())))
    splits = {split: [compose(next(seeds)).tolist() for _ in range(size)] for split, size in SIZES.items()}
    size = chorales.COMPOSED.write_bytes(gzip.compress(json.dumps(splits, separators=(",", ":")).encode(), mtime=0))
    print(f"{chorales.COMPOSED}: {sum(SIZES.values())} pieces, {size:,} bytes")


if __name__ == "__main__":
    main()
