"""Without positions, permuted words give permuted results: f(P X) = P f(X), shown on a layer of the transformer.

The layer is that of models/transformer.py, not yet trained: self-attention and feed-forward network, with shortcuts and
norms. What is shown holds for any weights.
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

from ..lesson.blocks import Checked, Choice, Equation, Lesson, Mark, Matrix, Section, Steps, Text, number, product, term
from .counting import sines

WORDS = ("only", "dogs", "chase", "cats")
D, HEADS, LAYERS, SEED = 6, 2, 2, 0
ORDERS = tuple(itertools.permutations(range(len(WORDS))))
SHOWN = ((0, 3, 2, 1), (1, 2, 0, 3), (3, 2, 0, 1), (3, 2, 1, 0))
Order = Sequence[int]


class Layers(NamedTuple):
    """Words and layers, float64."""

    x: Tensor  # (T, D)
    stack: list[TransformerLayer]


def layers() -> Layers:
    """Random words, and layers as they are before training."""
    mg.manual_seed(SEED)
    stack = [TransformerLayer(Config(len(WORDS), D, HEADS, d_ff=4 * D, dropout=0.0)) for _ in range(LAYERS)]
    for layer in stack:
        layer.apply(initialise)
        layer.to(mg.float64)
    return Layers(mg.randn(len(WORDS), D, dtype=mg.float64), stack)


@mg.no_grad()
def run(model: Layers, order: Order, positions: bool = False, causal: bool = False) -> Tensor:
    """The results (T, D) for the words in an order.

    Args:
        positions: sines are added to the words, each to the place that a word now has.
        causal: each word sees itself and those before it.
    """
    x = model.x[list(order)][None]  # (1, T, D)
    if positions:
        x = x + sines(len(order))
    mask = mg.ones(len(order), len(order), dtype=mg.bool)
    mask = mask.tril() if causal else mask
    for layer in model.stack:
        x = layer(x, mask)
    return x[0]


def matrix(order: Order) -> Tensor:
    """P (T, T): row i has its 1 at the word that now stands at place i."""
    return mg.eye(len(order), dtype=mg.float64)[list(order)]


def largest(model: Layers, order: Order, positions: bool = False, causal: bool = False) -> float:
    """The largest number of f(P X) − P f(X), without its sign."""
    first = run(model, range(len(order)), positions, causal)
    return float((run(model, order, positions, causal) - matrix(order) @ first).abs().max())


def lesson() -> Lesson:
    """The worked example."""
    model = layers()
    return Lesson(
        "permutation",
        "Without positions, order is lost",
        "“Only dogs chase cats” and “only cats chase dogs” have the same words, and mean different things. A "
        "transformer without positions cannot tell them apart: each word gets the same vector in both.",
        (_words(model), _permuted(model), _orders(model), _why(model), _checks(model)),
    )


def _written(order: Order) -> str:
    return " ".join(WORDS[i] for i in order)


def _words(model: Layers) -> Section:
    order = SHOWN[0]
    p, x = matrix(order).numpy(), model.x.numpy()
    names = [WORDS[i] for i in order]
    sources = (Mark("P", "row"), Mark("X", "column"))
    moved = Matrix("P X", p @ x, names, (), 2, "", product(p, x, (0, 2), 2), sources, example=(0, 0))
    return Section(
        "1. Words in another order",
        (
            Text(
                "A permutation of the words is a matrix P of zeros and ones: row i has its 1 at the word that moves to "
                "place i. Times X, the words' vectors, it puts their rows into the new order."
            ),
            Equation((Matrix("P", p, names, WORDS, 0, "weights"), "×", Matrix("X", x, WORDS, (), 2), "=", moved)),
        ),
    )


def _permuted(model: Layers) -> Section:
    return Section(
        "2. Permuted words, permuted results",
        (
            Text(
                f"f is {LAYERS} layers of the encoder of models/transformer.py, with {HEADS} heads and a width of {D}, "
                f"not yet trained. First the words of X, then those of P X. Without positions each word gets the same "
                f"vector, only in another row: f(P X) = P f(X). That is called permutation equivariance."
            ),
            _pairs(model, positions=False),
            Text(
                "With sines added to the words, at the places where they now stand, each word gets another vector. In "
                f"“{_written(SHOWN[0])}” even “chase” does, which has stayed in its place: it sees others at other "
                f"places."
            ),
            _pairs(model, positions=True),
        ),
    )


def _pairs(model: Layers, positions: bool) -> Choice:
    """One of the orders shown, to choose."""
    equations = [_pair(model, order, positions) for order in SHOWN]
    return Choice("order", [_written(order) for order in SHOWN], equations, printed=(0,))


def _pair(model: Layers, order: Order, positions: bool) -> Equation:
    """f(P X) − P f(X) = their difference."""
    first, second = (run(model, o, positions).numpy() for o in (range(len(order)), order))
    first, kind = first[list(order)], f"{'with' if positions else 'without'} positions, {_written(order)}"
    names = [WORDS[i] for i in order]

    def how(i: int, j: int) -> str:
        return f"{number(second[i, j])} − {term(first[i, j])} = {number(second[i, j] - first[i, j])}"

    sources = (Mark(f"f(P X) {kind}", "cell"), Mark(f"P f(X) {kind}", "cell"))
    return Equation(
        (
            Matrix("f(P X)", second, names, (), 2, "signs", key=f"f(P X) {kind}"),
            "−",
            Matrix("P f(X)", first, names, (), 2, "signs", key=f"P f(X) {kind}"),
            "=",
            Matrix("difference", second - first, names, (), 2, "", how, sources, key=f"difference {kind}"),
        )
    )


def _orders(model: Layers) -> Section:
    columns = ((False, False), (True, False), (False, True))
    rows = [(_written(order), *(f"{largest(model, order, *kind):.1e}" for kind in columns)) for order in ORDERS]
    means = [run(model, order).mean(0) for order in ORDERS]
    spread = float((mg.stack(means) - means[0]).abs().max())
    return Section(
        "3. All 24 orders",
        (
            Text(
                "The largest number of |f(P X) − P f(X)|, computed in float64. Without positions only rounding is "
                "left. A causal mask breaks the symmetry as well, since it says who comes before whom; that is why "
                "decoders without positions still learn something of order (Haviv et al. 2022, arXiv 2203.16634)."
            ),
            Steps(("order", "without positions", "with sines", "causal mask, no positions"), rows, numbers=(1, 2, 3)),
            Text(
                f"The mean over all words, as a classifier of sentences may take it, is then the same for all 24 "
                f"orders, up to {spread:.1e}: “only dogs chase cats” would mean what “only cats chase dogs” means."
            ),
        ),
    )


def _why(model: Layers) -> Section:
    layer = model.stack[0]
    order = SHOWN[0]
    p = matrix(order).numpy()
    mask = mg.ones(len(WORDS), len(WORDS), dtype=mg.bool)
    with mg.no_grad():
        a, b = (layer.attention.weights(x[None], x[None], mask)[0, 0].numpy() for x in (model.x, model.x[list(order)]))
    names = [WORDS[i] for i in order]

    def how(i: int, j: int) -> str:
        return f"“{names[i]}” looks at “{names[j]}” with {number(a[order[i], order[j]], 3)} in the other order, too"

    return Section(
        "4. Why",
        (
            Text(
                "The weights of attention compare each word with each, wherever they stand. Permuted words give the "
                "same weights with rows and columns permuted: A becomes P A Pᵀ. The values become P V, and since Pᵀ P "
                "is the identity, the result is P A Pᵀ P V = P (A V). Everything else in a layer, the linear maps, "
                "norms and shortcuts, treats each row alone. So one layer is equivariant, and a stack of them."
            ),
            Equation(
                (
                    Matrix("A", a, WORDS, WORDS, 3, "weights", note="head 1 of layer 1"),
                    "→",
                    Matrix("P A Pᵀ", b, names, names, 3, "weights", how, example=(0, 1)),
                )
            ),
            Text(f"Largest difference from P A Pᵀ as a product: {np.abs(p @ a @ p.T - b).max():.1e}."),
        ),
    )


def _checks(model: Layers) -> Section:
    moved = [order for order in ORDERS if list(order) != sorted(order)]
    sums = mg.stack([run(model, order).sum(0) for order in ORDERS])
    placed = mg.stack([run(model, order, positions=True).sum(0) for order in ORDERS])
    return Section(
        "Checked",
        (
            Checked(
                "without positions f(P X) = P f(X) for all 24 orders, to 12 digits",
                max(largest(model, order) for order in ORDERS) < 1e-12,
            ),
            Checked(
                "with sines it holds for none of the 23 other orders",
                min(largest(model, order, positions=True) for order in moved) > 0.01,
            ),
            Checked(
                "nor does it with a causal mask and no positions",
                min(largest(model, order, causal=True) for order in moved) > 0.01,
            ),
            Checked(
                "the sum over the words is the same for all orders without positions, and with them it is not",
                float((sums - sums[0]).abs().max()) < 1e-12
                and float((placed[1:] - placed[0]).abs().amax(-1).min()) > 1e-3,
            ),
        ),
    )
