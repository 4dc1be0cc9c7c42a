"""Embedding with PyTorch's keywords: rows that are shortened, gradients by frequency, tables as given."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minigrad
from minigrad import nn
from minigrad.nn import functional as F
from tests.support.cases import cases, raises, rng
from tests.support.parity import assert_close, host, torch
from tests.support.twins import pair

draw = np.random.default_rng(1)
TABLE = draw.standard_normal((6, 4))
INDICES = np.array([[0, 1, 1], [5, 1, 2]])
OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "padding": {"padding_idx": 1},
    "max_norm": {"max_norm": 1.0},
    "max_norm of 1": {"max_norm": 0.5, "norm_type": 1.0},
    "large max_norm": {"max_norm": 100.0},
    "by frequency": {"scale_grad_by_freq": True},
    "all": {"padding_idx": -1, "max_norm": 0.7, "scale_grad_by_freq": True},
}


@cases("options", OPTIONS)
def test_results_gradients_and_the_table(options: str, device: str) -> None:
    weight, tweight = pair(TABLE, device)
    indices, tindices = pair(INDICES, device)
    g, tg = pair(rng.standard_normal((2, 3, 4)), device)
    mine = nn.Embedding.from_pretrained(weight, freeze=False, **OPTIONS[options])
    other = torch.nn.Embedding.from_pretrained(tweight, freeze=False, **OPTIONS[options])
    for round in (1, 2):
        out, expected = mine(indices), other(tindices)
        assert_close(out, expected)
        (out * g).sum().backward()
        (expected * tg).sum().backward()
        assert_close(mine.weight.grad, other.weight.grad, what=f"round {round}")
        assert_close(mine.weight, other.weight)
    assert repr(mine) == repr(other)


def test_by_frequency_to_second_order() -> None:
    def run(x: Any) -> Any:
        found = []
        for library in (minigrad, torch):
            weight = library.tensor(TABLE, requires_grad=True)
            out = library.nn.functional.embedding(library.tensor(INDICES), weight, scale_grad_by_freq=True)
            (g,) = library.autograd.grad(out.pow(3).sum(), weight, create_graph=library is minigrad)
            found.append(host(g))
        return found

    found, expected = run(None)
    assert_close(found, expected)
    weight = minigrad.tensor(TABLE, requires_grad=True)
    out = F.embedding(minigrad.tensor(INDICES), weight, scale_grad_by_freq=True)
    out.retain_grad()
    (g,) = minigrad.autograd.grad(out.pow(3).sum(), weight, create_graph=True)
    g.sum().backward()
    counts = np.bincount(INDICES.reshape(-1), minlength=6)
    assert_close(weight.grad, TABLE * 6 * np.divide(counts, np.maximum(counts, 1) ** 2)[:, None])


def test_what_the_caller_holds_has_the_gradient_as_it_arrived() -> None:
    weight = minigrad.ones(3, 2, requires_grad=True)
    out = F.embedding(minigrad.tensor([1, 1]), weight, scale_grad_by_freq=True)
    out.retain_grad()
    out.sum().backward()
    assert out.grad.tolist() == [[1, 1], [1, 1]] and weight.grad.tolist() == [[0, 0], [1, 1], [0, 0]]


def test_shortening_is_seen_by_graphs_recorded_before() -> None:
    layer = nn.Embedding(4, 3, max_norm=0.1).double()
    loss = (layer.weight * layer.weight).sum()
    layer(minigrad.tensor([1]))
    raises(RuntimeError, "modified by an inplace operation", loss.backward)


def test_keywords_become_attributes() -> None:
    layer = nn.Embedding(6, 4, 2, 1.0, 1.0, True, True, device="cpu", dtype=minigrad.float64)
    names = ("num_embeddings", "embedding_dim", "padding_idx", "max_norm", "norm_type", "scale_grad_by_freq", "sparse")
    assert [getattr(layer, name) for name in names] == [6, 4, 2, 1.0, 1.0, True, True]
    assert nn.Embedding(6, 4, _weight=minigrad.ones(6, 4), _freeze=True).weight.requires_grad is False
    raises(AssertionError, "within num_embeddings", lambda: nn.Embedding(3, 4, padding_idx=7))
    raises(AssertionError, "2-dimensional", lambda: nn.Embedding.from_pretrained(minigrad.ones(3)))


def test_one_hot() -> None:
    for values, classes in (([1, 2], -1), ([0, 3], 5), ([], 3)):
        found = F.one_hot(minigrad.tensor(values).long(), classes)
        expected = torch.nn.functional.one_hot(torch.tensor(values).long(), classes)
        assert found.dtype is minigrad.int64
        np.testing.assert_array_equal(host(found), host(expected))
    wrong: Any = (([1, -1], -1, "non-negative"), ([1, 3], 3, "smaller than"), ([1], 0, "positive"))
    for values, classes, error in wrong:
        with pytest.raises(RuntimeError, match=error):
            F.one_hot(minigrad.tensor(values), classes)


@cases("shape", [(), (3,), (3, 2, 2)])
def test_the_weight_is_a_matrix(shape: tuple[int, ...]) -> None:
    raises(RuntimeError, "'weight' must be 2-D", lambda: F.embedding(minigrad.tensor([0]), minigrad.ones(shape)))
