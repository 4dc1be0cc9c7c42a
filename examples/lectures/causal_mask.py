"""The causal mask, before and after softmax: word i may look at the words up to i."""

from __future__ import annotations

import math
from typing import NamedTuple

import minigrad as mg
from minigrad import Tensor
from minigrad.nn import functional as F

from ..lesson.blocks import Checked, Equation, Lesson, Mark, Matrix, Section, Text, number
from .multi_head import HEADS, NAMES, WORDS, D, attend

HEAD = 0


class Masked(NamedTuple):
    """One head of the lesson on multi-head attention; (T, T) each."""

    scores: Tensor
    allowed: Tensor  # bool
    masked: Tensor
    weights: Tensor
    late: Tensor  # masked after the softmax: wrong
    causal: Tensor  # (T, Dh), by the fused kernel
    output: Tensor  # (T, Dh), by hand


@mg.no_grad()
def mask(words: tuple[str, ...] = WORDS) -> Masked:
    """One operation at a time."""
    computed = attend(words)
    scores = computed.scores[0, HEAD]
    allowed = mg.ones(len(words), len(words), dtype=mg.bool).tril()
    masked = scores.masked_fill(~allowed, -math.inf)
    weights = masked.softmax(-1)
    q, k, v = (t[:, HEAD : HEAD + 1] for t in (computed.queries, computed.keys, computed.values))
    causal = F.scaled_dot_product_attention(q, k, v, is_causal=True)[0, 0]
    late = scores.softmax(-1).masked_fill(~allowed, 0.0)
    return Masked(scores, allowed, masked, weights, late, causal, weights @ computed.values[0, HEAD])


def lesson() -> Lesson:
    """The worked example."""
    computed = mask()
    return Lesson(
        "causal-mask",
        "The causal mask, before and after softmax",
        "A decoder writes word after word, and must not see what it has not written yet. In training all "
        "words are there at once; the mask hides from each word those after it.",
        (_mask(computed), _softmax(computed), _late(computed), _checks(computed)),
    )


def _mask(computed: Masked) -> Section:
    scores = computed.scores.numpy()

    def how(i: int, j: int) -> str:
        if j > i:
            return f"word {j} comes after word {i}, so that {number(float(scores[i, j]))} becomes −∞"
        return f"word {j} does not come after word {i}: {number(float(scores[i, j]))} stays"

    sources = (Mark("scores", "cell"),)
    return Section(
        "1. Before the softmax",
        (
            Text(
                f"The scores q · k / √{D // HEADS} are those of head {HEAD + 1} in the lesson multi-head. Rows "
                f"look at columns, and words are counted from 0. Above the diagonal are words that come later: "
                f"their scores become −∞."
            ),
            Equation(
                (
                    Matrix("scores", scores, NAMES, WORDS, 2),
                    "→",
                    Matrix("masked", computed.masked, NAMES, WORDS, 2, "", how, sources, example=(1, 2)),
                )
            ),
        ),
    )


def _softmax(computed: Masked) -> Section:
    masked, weights = computed.masked.numpy(), computed.weights.numpy()

    def how(i: int, j: int) -> str:
        if j > i:
            return "e^−∞ = 0: nothing is taken from a later word"
        terms = " + ".join(f"e^{number(x)}" for x in masked[i, : i + 1].tolist())
        return f"e^{number(float(masked[i, j]))} / ({terms}) = {number(float(weights[i, j]))}"

    sources = (Mark("masked", "row"),)
    shown = Matrix("softmax(masked)", weights, NAMES, WORDS, 2, "weights", how, sources, example=(1, 0))
    return Section(
        "2. After the softmax",
        (
            Text(
                "e^−∞ is 0, so later words get no weight, and the others share 1 among them. The first word can "
                "look at itself only."
            ),
            shown,
        ),
    )


def _late(computed: Masked) -> Section:
    late, sums = computed.late.numpy(), computed.late.sum(-1, keepdim=True).numpy()
    sources = (Mark("masked too late", "row"),)

    def how(i: int, _: int) -> str:
        return f"{' + '.join(map(number, late[i, : i + 1].tolist()))} = {number(float(sums[i, 0]))}"

    return Section(
        "3. Why not mask the weights",
        (
            Text(
                "Where weights are set to 0 after the softmax, later words have taken their share already: "
                "rows sum to less than 1, and how much is left tells of words that should be hidden."
            ),
            Equation(
                (
                    Matrix("masked too late", late, NAMES, WORDS, 2, "weights"),
                    "→",
                    Matrix("sum of the row", sums, NAMES, (), 2, "", how, sources, example=(2, 0)),
                )
            ),
        ),
    )


def _checks(computed: Masked) -> Section:
    other = mask((*WORDS[:-1], "Your"))  # another last word
    later = computed.weights.masked_select(~computed.allowed)
    return Section(
        "Checked",
        (
            Checked("every weight of a later word is exactly 0", bool((later == 0).all())),
            Checked("each row sums to 1", mg.allclose(computed.weights.sum(-1), mg.ones(len(WORDS)), atol=1e-6)),
            Checked(
                "F.scaled_dot_product_attention(q, k, v, is_causal=True) gives the same output",
                mg.allclose(computed.causal, computed.output, atol=1e-5),
            ),
            Checked(
                "another last word changes the results of no word before it",
                mg.allclose(other.output[:-1], computed.output[:-1], atol=1e-6)
                and not mg.allclose(other.output[-1], computed.output[-1], atol=1e-2),
            ),
        ),
    )
