"""Softmax and the scale of its logits: the row 0.116, 0.157, 0.158, 0.426, 0.142 and its sharper versions.

The logits were computed from the row: the logarithms of its numbers, to two digits, minus the smallest. Adding a number
to all logits does not change a softmax. Apart from such shifts, no other two-digit logits produce this row (tests
search for them).
"""

from __future__ import annotations

import math

import numpy as np

import minigrad as mg
from minigrad import Tensor

from ..lesson.blocks import Array, Choice, Equation, Lesson, Mark, Matrix, Steps, number, softmax_told
from ..lesson.markdown import Fields, told

LOGITS = (0.0, 0.3, 0.31, 1.3, 0.2)
TOP = LOGITS.index(max(LOGITS))
FIGURES = (0.116, 0.157, 0.158, 0.426, 0.142)
FACTORS = (1, 2, 4, 8)  # 8 is √64, the factor by which unscaled scores of width 64 are larger
PLACES = tuple(f"{i}" for i in range(1, 6))
SCALES = 2.0 ** (np.arange(-24, 33) / 8)  # of the slider: temperatures from 8 down to 1/16
ONE = 24  # the index of temperature 1


def row(factor: float = 1.0) -> Tensor:
    """softmax(factor · logits), float64 (5,)."""
    return (mg.tensor(LOGITS, dtype=mg.float64) * factor).softmax(-1)


def jacobian(factor: float) -> Array:
    """∂ pᵢ / ∂ zⱼ (5, 5) at z = factor · logits, computed by the engine in one backward pass per row."""
    logits = (mg.tensor(LOGITS, dtype=mg.float64) * factor).requires_grad_()
    p = logits.softmax(-1)
    rows = [mg.autograd.grad(p[i], logits, retain_graph=True)[0].numpy() for i in range(len(LOGITS))]
    return np.stack(rows)


def entropy(p: Tensor) -> float:
    """-∑ p log₂ p in bits: log₂ 5 = 2.32 for equal weights, and 0 if one element has all the weight."""
    return float(-(p * p.log2()).sum())


def lesson() -> Lesson:
    """The worked example."""
    return told(globals(), **_checks(), **_steps(), **_sharper(), **_gradient())


def _steps() -> Fields:
    logits = mg.tensor(LOGITS, dtype=mg.float64)[None]
    powers = logits.exp()
    total = float(powers.sum())
    p = logits.softmax(-1)

    def power(_: int, j: int) -> str:
        return f"e^{number(LOGITS[j])} = {number(math.exp(LOGITS[j]), 3)}"

    def share(_: int, j: int) -> str:
        return f"{number(powers[0, j], 3)} / {number(total, 3)} = {number(p[0, j], 3)}"

    return {
        "steps": Equation(
            Matrix("z", logits, (), PLACES, 2),
            "→",
            Matrix("e^z", powers, (), PLACES, 3, "", power, (Mark("z", "cell"),), example=(0, TOP)),
            "→",
            Matrix("softmax(z)", p, (), PLACES, 3, "weights", share, (Mark("e^z", "row"),), example=(0, TOP)),
        ),
        "total": total,
        "greatest": LOGITS[TOP],
    }


def _sharper() -> Fields:
    table = np.stack([row(factor).numpy() for factor in FACTORS])
    names = [f"softmax({_times(factor)})" for factor in FACTORS]
    temperatures = [f"{1 / s:.3g}" for s in SCALES.tolist()]
    options = []
    for temperature, scale in zip(temperatures, SCALES.tolist(), strict=True):
        p, how = row(scale)[None], softmax_told(scale * np.array([LOGITS]), 2, 3)
        title, note = f"softmax(z / {temperature})", f"entropy {entropy(p):.2f} bits"
        options.append(Matrix(title, p, (), PLACES, 3, "weights", how, note=note, example=(0, TOP)))
    how = softmax_told(np.array(FACTORS)[:, None] * np.array(LOGITS), 2, 3)
    shares = [(f"{entropy(row(factor)):.2f}", f"{float(row(factor).max()):.3f}") for factor in FACTORS]
    rows = [(name, *share) for name, share in zip(names, shares, strict=True)]
    return {
        "sharper_versions": Matrix("sharper versions", table, names, PLACES, 3, "weights", how, example=(1, TOP)),
        "entropies": Steps(("row", "entropy, bits", "greatest share"), rows, numbers=(1, 2)),
        "temperature": Choice("temperature", temperatures, options, ONE, True),
    }


def _times(factor: int) -> str:
    return f"{factor} z" if factor > 1 else "z"


def _gradient() -> Fields:
    options = []
    for factor in FACTORS:
        p = row(factor).numpy()

        def how(i: int, j: int, p: Array = p) -> str:
            a, b, same = number(p[i], 3), number(p[j], 3), float(i == j)
            return f"{a} × ({same:.0f} − {b}) = {number(p[i] * (same - p[j]), 3)}"

        options.append(
            Matrix(f"∂p/∂z at {_times(factor)}", jacobian(factor), PLACES, PLACES, 3, "signs", how, example=(TOP, TOP))
        )
    largest = ", ".join(f"{np.abs(jacobian(factor)).max():.3f}" for factor in FACTORS)
    return {
        "jacobians": Choice("logits", [_times(factor) for factor in FACTORS], options),
        "factors": ", ".join(_times(factor) for factor in FACTORS),
        "largest": largest,
    }


def _checks() -> Fields:
    p = row().numpy()
    formula = np.diag(p) - np.outer(p, p)
    moved = mg.tensor(LOGITS, dtype=mg.float64) + 100
    return {
        "row": p.round(3).tolist() == list(FIGURES),
        "shifted": mg.allclose(moved.softmax(-1), row(), atol=1e-12),
        "formula": np.abs(jacobian(1) - formula).max() < 1e-12,
    }
