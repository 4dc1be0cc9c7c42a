"""The lesson on the chain rule: products of slopes, written out."""

from __future__ import annotations

import math

import numpy as np
import pytest

import minigrad as mg
from examples.lectures import chain_rule
from examples.lesson.blocks import Steps


def test_two_steps_by_hand() -> None:
    names: dict[str, mg.Tensor] = {}
    for line in chain_rule.CODE:
        exec(line, {"mg": mg}, names)
    names["g"].backward()
    assert [names[name].item() for name in "zg"] == [6, 36]
    walk = next(b for b in chain_rule.lesson().sections[0].blocks if isinstance(b, Steps) and len(b.head) > 2)
    assert [(row[0], row[1], row[4], row[5]) for row in walk.rows] == [
        ("g", "pow", "z", "12"),
        ("z", "mul", "x", f"{names['x'].grad.item():g}"),  # type: ignore[union-attr]
        ("z", "mul", "y", f"{names['y'].grad.item():g}"),  # type: ignore[union-attr]
    ]


def test_one_factor() -> None:
    for factor in chain_rule.FACTORS:
        chain, powers = chain_rule.times(factor), factor ** np.arange(chain_rule.STEPS + 1)
        np.testing.assert_allclose(chain.values, powers, rtol=1e-12)
        np.testing.assert_allclose(chain.gradients, powers[::-1], rtol=1e-12)


def test_steps_that_bend() -> None:
    chain = chain_rule.bent("σ(h)")
    h, slopes = 0.5, []
    for value in chain.values[1:]:
        h = 1 / (1 + math.exp(-h))
        slopes.append(h * (1 - h))
        assert value == pytest.approx(h, rel=1e-12)
    np.testing.assert_allclose(chain.slopes, slopes, rtol=1e-12)
    assert chain.gradients[0] == pytest.approx(math.prod(slopes), rel=1e-12) and chain.gradients[-1] == 1
