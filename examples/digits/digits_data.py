"""1,797 handwritten digits of 8 × 8 pixels, which ship with the example; ATTRIBUTION.md names source and licence."""

from __future__ import annotations

import gzip
import hashlib
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, Any]

FILE = Path(__file__).parent / "digits.csv.gz"
SHA256 = "09f66e6debdee2cd2b5ae59e0d6abbb73fc2b0e0185d2e1957e9ebb51e23aa22"
SIDE, LEVELS, CLASSES = 8, 16, 10  # pixels hold whole numbers from 0, paper, to 16, ink


class Digits(NamedTuple):
    """Images (N, 8, 8), float32 from 0 to 1, and labels (N,), int64 from 0 to 9."""

    images: Array
    labels: Array


def load(file: Path = FILE) -> Digits:
    """All 1,797 digits, in the order of the file.

    Raises:
        FileNotFoundError: the file is not there. ValueError: it is not the one that ships with the example.
    """
    try:
        packed = file.read_bytes()
    except FileNotFoundError:
        raise FileNotFoundError(f"there are no digits at {file}: {_RESTORE}") from None
    digest = hashlib.sha256(packed).hexdigest()
    if digest != SHA256:
        raise ValueError(f"{file} is damaged: its SHA-256 is {digest}, not {SHA256}; {_RESTORE}")
    lines = gzip.decompress(packed).decode("ascii").split()
    table = np.array([line.split(",") for line in lines], dtype=np.float32)  # 64 pixels and a label a row
    images = (table[:, :-1] / LEVELS).reshape(-1, SIDE, SIDE)  # (N, 64) -> (N, 8, 8)
    return Digits(images, table[:, -1].astype(np.int64))


_RESTORE = "the file belongs to the repository, and `git checkout` brings it back"


def split(seed: int = 0) -> tuple[Digits, Digits]:
    """1,198 digits to learn from and 599, a third, held out; the seed chooses which.

    Raises:
        ValueError: the seed is negative. And as ``load`` does.
    """
    if seed < 0:
        raise ValueError(f"the seed must be 0 or more, not {seed}")
    digits = load()
    order = np.random.default_rng(seed).permutation(len(digits.labels))
    held_out, kept = np.split(order, [len(order) // 3])
    return Digits(digits.images[kept], digits.labels[kept]), Digits(digits.images[held_out], digits.labels[held_out])
