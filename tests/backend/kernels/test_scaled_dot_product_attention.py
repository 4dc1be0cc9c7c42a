"""The CPU kernel ``scaled_dot_product_attention`` against its plain definition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.plain_checks import check, normal

pytestmark = pytest.mark.usefixtures("small_blocks")

NAME = "scaled_dot_product_attention"
SHAPES: list[tuple[tuple[int, ...], int, int]] = [  # (B, H, T, D), S, Dv
    ((1, 1, 1, 1), 1, 1),
    ((2, 3, 4, 5), 4, 5),
    ((1, 2, 5, 8), 7, 3),
    ((2, 2, 33, 16), 65, 16),
    ((2, 1, 0, 4), 3, 4),
    ((0, 2, 3, 4), 3, 4),
]


def qkv(shape: tuple[int, ...], source: int, width: int) -> list[Any]:
    b, h, _, d = shape
    return [normal(*shape), normal(b, h, source, d, seed=2), normal(b, h, source, width, seed=3)]


@pytest.mark.parametrize(("shape", "source", "width"), SHAPES, ids=str)
def test_without_mask(shape: tuple[int, ...], source: int, width: int) -> None:
    check(NAME, [*qkv(shape, source, width), None, None, False, 0.3, 0.0], [0, 1, 2])


@pytest.mark.parametrize(("shape", "source", "width"), SHAPES[:4], ids=str)
def test_causal(shape: tuple[int, ...], source: int, width: int) -> None:
    check(NAME, [*qkv(shape, source, width), None, None, True, 0.3, 0.0], [0, 1, 2])


@pytest.mark.parametrize("axes", [(1, 1, 1, 1), (0, 0, 1, 1), (1, 0, 0, 1), (1, 1, 1, 0), None], ids=str)
@pytest.mark.parametrize("kind", ["bool", "float"])
def test_masks_that_broadcast(axes: tuple[int, ...] | None, kind: str) -> None:
    full, source = (2, 3, 6, 4), 5
    shape = (
        (6, source)
        if axes is None
        else tuple(n if a else 1 for a, n in zip(axes, (2, 3, 6, source), strict=True))
    )
    mask = normal(*shape, seed=4)
    mask = mask > -0.5 if kind == "bool" else mask
    if kind == "bool" and axes == (1, 1, 1, 1):
        mask[0, 0, 2] = False  # a query that may attend to nothing
    wanted = [0, 1, 2] if kind == "bool" else [0, 1, 2, 3]
    check(NAME, [*qkv(full, source, 4), mask, None, False, 0.5, 0.0], wanted)


def test_mask_and_causal_together() -> None:
    mask = normal(2, 1, 1, 6, seed=4) > -0.8
    check(NAME, [*qkv((2, 2, 6, 4), 6, 4), mask, None, True, 0.5, 0.0], [0, 1, 2])


def test_dropout() -> None:
    keep = normal(2, 2, 6, 5, seed=5) > -0.8
    check(NAME, [*qkv((2, 2, 6, 4), 5, 4), None, keep, False, 0.5, 0.25], [0, 1, 2], layouts=False)


def test_scores_of_minus_infinity() -> None:
    mask = np.zeros((6, 5))
    mask[:, 3:] = -np.inf
    check(NAME, [*qkv((1, 2, 6, 4), 5, 4), mask, None, False, 0.5, 0.0], [0, 1, 2])
