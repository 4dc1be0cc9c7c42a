"""The digits that ship with the example."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from examples.digits import data


def test_all_digits() -> None:
    images, labels = data.load()
    assert images.shape == (1797, 8, 8) and images.dtype == np.float32
    assert images.min() == 0 and images.max() == 1 and np.array_equal(images * 16, np.round(images * 16))
    assert labels.shape == (1797,) and labels.dtype == np.int64
    of_uci = [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]  # its list for its test set
    assert np.bincount(labels).tolist() == of_uci
    inside, rim = images[labels == 0][:, 3:5, 3:5].mean(), images[labels == 0][:, 3:5, 2].mean()
    assert inside < 0.2 < 0.6 < rim  # a zero has a hole


def test_a_third_is_held_out() -> None:
    kept, held_out = data.split(3)
    assert (len(kept.labels), len(held_out.labels)) == (1198, 599)
    together = np.concatenate([kept.images, held_out.images]).reshape(1797, -1)
    assert np.array_equal(sorted(map(tuple, together)), sorted(map(tuple, data.load().images.reshape(1797, -1))))
    assert np.array_equal(data.split(3)[1].images, held_out.images)
    assert not np.array_equal(data.split(4)[1].labels, held_out.labels)
    with pytest.raises(ValueError, match="the seed must be 0 or more, not -1"):
        data.split(-1)


def test_a_file_that_is_missing_or_damaged(tmp_path: Path) -> None:
    file = tmp_path / "digits.csv.gz"
    with pytest.raises(FileNotFoundError, match=r"no digits at .*digits\.csv\.gz: .*`git checkout` brings it back"):
        data.load(file)
    rows = gzip.decompress(data.FILE.read_bytes())
    file.write_bytes(gzip.compress(rows.replace(b"16", b"15", 1)))
    with pytest.raises(ValueError, match=r"is damaged: its SHA-256 is [0-9a-f]{64}, not 09f66e6d"):
        data.load(file)
