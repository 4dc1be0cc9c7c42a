"""From one seed both libraries hold the same numbers: shuffles, splits, samples.

``tests/functions/test_random.py`` has the draws themselves, ``tests/nn`` the first numbers of layers.
"""

from typing import Any

import numpy as np

import minigrad
from tests.support.cases import cases
from tests.support.expressions import evaluate, split
from tests.support.parity import torch

DRAWS = """
t.cat([b for _ in range(2) for b in t.utils.data.DataLoader(t.arange(23), batch_size=4, shuffle=True)])
t.tensor([i for part in t.utils.data.random_split(range(20), [12, 8]) for i in part.indices])
t.distributions.Categorical(logits=t.arange(5.0)).sample((30,))
"""


@cases("expression", split(DRAWS))
def test_numbers_from_one_seed(expression: str) -> None:
    results: list[Any] = []
    for t in (minigrad, torch):
        t.manual_seed(1337)  # what is drawn second begins where the first has ended
        results.append([evaluate(expression, t=t).numpy() for _ in range(2)] + [t.rand(1).item()])
    ours, theirs = results
    for actual, expected in zip(ours[:2], theirs[:2], strict=True):
        assert actual.dtype == expected.dtype
        np.testing.assert_allclose(actual, expected, rtol=1e-6, atol=1e-6)
    assert ours[2] == theirs[2], "as many numbers were drawn"
