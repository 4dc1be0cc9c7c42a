"""Clipping, vectors of parameters, padded sequences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minigrad
from minigrad import nn
from tests.support.parity import assert_close, host, ours, torch

pytestmark = pytest.mark.parity
rng = np.random.default_rng(5)
ARRAYS = [rng.standard_normal((3, 4)), rng.standard_normal(5), rng.standard_normal(())]


def parameters(device: str) -> tuple[list[Any], list[Any]]:
    """Parameters of both libraries with gradients; one has none."""
    mine = [nn.Parameter(ours(a, device=device)) for a in (*ARRAYS, np.ones(2))]
    other = [torch.nn.Parameter(torch.from_numpy(np.array(a))) for a in (*ARRAYS, np.ones(2))]
    for p, t, a in zip(mine, other, ARRAYS, strict=False):
        p.grad, t.grad = ours(a * 3, device=device), torch.from_numpy(np.array(a * 3))
    return mine, other


@pytest.mark.parametrize("norm_type", [2.0, 1.0, float("inf"), 3])
@pytest.mark.parametrize("limit", [0.5, 1e4])
def test_clip_grad_norm(norm_type: float, limit: float, device: str) -> None:
    mine, other = parameters(device)
    found = nn.utils.clip_grad_norm_(mine, limit, norm_type)
    assert_close(found, torch.nn.utils.clip_grad_norm_(other, limit, norm_type))
    for p, t in zip(mine[:-1], other, strict=False):
        assert_close(p.grad, t.grad)
    assert mine[-1].grad is None


def test_clip_grad_norm_takes_generators_single_tensors_and_nothing() -> None:
    layer = nn.Linear(2, 2)
    layer(minigrad.ones(1, 2)).sum().backward()
    total = nn.utils.clip_grad_norm_(layer.parameters(), max_norm=1.0)
    assert total.item() == pytest.approx(6**0.5, rel=1e-6) and total.shape == ()
    assert nn.utils.clip_grad_norm_(layer.weight, 0.1).item() == pytest.approx((4 / 6) ** 0.5, rel=1e-5)
    assert nn.utils.clip_grad_norm_([], 1.0).item() == 0


def test_clip_grad_norm_of_what_is_not_finite() -> None:
    p = nn.Parameter(minigrad.ones(2))
    p.grad = minigrad.tensor([float("inf"), 1.0])
    with pytest.raises(RuntimeError, match="non-finite"):
        nn.utils.clip_grad_norm_([p], 1.0, error_if_nonfinite=True)
    assert p.grad[1].item() == 1


def test_clip_grad_value(device: str) -> None:
    mine, other = parameters(device)
    nn.utils.clip_grad_value_(mine, 0.7)
    torch.nn.utils.clip_grad_value_(other, 0.7)
    for p, t in zip(mine[:-1], other, strict=False):
        assert_close(p.grad, t.grad)


def test_vector_and_back(device: str) -> None:
    mine, _ = parameters(device)
    vector = nn.utils.parameters_to_vector(mine)
    assert vector.shape == (20,) and vector.requires_grad
    nn.utils.vector_to_parameters(vector.detach() * 2, mine)
    assert_close(mine[0], torch.from_numpy(ARRAYS[0] * 2))
    with pytest.raises(RuntimeError, match=r"hold 20 numbers, the vector has shape \(3,\)"):
        nn.utils.vector_to_parameters(minigrad.ones(3), mine)


@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("side", ["left", "right"])
def test_pad_sequence(batch_first: bool, side: str, device: str) -> None:
    arrays = [np.arange(n * 2).reshape(n, 2) for n in (2, 4, 1)]
    found = nn.utils.rnn.pad_sequence([ours(a, device=device) for a in arrays], batch_first, -1, side)
    expected = torch.nn.utils.rnn.pad_sequence([torch.from_numpy(a) for a in arrays], batch_first, -1, side)
    assert_close(found, expected)
    assert host(found).dtype == np.int64
