"""Clipping, vectors of parameters, uninitialized modules and calls with other values."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minigrad
from minigrad import nn
from tests.support.cases import cases, raises
from tests.support.parity import assert_close, ours, torch

draw = np.random.default_rng(5)
ARRAYS = [draw.standard_normal((3, 4)), draw.standard_normal(5), draw.standard_normal(())]


def clipped(device: str, clip: Callable[[Any, list[Any]], Any]) -> None:
    """Compare a function of nn.utils, and the gradients it leaves; the last parameter has no gradient."""
    actual = []
    for t, at in ((minigrad, device), (torch, "cpu")):
        leaves = [t.nn.Parameter(t.from_numpy(np.array(a)).to(at)) for a in (*ARRAYS, np.ones(2))]
        for p, a in zip(leaves, ARRAYS, strict=False):
            p.grad = t.from_numpy(np.array(a * 3)).to(at)
        actual.append([clip(t.nn.utils, leaves), *(p.grad for p in leaves[:-1])])
        assert leaves[-1].grad is None
    for mine, other in zip(*actual, strict=True):
        assert mine is other is None or assert_close(mine, other) is None  # type: ignore[func-returns-value]


@cases("norm_type, limit", itertools.product([2.0, 1.0, float("inf"), 3], [0.5, 1e4]))
def test_clip_grad_norm(norm_type: float, limit: float, device: str) -> None:
    clipped(device, lambda u, leaves: u.clip_grad_norm_(leaves, limit, norm_type))


def test_clip_grad_value_and_by_a_norm_that_is_known(device: str) -> None:
    clipped(device, lambda u, leaves: u.clip_grad_value_(leaves, 0.7))

    def by_norm(u: Any, leaves: list[Any]) -> Any:
        total = u.get_total_norm([p.grad for p in leaves[:-1]], foreach=False)
        u.clip_grads_with_norm_(leaves, 0.5, total, foreach=None)
        return total

    clipped(device, by_norm)


def test_clip_grad_norm_takes_generators_single_tensors_and_nothing() -> None:
    layer = nn.Linear(2, 2)
    layer(minigrad.ones(1, 2)).sum().backward()
    total = nn.utils.clip_grad_norm_(layer.parameters(), max_norm=1.0)
    assert total.item() == pytest.approx(6**0.5, rel=1e-6) and total.shape == ()
    assert nn.utils.clip_grad_norm_(layer.weight, 0.1).item() == pytest.approx((4 / 6) ** 0.5, rel=1e-5)
    assert nn.utils.clip_grad_norm_([], 1.0).item() == 0
    with pytest.warns(UserWarning, match="empty generator"):
        assert nn.utils.clip_grad_norm_((p for p in ()), 1.0).item() == 0.0
    with pytest.warns(FutureWarning, match="clip_grad_norm is now deprecated"):
        clipped("cpu", lambda u, leaves: u.clip_grad_norm(leaves, 1.0))
    p = nn.Parameter(minigrad.ones(2))
    p.grad = minigrad.tensor([float("inf"), 1.0])
    raises(RuntimeError, "non-finite", lambda: nn.utils.clip_grad_norm_([p], 1.0, error_if_nonfinite=True))
    assert p.grad[1].item() == 1


def test_vector_and_back(device: str) -> None:
    mine = [nn.Parameter(ours(a, device=device)) for a in (*ARRAYS, np.ones(2))]
    vector = nn.utils.parameters_to_vector(mine)
    assert vector.shape == (20,) and vector.requires_grad
    nn.utils.vector_to_parameters(vector.detach() * 2, mine)
    assert_close(mine[0], ARRAYS[0] * 2)
    words = r"have 20 elements, but the vector has shape \(3,\)"
    raises(RuntimeError, words, lambda: nn.utils.vector_to_parameters(minigrad.ones(3), mine))


def test_a_module_made_without_drawing() -> None:
    minigrad.manual_seed(3)
    expected = minigrad.rand(2).tolist()
    minigrad.manual_seed(3)
    layer = nn.utils.skip_init(nn.Linear, 3, 4, bias=False, dtype=minigrad.float64)
    assert minigrad.rand(2).tolist() == expected
    assert layer.weight.shape == (4, 3) and layer.weight.dtype is minigrad.float64
    raises(RuntimeError, "must support a 'device' arg", lambda: nn.utils.skip_init(nn.ReLU))
    raises(TypeError, None, lambda: nn.utils.skip_init(nn.Linear, 3, 4, 5, 6, 7, 8, 9))
    assert minigrad.zeros(3).normal_().any()  # the later draws are repeated


def test_a_module_called_with_other_values_by_its_old_name() -> None:
    """tests/compat/func/test_stateless.py tests its behaviour."""
    from minigrad.nn.utils import stateless

    net, x = nn.Linear(2, 2), minigrad.tensor([[1.0, 2.0]])
    values = {"weight": minigrad.eye(2), "bias": minigrad.ones(2)}
    assert stateless.functional_call(net, values, x).tolist() == [[2.0, 3.0]]
    words = r"Missing key\(s\): 'bias'"
    raises(RuntimeError, words, lambda: stateless.functional_call(net, [{"weight": x}], x, strict=True))
