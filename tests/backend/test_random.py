"""Generators: repeatable, restorable, PyTorch's stream (tests/functions/test_random.py), and masks."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import minigrad
from minigrad.backend.random import Generator, default_generator, manual_seed
from minigrad.backend.splitmix import drawn
from tests.support.cases import cases


def test_a_seed_repeats_everything() -> None:
    def draws(g: Generator) -> list[list[float]]:
        return [
            g.uniform((3,)).tolist(),
            g.normal((5,)).tolist(),
            g.normal((20,)).tolist(),
            g.permutation(6).tolist(),
            g.integers(-5, 5, (4,)).tolist(),
            g.keep_mask((9,), 0.5).tolist(),
            g.normal((1,)).tolist(),
        ]

    first, second = Generator().manual_seed(11), Generator().manual_seed(11)
    assert draws(first) == draws(second)
    assert draws(first) == draws(second), "and it goes on alike"
    assert draws(Generator().manual_seed(12)) != draws(Generator().manual_seed(11))
    assert first.initial_seed() == 11


def test_state() -> None:
    g = Generator().manual_seed(3)
    g.normal((3,))  # an odd number: one waits
    g.keep_mask((5,), 0.5)
    state = g.get_state()
    after = [g.normal((3,)).tolist(), g.uniform((2,)).tolist(), g.keep_mask((40,), 0.5).tolist()]
    other = Generator().set_state(state)
    assert [other.normal((3,)).tolist(), other.uniform((2,)).tolist(), other.keep_mask((40,), 0.5).tolist()] == after


def test_manual_seed_is_the_default_generators() -> None:
    assert manual_seed(5) is default_generator
    a = minigrad.rand(2).tolist()
    assert minigrad.manual_seed(5).initial_seed() == 5
    assert minigrad.rand(2).tolist() == a
    assert Generator().seed() != Generator().seed()


@cases("p", [0.0, 0.1, 0.5, 0.9, 1.0])
@cases("shape", [(), (1,), (101, 99), (0, 3)])
def test_masks(p: float, shape: tuple[int, ...]) -> None:
    keep = Generator().manual_seed(0).keep_mask(shape, p)
    assert (keep.shape, keep.dtype) == (shape, np.bool_)
    if keep.size > 1000:
        assert abs(keep.mean() - (1 - p)) < 0.01
    if p in (0.0, 1.0):
        assert (keep == (p == 0.0)).all()


def test_masks_are_splitmix() -> None:
    """The first words of the published generator from seed 0 and from 1234567."""
    assert drawn(0, 3).tolist() == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]
    assert drawn(1234567, 2).tolist() == [6457827717110365317, 3203168211198807973]


@cases("p", [0.1, 0.5])
def test_elements_of_masks_are_independent(p: float) -> None:
    """Neighbours, rows of usual lengths, masks of seeds side by side: as many fall together as chance has it."""
    n, q, bound = 1 << 20, round(p * 65536) / 65536, round(p * 65536)

    def dropped(seed: int) -> Any:
        return (drawn(seed, n // 4).view(np.uint16) < bound).astype(np.float64) - q

    first, width = dropped(0), 5 * q * (1 - q) / math.sqrt(n)  # five standard deviations
    assert abs(first.mean()) < 5 * math.sqrt(q * (1 - q) / n)
    for lag in (1, 2, 3, 4, 5, 8, 16, 63, 64, 65, 128, 384, 1024, 1536, 65536):
        assert abs((first[lag:] * first[:-lag]).mean()) < width * math.sqrt(n / (n - lag)), lag
    for seed in (1, 2, 3, 1 << 32, 1 << 63, 2**64 - 1):
        assert abs((first * dropped(seed)).mean()) < width, seed


def test_groups_of_mask_elements_are_as_frequent_as_chance_has_it() -> None:
    """Chi-square of the 256 patterns of eight neighbours at p = 0.5, and of the 65536 values behind an element."""
    values = drawn(99, 1 << 20).view(np.uint16)
    for found in (np.packbits(values < 32768), values):
        counts = np.bincount(found, minlength=int(found.max()) + 1)
        free, mean = len(counts) - 1, found.size / len(counts)
        chi2 = float(((counts - mean) ** 2).sum() / mean)
        assert abs(chi2 - free) < 5 * math.sqrt(2 * free)


def test_masks_and_numbers_are_streams_of_their_own() -> None:
    g, h = Generator().manual_seed(1), Generator().manual_seed(1)
    g.keep_mask((1000,), 0.5)
    assert g.uniform((3,)).tolist() == h.uniform((3,)).tolist()


def test_dtypes_and_ranges() -> None:
    g = Generator().manual_seed(0)
    for dtype in (np.float16, np.float32, np.float64):
        draw = g.uniform((1000,), dtype)
        assert draw.dtype == dtype
        assert draw.min() >= 0
        assert draw.max() <= 1
        assert g.normal((20,), dtype).dtype == g.normal((3,), dtype).dtype == dtype
    assert abs(g.normal((20_000,)).std() - 1) < 0.03
    whole = g.integers(-2, 3, (1000,))
    assert (whole.dtype, whole.min(), whole.max()) == (np.int64, -2, 2)
    assert g.integers(0, 1 << 40, (100,)).max() > 1 << 33
    assert sorted(g.permutation(50).tolist()) == list(range(50))
    assert g.permutation(0).tolist() == []
    with pytest.raises(ValueError, match="low < high"):
        g.integers(1, 1, (2,))


def test_a_generator_has_a_device() -> None:
    for device in ("cpu", minigrad.device("cpu")):
        generator = minigrad.Generator(device)
        assert generator.device == minigrad.device("cpu") and generator.device.type == "cpu"
        assert generator.clone_state().device.type == "cpu"
