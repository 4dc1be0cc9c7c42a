"""Functions of each tensor of a list."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minigrad
from minigrad.compat.foreach import NAMES
from tests.support.parity import assert_close, ours, theirs, torch

pytestmark = pytest.mark.parity
SHAPES = [(2,), (3, 2), ()]
CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda f, lists: f(lists[0], lists[1], alpha=2),
    "sub": lambda f, lists: f(lists[0], 0.5),
    "mul": lambda f, lists: f(lists[0], [2.0, 3.0, 4.0]),
    "lerp": lambda f, lists: f(lists[0], lists[1], 0.25),
    "addcdiv": lambda f, lists: f(lists[0], lists[1], lists[2], [1.0, -2.0, 3.0]),
    "addcmul": lambda f, lists: f(lists[0], lists[1], lists[2], value=0.5),
    "norm": lambda f, lists: f(lists[0], ord=1),
    "copy_": lambda f, lists: f(lists[0], lists[1]),
}
CALLS |= dict.fromkeys(("div", "maximum", "minimum", "pow"), lambda f, lists: f(lists[0], lists[1]))
CALLS |= dict.fromkeys(("clamp_max", "clamp_min"), lambda f, lists: f(lists[0], 0.4))


@pytest.mark.parametrize("name", NAMES)
def test_each(name: str) -> None:
    rng = np.random.default_rng(0)
    values = [[np.asarray(rng.uniform(0.2, 0.9, shape)) for shape in SHAPES] for _ in range(3)]
    call = CALLS.get(name) or CALLS.get(name.removesuffix("_")) or (lambda f, lists: f(lists[0]))
    results = []
    for t, make in ((minigrad, ours), (torch, theirs)):
        lists = [[make(v) for v in each] for each in values]
        out = call(getattr(t, f"_foreach_{name}"), lists)
        results.append([*(lists[0] if name.endswith("_") else out)])
    for found, expected in zip(*results, strict=True):
        assert_close(found, expected, 1e-8)


def test_errors() -> None:
    x = [ours(np.ones(2))] * 2
    with pytest.raises(RuntimeError, match="same number of tensors, got 2 and 1"):
        minigrad._foreach_add(x, x[:1])


def test_the_attribute_of_a_device() -> None:
    assert minigrad.has_mps is False
