"""1,797 handwritten digits of 8 × 8 pixels, shipped with the example. ATTRIBUTION.md names the source and licence."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, Any]

FILE = Path(__file__).parent / "digits.csv.gz"
SIDE, LEVELS, CLASSES = 8, 16, 10  # pixels are integers from 0 (paper) to 16 (ink)


class Digits(NamedTuple):
    """Images (N, 8, 8), float32 from 0 to 1, and labels (N,), int64 from 0 to 9."""

    images: Array
    labels: Array


def load() -> Digits:
    """All 1,797 digits, in file order."""
    lines = gzip.decompress(FILE.read_bytes()).decode("ascii").split()
    table = np.array([line.split(",") for line in lines], dtype=np.float32)  # 64 pixels and a label per row
    images = (table[:, :-1] / LEVELS).reshape(-1, SIDE, SIDE)  # (N, 64) -> (N, 8, 8)
    return Digits(images, table[:, -1].astype(np.int64))


def split(seed: int = 0) -> tuple[Digits, Digits]:
    """1,198 training digits, and 599 held-out digits (a third), selected by the seed, which is at least 0."""
    digits = load()
    order = np.random.default_rng(seed).permutation(len(digits.labels))
    held_out, train = np.split(order, [len(order) // 3])
    return Digits(digits.images[train], digits.labels[train]), Digits(digits.images[held_out], digits.labels[held_out])
