"""Softmax and the scale of its logits: the row 0.116, 0.157, 0.158, 0.426, 0.142 and its sharper versions.

The logits were found from the row: the logarithms of its numbers, to two digits, less the smallest. A softmax
does not change when one number is added to all logits; but for such a shift no other logits of two digits
give the row (tests search for them).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import minigrad as mg
from minigrad import Tensor

from ..lesson.blocks import Checked, Choice, Equation, Lesson, Mark, Matrix, Section, Steps, Text, number, softmax_told

LOGITS = (0.0, 0.3, 0.31, 1.3, 0.2)
TOP = LOGITS.index(max(LOGITS))
FIGURES = (0.116, 0.157, 0.158, 0.426, 0.142)
FACTORS = (1, 2, 4, 8)  # 8 is √64: what scores of width 64 are without their division
PLACES = tuple(f"{i}" for i in range(1, 6))
SCALES = 2.0 ** (np.arange(-24, 33) / 8)  # of the slider: temperatures from 8 down to 1/16
ONE = 24  # the place of temperature 1


def row(factor: float = 1.0) -> Tensor:
    """softmax(factor · logits), float64 (5,)."""
    return (mg.tensor(LOGITS, dtype=mg.float64) * factor).softmax(-1)


def jacobian(factor: float) -> np.ndarray[Any, Any]:
    """∂ pᵢ / ∂ zⱼ (5, 5) at z = factor · logits, by the engine: one backward pass a row."""
    logits = (mg.tensor(LOGITS, dtype=mg.float64) * factor).requires_grad_()
    p = logits.softmax(-1)
    rows = [mg.autograd.grad(p[i], logits, retain_graph=True)[0].numpy() for i in range(len(LOGITS))]
    return np.stack(rows)


def entropy(p: Tensor) -> float:
    """-∑ p log₂ p, in bits: log₂ 5 = 2.32 for equal weights, 0 for one that has all."""
    return float(-(p * p.log2()).sum())


def lesson() -> Lesson:
    """The worked example."""
    return Lesson(
        "softmax",
        "Softmax and its temperature",
        "Softmax makes positive numbers that sum to 1 out of any numbers. How sharp they are depends on the "
        "scale of what goes in: that is why attention divides its scores.",
        (_steps(), _sharper(), _gradient(), _checks()),
    )


def _steps() -> Section:
    logits = mg.tensor(LOGITS, dtype=mg.float64)[None]
    powers = logits.exp()
    total = float(powers.sum())
    p = logits.softmax(-1)

    def power(_: int, j: int) -> str:
        return f"e^{number(LOGITS[j])} = {number(math.exp(LOGITS[j]), 3)}"

    def share(_: int, j: int) -> str:
        return f"{number(float(powers[0, j]), 3)} / {number(total, 3)} = {number(float(p[0, j]), 3)}"

    return Section(
        "1. Step by step",
        (
            Text("Take e to the power of each number that goes in (a logit), then divide by the sum of all powers."),
            Equation(
                (
                    Matrix("z", logits, (), PLACES, 2),
                    "→",
                    Matrix("e^z", powers, (), PLACES, 3, "", power, (Mark("z", "cell"),), example=(0, TOP)),
                    "→",
                    Matrix("softmax(z)", p, (), PLACES, 3, "weights", share, (Mark("e^z", "row"),), example=(0, TOP)),
                )
            ),
            Text(
                f"The sum of all powers is {number(total, 3)}. The greatest logit, {number(LOGITS[TOP])}, gets "
                f"the greatest share, but the others keep theirs: this is a soft maximum."
            ),
        ),
    )


def _sharper() -> Section:
    table = np.stack([row(factor).numpy() for factor in FACTORS])
    names = [f"softmax({_times(factor)})" for factor in FACTORS]
    temperatures = [f"{1 / s:.3g}" for s in SCALES.tolist()]
    options = [
        Matrix(
            f"softmax(z / {t})",
            row(float(s))[None],
            (),
            PLACES,
            3,
            "weights",
            softmax_told(np.array([LOGITS]) * s, 2, 3),
            note=f"entropy {entropy(row(float(s))):.2f} bits",
            example=(0, TOP),
        )
        for t, s in zip(temperatures, SCALES, strict=True)
    ]
    scaled = np.array(FACTORS)[:, None] * np.array(LOGITS)
    return Section(
        "2. Sharper",
        (
            Text(
                "Multiply all logits by the same number: the greater it is, the more of the row goes to its "
                "greatest entry. At 8 hardly anything is left for the others. That happens to attention at a "
                "width of d = 64, where scores are about √64 = 8 times as large as they should be (the lesson "
                "scaling measures it); dividing them by √d turns the last row back into the first."
            ),
            Matrix(
                "sharper versions", table, names, PLACES, 3, "weights", softmax_told(scaled, 2, 3), example=(1, TOP)
            ),
            Text(
                "The entropy of a row, −∑ p log₂ p, says how spread out it is: from log₂ 5 = 2.32 bits where "
                "all five are equal to 0 where one has all."
            ),
            Steps(
                ("row", "entropy, bits", "greatest share"),
                [
                    (name, f"{entropy(row(f)):.2f}", f"{float(row(f).max()):.3f}")
                    for name, f in zip(names, FACTORS, strict=True)
                ],
                numbers=(1, 2),
            ),
            Text("Dividing the logits by a temperature is the same thing: below 1 it sharpens, above 1 it flattens."),
            Choice("temperature", temperatures, options, ONE, True, printed=(0, ONE, len(SCALES) - 1)),
        ),
    )


def _times(factor: int) -> str:
    return f"{factor} z" if factor > 1 else "z"


def _gradient() -> Section:
    options = []
    for factor in FACTORS:
        p = row(factor).numpy()

        def how(i: int, j: int, p: np.ndarray[Any, Any] = p) -> str:
            a, b, same = number(float(p[i]), 3), number(float(p[j]), 3), float(i == j)
            return f"{a} × ({same:.0f} − {b}) = {number(float(p[i] * (same - p[j])), 3)}"

        options.append(
            Matrix(f"∂p/∂z at {_times(factor)}", jacobian(factor), PLACES, PLACES, 3, "signs", how, example=(TOP, TOP))
        )
    largest = ", ".join(f"{np.abs(jacobian(factor)).max():.3f}" for factor in FACTORS)
    return Section(
        "3. Why sharp rows learn slowly",
        (
            Text(
                "The derivative of share i by logit j is pᵢ (1 − pᵢ) where i = j, and −pᵢ pⱼ otherwise. Where "
                "one share is near 1 and all others near 0, all of these are near 0, and hardly anything can be "
                "learned through the softmax. The numbers are those of minigrad's backward pass, row i being "
                "the gradient of share i; the line below them says what the formula gives."
            ),
            Choice("logits", [_times(factor) for factor in FACTORS], options, printed=(0, len(FACTORS) - 1)),
            Text(f"The greatest of these, for {', '.join(_times(factor) for factor in FACTORS)}: {largest}."),
        ),
    )


def _checks() -> Section:
    p = row().numpy()
    formula = np.diag(p) - np.outer(p, p)
    moved = mg.tensor(LOGITS, dtype=mg.float64) + 100
    return Section(
        "Checked",
        (
            Checked(
                "the row is 0.116, 0.157, 0.158, 0.426, 0.142, the lectures' figures",
                p.round(3).tolist() == list(FIGURES),
            ),
            Checked("adding 100 to all logits changes nothing", mg.allclose(moved.softmax(-1), row(), atol=1e-12)),
            Checked(
                "the gradients of the backward pass are those of the formula",
                bool(np.abs(jacobian(1) - formula).max() < 1e-12),
            ),
        ),
    )
