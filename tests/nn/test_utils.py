"""Clipping, vectors of parameters, padded sequences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minigrad
from minigrad import nn
from tests.support.cases import cases, raises, rng
from tests.support.parity import assert_close, host, ours, torch

draw = np.random.default_rng(5)
ARRAYS = [draw.standard_normal((3, 4)), draw.standard_normal(5), draw.standard_normal(())]


def parameters(device: str) -> tuple[list[Any], list[Any]]:
    """Parameters of both libraries with gradients; one has none."""
    mine = [nn.Parameter(ours(a, device=device)) for a in (*ARRAYS, np.ones(2))]
    other = [torch.nn.Parameter(torch.from_numpy(np.array(a))) for a in (*ARRAYS, np.ones(2))]
    for p, t, a in zip(mine, other, ARRAYS, strict=False):
        p.grad, t.grad = ours(a * 3, device=device), torch.from_numpy(np.array(a * 3))
    return mine, other


@cases("norm_type", [2.0, 1.0, float("inf"), 3])
@cases("limit", [0.5, 1e4])
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
    raises(RuntimeError, "non-finite", lambda: nn.utils.clip_grad_norm_([p], 1.0, error_if_nonfinite=True))
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


def test_scaling_by_a_norm_that_is_known(device: str) -> None:
    mine, other = parameters(device)
    total = nn.utils.get_total_norm([p.grad for p in mine[:-1]], foreach=False)
    assert_close(total, torch.nn.utils.get_total_norm([p.grad for p in other[:-1]]))
    nn.utils.clip_grads_with_norm_(mine, 0.5, total, foreach=None)
    torch.nn.utils.clip_grads_with_norm_(other, 0.5, torch.tensor(host(total)))
    for p, t in zip(mine[:-1], other, strict=False):
        assert_close(p.grad, t.grad)


def test_the_old_name_of_clipping_and_an_empty_generator() -> None:
    mine, other = parameters("cpu")
    with pytest.warns(FutureWarning, match="clip_grad_norm is now deprecated"):
        found = nn.utils.clip_grad_norm(mine, 1.0)
    assert_close(found, torch.nn.utils.clip_grad_norm_(other, 1.0))
    with pytest.warns(UserWarning, match="empty generator"):
        assert nn.utils.clip_grad_norm_((p for p in ()), 1.0).item() == 0.0


LAYERS: dict[str, Any] = {
    "Linear": lambda n: (n.Linear(3, 4), (5, 3)),
    "Linear, one norm": lambda n: (n.Linear(3, 4), (5, 3)),
    "Linear, by column": lambda n: (n.Linear(3, 4), (5, 3)),
}
DIMS = {"Linear": 0, "Linear, one norm": None, "Linear, by column": 1}


@cases("name", LAYERS)
@pytest.mark.filterwarnings("ignore:`(torch.)?nn.utils.weight_norm`")
def test_weight_norm(name: str) -> None:
    x = rng.standard_normal(LAYERS[name](nn)[1])
    weight = rng.standard_normal((4, 3))
    nets = []
    for library in (minigrad, torch):
        net = LAYERS[name](library.nn)[0].double()
        net.weight.data = library.tensor(weight)
        net.bias.data.fill_(0.25)
        assert library.nn.utils.weight_norm(net, dim=DIMS[name]) is net
        net(library.tensor(x)).square().sum().backward()
        nets.append(net)
    mine, other = nets
    assert list(mine.state_dict()) == list(other.state_dict())
    for (key, p), t in zip(mine.named_parameters(), other.parameters(), strict=True):
        assert_close(p, t, what=key)
        assert_close(p.grad, t.grad, what=key)
    mine.weight_g.data *= 2
    assert_close(host(mine(minigrad.tensor(x))) - 0.25, 2 * (x @ weight.T))
    raises(RuntimeError, "two weight_norm hooks on the same parameter weight", lambda: nn.utils.weight_norm(mine))
    nn.utils.remove_weight_norm(mine)
    assert sorted(mine.state_dict()) == ["bias", "weight"] and isinstance(mine.weight, nn.Parameter)
    assert_close(mine.weight, 2 * weight)
    raises(ValueError, "weight_norm of 'weight' not found", lambda: nn.utils.remove_weight_norm(mine))


def test_a_module_made_without_drawing() -> None:
    minigrad.manual_seed(3)
    expected = minigrad.rand(2).tolist()
    minigrad.manual_seed(3)
    made = nn.utils.skip_init(nn.Linear, 3, 4, bias=False, dtype=minigrad.float64)
    assert minigrad.rand(2).tolist() == expected
    assert made.weight.shape == (4, 3) and made.weight.dtype is minigrad.float64
    raises(RuntimeError, "must support a 'device' arg", lambda: nn.utils.skip_init(nn.ReLU))
    raises(TypeError, None, lambda: nn.utils.skip_init(nn.Linear, 3, 4, 5, 6, 7, 8, 9))
    assert minigrad.zeros(3).normal_().any()  # what follows is drawn again


def test_a_module_called_with_other_values() -> None:
    from minigrad.nn.utils.stateless import functional_call

    net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2, bias=False))
    net[1].weight = net[0].weight
    before = dict(net.named_parameters())
    given = {"0.weight": minigrad.eye(2).requires_grad_(), "0.bias": minigrad.ones(2)}
    x = minigrad.tensor([[1.0, 2.0]])
    out = functional_call(net, given, x)
    assert out.tolist() == [[2.0, 3.0]]
    out.sum().backward()
    assert given["0.weight"].grad is not None and net[0].weight.grad is None
    assert all(before[name] is p for name, p in net.named_parameters())
    raises(AttributeError, "Sequential has no attribute `2`", lambda: functional_call(net, {"2.weight": x}, (x,)))
    with pytest.raises(RuntimeError, match=r"Missing key\(s\): '0.bias'"):
        functional_call(net, [{"0.weight": minigrad.eye(2)}], x, strict=True)
    assert functional_call(net, {"0.weight": minigrad.eye(2)}, (x,), tie_weights=False).shape == (1, 2)
