"""The attention matrix of "Your cat is a lovely cat" times V: each row of the result is a mixture of rows of V.

The matrix and the values are from a head in the lesson on multi-head attention, which is a real, untrained module.
"""

from __future__ import annotations

import numpy as np

import minigrad as mg
from minigrad import Tensor
from minigrad.nn import functional as F

from ..lesson.blocks import Array, Block, Choice, Equation, Lesson, Line, Mark, Matrix, number, times
from ..lesson.markdown import Fields, told
from .multi_head import DH as WIDTH, NAMES, WORDS, Attended, attend

HEAD = 0
FIRST = 5  # columns of V to show, before the last
CAT, ASKS = 1, 4  # "cat", and "lovely"


def mix() -> Attended:
    """The head: queries, keys, values and output (T, Dh) and weights (T, T), with T = 6 words and Dh = 128."""
    computed = attend()
    return computed._replace(
        queries=computed.queries[0, HEAD],
        keys=computed.keys[0, HEAD],
        values=computed.values[0, HEAD],
        weights=computed.weights[0, HEAD],
        output=computed.heads[0, HEAD],
    )


def matrices(weights: Tensor) -> dict[str, Tensor]:
    """Attention matrices (T, T)."""
    count = len(weights)
    second = mg.zeros(count, count)
    second[:, CAT] = 1
    return {
        "of the head": weights,
        "identity": mg.eye(count),
        "all equal": mg.full((count, count), 1 / count),
        "all on one word": second,
        "only earlier words": causal(weights),
    }


def causal(weights: Tensor) -> Tensor:
    """The weights under a causal mask: the remaining weights in each row divided by their sum."""
    left = weights.tril()
    return left / left.sum(-1, keepdim=True)


def taken(weights: Tensor) -> tuple[Array, Array]:
    """∂(sum of all results)/∂V from the engine (T, Dh), and the column sums of the weights (T, 1)."""
    values = mix().values.detach().requires_grad_()
    (gradient,) = mg.autograd.grad((weights.detach() @ values).sum(), values)
    return gradient.numpy(), weights.detach().sum(0)[:, None].numpy()


def lesson() -> Lesson:
    """The worked example."""
    computed = mix()
    return told(
        globals(),
        **_checks(computed),
        head=HEAD + 1,
        product=_equation("whole", computed.weights, computed.values),
        **_row(computed),
        others=_others(computed),
        **_back(computed),
    )


def _equation(name: str, weights: Tensor, values: Tensor) -> Equation:
    """Weights × V = output."""
    columns, wide = [str(j) for j in range(1, WIDTH + 1)], f"6 × {WIDTH}"
    a = Matrix("A", weights, NAMES, WORDS, 3, "weights", key=f"A, {name}", note="6 × 6")
    v = Matrix("V", values, NAMES, columns, 2, "signs", first=FIRST, key=f"V, {name}", note=wide)
    return times(a, v, "A V", shade="signs", first=FIRST, note=wide, key=f"A V, {name}", example=(ASKS, 0))


def _row(computed: Attended) -> Fields:
    values = computed.values.numpy()
    lines: list[Block] = [Line(WORDS, row, i) for i, row in enumerate(computed.weights.tolist())]
    weights = computed.weights[ASKS].tolist()
    recipe = " + ".join(f"{number(w, 3)} · v({name})" for w, name in zip(weights, NAMES, strict=True))
    low, high = (number(v) for v in (values[:, 0].min(), values[:, 0].max()))
    return {
        "asks": WORDS[ASKS],
        "recipe": recipe,
        "rows": Choice("the word that looks", NAMES, lines, ASKS),
        "low": low,
        "high": high,
    }


def _others(computed: Attended) -> Choice:
    kinds = matrices(computed.weights)
    options: list[Block] = [_equation(name, weights, computed.values) for name, weights in kinds.items()]
    return Choice("A", list(kinds), options, 1)


def _back(computed: Attended) -> Fields:
    gradient, sums = taken(computed.weights)
    w = computed.weights.numpy()

    def how(i: int, j: int) -> str:
        if j:
            return f"minigrad's gradient of the sum of all results by any number of V in this row: {gradient[i, 0]:.3f}"
        return " + ".join(number(x, 3) for x in w[:, i].tolist()) + f" = {number(sums[i, 0], 3)}"

    table, columns = np.concatenate((sums, gradient[:, :1]), 1), ("sum of the column", "gradient")
    sources, most = (Mark("A, whole", "column"),), int(sums.argmax())
    return {
        "columns_of_a": Matrix("columns of A", table, NAMES, columns, 3, "", how, sources, example=(most, 0)),
        "giver": NAMES[most],
    }


def _checks(computed: Attended) -> Fields:
    a, v = computed.weights, computed.values
    gradient, sums = taken(a)
    q, k = computed.queries[None], computed.keys[None]
    kinds = {name: weights @ v for name, weights in matrices(a).items()}
    fused = F.scaled_dot_product_attention(q, k, v[None], is_causal=True)[0]
    inside = (computed.output <= v.amax(0) + 1e-6).all() and (computed.output >= v.amin(0) - 1e-6).all()
    projection = mg.randn(WIDTH, 2, generator=mg.Generator().manual_seed(0))
    return {
        "fused": mg.allclose(F.scaled_dot_product_attention(q, k, v[None])[0], computed.output, atol=1e-5),
        "inside": inside,
        "extremes": mg.equal(kinds["identity"], v)
        and mg.allclose(kinds["all equal"], v.mean(0).expand(6, WIDTH), atol=1e-6),
        "causal": mg.allclose(kinds["only earlier words"], fused, atol=1e-5),
        "gradient": np.abs(gradient - sums).max() < 1e-5,
        "projected": mg.allclose(computed.output @ projection, a @ (v @ projection), atol=1e-4),
    }
