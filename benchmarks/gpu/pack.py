"""Texts, and packages that the machine lacks, for a machine without a network, in a folder that git ignores."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "carry"
TEXTS = ("tinyshakespeare/input.txt", "multi30k")  # of MINIGRAD_DATA
SUFFIXES = {".txt", ".en", ".de", ".gz"}
MOST_BYTES = 60 << 20
GLIBC = ("2_28", "2_27", "2_17")  # of the wheels: a system of 2019 or later has it


def gather(missing: list[str], python: str) -> int:
    """Fill ``carry/`` again. Returns the exit status.

    Args:
        missing: packages whose wheels pip fetches, without their dependencies. python: the machine's version.
    """
    if data().resolve().is_relative_to(FOLDER.resolve()):
        print(f"error: the texts in {data()} would be deleted: set MINIGRAD_DATA to another folder", file=sys.stderr)
        return 1
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir()
    counts = [_copy(data() / text, FOLDER / text) for text in TEXTS if (data() / text).exists()]
    if missing and (status := subprocess.run(_download(missing, python), check=False).returncode):
        return status
    files = [path for path in FOLDER.rglob("*") if path.is_file()]
    size = sum(path.stat().st_size for path in files)
    print(f"{FOLDER}: {len(files)} files, {size / 2**20:.1f} MiB; {sum(counts)} of them are texts")
    if not any(counts):
        print("no texts: set MINIGRAD_DATA to carry some; without them the shipped corpus is learned")
    if size > MOST_BYTES:
        print(f"error: more than {MOST_BYTES >> 20} MiB", file=sys.stderr)
    return int(size > MOST_BYTES)


def data() -> Path:
    """The folder of texts."""
    return Path(os.environ.get("MINIGRAD_DATA", "data"))


def _copy(source: Path, target: Path) -> int:
    """Copy a text, or those of a folder. Returns how many."""
    files = [source] if source.is_file() else [path for path in source.iterdir() if path.suffix in SUFFIXES]
    for path in files:
        place = target if source.is_file() else target / path.name
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, place)
    return len(files)


def _download(packages: list[str], python: str) -> list[str]:
    platforms = [word for version in GLIBC for word in ("--platform", f"manylinux_{version}_x86_64")]
    only = ["--only-binary=:all:", "--no-deps", "--implementation", "cp", "--python-version", python]
    where = ["--platform", "manylinux2014_x86_64", *platforms, "--dest", str(FOLDER / "wheels")]
    return [sys.executable, "-m", "pip", "download", "--quiet", *only, *where, *packages]


def install(site: Path) -> Path | None:
    """Install the carried wheels into a folder. Returns it, or None if there are none or pip fails."""
    wheels = [str(path) for path in sorted((FOLDER / "wheels").glob("*.whl"))]
    if not wheels:
        return None
    how = ["--quiet", "--no-index", "--no-deps", "--no-compile", "--target", str(site)]
    done = subprocess.run([sys.executable, "-m", "pip", "install", *how, *wheels], check=False)
    return site if done.returncode == 0 else None
