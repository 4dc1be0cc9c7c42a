"""The causal mask before and after the softmax: word i may look at words up to i."""

from __future__ import annotations

import math
from typing import NamedTuple

import minigrad as mg
from minigrad import Tensor
from minigrad.nn import functional as F

from ..lesson.blocks import Equation, Lesson, Mark, Matrix, number, softmax_told
from ..lesson.markdown import Fields, told
from .multi_head import DH, NAMES, WORDS, attend

HEAD = 0


class Masked(NamedTuple):
    """A head from the lesson on multi-head attention, with (T, T) matrices."""

    scores: Tensor
    allowed: Tensor  # bool
    masked: Tensor
    weights: Tensor
    late: Tensor  # masked after the softmax, which is wrong
    causal: Tensor  # (T, Dh), computed by the fused kernel
    output: Tensor  # (T, Dh), computed by hand


@mg.no_grad()
def mask(words: tuple[str, ...] = WORDS) -> Masked:
    """Compute the steps one by one."""
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
    return told(globals(), **_checks(computed), **_mask(computed), weights=_softmax(computed), late=_late(computed))


def _mask(computed: Masked) -> Fields:
    scores = computed.scores.numpy()

    def how(i: int, j: int) -> str:
        if j > i:
            return f"word {j} follows word {i}: {number(scores[i, j])} becomes −∞"
        return f"word {j} does not follow word {i}: {number(scores[i, j])} stays"

    sources = (Mark("scores", "cell"),)
    return {
        "width": DH,
        "head": HEAD + 1,
        "masked": Equation(
            Matrix("scores", scores, NAMES, WORDS, 2),
            "→",
            Matrix("masked", computed.masked, NAMES, WORDS, 2, "", how, sources, example=(1, 2)),
        ),
    }


def _softmax(computed: Masked) -> Matrix:
    masked, weights = computed.masked.numpy(), computed.weights.numpy()

    def how(i: int, j: int) -> str:
        return softmax_told(masked[:, : i + 1])(i, j) if j <= i else "e^−∞ = 0: a later word gets no weight"

    sources = (Mark("masked", "row"),)
    return Matrix("softmax(masked)", weights, NAMES, WORDS, 2, "weights", how, sources, example=(1, 0))


def _late(computed: Masked) -> Equation:
    late, sums = computed.late.numpy(), computed.late.sum(-1, keepdim=True).numpy()
    sources = (Mark("masked too late", "row"),)

    def how(i: int, _: int) -> str:
        return f"{' + '.join(map(number, late[i, : i + 1].tolist()))} = {number(sums[i, 0])}"

    return Equation(
        Matrix("masked too late", late, NAMES, WORDS, 2, "weights"),
        "→",
        Matrix("sum of the row", sums, NAMES, (), 2, "", how, sources, example=(2, 0)),
    )


def _checks(computed: Masked) -> Fields:
    other = mask((*WORDS[:-1], "Your"))  # another last word
    later = computed.weights.masked_select(~computed.allowed)
    return {
        "hidden": (later == 0).all(),
        "sums": mg.allclose(computed.weights.sum(-1), mg.ones(len(WORDS)), atol=1e-6),
        "fused": mg.allclose(computed.causal, computed.output, atol=1e-5),
        "unchanged": mg.allclose(other.output[:-1], computed.output[:-1], atol=1e-6)
        and not mg.allclose(other.output[-1], computed.output[-1], atol=1e-2),
    }
