"""Reads sentence pairs from a folder, a table, or two aligned files, and reads the lines of a file. Files may be plain
or gzipped, and must be complete."""

from __future__ import annotations

import codecs
import gzip
import os
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from minigrad.serialization.source import is_endless, opened

LONGEST = 1 << 26  # bytes of a line
_MOST_UNPACKED, _MOST_RATIO = 1 << 26, 50  # bytes for any archive, plus bytes per archive byte; text has 3 to 10
_QUOTED = re.compile(r'"(?:[^"]|"")*"')  # a quoted cell of a spreadsheet
SPLITS = {"train": ("train", "training"), "validation": ("val", "valid", "validation", "dev"), "test": ("test",)}


def read_lines(path: Path) -> Iterator[str]:
    """The lines of a UTF-8 file, gzipped or not, without line endings (LF or CRLF) or a byte-order mark. Raises
    ValueError for a device or a pipe, bytes that are not UTF-8, NUL bytes, or a damaged archive, and OSError if the
    file cannot be read."""
    if is_endless(path):
        raise ValueError(f"{path} is a device or a pipe: give a file, which can be read more than once")
    with opened(path) as plain:
        size, most = os.fstat(plain.fileno()).st_size, 1 << 63
        file: BinaryIO | gzip.GzipFile = plain
        if path.suffix == ".gz":
            file, most = gzip.GzipFile(fileobj=plain), _MOST_UNPACKED + _MOST_RATIO * size
        number = total = 0
        try:
            while line := file.readline(LONGEST):
                if not size:
                    raise ValueError(f"{path} has no known size, and may be endless: copy it to a file")
                number, total = number + 1, total + len(line)
                if total > most:
                    raise ValueError(f"{path} unpacks to more than {most >> 20} MiB: if you trust it, gunzip it first")
                if len(line) == LONGEST:
                    raise ValueError(f"{path}, line {number} is longer than {LONGEST >> 20} MiB")
                yield decoded(line.removesuffix(b"\n"), number, str(path))
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise ValueError(f"{path}: not a complete gzip file ({error})") from None
        except OSError as error:  # from /proc
            raise OSError(error.errno, error.strerror, str(path)) from None


def decoded(line: bytes, number: int, where: str) -> str:
    """A line as text. Raises ValueError if it is not UTF-8 or contains NUL."""
    try:
        text = line.removeprefix(codecs.BOM_UTF8 if number == 1 else b"").decode()
        wrong = f"not text (NUL, the byte 0x00, at {line.index(0)})" if 0 in line else ""
    except UnicodeDecodeError as error:
        wrong = f"not UTF-8 (byte {error.object[error.start]:#04x} at {error.start})"
    if wrong:
        raise ValueError(f"{where}, line {number}: {wrong}. Save it as UTF-8 in an editor or spreadsheet")
    return text.rstrip("\r")


class Pairs(NamedTuple):
    """Sentences in two languages, line by line, and the number of pairs skipped because a side is empty."""

    source: list[str]
    target: list[str]
    skipped: int = 0


def read_pairs(paths: Any, source: str, target: str, required: Sequence[str] = ("train",)) -> dict[str, Pairs]:
    """Read a corpus from one or more paths. Returns pairs by split: "train", and "validation" and "test" if they exist.

    Args:
        paths: a folder of files named SPLIT.LANGUAGE (train.en, val.de.gz, ...), a table (.tsv: source, tab, target;
            quotes around a cell with commas or doubled quotes are removed), or two aligned files.
        source, target: in a folder, the last part of the file names, before ".gz".
        required: the splits that a folder must have.

    Raises FileNotFoundError for missing files, and ValueError for sides of different length, invalid text, or no pairs.
    """
    paths = [Path(path) for path in (paths if isinstance(paths, list | tuple) else [paths])]
    for path in paths:
        if not path.exists():
            raise FileNotFoundError(f"{path} does not exist")
    if len(paths) == 2:
        return {"train": _aligned(paths[0], paths[1])}
    if len(paths) != 1:
        raise ValueError(f"a corpus must be a folder, a table or two aligned files, not {len(paths)} paths")
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
            advice = "--source and --target give the last part of the file names"
            missing = f"{folder} has no {name}.{source} with a {name}.{target} (or .gz)"
            raise FileNotFoundError(f"{missing}: it has {files}. {advice}")
    return corpus


def _find(folder: Path, names: tuple[str, ...], languages: tuple[str, str]) -> tuple[Path, Path] | None:
    """The files of a split: "val.en" and "val.de", or files with longer names ("test_2016_flickr.de.gz")."""
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
        counts = f"{source} has {len(left)} lines, but {target} has {len(right)}"
        raise ValueError(f"{counts}: line n of one must translate line n of the other")
    return _kept(zip(left, right, strict=True), f"{source} and {target}")


def _table(path: Path) -> Pairs:
    rows = []
    for number, line in enumerate(read_lines(path), 1):
        source, tab, rest = line.partition("\t")
        if line.strip() and not tab:
            advice = "each line must be a source sentence, a tab and its translation (spreadsheets can save this)"
            raise ValueError(f"{path}, line {number}: no tab; {advice}")
        if "\r" in line:
            raise ValueError(f"{path}, line {number}: it contains a carriage return; lines must end in line feeds")
        rows.append((_cell(source), _cell(rest.partition("\t")[0])))
    return _kept(rows, str(path))


def _cell(text: str) -> str:
    """The text in a cell without a spreadsheet's quotes; "" if it has no other characters."""
    text = text.strip()
    if _QUOTED.fullmatch(text) and ("," in text or '""' in text[1:-1]):
        return text[1:-1].replace('""', '"').strip()
    return text if text.strip('" ') else ""


def _kept(rows: Iterable[tuple[str, str]], where: str) -> Pairs:
    """The pairs in which both sides have text."""
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
