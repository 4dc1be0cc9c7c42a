"""``minigrad data``: downloads the published data sets in ``data.toml`` to the folder where programs look for them. A
file has the suffix .part until its SHA-256 hash is verified. The next attempt or call resumes a broken download."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
import time
import tomllib
from hashlib import sha256
from http.client import HTTPException
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple
from urllib.error import HTTPError
from urllib.request import Request, urlopen
from zipfile import BadZipFile, ZipFile

from minigrad.serialization.source import replaced
from minigrad.utils.bar import bar

from ..programs.folder import DATA, command

WAITS, PATIENCE = (1, 2, 4), 30.0  # seconds between attempts; the timeout in seconds
BLOCK, LARGEST = 1 << 16, 1 << 26  # bytes to read at once; the largest member of an archive, in bytes
SETS: dict[str, dict[str, Any]] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
BROKEN = OSError, HTTPException  # errors from a broken connection


class File(NamedTuple):
    """A file in a data set."""

    path: str  # in the folder of all sets
    address: str
    size: int  # bytes
    sha256: str
    members: tuple[str, ...] = ()  # files to extract from an archive

    def places(self, folder: Path) -> list[Path]:
        """The path of the file, or of each member of the archive, in the folder of all sets."""
        path = folder / self.path
        return [path.with_name(PurePosixPath(name).name) for name in self.members] or [path]


def add(p: argparse.ArgumentParser) -> None:
    """Add the options of ``data``."""
    p.add_argument("names", nargs="*", metavar="NAME", help=f"{', '.join(SETS)} (default: list them)")
    text = f"folder of all data sets (default: {DATA}, or data)"
    p.add_argument("--folder", type=Path, default=os.environ.get(DATA) or "data", metavar="DIR", help=text)


def run(options: argparse.Namespace) -> int:
    """List the data sets, or download some. Returns the exit status."""
    if unknown := [name for name in options.names if name not in SETS]:
        raise ValueError(f"unknown data set {unknown[0]!r}; choose from {', '.join(SETS)}")
    failed, folder = [], options.folder.resolve()
    is_default = any("{folder}" not in SETS[name]["about"] for name in options.names)  # programs find it by themselves
    for name in options.names or SETS:
        files = [File(**file) for file in SETS[name]["files"]]
        state = "there" if all(path.is_file() for file in files for path in file.places(folder)) else "-"
        size = f"{sum(file.size for file in files) / 1e6:.1f} MB"
        about = SETS[name]["about"].format(folder=shlex.quote(str(folder)))
        print(f"{name:<14}{size:>8}  {state:<6} {about} ({SETS[name]['licence']})", flush=True)
        for file in files if options.names else ():
            try:
                fetch(file, folder)
            except (*BROKEN, ValueError, KeyError, BadZipFile) as error:
                failed.append(f"{folder / file.path} ({error}); download it yourself from {file.address}")
    if failed:
        print(f"error: could not download {'; '.join(failed)}", file=sys.stderr)
    elif not options.names:
        print(f"{command('data', 'NAME')} downloads a data set to {folder}")
    elif is_default and Path(os.environ.get(DATA) or os.devnull).resolve() != folder:
        print(f"to let programs find it: export {DATA}={shlex.quote(str(folder))}")
    return 1 if failed else 0


def fetch(file: File, folder: Path) -> None:
    """Download a file unless it exists. Raises OSError or HTTPException if the connection breaks or a file cannot be
    written, and ValueError, KeyError or BadZipFile if the address or the folder has a different file."""
    path, places = folder / file.path, file.places(folder)
    part = path.with_name(f"{path.name}.part")
    if all(place.exists() for place in places):
        if not file.members and sha256(path.read_bytes()).hexdigest() != file.sha256:
            raise ValueError("a different file with this name exists: rename it")
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    for seconds in (*WAITS, None):
        try:
            download(file, part)
            break
        except BROKEN as error:
            if seconds is None or (isinstance(error, HTTPError) and error.code < 500):
                raise
            time.sleep(seconds)
    if sha256(part.read_bytes()).hexdigest() != file.sha256:
        part.unlink()
        raise ValueError("the file at this address has changed: its SHA-256 is different")
    if not file.members:
        part.replace(path)
        return
    with ZipFile(part) as archive:
        for member, place in zip(file.members, places, strict=True):
            if archive.getinfo(member).file_size > LARGEST:
                raise ValueError(f"{member} in the archive is larger than {LARGEST >> 20} MiB")
            with replaced(place) as temporary:
                Path(temporary).write_bytes(archive.read(member))
    part.unlink()


def download(file: File, part: Path) -> None:
    """Download the rest of a partial file, or all of it if the server lacks ranges. Raises the errors of ``fetch``."""
    there = part.stat().st_size if part.exists() else 0
    if there >= file.size:
        return  # the digest is checked later
    request = Request(file.address, headers={"User-Agent": "minigrad", "Range": f"bytes={there}-"})
    with urlopen(request, timeout=PATIENCE) as answer, bar(file.size, part.stem, "B") as progress:
        if not answer.headers.get("Content-Range", "").startswith(f"bytes {there}-"):
            there = 0
        announced = int(answer.headers.get("Content-Length") or file.size - there)
        if there + announced != file.size:
            raise ValueError(f"the file at this address has changed: {there + announced:,} bytes, not {file.size:,}")
        progress.update(there)
        with part.open("ab" if there else "wb") as out:
            while block := answer.read1(BLOCK):
                there += len(block)
                if there > file.size:
                    raise ValueError(f"the server sent more than the {file.size:,} bytes of this file")
                out.write(block)
                progress.update(len(block))
    if there < file.size:
        raise ConnectionError(f"the connection was lost after {there:,} of {file.size:,} bytes")
