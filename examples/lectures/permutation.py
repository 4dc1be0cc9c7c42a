"""Without positions, permuted words yield permuted results: f(P X) = P f(X), shown on a transformer layer.

The untrained layer is from models/transformer.py: self-attention and a feed-forward network, with residuals and norms.
The result holds for any weights.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

import minigrad as mg
from minigrad import Tensor
from minigrad_models.architectures.layers import TransformerLayer
from minigrad_models.translation.transformer import Config, initialise

from ..lesson.blocks import Choice, Equation, Lesson, Mark, Matrix, Steps, cellwise, number, times
from ..lesson.markdown import Fields, told
from .counting import sines

WORDS = ("only", "dogs", "chase", "cats")
D, HEADS, LAYERS, SEED = 6, 2, 2, 0
ORDERS = tuple(itertools.permutations(range(len(WORDS))))
SHOWN = ((0, 3, 2, 1), (1, 2, 0, 3), (3, 2, 0, 1), (3, 2, 1, 0))
Order = Sequence[int]


class Layers(NamedTuple):
    """Words and layers in float64."""

    x: Tensor  # (T, D)
    stack: list[TransformerLayer]


def layers() -> Layers:
    """Random words, and untrained layers."""
    mg.manual_seed(SEED)
    stack = [TransformerLayer(Config(len(WORDS), D, HEADS, d_ff=4 * D, dropout=0.0)) for _ in range(LAYERS)]
    for layer in stack:
        layer.apply(initialise).to(mg.float64)
    return Layers(mg.randn(len(WORDS), D, dtype=mg.float64), stack)


@mg.no_grad()
def run(model: Layers, order: Order, positions: bool = False, causal: bool = False) -> Tensor:
    """The results (T, D) for the words in a given order. With ``positions``, each word gets the sinusoidal encoding of
    its position in that order; with ``causal``, it sees only itself and earlier words."""
    x = model.x[list(order)][None]  # (1, T, D)
    if positions:
        x = x + sines(len(order))
    mask = mg.ones(len(order), len(order), dtype=mg.bool)
    for layer in model.stack:
        x = layer(x, mask.tril() if causal else mask)
    return x[0]


def matrix(order: Order) -> Tensor:
    """P (T, T), in which row i has its 1 at the word that moves to position i."""
    return mg.eye(len(order), dtype=mg.float64)[list(order)]


def largest(model: Layers, order: Order, positions: bool = False, causal: bool = False) -> float:
    """The largest absolute value of f(P X) − P f(X)."""
    first = run(model, range(len(order)), positions, causal)
    return float((run(model, order, positions, causal) - matrix(order) @ first).abs().max())


def lesson() -> Lesson:
    """The worked example."""
    model = layers()
    return told(globals(), **_checks(model), moved=_words(model), **_permuted(model), **_orders(model), **_why(model))


def _written(order: Order) -> str:
    return " ".join(WORDS[i] for i in order)


def _words(model: Layers) -> Equation:
    order = SHOWN[0]
    p = Matrix("P", matrix(order), [WORDS[i] for i in order], WORDS, 0, "weights")
    return times(p, Matrix("X", model.x, WORDS, (), 2), "P X")


def _permuted(model: Layers) -> Fields:
    return {
        "without": _pairs(model, positions=False),
        "other": _written(SHOWN[0]),
        "with_sines": _pairs(model, positions=True),
    }


def _pairs(model: Layers, positions: bool) -> Choice:
    """A choice among the displayed orders."""
    equations = [_pair(model, order, positions) for order in SHOWN]
    return Choice("order", [_written(order) for order in SHOWN], equations)


def _pair(model: Layers, order: Order, positions: bool) -> Equation:
    """f(P X) − P f(X) = their difference."""
    first, second = (run(model, o, positions).numpy() for o in (range(len(order)), order))
    first, kind = first[list(order)], f"{'with' if positions else 'without'} positions, {_written(order)}"
    names = [WORDS[i] for i in order]
    how = cellwise("{} − {:(} = {}", second, first, second - first)
    sources = (Mark(f"f(P X) {kind}", "cell"), Mark(f"P f(X) {kind}", "cell"))
    return Equation(
        Matrix("f(P X)", second, names, (), 2, "signs", key=f"f(P X) {kind}"),
        "−",
        Matrix("P f(X)", first, names, (), 2, "signs", key=f"P f(X) {kind}"),
        "=",
        Matrix("difference", second - first, names, (), 2, "", how, sources, key=f"difference {kind}"),
    )


def _orders(model: Layers) -> Fields:
    columns = ((False, False), (True, False), (False, True))
    head = ("order", "without positions", "with sines", "causal mask, no positions")
    rows = [(_written(order), *(f"{largest(model, order, *kind):.1e}" for kind in columns)) for order in ORDERS]
    means = [run(model, order).mean(0) for order in ORDERS]
    spread = float((mg.stack(means) - means[0]).abs().max())
    return {"orders": Steps(head, rows, numbers=(1, 2, 3)), "spread": spread}


def _why(model: Layers) -> Fields:
    layer = model.stack[0]
    order = SHOWN[0]
    p = matrix(order).numpy()
    mask = mg.ones(len(WORDS), len(WORDS), dtype=mg.bool)
    with mg.no_grad():
        a, b = (layer.attention.weights(x[None], x[None], mask)[0, 0].numpy() for x in (model.x, model.x[list(order)]))
    names = [WORDS[i] for i in order]

    def how(i: int, j: int) -> str:
        return f"“{names[i]}” looks at “{names[j]}” with {number(a[order[i], order[j]], 3)} in both orders"

    return {
        "attention": Equation(
            Matrix("A", a, WORDS, WORDS, 3, "weights", note="head 1 of layer 1"),
            "→",
            Matrix("P A Pᵀ", b, names, names, 3, "weights", how, example=(0, 1)),
        ),
        "difference": np.abs(p @ a @ p.T - b).max(),
    }


def _checks(model: Layers) -> Fields:
    moved = [order for order in ORDERS if list(order) != sorted(order)]
    sums = mg.stack([run(model, order).sum(0) for order in ORDERS])
    placed = mg.stack([run(model, order, positions=True).sum(0) for order in ORDERS])
    return {
        "equivariant": max(largest(model, order) for order in ORDERS) < 1e-12,
        "not_with_sines": min(largest(model, order, positions=True) for order in moved) > 0.01,
        "not_causal": min(largest(model, order, causal=True) for order in moved) > 0.01,
        "sums_alike": float((sums - sums[0]).abs().max()) < 1e-12
        and float((placed[1:] - placed[0]).abs().amax(-1).min()) > 1e-3,
    }
