"""The chain rule as a product that shrinks or grows: two steps by hand, then chains of ten.

The backward pass multiplies one slope for each step on the way from the result (Rumelhart, Hinton and Williams 1986).
In a deep chain the product vanishes where the slopes are below 1, and explodes where they are above (Hochreiter 1991;
Bengio, Simard and Frasconi 1994). All gradients are those of minigrad's walk over the tape.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

import minigrad as mg
from minigrad import Tensor, viz
from minigrad.ops.registry import REGISTRY
from minigrad.viz.graph.graph_data import Value
from minigrad.viz.playback import Playback

from ..lesson.blocks import (
    Array,
    Block,
    Chart,
    Checked,
    Choice,
    Lesson,
    Matrix,
    Section,
    Series,
    Steps,
    Text,
    number,
    term,
)

X, Y = 3.0, 2.0
CODE = {  # a line, and what it computes
    "x, y = (mg.tensor(v, requires_grad=True) for v in (3.0, 2.0))": "",
    "z = x * y": f"{X * Y:g}",
    "g = z**2": f"{(X * Y) ** 2:g}",
}
STEPS = 10  # of a chain
FACTORS = (0.5, 0.7, 0.9, 1.0, 1.1, 1.3, 1.5)  # of the slider
START, FEW = 1, (1, 5)  # the place of 0.7; of those that are printed
DRAWN = (0.5, 0.9, 1.1, 1.5)
BEGIN = 0.5  # of the chains that bend
BENT: dict[str, Callable[[Tensor], Tensor]] = {
    "σ(h)": lambda h: h.sigmoid(),
    "½ tanh(h)": lambda h: 0.5 * h.tanh(),
    "tanh(h)": lambda h: h.tanh(),
    "2 tanh(h)": lambda h: 2 * h.tanh(),
}
SHORTCUT = "h + ½ tanh(h)"


class Chain(NamedTuple):
    """A chain h₀ → h₁ → … → hₙ.

    Attributes:
        values: h (n + 1). gradients: ∂hₙ/∂hₜ (n + 1), of one walk back; the last is 1.
        slopes: ∂hₜ₊₁/∂hₜ (n), each of a walk over its step alone.
    """

    values: Array
    gradients: Array
    slopes: Array


def follow(step: Callable[[Tensor], Tensor], start: float, steps: int = STEPS) -> Chain:
    """Take so many steps, then one walk back for all gradients."""
    values = [mg.tensor(start, dtype=mg.float64, requires_grad=True)]
    slopes = []
    for _ in range(steps):
        alone = values[-1].detach().requires_grad_()
        slopes.append(mg.autograd.grad(step(alone), alone)[0].item())
        values.append(step(values[-1]))
    gradients = mg.autograd.grad(values[-1], values)
    return Chain(*(np.array(row) for row in ([v.item() for v in values], [g.item() for g in gradients], slopes)))


def times(factor: float) -> Chain:
    """The chain whose steps multiply by one factor."""
    return follow(lambda h: factor * h, 1.0)


def bent(name: str) -> Chain:
    """A chain of one of the BENT steps."""
    return follow(BENT[name], BEGIN)


def with_shortcut() -> Chain:
    """The chain of h + ½ tanh(h)."""
    return follow(lambda h: h + 0.5 * h.tanh(), BEGIN)


def playback() -> Playback:
    """The backward pass of g = (x y)², recorded."""
    x, y = (mg.tensor(v, dtype=mg.float64, requires_grad=True) for v in (X, Y))
    z = x * y
    g = z**2
    return viz.playback(g)


def lesson() -> Lesson:
    """The worked example."""
    return Lesson(
        "chain-rule",
        "The chain rule: a product that shrinks or grows",
        "How much does a result change with a number that went in long before? Multiply the slopes of all steps "
        "between the two. That is the whole backward pass, and the reason why deep networks and long sequences are "
        "hard to train.",
        (_two_steps(), _chain(), _nonlinear(), _shortcut(), _checks()),
    )


def _two_steps() -> Section:
    played = playback()
    rows = []
    for step in played.steps:
        node = played.graph.nodes[step.node]
        arrives = _value(step.arrived[0])
        for delivery in step.deliveries:
            target = played.graph.nodes[delivery.target].name
            formula = REGISTRY[node.op].formula(delivery.input)
            rows.append((node.name, node.op, arrives, formula, target, _value(delivery.gradient)))
    return Section(
        "1. Two steps by hand",
        (
            Steps(("code", "value"), list(CODE.items()), (0,), (1,)),
            Text(
                f"Forward, z = {X:g} × {Y:g} = {X * Y:g} and g = {X * Y:g}² = {(X * Y) ** 2:g}. If z grows by a "
                f"little, g grows by 2 z = {2 * X * Y:g} times as much; and if x does, z grows by y = {Y:g} times as "
                f"much. So g grows by {2 * X * Y:g} × {Y:g} = {2 * X * Y * Y:g} times as much as x. The chain rule "
                f"is this product: ∂g/∂x = ∂g/∂z · ∂z/∂x."
            ),
            Text(
                "The engine starts at the result, where the gradient is 1, and walks back. Each op multiplies what "
                "arrives, called g in its formula, by its own slope, and hands it on:"
            ),
            Steps(("result of", "op", "arrives", "formula", "goes to", "with"), rows, (1, 3), (2, 5)),
            Text('`viz.playback(g).save("backward.html")` plays this walk on a page, of this graph or any other.'),
        ),
    )


def _value(value: Value) -> str:
    """A scalar of a recorded walk."""
    assert value.table is not None  # a scalar is kept whole
    return f"{value.table[0][0]:g}"


def _table(name: str, chain: Chain, step: Callable[[float], str], digits: int = 4) -> Matrix:
    """The values forward and the gradients backward; ``step`` writes how the next value came about."""
    table = np.stack((chain.values, chain.gradients), 1)

    def how(t: int, column: int) -> str:
        result = number(table[t, column], digits)
        if column == 0:
            return f"{step(chain.values[t - 1])} = {result}" if t else f"the beginning: {result}"
        if t == STEPS:
            return "the gradient of the result by itself: 1"
        return f"{term(chain.slopes[t], digits)} × {number(table[t + 1, 1], digits)} = {result}"

    rows, columns = [f"t = {t}" for t in range(STEPS + 1)], ("forward ↓", "backward ↑")
    note = "value, and ∂result/∂value"
    return Matrix(name, table, rows, columns, digits, "", how, note=note, example=(STEPS - 3, 1))


def _distances(chain: Chain) -> list[float]:
    """The size of the gradient against the distance from the result."""
    sizes: list[float] = np.abs(chain.gradients[::-1]).tolist()
    return sizes


def _chain() -> Section:
    def multiplied(factor: float) -> Callable[[float], str]:
        return lambda h: f"{factor:g} × {number(h, 4)}"

    options: list[Block] = [_table(f"w = {f:g}", times(f), multiplied(f)) for f in FACTORS]
    distance = list(range(STEPS + 1))
    lines = [Series(f"factor {f:g}", distance, _distances(times(f))) for f in DRAWN]
    return Section(
        f"2. {STEPS} steps with one factor",
        (
            Text(
                "Each step multiplies by the same factor w, as a recurrent network does with its weights. The values "
                "go down the page, the gradients up: each is w times the one below. Below 1 both vanish, above 1 both "
                "explode, and only a factor of exactly 1 keeps them."
            ),
            Choice("factor w", [f"{f:g}" for f in FACTORS], options, START, True, printed=FEW),
            Text("Over the distance d from the result the gradient is w^d, a straight line on this paper:"),
            Chart("The gradient over the distance", "steps d", "gradient", lines, log_y=True, digits=4),
            Text(
                f"After 100 steps, 0.9 would have become {0.9**100:.5f}, and 1.1 already {1.1**100:,.0f}. That is "
                f"why recurrent networks hardly learn from the beginning of a long text, and why their gradients are "
                f"clipped."
            ),
        ),
    )


def _bent_step(name: str) -> Callable[[float], str]:
    return lambda h: f"{name} at h = {number(h, 4)}: the next value"


def _nonlinear() -> Section:
    names, distance = list(BENT), list(range(STEPS + 1))
    options: list[Block] = [_table(name, bent(name), _bent_step(name), 6) for name in names]
    lines = [Series(name, distance, _distances(bent(name))) for name in names]
    return Section(
        "3. Steps that bend",
        (
            Text(
                "Between its products a network has functions that bend, and their slopes are factors, too. The "
                "slope of σ is σ (1 − σ), at most ¼. That of tanh is 1 − tanh², which is 1 at 0 only. Doubling it does "
                "not help for long: 2 tanh begins with slopes above 1, then its values grow to where it is flat."
            ),
            Choice("each step is", names, options, 0, printed=(0, 3)),
            Chart("The gradient over the distance", "steps d", "gradient", lines, log_y=True, digits=7),
        ),
    )


def _shortcut() -> Section:
    plain, around, distance = bent("½ tanh(h)"), with_shortcut(), list(range(STEPS + 1))
    lines = (Series("½ tanh(h)", distance, _distances(plain)), Series(SHORTCUT, distance, _distances(around)))
    return Section(
        "4. A shortcut",
        (
            Text(
                "Where the input is added to what a step computes, the slope is 1 plus that of the step. A step that "
                "is flat then passes the gradient on as it is, and does not stop it. That is the residual connection "
                "(He et al. 2016), which each half of a transformer's layer has: x + sublayer(x). The cell of an LSTM "
                "(Hochreiter and Schmidhuber 1997) is another."
            ),
            _table(SHORTCUT, around, _bent_step(SHORTCUT)),
            Chart("The same step without a shortcut, and with one", "steps d", "gradient", lines, log_y=True, digits=4),
            Text(
                f"Over {STEPS} steps the gradient is {number(float(plain.gradients[0]), 5)} without it, and "
                f"{number(float(around.gradients[0]), 2)} with it. A transformer needs no long chain in the first "
                f"place: from any word to any other is one step of attention, so that its product has as many "
                f"factors as there are layers, however long the text."
            ),
        ),
    )


def _checks() -> Section:
    chains = [*map(times, FACTORS), *map(bent, BENT), with_shortcut()]
    gradients = {node.name: node.gradient for node in playback().graph.nodes}
    by_hand = {"x": 2 * X * Y * Y, "y": 2 * X * Y * X, "z": 2 * X * Y}
    return Section(
        "Checked",
        (
            Checked(
                "the engine's gradients of (x y)² are 2 x y², 2 x² y and 2 z",
                all((v := gradients[name]) is not None and _value(v) == f"{by_hand[name]:g}" for name in by_hand),
            ),
            Checked(
                "in every chain, each gradient is the product of the slopes of all steps after it",
                all(
                    np.allclose(c.gradients[:-1], np.cumprod(c.slopes[::-1])[::-1], rtol=1e-12, atol=0) for c in chains
                ),
            ),
            Checked(
                f"with one factor, it is the power {STEPS} of it over all {STEPS} steps",
                all(math.isclose(times(f).gradients[0], f**STEPS, rel_tol=1e-12) for f in FACTORS),
            ),
            Checked(
                "no slope of σ is above ¼, and none of tanh above 1", _at_most("σ(h)", 0.25) and _at_most("tanh(h)", 1)
            ),
            Checked("with the shortcut no slope is below 1", bool(with_shortcut().slopes.min() >= 1)),
        ),
    )


def _at_most(name: str, bound: float) -> bool:
    return bool(bent(name).slopes.max() <= bound)
