"""The lessons on look-ups and on mixtures of values, against definitions in NumPy."""

from __future__ import annotations

import math

import numpy as np
import pytest

from examples.lectures import dictionary, mixture, multi_head


def soft(x: np.ndarray) -> np.ndarray:
    powers = np.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def looked_up(angle: float, scale: float) -> float:
    """The soft look-up, written for this case: K q is the cosine of the angle to each key."""
    scores = np.cos(np.radians(angle - np.array([0, 90, 180, 270])))
    return float(soft(scale * scores) @ np.array([2, 12, 28, 16]))


def test_soft_and_hard_look_ups() -> None:
    for scale in dictionary.SCALES:
        expected = [looked_up(angle, scale) for angle in dictionary.ANGLES]
        np.testing.assert_allclose(dictionary.curve(scale), expected, atol=1e-9)
        slope = (looked_up(30 + 1e-4, scale) - looked_up(30 - 1e-4, scale)) / 2e-4
        assert dictionary.slope(30, scale) == pytest.approx(slope, abs=1e-6)
    assert dictionary.stairs().tolist() == [[2, 12, 28, 16][round(angle / 90) % 4] for angle in dictionary.ANGLES]
    south = dictionary.direction(180.0).round()
    assert dictionary.by_equality(south).tolist() == [[0, 0, 1, 0]]
    assert dictionary.by_equality(dictionary.direction(30.0)).tolist() == [[0, 0, 0, 0]]


def test_a_mixture_of_values() -> None:
    computed, whole = mixture.mix(), multi_head.attend()
    q, k, v = (t.numpy().astype(np.float64) for t in (computed.queries, computed.keys, computed.values))
    weights = soft(q @ k.T / math.sqrt(128))
    np.testing.assert_allclose(computed.weights.numpy(), weights, atol=1e-6)
    np.testing.assert_allclose(computed.output.numpy(), weights @ v, atol=1e-5)
    np.testing.assert_allclose(computed.output.numpy(), whole.heads[0, 0].numpy(), atol=1e-6)
