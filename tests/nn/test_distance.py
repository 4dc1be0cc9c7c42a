"""Distances against PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import minigrad.nn.functional as F
from minigrad import nn
from tests.support.cases import cases, rng
from tests.support.parity import assert_close, torch
from tests.support.twins import pair

LAYERS: dict[str, Callable[[Any], Any]] = {
    "CosineSimilarity": lambda n: n.CosineSimilarity(),
    "CosineSimilarity of the last axis": lambda n: n.CosineSimilarity(dim=-1, eps=1e-3),
    "PairwiseDistance": lambda n: n.PairwiseDistance(),
    "PairwiseDistance p=1": lambda n: n.PairwiseDistance(p=1.0, keepdim=True),
    "PairwiseDistance p=3": lambda n: n.PairwiseDistance(3.0, eps=0.1),
}


@cases("name", LAYERS)
@cases("shape", [(4, 5), (1, 5)])
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


@cases("shapes", [((1, 2, 3), (2, 1, 3)), ((4, 1), (4, 3)), ((3,), (2, 3, 3))])
def test_cosine_similarity_along_an_axis_that_is_repeated(shapes: tuple[Any, Any], device: str) -> None:
    (a, ta), (b, tb) = (pair(rng.standard_normal(shape), device, requires_grad=True) for shape in shapes)
    for dim in (-1, -2) if len(shapes[1]) > 2 else (1,):
        out, expected = F.cosine_similarity(a, b, dim), torch.nn.functional.cosine_similarity(ta, tb, dim)
        assert_close(out, expected)
        out.square().sum().backward()
        expected.square().sum().backward()
    assert_close(a.grad, ta.grad)
    assert_close(b.grad, tb.grad)
