"""SparseAdam against PyTorch's on an embedding with sparse gradients."""

from __future__ import annotations

import numpy as np
import pytest

import minigrad
from minigrad import nn, optim
from tests.support.cases import cases
from tests.support.parity import assert_close, host, ours, torch


@cases("maximize", [False, True])
def test_50_steps_of_an_embedding(maximize: bool, device: str) -> None:
    table, rng = np.random.default_rng(0).standard_normal((7, 3)), np.random.default_rng(1)
    mine = nn.Parameter(ours(table, device=device))
    other = torch.nn.Embedding(7, 3, sparse=True, dtype=torch.float64)
    other.weight.data.copy_(torch.from_numpy(table))
    a = optim.SparseAdam([mine], lr=0.1, betas=(0.8, 0.9), maximize=maximize)
    b = torch.optim.SparseAdam(other.parameters(), lr=0.1, betas=(0.8, 0.9), maximize=maximize)
    for _ in range(50):
        batch, weights = rng.integers(0, 6, 3), rng.standard_normal((3, 3))  # row 6 is never used
        a.zero_grad()
        b.zero_grad()
        nn.functional.embedding(minigrad.tensor(batch, device=device), mine).mul(
            ours(weights, device=device)
        ).sum().backward()
        (other(torch.from_numpy(batch)) * torch.from_numpy(weights)).sum().backward()
        a.step()
        b.step()
    assert_close(mine, other.weight, 1e-10)
    np.testing.assert_array_equal(host(mine)[6], table[6])
    found, expected = a.state_dict()["state"][0], b.state_dict()["state"][0]
    assert list(found) == list(expected) and found["step"] == expected["step"] == 50
    for key in ("exp_avg", "exp_avg_sq"):
        assert_close(found[key], expected[key], 1e-10)


def test_a_parameter_without_axes(device: str) -> None:
    p = nn.Parameter(minigrad.tensor(2.0, device=device))
    optimiser = optim.SparseAdam([p], lr=0.5)
    p.grad = minigrad.tensor(3.0, device=device)
    optimiser.step()
    assert p.item() == pytest.approx(1.5)
    p.grad = minigrad.tensor(0.0, device=device)
    optimiser.step()
    assert p.item() == pytest.approx(1.5)  # Adam would go on


def test_memory_that_is_not_contiguous(device: str) -> None:
    p = nn.Parameter(ours(np.zeros((3, 4)), device=device).T)
    p.grad = ours(np.ones((4, 3)), device=device)
    optim.SparseAdam([p], lr=0.5).step()
    np.testing.assert_allclose(host(p), -0.5, rtol=1e-6)
