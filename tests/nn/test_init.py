"""Initial values: PyTorch's numbers from PyTorch's seed."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minigrad
from minigrad import nn
from tests.support.parity import host, torch

pytestmark = pytest.mark.parity

EXACT = {  # drawn from uniform numbers alone: equal to the bit
    "Linear": lambda n: n.Linear(7, 5),
    "Linear without bias": lambda n: n.Linear(13, 11, bias=False),
    "Bilinear": lambda n: n.Bilinear(3, 4, 5),
    "LayerNorm": lambda n: n.LayerNorm((3, 4)),
    "RMSNorm": lambda n: n.RMSNorm(4),
    "MultiheadAttention": lambda n: n.MultiheadAttention(8, 2),
    "MultiheadAttention, other widths": lambda n: n.MultiheadAttention(8, 2, kdim=6, vdim=10),
    "TransformerEncoderLayer": lambda n: n.TransformerEncoderLayer(8, 2, 16),
    "TransformerDecoderLayer": lambda n: n.TransformerDecoderLayer(8, 2, 16, bias=False),
    "Transformer": lambda n: n.Transformer(16, 4, 2, 2, 32),
}
NEAR = {  # through logarithms and cosines
    "Embedding": lambda n: n.Embedding(20, 6, padding_idx=3),
    "MultiheadAttention, bias_kv": lambda n: n.MultiheadAttention(8, 2, add_bias_kv=True),
}
FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "uniform_": lambda i, t: i.uniform_(t, -0.3, 0.7),
    "normal_": lambda i, t: i.normal_(t, 0.5, 0.02),
    "constant_": lambda i, t: i.constant_(t, 0.25),
    "ones_": lambda i, t: i.ones_(t),
    "zeros_": lambda i, t: i.zeros_(t),
    "eye_": lambda i, t: i.eye_(t),
    "xavier_uniform_": lambda i, t: i.xavier_uniform_(t, 1.7),
    "xavier_normal_": lambda i, t: i.xavier_normal_(t),
    "kaiming_uniform_": lambda i, t: i.kaiming_uniform_(t, mode="fan_out", nonlinearity="relu"),
    "kaiming_normal_": lambda i, t: i.kaiming_normal_(t, a=0.1),
}


def both(make: Callable[[Any], Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    minigrad.manual_seed(7)
    torch.manual_seed(7)
    return make(nn).state_dict(), make(torch.nn).state_dict()


@pytest.mark.parametrize("name", EXACT)
def test_one_seed_gives_pytorchs_bits(name: str) -> None:
    found, expected = both(EXACT[name])
    assert list(found) == list(expected)
    for key in found:
        np.testing.assert_array_equal(host(found[key]), host(expected[key]), err_msg=key)


@pytest.mark.parametrize("name", NEAR)
def test_one_seed_gives_pytorchs_numbers(name: str) -> None:
    found, expected = both(NEAR[name])
    assert list(found) == list(expected)
    for key in found:
        np.testing.assert_allclose(host(found[key]), host(expected[key]), rtol=0, atol=1e-6, err_msg=key)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name: str) -> None:
    mine, other = nn.Parameter(minigrad.empty(12, 9)), torch.nn.Parameter(torch.empty(12, 9))
    minigrad.manual_seed(3)
    torch.manual_seed(3)
    assert FUNCTIONS[name](nn.init, mine) is mine
    FUNCTIONS[name](torch.nn.init, other)
    np.testing.assert_allclose(host(mine), host(other), rtol=0, atol=5e-7)
    assert mine.requires_grad and mine.is_leaf


def test_trunc_normal() -> None:
    x = nn.init.trunc_normal_(minigrad.empty(20_000), mean=0.5, std=2.0, a=-1.0, b=3.0)
    values = x.numpy()
    assert values.min() >= -1 and values.max() <= 3
    expected = torch.nn.init.trunc_normal_(torch.empty(20_000), mean=0.5, std=2.0, a=-1.0, b=3.0).numpy()
    np.testing.assert_allclose([values.mean(), values.std()], [expected.mean(), expected.std()], atol=0.03)
    np.testing.assert_allclose(
        np.quantile(values, [0.1, 0.4, 0.9]), np.quantile(expected, [0.1, 0.4, 0.9]), atol=0.05
    )


@pytest.mark.parametrize("shape", [(5, 5), (3, 7), (7, 3), (4, 2, 3)])
def test_orthogonal(shape: tuple[int, ...]) -> None:
    values = nn.init.orthogonal_(minigrad.empty(shape, dtype="float64"), gain=2).numpy().reshape(shape[0], -1)
    small = values @ values.T if values.shape[0] <= values.shape[1] else values.T @ values
    np.testing.assert_allclose(small, 4 * np.eye(len(small)), atol=1e-12)


def test_gain_and_fans() -> None:
    assert nn.init.calculate_gain("leaky_relu", 0.2) == pytest.approx(math.sqrt(2 / 1.04))
    assert nn.init._calculate_fan_in_and_fan_out(minigrad.empty(4, 3, 2)) == (6, 8)
    with pytest.raises(ValueError, match="fewer than 2 dimensions"):
        nn.init.xavier_uniform_(minigrad.empty(3))
    with pytest.raises(ValueError, match="Unsupported nonlinearity"):
        nn.init.calculate_gain("swish")
    with pytest.raises(ValueError, match="Mode fan_avg not supported"):
        nn.init.kaiming_uniform_(minigrad.empty(3, 3), mode="fan_avg")


def test_a_generator_of_its_own() -> None:
    first = nn.init.normal_(minigrad.empty(20), generator=minigrad.Generator().manual_seed(5)).tolist()
    minigrad.manual_seed(5)
    assert nn.init.normal_(minigrad.empty(20)).tolist() == first
