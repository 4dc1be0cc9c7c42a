"""Generators reproduce and restore PyTorch's stream (tests/functions/test_random.py) and masks."""

import math
from typing import Any

import numpy as np

import minigrad
from minigrad.backend.random import Generator, default_generator, drawn, manual_seed
from tests.support.cases import cases


def test_a_seed_repeats_everything() -> None:
    def draws(g: Generator) -> list[Any]:
        numbers = g.uniform((3,)), g.normal((5,)), g.normal((20,)), g.permutation(6), g.integers(-5, 5, (4,))
        return [x.tolist() for x in (*numbers, g.keep_mask((9,), 0.5), g.normal((1,)))]

    first, second = Generator().manual_seed(11), Generator().manual_seed(11)
    assert draws(first) == draws(second)
    assert draws(first) == draws(second), "the streams continue alike"
    assert draws(Generator().manual_seed(12)) != draws(Generator().manual_seed(11))
    assert first.initial_seed() == 11
    first, second = Generator().manual_seed(1), Generator().manual_seed(1)
    first.keep_mask((1000,), 0.5)
    assert first.uniform((3,)).tolist() == second.uniform((3,)).tolist(), "masks have a separate stream"


def test_state() -> None:
    g = Generator().manual_seed(3)
    g.normal((3,))  # an odd number: one is cached
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
    """Adjacent elements, rows of usual lengths and masks of consecutive seeds coincide only as often as by chance."""
    n, q, bound = 1 << 20, round(p * 65536) / 65536, round(p * 65536)

    def dropped(seed: int) -> Any:
        return (drawn(seed, n // 4).view(np.uint16) < bound).astype(np.float64) - q

    first, width = dropped(0), 5 * q * (1 - q) / math.sqrt(n)  # five standard deviations
    assert abs(first.mean()) < 5 * math.sqrt(q * (1 - q) / n)
    for lag in (1, 2, 3, 4, 5, 8, 16, 63, 64, 65, 128, 384, 1024, 1536, 65536):
        assert abs((first[lag:] * first[:-lag]).mean()) < width * math.sqrt(n / (n - lag)), lag
    for seed in (1, 2, 3, 1 << 32, 1 << 63, 2**64 - 1):
        assert abs((first * dropped(seed)).mean()) < width, seed


def test_a_generator_has_a_device() -> None:
    for device in ("cpu", minigrad.device("cpu")):
        generator = minigrad.Generator(device)
        assert generator.device == minigrad.device("cpu") and generator.device.type == "cpu"
        assert generator.clone_state().device.type == "cpu"
