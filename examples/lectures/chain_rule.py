"""The chain rule as a product that vanishes or explodes: two steps by hand, then chains of ten.

The backward pass multiplies the derivatives of all steps (Rumelhart, Hinton and Williams 1986). In a deep chain, the
product vanishes if the derivatives are below 1, and explodes if they exceed 1 (Hochreiter 1991; Bengio, Simard and
Frasconi 1994). minigrad's engine computes all gradients.
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

from ..lesson.blocks import Array, Block, Chart, Choice, Lesson, Matrix, Series, Steps, number, term
from ..lesson.markdown import Fields, told

X, Y = 3.0, 2.0
STEPS = 10  # of a chain
FACTORS = (0.5, 0.7, 0.9, 1.0, 1.1, 1.3, 1.5)  # of the slider
START = 1  # the index of 0.7
DRAWN = (0.5, 0.9, 1.1, 1.5)
BEGIN = 0.5  # of the nonlinear chains
BENT: dict[str, Callable[[Tensor], Tensor]] = {
    "σ(h)": lambda h: h.sigmoid(),
    "½ tanh(h)": lambda h: 0.5 * h.tanh(),
    "tanh(h)": lambda h: h.tanh(),
    "2 tanh(h)": lambda h: 2 * h.tanh(),
}
SHORTCUT = "h + ½ tanh(h)"


class Chain(NamedTuple):
    """A chain h₀ → h₁ → … → hₙ."""

    values: Array  # h (n + 1)
    gradients: Array  # ∂hₙ/∂hₜ (n + 1), from one backward pass; the last is 1
    derivatives: Array  # ∂hₜ₊₁/∂hₜ (n), each from a backward pass through a single step


def follow(step: Callable[[Tensor], Tensor], start: float, steps: int = STEPS) -> Chain:
    """Take ``steps`` steps, then compute all gradients in one backward pass."""
    values = [mg.tensor(start, dtype=mg.float64, requires_grad=True)]
    derivatives = []
    for _ in range(steps):
        here = values[-1].detach().requires_grad_()
        derivatives.append(mg.autograd.grad(step(here), here)[0].item())
        values.append(step(values[-1]))
    gradients = mg.autograd.grad(values[-1], values)
    return Chain(*(np.array(row) for row in ([v.item() for v in values], [g.item() for g in gradients], derivatives)))


def times(factor: float) -> Chain:
    """A chain of steps that multiply by the same factor."""
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
    return told(globals(), **_checks(), **_two_steps(), **_chain(), **_nonlinear(), **_shortcut())


def _two_steps() -> Fields:
    played = playback()
    rows = []
    for step in played.steps:
        node = played.graph.nodes[step.node]
        arrives = _value(step.arrived[0])
        for delivery in step.deliveries:
            target = played.graph.nodes[delivery.target].name
            formula = REGISTRY[node.op].formula(delivery.input)
            rows.append((node.name, node.op, arrives, formula, target, _value(delivery.gradient)))
    return {
        "z": X * Y,
        "g": (X * Y) ** 2,
        "by_z": 2 * X * Y,
        "by_x": 2 * X * Y * Y,
        "walk": Steps(("result of", "op", "arrives", "formula", "goes to", "with"), rows, (1, 3), (2, 5)),
    }


def _value(value: Value) -> str:
    """A scalar from a recorded backward pass."""
    assert value.table is not None  # a scalar is never abridged
    return f"{value.table[0][0]:g}"


def _table(name: str, chain: Chain, step: Callable[[float], str], digits: int = 4) -> Matrix:
    """The forward values and the backward gradients. ``step`` formats the computation of the next value."""
    table = np.stack((chain.values, chain.gradients), 1)

    def how(t: int, column: int) -> str:
        result = number(table[t, column], digits)
        if column == 0:
            return f"{step(chain.values[t - 1])} = {result}" if t else f"the start: {result}"
        if t == STEPS:
            return "the gradient of the result by itself: 1"
        return f"{term(chain.derivatives[t], digits)} × {number(table[t + 1, 1], digits)} = {result}"

    rows, columns = [f"t = {t}" for t in range(STEPS + 1)], ("forward ↓", "backward ↑")
    note = "value, and ∂result/∂value"
    return Matrix(name, table, rows, columns, digits, "", how, note=note, example=(STEPS - 3, 1))


def _chart(title: str, chains: dict[str, Chain], digits: int = 4) -> Chart:
    """The size of the gradient in each chain, as a function of the distance from the result."""
    lines = [Series(name, range(STEPS + 1), np.abs(chain.gradients[::-1]).tolist()) for name, chain in chains.items()]
    return Chart(title, "steps d", "gradient", lines, log_y=True, digits=digits)


def _chain() -> Fields:
    def multiplied(factor: float) -> Callable[[float], str]:
        return lambda h: f"{factor:g} × {number(h, 4)}"

    options: list[Block] = [_table(f"w = {f:g}", times(f), multiplied(f)) for f in FACTORS]
    return {
        "factors": Choice("factor w", [f"{f:g}" for f in FACTORS], options, START, True),
        "powers": _chart("The gradient over the distance", {f"factor {f:g}": times(f) for f in DRAWN}),
        "low": 0.9**100,
        "high": 1.1**100,
    }


def _bent_step(name: str) -> Callable[[float], str]:
    return lambda h: f"{name} at h = {number(h, 4)}: the next value"


def _nonlinear() -> Fields:
    chains = {name: bent(name) for name in BENT}
    options: list[Block] = [_table(name, chain, _bent_step(name), 6) for name, chain in chains.items()]
    return {
        "kinds": Choice("each step is", list(BENT), options, 0),
        "bent": _chart("The gradient over the distance", chains, 7),
    }


def _shortcut() -> Fields:
    plain, around = bent("½ tanh(h)"), with_shortcut()
    title = "The same step without a shortcut, and with one"
    return {
        "shortcut": _table(SHORTCUT, around, _bent_step(SHORTCUT)),
        "both": _chart(title, {"½ tanh(h)": plain, SHORTCUT: around}),
        "without": plain.gradients[0],
        "around": around.gradients[0],
    }


def _checks() -> Fields:
    chains = [*map(times, FACTORS), *map(bent, BENT), with_shortcut()]
    gradients = {node.name: node.gradient for node in playback().graph.nodes}
    by_hand = {"x": 2 * X * Y * Y, "y": 2 * X * Y * X, "z": 2 * X * Y}
    return {
        "engine": all((v := gradients[name]) is not None and _value(v) == f"{by_hand[name]:g}" for name in by_hand),
        "products": all(
            np.allclose(c.gradients[:-1], np.cumprod(c.derivatives[::-1])[::-1], rtol=1e-12, atol=0) for c in chains
        ),
        "power": all(math.isclose(times(f).gradients[0], f**STEPS, rel_tol=1e-12) for f in FACTORS),
        "bounds": bent("σ(h)").derivatives.max() <= 0.25 and bent("tanh(h)").derivatives.max() <= 1,
        "never_below": with_shortcut().derivatives.min() >= 1,
    }
