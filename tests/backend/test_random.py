"""Generators: repeatable, restorable, PyTorch's stream (tests/functions/test_creation.py), and masks."""

from __future__ import annotations

import numpy as np
import pytest

import minigrad
from minigrad.backend.random import Generator, default_generator, manual_seed


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


@pytest.mark.parametrize("p", [0.0, 0.1, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("shape", [(), (1,), (101, 99), (0, 3)])
def test_masks(p: float, shape: tuple[int, ...]) -> None:
    keep = Generator().manual_seed(0).keep_mask(shape, p)
    assert (keep.shape, keep.dtype) == (shape, np.bool_)
    if keep.size > 1000:
        assert abs(keep.mean() - (1 - p)) < 0.01
    if p in (0.0, 1.0):
        assert (keep == (p == 0.0)).all()


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
