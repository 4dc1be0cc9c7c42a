"""Loops that show how loops are called. The test that uses them compiles them (``compiled``)."""

from __future__ import annotations  # compiled loops read them as text

import marshal
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from minigrad.backend.compiled import store
from minigrad.backend.compiled.functions import at, axes, length, step
from minigrad.backend.compiled.loops import Cube, Doubles, Flags, Flat, Indices, Rows, Strided, Words, loop

NAME = __name__.rpartition(".")[2]
ROOT = Path(__file__).parents[2]
_FOLDER = TemporaryDirectory()


@loop
def mark(start: int, stop: int, thread: int, times: Indices, who: Indices, first: Indices) -> None:
    """How often each element was processed, by which thread, and where its block begins."""
    for i in range(start, stop):
        times[i] += 1
        who[i] = thread
        first[i] = start


@loop
def add_up(start: int, stop: int, x: Flat, grain: int, sums: Flat) -> None:
    """The sum of each block."""
    total = np.float32(0)
    for i in range(start, stop):
        total += x[i]
    sums[start // grain] = total


@loop
def see(
    start: int,
    stop: int,
    flat: Flat,
    rows: Rows,
    cube: Cube,
    flags: Flags,
    indices: Indices,
    words: Words,
    doubles: Doubles,
    strided: Strided,
    whole: int,
    real: float,
    out: Doubles,
) -> None:
    """The arguments that arrive: the lengths and the last number of each array."""
    out[0] = flat.size
    out[1] = flat[flat.size - 1] if flat.size else 0
    out[2], out[3] = rows.shape[0], rows.shape[1]
    out[4] = rows[rows.shape[0] - 1, rows.shape[1] - 1] if rows.size else 0
    out[5], out[6], out[7] = cube.shape[0], cube.shape[1], cube.shape[2]
    out[8] = cube[cube.shape[0] - 1, cube.shape[1] - 1, cube.shape[2] - 1] if cube.size else 0
    out[9], out[10], out[11], out[12] = flags.size, indices.size, words.size, doubles.size
    out[13] = flags[flags.size - 1] if flags.size else 0
    out[14] = indices[indices.size - 1] if indices.size else 0
    out[15] = words[words.size - 1] if words.size else 0
    out[16] = doubles[doubles.size - 1] if doubles.size else 0
    out[17], out[18], out[19], out[20] = axes(strided), length(strided, 0), length(strided, -1), step(strided, -1)
    out[21] = 1 if at(strided) != 0 else 0
    out[22], out[23] = whole, real


@loop
def work(start: int, stop: int, thread: int, rounds: int, who: Indices, out: Doubles) -> None:
    """Do much work, and record the thread."""
    for i in range(start, stop):
        total = 0.0
        for j in range(rounds):
            total += np.sqrt(total + j)
        who[i], out[i] = thread, total


@cache
def compiled() -> Path:
    """The file of these loops, compiled in another process like the library's loops; or by the test that started this
    process."""
    path = Path(os.environ.get("COMPILED_PROBE") or Path(_FOLDER.name, NAME))
    if not path.exists():
        program = (
            f"import sys; from tests.support import {NAME}; from minigrad.backend.compiled import build; "
            f"sys.modules['minigrad.backend.{NAME}'] = {NAME}; build.main([{str(path.parent)!r}, {NAME!r}])"
        )
        subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True)
    library = store.Library()
    library.add([NAME], marshal.loads(path.read_bytes()))
    for each in (mark, add_up, see, work):
        each.address = library.addresses[each.name]
    return path
