"""``linear`` with a weight of one axis: a number for each row."""

from __future__ import annotations

from typing import Any

import numpy as np

from minigrad.nn import functional as F
from tests.support.cases import cases
from tests.support.parity import assert_close, ours, theirs, torch


# PyTorch refuses a bias with an input of two axes
@cases("shape, bias", [((3,), False), ((3,), True), ((2, 3), False), ((2, 4, 3), False), ((2, 4, 3), True)])
def test_a_weight_of_one_axis(shape: tuple[int, ...], bias: bool) -> None:
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(shape), rng.standard_normal(3), *([np.array(0.5)] if bias else [])]
    results: list[Any] = []
    for make, linear in ((ours, F.linear), (theirs, torch.nn.functional.linear)):
        leaves = [make(array, True) for array in arrays]
        out = linear(*leaves)
        out.pow(2).sum().backward()
        results.append([out, *[leaf.grad for leaf in leaves]])
    for found, expected in zip(*results, strict=True):
        assert_close(found, expected)
