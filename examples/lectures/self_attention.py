"""Self-attention by hand on "I like cats": from three word vectors to three new ones.

softmax(Q Kᵀ / √d) V (Vaswani et al. 2017, equation 1), with d = 2.

Where Q and K come from: the lectures' Q Kᵀ is known, to two digits. Its determinant is exactly 0, as it must
be for a product of width 2, and so there are factors that give it exactly, not only rounded. Of these, one
pair alone (but for the order of its dimensions) has a single digit after the point, no negative number, and
none of 6 or more; it is taken (tests search for it). V is ours, and so are the matrices that make the three.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

import minigrad as mg
from minigrad import Tensor
from minigrad.nn import functional as F

from ..lesson.blocks import Array, Equation, Lesson, Mark, Matrix, number, product, softmax_told
from ..lesson.markdown import Fields, told

WORDS = ("I", "like", "cats")
FIGURES = ((2.7, 2.4, 3.49), (8.82, 6.51, 2.8), (1.38, 1.69, 4.78))  # Q Kᵀ of the lectures
# Each word has a feature of its own, and one that all words share.
EMBEDDINGS = ((1, 0, 0, 1), (0, 1, 0, 1), (0, 0, 1, 1))
W_QUERY = ((0.6, 0.7), (0.0, 3.4), (1.2, 0.0), (0.7, 0.1))
W_KEY = ((0.0, 2.1), (0.2, 1.4), (1.9, 0.0), (0.6, 0.3))
W_VALUE = ((0.5, 1.0), (2.5, 0.0), (0.0, 3.0), (0.5, 1.0))


class ByHand(NamedTuple):
    """Every intermediate result, float64. Words T = 3, width of an embedding D = 4, of a head d = 2."""

    x: Tensor  # (T, D)
    w_query: Tensor  # (D, d)
    w_key: Tensor
    w_value: Tensor
    query: Tensor  # (T, d)
    key: Tensor
    value: Tensor
    scores: Tensor  # (T, T)
    scaled: Tensor
    weights: Tensor
    output: Tensor  # (T, d)


def by_hand() -> ByHand:
    """Equation 1, one operation at a time."""
    x, w_query, w_key, w_value = (mg.tensor(table, dtype=mg.float64) for table in (EMBEDDINGS, W_QUERY, W_KEY, W_VALUE))
    query, key, value = x @ w_query, x @ w_key, x @ w_value
    scores = query @ key.T
    scaled = scores / math.sqrt(query.shape[-1])
    weights = scaled.softmax(-1)
    return ByHand(x, w_query, w_key, w_value, query, key, value, scores, scaled, weights, weights @ value)


def lesson() -> Lesson:
    """The worked example."""
    computed = by_hand()
    return told(
        globals(),
        **_checks(computed),
        projections=_projections(computed),
        scores=_scores(computed),
        **_softmax(computed),
        mixture=_output(computed),
    )


def _projections(computed: ByHand) -> list[Equation]:
    equations = []
    for letter, weight, result in (
        ("Q", computed.w_query, computed.query),
        ("K", computed.w_key, computed.key),
        ("V", computed.w_value, computed.value),
    ):
        x = Matrix("X", computed.x, WORDS, (), 0, key=f"X for {letter}")
        w = Matrix(f"W_{letter}", weight, (), (), 1)
        how = product(computed.x.numpy(), weight.numpy(), (0, 1), 1)
        sources = (Mark(x.key, "row"), Mark(w.name, "column"))
        equations.append(Equation(x, "×", w, "=", Matrix(letter, result, WORDS, (), 1, "", how, sources)))
    return equations


def _scores(computed: ByHand) -> Equation:
    query, key = computed.query.numpy(), computed.key.numpy()
    how = product(query, key.T)
    sources = (Mark("Q of scores", "row"), Mark("Kᵀ", "column"))
    scores = Matrix("Q Kᵀ", computed.scores, WORDS, WORDS, 2, "", how, sources, example=(1, 0))
    return Equation(
        Matrix("Q", query, WORDS, (), 1, key="Q of scores"), "×", Matrix("Kᵀ", key.T, (), WORDS, 1), "=", scores
    )


def _softmax(computed: ByHand) -> Fields:
    scores, scaled = computed.scores.numpy(), computed.scaled.numpy()

    def divided(i: int, j: int) -> str:
        return f"{number(scores[i, j])} / √2 = {number(scaled[i, j])}"

    weights = Matrix(
        "softmax(Q Kᵀ / √2)",
        computed.weights,
        WORDS,
        WORDS,
        3,
        "weights",
        softmax_told(scaled, 2, 3),
        (Mark("Q Kᵀ / √2", "row"),),
        example=(1, 0),
    )
    sources = (Mark("Q Kᵀ", "cell"),)
    return {
        "weights": Equation(
            Matrix("Q Kᵀ / √2", scaled, WORDS, WORDS, 2, "", divided, sources, example=(1, 0)), "→", weights
        ),
        "looks": _looks(weights.array),
    }


def _looks(weights: Array) -> str:
    """Where each word looks most, in words."""
    how = []
    for i, row in enumerate(weights):
        j = int(row.argmax())
        target = "itself" if i == j else f"“{WORDS[j]}”"
        how.append(f"“{WORDS[i]}” puts {number(row[j], 3)} on {target}")
    return ", ".join(how) + "."


def _output(computed: ByHand) -> Equation:
    weights, value = computed.weights.numpy(), computed.value.numpy()
    how = product(weights, value, (3, 1))
    sources = (Mark("weights", "row"), Mark("V of output", "column"))
    return Equation(
        Matrix("weights", weights, WORDS, WORDS, 3, "weights"),
        "×",
        Matrix("V", value, WORDS, (), 1, key="V of output"),
        "=",
        Matrix("output", computed.output, WORDS, (), 2, "", how, sources, example=(1, 0)),
    )


def _checks(computed: ByHand) -> Fields:
    q, k, v = (t[None, None] for t in (computed.query, computed.key, computed.value))  # (B, H, T, d)
    fused = F.scaled_dot_product_attention(q, k, v)[0, 0]
    figures = np.abs(computed.scores.numpy() - np.array(FIGURES)).max()
    return {
        "figures": figures < 1e-9,
        "sums": mg.allclose(computed.weights.sum(-1), mg.ones(3, dtype=mg.float64)),
        "fused": mg.allclose(fused, computed.output, atol=1e-12),
    }
