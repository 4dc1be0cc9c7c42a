"""Reading a person's own sentence pairs: a folder, a table, or two aligned files, gzipped or not."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import NamedTuple

SPLITS = {
    "train": ("train", "training"),
    "validation": ("val", "valid", "validation", "dev"),
    "test": ("test",),
}


class Pairs(NamedTuple):
    """Sentences of two languages, line by line, and how many pairs were left out because a side was empty."""

    source: list[str]
    target: list[str]
    skipped: int = 0


def read_pairs(paths: list[Path], source: str, target: str) -> dict[str, Pairs]:
    """Read a corpus.

    Args:
        paths: one folder of files named SPLIT.LANGUAGE (train.en, val.de.gz, ...), or one table (.tsv:
            source, tab, target), or two files, line by line.
        source, target: in a folder, what the files' names end in, before ".gz".

    Returns:
        Split -> pairs: "train", and "validation" and "test" if they are there.

    Raises:
        FileNotFoundError, ValueError: nothing there, sides of different length, not UTF-8, no pair at all.
    """
    for path in paths:
        if not path.exists():
            raise FileNotFoundError(f"there is no {path}")
    if len(paths) == 2:
        return {"train": _aligned(paths[0], paths[1])}
    if len(paths) != 1:
        raise ValueError(
            f"a corpus is one folder, one table or two aligned files; {len(paths)} paths were given"
        )
    return _folder(paths[0], source, target) if paths[0].is_dir() else {"train": _table(paths[0])}


def _folder(folder: Path, source: str, target: str) -> dict[str, Pairs]:
    found = {}
    for split, names in SPLITS.items():
        sides = [_find(folder, names, language) for language in (source, target)]
        if all(sides):
            found[split] = _aligned(*(side for side in sides if side))
    if "train" not in found:
        files = ", ".join(sorted(p.name for p in folder.iterdir())[:12]) or "nothing"
        raise FileNotFoundError(
            f"{folder} holds no train.{source} with a train.{target} (or .gz): it holds {files}. "
            f"--source and --target are what the files' names end in"
        )
    return found


def _find(folder: Path, names: tuple[str, ...], language: str) -> Path | None:
    """The file of a split: "val.de", "val.de.gz", or with more in its name ("test_2016_flickr.de")."""
    for name in names:
        for ending in (f".{language}", f".{language}.gz"):
            exact = folder / f"{name}{ending}"
            longer = sorted(
                p for p in folder.glob(f"{name}_*{ending}") if "." not in p.name.removesuffix(ending)
            )
            for path in (exact, *longer):
                if path.is_file():
                    return path
    return None


def read_lines(path: Path) -> list[str]:
    """The lines of a UTF-8 file, gzipped or not, without their ends.

    Raises:
        ValueError: bytes that are not UTF-8, or a damaged archive; it names the line.
    """
    opened = gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb")  # noqa: SIM115 (just below)
    lines = []
    try:
        with opened as file:
            for number, raw in enumerate(file, 1):
                try:
                    lines.append(raw.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n"))
                except UnicodeDecodeError as error:
                    raise ValueError(
                        f"{path}, line {number}: not UTF-8 (byte {raw[error.start]:#04x} at {error.start}). "
                        f"Convert it first, for instance: iconv -f LATIN1 -t UTF-8"
                    ) from None
    except (gzip.BadGzipFile, EOFError) as error:
        raise ValueError(f"{path}: not a whole gzip file ({error})") from None
    return lines


def _aligned(source: Path, target: Path) -> Pairs:
    left, right = read_lines(source), read_lines(target)
    if len(left) != len(right):
        raise ValueError(
            f"{source} has {len(left)} lines and {target} {len(right)}: line n of one must translate line n "
            f"of the other"
        )
    return _kept(left, right, f"{source} and {target}")


def _table(path: Path) -> Pairs:
    left, right = [], []
    for number, line in enumerate(read_lines(path), 1):
        columns = line.split("\t")
        if len(columns) < 2 and line.strip():
            raise ValueError(
                f"{path}, line {number}: no tab; each line is a source sentence, a tab, its translation"
            )
        left.append(columns[0])
        right.append(columns[1] if len(columns) > 1 else "")
    return _kept(left, right, str(path))


def _kept(left: list[str], right: list[str], where: str) -> Pairs:
    """The pairs of which both sides hold something."""
    pairs = [(a.strip(), b.strip()) for a, b in zip(left, right, strict=True)]
    full = [(a, b) for a, b in pairs if a and b]
    if not full:
        raise ValueError(f"{where}: no sentence pairs ({len(pairs)} lines, all with an empty side)")
    return Pairs([a for a, _ in full], [b for _, b in full], len(pairs) - len(full))
