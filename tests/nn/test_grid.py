"""Sampling at places of a grid against PyTorch: modes, paddings, both orders, extreme places, errors."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import minigrad
import minigrad.nn.functional as F
from minigrad.autograd import gradcheck, gradgradcheck
from tests.support.both import agree
from tests.support.cases import cases, raises, rng
from tests.support.parity import ours

MODES, PADDINGS = ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection")
GRID = [row for row in itertools.product((2, 3), MODES, PADDINGS, (False, True)) if row[:2] != (3, "bicubic")]


@cases("axes, mode, padding, align_corners", GRID)
def test_grid_sample(axes: int, mode: str, padding: str, align_corners: bool, device: str) -> None:
    lengths, places = ((4, 5), (3, 4)) if axes == 2 else ((3, 1, 5), (2, 3, 2))
    grid = rng.uniform(-2.5, 2.5, (2, *places, axes))
    grid.reshape(-1)[:4] = [-1, 1, 0, 1e4]
    program = lambda t, x, g: t.nn.functional.grid_sample(x, g, mode, padding, align_corners).exp()
    agree(program, rng.standard_normal((2, 3, *lengths)), grid, device=device)


@cases("mode", MODES)
def test_second_order_and_float32(mode: str) -> None:
    x = ours(rng.standard_normal((1, 2, 3, 4)), True)
    grid = ours(rng.uniform(-0.9, 0.9, (1, 2, 2, 2)), True)
    sample = lambda x, grid: F.grid_sample(x, grid, mode, align_corners=False)
    assert gradcheck(sample, [x, grid]) and gradgradcheck(sample, [x, grid])
    slope = minigrad.autograd.grad(sample(x, grid).sum(), grid, create_graph=True)[0]
    assert slope.requires_grad  # by nearest, too, where it is 0
    assert sample(x.float(), grid.float()).dtype is minigrad.float32


def test_places_that_are_no_numbers(device: str) -> None:
    x = minigrad.ones(1, 1, 3, 3, device=device)
    grid = minigrad.tensor([[[[np.inf, 0.0], [0.0, -np.inf]]]], device=device).float()
    assert F.grid_sample(x, grid, "nearest", align_corners=False).tolist() == [[[[0, 0]]]]


@cases("align_corners, size", itertools.product([False, True], [(2, 1, 4, 5), (2, 1, 3, 4, 5)]))
def test_affine_grid(align_corners: bool, size: tuple[int, ...], device: str) -> None:
    n = len(size) - 2
    program = lambda t, theta: t.nn.functional.affine_grid(theta, size, align_corners).exp()
    agree(program, rng.standard_normal((2, n, n + 1)), device=device)


@cases("images, places", [((0, 1, 4, 5), (0, 2, 3, 2)), ((2, 3, 2, 2), (2, 0, 3, 2)), ((1, 0, 2, 2), (1, 2, 2, 2))])
def test_nothing_in_nothing_out(images: tuple[int, ...], places: tuple[int, ...], device: str) -> None:
    program = lambda t, x, g: t.nn.functional.grid_sample(x, g, align_corners=False)
    agree(program, np.ones(images), np.ones(places), device=device)


def test_the_identity_is_the_input() -> None:
    x = minigrad.randn(1, 2, 3, 4)
    with pytest.warns(UserWarning, match="align_corners"):
        grid = F.affine_grid(minigrad.eye(2, 3)[None], x.shape)
        np.testing.assert_allclose(F.grid_sample(x, grid).numpy(), x.numpy(), rtol=1e-5, atol=1e-6)


one = minigrad.ones


def test_errors() -> None:
    raises(ValueError, "expected mode to be", lambda: F.grid_sample(one(1, 1, 2, 2), one(1, 1, 1, 2), "cubic"))
    words = "expected padding_mode to be"
    raises(ValueError, words, lambda: F.grid_sample(one(1, 1, 2, 2), one(1, 1, 1, 2), padding_mode="same"))
    raises(RuntimeError, "but got", lambda: F.grid_sample(one(1, 1, 2, 2), one(2, 1, 1, 2), align_corners=True))
    raises(RuntimeError, "non-empty", lambda: F.grid_sample(one(1, 1, 0, 2), one(1, 1, 1, 2), align_corners=True))
    raises(
        RuntimeError,
        "only supports 4D",
        lambda: F.grid_sample(one(1, 1, 2, 2, 2), one(1, 1, 1, 1, 3), "bicubic", align_corners=True),
    )
    raises(
        RuntimeError, "same dtype", lambda: F.grid_sample(one(1, 1, 2, 2), one(1, 1, 1, 2).double(), align_corners=True)
    )
    raises(ValueError, "matrices of shape Nx2x3", lambda: F.affine_grid(one(1, 2, 2), (1, 1, 2, 2), True))
    raises(ValueError, "floating point type", lambda: F.affine_grid(one(1, 2, 3).long(), (1, 1, 2, 2), True))
    raises(NotImplementedError, "only supports 4D and 5D", lambda: F.affine_grid(one(1, 2, 3), (1, 1, 2), True))
    raises(ValueError, "non-zero, positive", lambda: F.affine_grid(one(1, 2, 3), (1, 1, 0, 2), True))
