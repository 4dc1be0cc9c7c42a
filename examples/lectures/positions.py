"""Sinusoidal positional encoding, as a table for a sentence of four words and as a heat map."""

from __future__ import annotations

import math

import numpy as np

from minigrad_models.viz import positional_encoding

from ..lesson.blocks import Lesson, Matrix, Positions, number
from ..lesson.markdown import Fields, told

WORDS = ("My", "friends", "like", "tomatoes")
D = 4
LENGTH, WIDTH = 100, 128  # of the heat map


def lesson() -> Lesson:
    """The worked example."""
    small, large = positional_encoding(len(WORDS), D, WORDS), positional_encoding(LENGTH, WIDTH)
    table = small.values

    def how(i: int, j: int) -> str:
        name, rate = "cos" if j % 2 else "sin", 10000 ** (j // 2 * 2 / D)
        value = number(table[i, j], 4)
        return f"{name}({i} / 10000^({j // 2 * 2}/{D})) = {name}({i} / {rate:g}) = {value}"

    columns = [f"{'cos' if j % 2 else 'sin'}, 2i = {j // 2 * 2}" for j in range(D)]
    rows = [f"{i} {word}" for i, word in enumerate(WORDS)]
    return told(
        globals(),
        table=Matrix("PE", table, rows, columns, 4, "signs", how, example=(1, 2)),
        heat_map=Positions(large),
        **_checks(table, large.values),
    )


def _checks(small: np.ndarray, large: np.ndarray) -> Fields:
    formula = [[(math.cos if j % 2 else math.sin)(t / 10000 ** (j // 2 * 2 / D)) for j in range(D)] for t in range(4)]
    products = large.astype(np.float64) @ large.T.astype(np.float64)  # (T, T)
    steps = [np.ptp(np.diagonal(products, k)) for k in range(0, LENGTH, 9)]
    return {
        "formula": np.abs(small - formula).max() < 1e-6,
        "by_distance": max(steps) < 1e-3,
        "distinct": len(np.unique(large, axis=0)) == LENGTH,
    }
