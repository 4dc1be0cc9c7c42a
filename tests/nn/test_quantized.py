"""Layers with weights in int8 and bfloat16: results near those of float32, gradients of inputs, replaced layers."""

import copy
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad import nn
from minigrad.nn.quantized import QuantizedEmbedding, QuantizedLinear, quantize_dynamic
from tests.support.cases import cases, raises
from tests.support.parity import assert_close, torch

DTYPES = [mg.int8, mg.bfloat16]


def network() -> nn.Module:
    mg.manual_seed(0)
    return nn.Sequential(nn.Linear(32, 48), nn.ReLU(), nn.Linear(48, 8, bias=False)).eval()


@cases("dtype", DTYPES)
def test_results_and_gradients_of_inputs(dtype: Any) -> None:
    model = network()
    small = quantize_dynamic(model, dtype=dtype)
    x = mg.randn(4, 5, 32, requires_grad=True)
    out, expected = small(x), model(x)
    assert out.shape == (4, 5, 8)
    assert_close(out, expected, 0.02)
    out.square().sum().backward()
    gradient, x.grad = x.grad, None
    expected.square().sum().backward()
    assert_close(gradient, x.grad, 0.05)
    assert type(model[0]) is nn.Linear and not list(small.parameters())  # the model itself is unchanged
    assert small[0].weight.dtype is dtype and small[0].scale.dtype is mg.float32


@cases("dtype", DTYPES)
def test_the_gradient_is_that_of_the_widened_weight(dtype: Any) -> None:
    small = quantize_dynamic(nn.Linear(16, 8), dtype=dtype)
    wide = nn.Linear(16, 8)
    with mg.no_grad():
        wide.weight.copy_(small.weight.to(mg.float32) * small.scale[:, None])
        wide.bias.copy_(small.bias)
    x = mg.randn(3, 16, requires_grad=True)
    (first,) = mg.autograd.grad(small(x).exp().sum(), x, create_graph=True)
    (other,) = mg.autograd.grad(wide(x).exp().sum(), x, create_graph=True)
    assert_close(first, other, rtol=1e-4)
    assert_close(*(mg.autograd.grad(g.square().sum(), x)[0] for g in (first, other)), rtol=1e-4)


@cases("dtype", DTYPES)
def test_inputs_in_half_precision(dtype: Any) -> None:
    small, x = quantize_dynamic(nn.Linear(64, 32), dtype=dtype), mg.randn(3, 64)
    for half in (mg.float16, mg.bfloat16):
        assert_close(small(x.to(half)).float(), small(x.to(half).float()), 0.01)


@pytest.mark.filterwarnings("ignore:torch.ao.quantization is deprecated", "ignore:torch.quantize_per_tensor")
def test_int8_agrees_with_pytorchs_weights() -> None:
    """PyTorch also rounds the inputs, so its results have larger errors."""
    theirs = torch.nn.Linear(64, 32)
    ours = nn.Linear(64, 32)
    ours.load_state_dict({name: mg.tensor(value.detach().numpy()) for name, value in theirs.state_dict().items()})
    x = np.random.default_rng(0).standard_normal((5, 64), dtype=np.float32)
    exact = theirs(torch.from_numpy(x)).detach().numpy()
    small = torch.ao.quantization.quantize_dynamic(torch.nn.Sequential(theirs))
    error = np.abs(small(torch.from_numpy(x)).detach().numpy() - exact).max()
    assert np.abs(quantize_dynamic(ours)(mg.from_numpy(x)).numpy() - exact).max() < min(error, 0.02)


def test_embeddings() -> None:
    table = nn.Embedding(10, 16)
    small = quantize_dynamic(table, {nn.Embedding})
    assert isinstance(small, QuantizedEmbedding) and repr(small) == "QuantizedEmbedding(10, 16)"
    tokens = mg.tensor([[1, 9], [0, 1]])
    assert_close(small(tokens), table(tokens), 0.01)
    x = mg.randn(3, 16)
    assert_close(small.linear(x, mg.ones(10)), x @ table.weight.T + 1, 0.02)


def test_the_layers_that_are_replaced() -> None:
    class Twice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = nn.Linear(4, 4)
            self.again = self.first
            self.other = nn.ModuleDict({"table": nn.Embedding(3, 4), "wide": nn.Linear(4, 4, dtype=mg.float64)})
            self.attention = nn.MultiheadAttention(4, 2)

    small = quantize_dynamic(Twice())
    assert isinstance(small.first, QuantizedLinear) and small.again is small.first
    assert type(small.other["table"]) is nn.Embedding and type(small.other["wide"]) is nn.Linear
    assert type(small.attention.out_proj) is not QuantizedLinear  # its weight is used without its forward
    named = quantize_dynamic(Twice(), {"other.table"})
    assert isinstance(named.other["table"], QuantizedEmbedding) and type(named.first) is nn.Linear
    model = network()
    assert quantize_dynamic(model, inplace=True) is model and isinstance(model[0], QuantizedLinear)


def test_state_dicts_and_copies() -> None:
    small = quantize_dynamic(network())
    again = quantize_dynamic(nn.Sequential(nn.Linear(32, 48), nn.ReLU(), nn.Linear(48, 8, bias=False)))
    again.load_state_dict(small.state_dict())
    x = mg.randn(2, 32)
    assert (again(x) == small(x)).all() and (copy.deepcopy(small)(x) == small(x)).all()


def test_errors() -> None:
    raises(ValueError, "int8 or bfloat16, not to .*float16", lambda: quantize_dynamic(network(), dtype=mg.float16))
    small = quantize_dynamic(nn.Linear(8, 2))
    raises(
        RuntimeError,
        r"expected floating-point numbers \(\.\.\., 8\), not float32 \(3, 4\)",
        lambda: small(mg.ones(3, 4)),
    )
    with pytest.raises(RuntimeError, match="not int64"):
        small(mg.ones(3, 8, dtype=mg.int64))
    assert small(mg.ones(3, 8, dtype=mg.float64)).dtype is mg.float64
