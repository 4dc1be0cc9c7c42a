"""Sentence pairs from files: a folder, a table, or two aligned files, gzipped or not."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from .lines import read_lines

_QUOTED = re.compile(r'"(?:[^"]|"")*"')  # a cell as spreadsheets write it
SPLITS = {"train": ("train", "training"), "validation": ("val", "valid", "validation", "dev"), "test": ("test",)}


class Pairs(NamedTuple):
    """Sentences of two languages, line by line, and the number of pairs left out for an empty side."""

    source: list[str]
    target: list[str]
    skipped: int = 0


def read_pairs(paths: list[Path], source: str, target: str, required: Sequence[str] = ("train",)) -> dict[str, Pairs]:
    """Read a corpus: its pairs by split, "train", and "validation" and "test" if they exist.

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
    return {"train": _table(paths[0])}


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
    left, right = ([line.strip() for line in read_lines(path)] for path in (source, target))
    if len(left) != len(right):
        counts = f"{source} has {len(left)} lines and {target} {len(right)}"
        raise ValueError(f"{counts}: line n of one must translate line n of the other")
    return _kept(zip(left, right, strict=True), f"{source} and {target}")


def _table(path: Path) -> Pairs:
    rows = []
    for number, line in enumerate(read_lines(path), 1):
        source, tab, rest = line.partition("\t")
        if line.strip() and not tab:
            advice = "each line is a source sentence, a tab, its translation; spreadsheets save tab-separated text"
            raise ValueError(f"{path}, line {number}: no tab; {advice}")
        if "\r" in line:
            raise ValueError(f"{path}, line {number}: a carriage return within; lines end in line feeds")
        rows.append((_cell(source), _cell(rest.partition("\t")[0])))
    return _kept(rows, str(path))


def _cell(text: str) -> str:
    """A cell's text without a spreadsheet's quotes; "" if it has no other characters."""
    text = text.strip()
    if _QUOTED.fullmatch(text) and ("," in text or '""' in text[1:-1]):
        return text[1:-1].replace('""', '"').strip()
    return text if text.strip('" ') else ""


def _kept(rows: Iterable[tuple[str, str]], where: str) -> Pairs:
    """The pairs whose sides both hold text."""
    source, target, skipped = list[str](), list[str](), 0
    for a, b in rows:
        if a and b:
            source.append(a)
            target.append(b)
        else:
            skipped += 1
    if not source:
        raise ValueError(f"{where}: no sentence pairs ({skipped} lines, all with an empty side)")
    return Pairs(source, target, skipped)
