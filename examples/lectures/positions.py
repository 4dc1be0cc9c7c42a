"""Sinusoidal positional encoding: as a table for a sentence of four words, and as a heat map."""

from __future__ import annotations

import math

import numpy as np

from minigrad_models.viz import positional_encoding

from ..lesson.blocks import Checked, Lesson, Matrix, Positions, Section, Text, number

WORDS = ("My", "friends", "like", "tomatoes")
D = 4
LENGTH, WIDTH = 100, 128  # of the heat map


def lesson() -> Lesson:
    """The worked example."""
    small, large = positional_encoding(len(WORDS), D, WORDS), positional_encoding(LENGTH, WIDTH)
    table = small.values

    def how(i: int, j: int) -> str:
        name, rate = "cos" if j % 2 else "sin", 10000 ** (j // 2 * 2 / D)
        value = number(float(table[i, j]), 4)
        return f"{name}({i} / 10000^({j // 2 * 2}/{D})) = {name}({i} / {rate:g}) = {value}"

    columns = [f"{'cos' if j % 2 else 'sin'}, 2i = {j // 2 * 2}" for j in range(D)]
    rows = [f"{i} {word}" for i, word in enumerate(WORDS)]
    return Lesson(
        "positions",
        "Sinusoidal positional encoding",
        "Attention does not see the order of words: it adds up what it finds, wherever that stands. So each "
        "position has a vector of its own, which is added to the embedding of the word that stands there "
        "(Vaswani et al. 2017, section 3.5).",
        (
            Section(
                "1. Four words, four dimensions",
                (
                    Text(
                        "PE(t, 2i) = sin(t / 10000^(2i/D)) and PE(t, 2i+1) = cos(t / 10000^(2i/D)), where t is "
                        "the position, from 0 on, and D the number of dimensions, here 4. Each pair of "
                        "dimensions is like the hand of a clock: the first fast, the last slow."
                    ),
                    Matrix("PE", table, rows, columns, 4, "signs", how, example=(1, 2)),
                ),
            ),
            Section(
                f"2. {LENGTH} positions, {WIDTH} dimensions",
                (
                    Text(
                        "Rows are positions, columns dimensions. At the left the waves are short, and "
                        "neighbours differ; at the right they are longer than any sentence."
                    ),
                    Positions(large),
                    Text(
                        "Moving on by k positions turns each hand by the same angle, wherever it stands. So how "
                        "alike two positions are (their dot product) depends on their distance alone, and a "
                        "model can learn to look so many words back."
                    ),
                ),
            ),
            Section("Checked", _checks(table, large.values)),
        ),
    )


def _checks(small: np.ndarray, large: np.ndarray) -> tuple[Checked, ...]:
    formula = [[(math.cos if j % 2 else math.sin)(t / 10000 ** (j // 2 * 2 / D)) for j in range(D)] for t in range(4)]
    products = large.astype(np.float64) @ large.T.astype(np.float64)  # (T, T)
    steps = [np.ptp(np.diagonal(products, k)) for k in range(0, LENGTH, 9)]
    return (
        Checked("the table is that of the formula", bool(np.abs(small - formula).max() < 1e-6)),
        Checked(
            "how alike two positions are (their dot product) depends on their distance alone", bool(max(steps) < 1e-3)
        ),
        Checked("no two of the positions have the same vector", len(np.unique(large, axis=0)) == LENGTH),
    )
