"""Sentence pairs from files: a folder, a table, or two aligned files, gzipped or not."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import compress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .lines import Lines, Texts

Numbers = np.ndarray[Any, np.dtype[Any]]  # of lines
_QUOTED = re.compile(r'"(?:[^"]|"")*"')  # a cell as spreadsheets write it
SPLITS = {"train": ("train", "training"), "validation": ("val", "valid", "validation", "dev"), "test": ("test",)}


class Pairs(NamedTuple):
    """Sentences of two languages, line by line, and the number of pairs left out for an empty side."""

    source: Sequence[str]
    target: Sequence[str]
    skipped: int = 0


def read_pairs(paths: list[Path], source: str, target: str, required: Sequence[str] = ("train",)) -> dict[str, Pairs]:
    """Read a corpus: its pairs by split, "train", and "validation" and "test" if they exist. Its sentences stay on
    disk, in files that must not change; see ``Lines``.

    Args:
        paths: one folder of files named SPLIT.LANGUAGE (train.en, val.de.gz, ...), or one table (.tsv:
            source, tab, target; quotes around a cell with commas or doubled quotes are left out), or two files, line
            by line.
        source, target: in a folder, the last part of the files' names, before ".gz".
        required: splits that a folder must have.

    Raises FileNotFoundError, ValueError: missing files, sides of different length, not UTF-8, or no pair.
    """
    for path in paths:
        if not path.exists():
            raise FileNotFoundError(f"there is no {path}")
    if len(paths) == 2:
        return {"train": _aligned(paths[0], paths[1])}
    if len(paths) != 1:
        raise ValueError(f"a corpus is one folder, one table or two aligned files; {len(paths)} paths were given")
    if paths[0].is_dir():
        return _folder(paths[0], source, target, required)
    lines = Lines(paths[0])
    return {"train": _kept(Side(lines, column=0), Side(lines, column=1), _full_rows(lines, paths[0]), str(paths[0]))}


def part(pairs: Pairs, places: Numbers) -> Pairs:
    """The pairs with some numbers, which must be ascending."""
    source, target = (
        side.part(places) if isinstance(side, Side) else [side[i] for i in places.tolist()]
        for side in (pairs.source, pairs.target)
    )
    return Pairs(source, target)


def _folder(folder: Path, source: str, target: str, required: Sequence[str]) -> dict[str, Pairs]:
    sides = {split: _find(folder, names, (source, target)) for split, names in SPLITS.items()}
    corpus = {split: _aligned(*files) for split, files in sides.items() if files}
    for split in required:
        if split not in corpus:
            name = SPLITS[split][0]
            files = ", ".join(sorted(p.name for p in folder.iterdir())[:12]) or "nothing"
            advice = "--source and --target are the last part of the files' names"
            missing = f"{folder} holds no {name}.{source} with a {name}.{target} (or .gz)"
            raise FileNotFoundError(f"{missing}: it holds {files}. {advice}")
    return corpus


def _find(folder: Path, names: tuple[str, ...], languages: tuple[str, str]) -> tuple[Path, Path] | None:
    """The files of a split: "val.en" and "val.de", or with longer names ("test_2016_flickr.de.gz")."""
    for name in names:
        ending = f".{languages[0]}"
        stems = {p.name.removesuffix(".gz").removesuffix(ending) for p in folder.glob(f"{name}_*{ending}*")}
        for stem in (name, *sorted(stem for stem in stems if "." not in stem)):
            names_of = ((f"{stem}.{language}", f"{stem}.{language}.gz") for language in languages)
            sides = [[folder / file for file in files if (folder / file).is_file()] for files in names_of]
            if all(sides):
                return sides[0][0], sides[1][0]
    return None


def _aligned(source: Path, target: Path) -> Pairs:
    left, right = Lines(source), Lines(target)
    if len(left) != len(right):
        counts = f"{source} has {len(left)} lines and {target} {len(right)}"
        raise ValueError(f"{counts}: line n of one must translate line n of the other")
    full = (bool(a.strip() and b.strip()) for a, b in zip(left, right, strict=True))
    return _kept(Side(left), Side(right), full, f"{source} and {target}")


def _full_rows(lines: Lines, path: Path) -> Iterator[bool]:
    """For each line of a table, whether both columns hold text."""
    for number, line in enumerate(lines, 1):
        source, tab, target = line.partition("\t")
        if line.strip() and not tab:
            advice = "each line is a source sentence, a tab, its translation; spreadsheets save tab-separated text"
            raise ValueError(f"{path}, line {number}: no tab; {advice}")
        if "\r" in line:
            raise ValueError(f"{path}, line {number}: a carriage return within; lines end in line feeds")
        yield all(cell.strip('" ') for cell in (source, target.partition("\t")[0]))


def _kept(left: Side, right: Side, full: Iterable[bool], where: str) -> Pairs:
    """The pairs whose sides both hold text."""
    mask = np.fromiter(full, np.bool_, len(left))
    places = np.flatnonzero(mask)
    if not len(places):
        raise ValueError(f"{where}: no sentence pairs ({len(mask)} lines, all with an empty side)")
    if len(places) == len(mask):
        return Pairs(left, right)
    return Pairs(left.part(places), right.part(places), len(mask) - len(places))


class Side(Texts):
    """One language of a corpus on disk: the lines with the numbers ``kept`` (n,), uint32, ascending (None: all), or a
    column of them; without spaces around them, and a spreadsheet's quotes."""

    def __init__(self, lines: Lines, kept: Numbers | None = None, column: int | None = None) -> None:
        self._lines, self._kept, self._column = lines, kept, column

    def part(self, places: Numbers) -> Side:
        """The texts with some numbers, which must be ascending."""
        kept = places if self._kept is None else self._kept[places]
        return Side(self._lines, kept.astype(np.uint32), self._column)

    def __len__(self) -> int:
        return len(self._lines if self._kept is None else self._kept)

    def at(self, index: int) -> str:
        return self._text(self._lines.at(index if self._kept is None else int(self._kept[index])))

    def __iter__(self) -> Iterator[str]:
        if self._kept is None:
            return map(self._text, self._lines)
        mask = np.zeros(len(self._lines), np.bool_)
        mask[self._kept] = True
        return map(self._text, compress(self._lines, mask))

    @property
    def digest(self) -> str:
        kept = b"" if self._kept is None else self._kept.tobytes()
        origin = f"{self._lines.digest} {self._column} ".encode()
        return hashlib.blake2b(origin + kept, digest_size=16).hexdigest()

    def _text(self, line: str) -> str:
        if self._column is None:
            return line.strip()
        text = line.split("\t", self._column + 1)[self._column].strip()
        if _QUOTED.fullmatch(text) and ("," in text or '""' in text[1:-1]):
            return text[1:-1].replace('""', '"').strip()
        return text
