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

SPLITS = {"train": ("train", "training"), "validation": ("val", "valid", "validation", "dev"), "test": ("test",)}


class Pairs(NamedTuple):
    """Sentences of two languages, line by line, and the number of pairs left out for an empty side."""

    source: Sequence[str]
    target: Sequence[str]
    skipped: int = 0


def read_pairs(paths: list[Path], source: str, target: str, required: Sequence[str] = ("train",)) -> dict[str, Pairs]:
    """Read a corpus. Its sentences stay on disk, in files that must not change; see ``Lines``.

    Args:
        paths: one folder of files named SPLIT.LANGUAGE (train.en, val.de.gz, ...), or one table (.tsv:
            source, tab, target; a spreadsheet's quotes around cells are left out), or two files, line by line.
        source, target: in a folder, the last part of the files' names, before ".gz".
        required: splits that a folder must have.

    Returns:
        Split -> pairs: "train", and "validation" and "test" if they exist.

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
    lines, quotes = Lines(paths[0]), _Quotes()
    return {"train": _kept(lines, lines, quotes, _full_rows(lines, paths[0], quotes), str(paths[0]))}


def part(pairs: Pairs, places: np.ndarray[Any, np.dtype[np.intp]]) -> Pairs:
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
    return _kept(left, right, None, full, f"{source} and {target}")


class _Quotes:
    """Whether the cells of a table are in a spreadsheet's quotes: around the cell, and doubled within. Spreadsheets put
    all cells in quotes, or those with quotes or commas. Sentences that are quotations look alike, so the whole table
    decides: each cell with a quote must be a quoted one, and quotes within cells, or a comma in quoted cells only, must
    show that no person wrote them."""

    def __init__(self) -> None:
        self.quoted = self.plain = 0
        self.doubled = self.comma = self.plain_comma = self.broken = False

    def add(self, cell: str) -> None:
        """Look at a cell, without spaces around it."""
        if '"' not in cell:
            self.plain += 1
            self.plain_comma = self.plain_comma or "," in cell
        elif _QUOTED.fullmatch(cell):
            self.quoted += 1
            self.doubled = self.doubled or '""' in cell[1:-1]
            self.comma = self.comma or "," in cell
        else:
            self.broken = True

    def __bool__(self) -> bool:
        shows = self.doubled or (self.comma and not self.plain_comma)
        return bool(self.quoted) and not self.broken and (not self.plain or shows)


_QUOTED = re.compile(r'"(?:[^"]|"")*"')


def _full_rows(lines: Lines, path: Path, quotes: _Quotes) -> Iterator[bool]:
    """For each line of a table, whether both columns hold text; ``quotes`` looks at every cell."""
    for number, line in enumerate(lines, 1):
        if not line.strip():
            yield False
            continue
        source, tab, rest = line.partition("\t")
        if not tab:
            raise ValueError(_no_tab(path, number, line))
        if "\r" in rest and "\t" in rest.partition("\r")[2]:
            raise ValueError(f"{path}, line {number}: two rows, with a carriage return between them and no line feed")
        target, more, _ = rest.partition("\t")
        row = source.strip(), target.strip()
        if more and row[0][:1] == row[1][-1:] == '"' and row[0].count('"') % 2 == row[1].count('"') % 2 == 1:
            raise ValueError(f"{path}, line {number}: a quoted cell seems to hold a tab: remove it in the spreadsheet")
        for cell in row:
            quotes.add(cell)
        yield all(cell.strip('" ') for cell in row)


def _no_tab(path: Path, number: int, line: str) -> str:
    """The message for a line of a table without a tab, with a guess at what stands in its place."""
    advice = ""
    if mark := next((mark for mark in ",;" if mark in line), ""):
        advice = (
            f'. If its columns are separated by "{mark}" (CSV), save it as tab-separated text in the spreadsheet, or: '
            f"python -c \"import csv, sys; [print(*row[:2], sep='\\t') for row in csv.reader(sys.stdin, "
            f"delimiter='{mark}')]\" <{path} >tabs.tsv"
        )
    elif line.count('"') % 2:
        advice = ". A quoted cell seems to go on over several lines: take the line breaks out of the cells"
    elif "  " in line:
        advice = ". It has spaces in a row: did an editor put them in the tab's place?"
    return f"{path}, line {number}: no tab; each line is a source sentence, a tab, its translation{advice}"


def _kept(left: Lines, right: Lines, quotes: _Quotes | None, full: Iterable[bool], where: str) -> Pairs:
    """The pairs whose sides both hold text; ``quotes`` are those of a table, and None of two files."""
    mask = np.fromiter(full, np.bool_, len(left))
    places = np.flatnonzero(mask).astype(np.uint32)
    if not len(places):
        raise ValueError(f"{where}: no sentence pairs ({len(mask)} lines, all with an empty side)")
    kept = None if len(places) == len(mask) else places
    source, target = (None, None) if quotes is None else (0, 1)
    quoted = bool(quotes)
    return Pairs(Side(left, kept, source, quoted), Side(right, kept, target, quoted), len(mask) - len(places))


class Side(Texts):
    """One language of a corpus on disk: the lines with the numbers ``kept`` (n,), uint32, ascending (None: all), or a
    column of them, stripped; if ``quoted``, cells lose a spreadsheet's quotes."""

    def __init__(
        self, lines: Lines, kept: np.ndarray[Any, np.dtype[np.uint32]] | None, column: int | None, quoted: bool = False
    ) -> None:
        self._lines, self._kept, self._column, self._quoted = lines, kept, column, quoted

    def part(self, places: np.ndarray[Any, np.dtype[np.intp]]) -> Side:
        """The texts with some numbers, which must be ascending."""
        kept = places if self._kept is None else self._kept[places]
        return Side(self._lines, kept.astype(np.uint32), self._column, self._quoted)

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
        origin = f"{self._lines.digest} {self._column} {'quoted ' * self._quoted}".encode()
        return hashlib.blake2b(origin + kept, digest_size=16).hexdigest()

    def _text(self, line: str) -> str:
        text = (line if self._column is None else line.split("\t", self._column + 1)[self._column]).strip()
        return text[1:-1].replace('""', '"').strip() if self._quoted and text[:1] == '"' else text
