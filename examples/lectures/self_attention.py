"""Self-attention by hand on "I like cats": from three word vectors to three new vectors.

softmax(Q Kᵀ / √d) V (Vaswani et al. 2017, equation 1), with d = 2.

Q and K were derived as follows. Q Kᵀ is known from the lectures, to two digits. Its determinant is exactly 0, as
required for a product of width 2, so there are factors whose product is exact, not just rounded. Only one pair of
factors (up to the order of its dimensions) has a single digit after the decimal point and only numbers in [0, 6), so we
use this pair (tests search for it). We chose V and the matrices that produce Q, K and V.
"""

from __future__ import annotations

import math

import numpy as np

import minigrad as mg
from minigrad import Tensor
from minigrad.nn import functional as F

from ..lesson.blocks import Array, Equation, Lesson, Mark, Matrix, cellwise, number, softmax_told, times
from ..lesson.markdown import Fields, told

WORDS = ("I", "like", "cats")
SCALED = "Q Kᵀ / √2"
FIGURES = ((2.7, 2.4, 3.49), (8.82, 6.51, 2.8), (1.38, 1.69, 4.78))  # Q Kᵀ from the lectures
# Each word has its own feature, and all words share one.
EMBEDDINGS = ((1, 0, 0, 1), (0, 1, 0, 1), (0, 0, 1, 1))
W_QUERY = ((0.6, 0.7), (0.0, 3.4), (1.2, 0.0), (0.7, 0.1))
W_KEY = ((0.0, 2.1), (0.2, 1.4), (1.9, 0.0), (0.6, 0.3))
W_VALUE = ((0.5, 1.0), (2.5, 0.0), (0.0, 3.0), (0.5, 1.0))


def lesson() -> Lesson:
    """Equation 1, one operation at a time in float64: T = 3 words, embedding width D = 4, head width d = 2."""
    x, w_query, w_key, w_value = (mg.tensor(table, dtype=mg.float64) for table in (EMBEDDINGS, W_QUERY, W_KEY, W_VALUE))
    query, key, value = x @ w_query, x @ w_key, x @ w_value  # (T, d)
    scores = query @ key.T  # (T, T)
    scaled = scores / math.sqrt(query.shape[-1])
    weights = scaled.softmax(-1)
    divided, of_scores, of_scaled = cellwise("{} / √2 = {}", scores, scaled), Mark("Q Kᵀ", "cell"), Mark(SCALED, "row")
    how = softmax_told(scaled.numpy(), 2, 3)
    return told(
        globals(),
        projections=[
            times(
                Matrix("X", x, WORDS, (), 0, key=f"X for {letter}"), Matrix(f"W_{letter}", weight, digits=1), letter, 1
            )
            for letter, weight in (("Q", w_query), ("K", w_key), ("V", w_value))
        ],
        scores=times(
            Matrix("Q", query, WORDS, (), 1, key="Q of scores"),
            Matrix("Kᵀ", key.T, (), WORDS, 1),
            "Q Kᵀ",
            example=(1, 0),
        ),
        weights=Equation(
            Matrix(SCALED, scaled, WORDS, WORDS, 2, "", divided, (of_scores,), example=(1, 0)),
            "→",
            Matrix(f"softmax({SCALED})", weights, WORDS, WORDS, 3, "weights", how, (of_scaled,), example=(1, 0)),
        ),
        looks=_looks(weights.numpy()),
        mixture=times(
            Matrix("weights", weights, WORDS, WORDS, 3, "weights"),
            Matrix("V", value, WORDS, (), 1, key="V of output"),
            "output",
            example=(1, 0),
        ),
        **_checks(query, key, value, scores, weights),
    )


def _looks(weights: Array) -> str:
    """The word to which each word attends most, as text."""
    how = []
    for i, row in enumerate(weights):
        j = int(row.argmax())
        target = "itself" if i == j else f"“{WORDS[j]}”"
        how.append(f"“{WORDS[i]}” puts {number(row[j], 3)} on {target}")
    return ", ".join(how) + "."


def _checks(query: Tensor, key: Tensor, value: Tensor, scores: Tensor, weights: Tensor) -> Fields:
    q, k, v = (t[None, None] for t in (query, key, value))  # (B, H, T, d)
    return {
        "figures": np.abs(scores.numpy() - np.array(FIGURES)).max() < 1e-9,
        "sums": mg.allclose(weights.sum(-1), mg.ones(3, dtype=mg.float64)),
        "fused": mg.allclose(F.scaled_dot_product_attention(q, k, v)[0, 0], weights @ value, atol=1e-12),
    }
