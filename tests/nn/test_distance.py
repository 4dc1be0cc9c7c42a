"""Distances against PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from minigrad import nn
from tests.support.parity import assert_close, torch
from tests.support.twins import pair

pytestmark = pytest.mark.parity
rng = np.random.default_rng(0)

LAYERS: dict[str, Callable[[Any], Any]] = {
    "CosineSimilarity": lambda n: n.CosineSimilarity(),
    "CosineSimilarity of the last axis": lambda n: n.CosineSimilarity(dim=-1, eps=1e-3),
    "PairwiseDistance": lambda n: n.PairwiseDistance(),
    "PairwiseDistance p=1": lambda n: n.PairwiseDistance(p=1.0, keepdim=True),
    "PairwiseDistance p=3": lambda n: n.PairwiseDistance(3.0, eps=0.1),
}


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("shape", [(4, 5), (1, 5)], ids=str)
def test_layer(name: str, shape: tuple[int, ...], device: str) -> None:
    mine, other = LAYERS[name](nn), LAYERS[name](torch.nn)
    assert repr(mine) == repr(other)
    a, ta = pair(rng.standard_normal((4, 5)), device, requires_grad=True)
    b, tb = pair(rng.standard_normal(shape), device, requires_grad=True)
    out, expected = mine(a, b), other(ta, tb)
    assert_close(out, expected)
    out.square().sum().backward()
    expected.square().sum().backward()
    assert_close(a.grad, ta.grad)
    assert_close(b.grad, tb.grad)
