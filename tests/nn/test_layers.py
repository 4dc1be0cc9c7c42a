"""Layers and their functions against PyTorch in float64: results, gradients, dtypes, errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minigrad
import minigrad.nn.functional as F
from minigrad import nn
from tests.support.cases import cases, raises, rng
from tests.support.parity import assert_close, host, ours, torch
from tests.support.twins import compare_gradients, pair, twinned

Make = Callable[[Any], Any]
LAYERS: dict[str, tuple[Make, tuple[int, ...]]] = {
    "Linear": (lambda n: n.Linear(5, 3), (4, 5)),
    "Linear of a vector": (lambda n: n.Linear(5, 3), (5,)),
    "Linear of more axes": (lambda n: n.Linear(5, 3, bias=False), (2, 3, 4, 5)),
    "LayerNorm": (lambda n: n.LayerNorm(5), (2, 3, 5)),
    "LayerNorm of two axes": (lambda n: n.LayerNorm((3, 5), eps=1e-3), (2, 3, 5)),
    "LayerNorm without bias": (lambda n: n.LayerNorm(5, bias=False), (2, 5)),
    "LayerNorm without affine": (lambda n: n.LayerNorm([3, 5], elementwise_affine=False), (2, 3, 5)),
    "RMSNorm": (lambda n: n.RMSNorm(5), (2, 3, 5)),
    "RMSNorm of two axes": (lambda n: n.RMSNorm((3, 5), eps=1e-3), (2, 3, 5)),
    "ReLU": (lambda n: n.ReLU(), (4, 5)),
    "GELU": (lambda n: n.GELU(), (4, 5)),
    "GELU tanh": (lambda n: n.GELU(approximate="tanh"), (4, 5)),
    "SiLU": (lambda n: n.SiLU(), (4, 5)),
    "Tanh": (lambda n: n.Tanh(), (4, 5)),
    "Sigmoid": (lambda n: n.Sigmoid(), (4, 5)),
    "LogSigmoid": (lambda n: n.LogSigmoid(), (4, 5)),
    "Softplus": (lambda n: n.Softplus(beta=2, threshold=1), (4, 5)),
    "ELU": (lambda n: n.ELU(alpha=0.7), (4, 5)),
    "LeakyReLU": (lambda n: n.LeakyReLU(0.2), (4, 5)),
    "GLU": (lambda n: n.GLU(dim=1), (4, 6, 5)),
    "Softmax": (lambda n: n.Softmax(dim=1), (4, 5, 2)),
    "LogSoftmax": (lambda n: n.LogSoftmax(dim=-1), (4, 5)),
    "Sequential": (lambda n: n.Sequential(n.Linear(5, 7), n.ReLU(inplace=True), n.Linear(7, 1)), (4, 5)),
}


@cases("name", LAYERS)
def test_layer(name: str, device: str) -> None:
    make, shape = LAYERS[name]
    mine, other = twinned(make(nn), make(torch.nn), device)
    x, tx = pair(rng.standard_normal(shape) * 2, device, requires_grad=True)
    out, expected = mine(x), other(tx)
    assert_close(out, expected)
    g, tg = pair(rng.standard_normal(host(out).shape), device)
    out.backward(g)
    expected.backward(tg)
    assert_close(x.grad, tx.grad)
    compare_gradients(mine, other)
    assert repr(mine) == repr(other)


@cases("name", LAYERS)
def test_layers_keep_float32(name: str, device: str) -> None:
    make, shape = LAYERS[name]
    layer = make(nn).to(device)
    x = ours(rng.standard_normal(shape).astype(np.float32), True, device)
    out = layer(x)
    out.sum().backward()
    assert out.dtype is minigrad.float32
    assert x.grad is not None and x.grad.dtype is minigrad.float32
    assert all(p.grad is not None and p.grad.dtype is minigrad.float32 for p in layer.parameters())


def test_layers_are_made_on_a_device_in_a_dtype(device: str) -> None:
    how = {"device": device, "dtype": minigrad.float64}
    layers = [
        nn.Linear(2, 3, **how),
        nn.Bilinear(2, 3, 4, **how),
        nn.Embedding(4, 3, padding_idx=1, **how),
        nn.LayerNorm(3, **how),
        nn.RMSNorm(3, **how),
        nn.MultiheadAttention(4, 2, add_bias_kv=True, **how),
        nn.Transformer(4, 2, 1, 1, 8, **how),
        nn.LearnedPositionalEncoding(4, 5, **how),
        nn.SinusoidalPositionalEncoding(4, 5, **how),
        nn.RotaryPositionalEncoding(4, 5, **how),
    ]
    for layer in layers:
        for tensor in (*layer.parameters(), *layer.buffers()):
            assert tensor.device.type == device and tensor.dtype is minigrad.float64
    assert not host(layers[2].weight)[1].any() and host(layers[2].weight)[0].any()


def test_bilinear(device: str) -> None:
    mine, other = twinned(nn.Bilinear(3, 4, 5), torch.nn.Bilinear(3, 4, 5), device)
    a, ta = pair(rng.standard_normal((2, 6, 3)), device, requires_grad=True)
    b, tb = pair(rng.standard_normal((2, 6, 4)), device, requires_grad=True)
    out, expected = mine(a, b), other(ta, tb)
    assert_close(out, expected)
    out.square().sum().backward()
    expected.square().sum().backward()
    assert_close(a.grad, ta.grad)
    assert_close(b.grad, tb.grad)
    compare_gradients(mine, other)
    raises(RuntimeError, "bilinear: inputs of shapes", lambda: mine(b, a))


def test_layer_norm_is_over_the_last_axis(device: str) -> None:
    x = ours(rng.standard_normal((3, 4, 5)) * 3 + 1, device=device)
    out = nn.LayerNorm(5).double().to(device)(x)
    np.testing.assert_allclose(host(out.mean(-1)), np.zeros((3, 4)), atol=1e-12)
    np.testing.assert_allclose(host(out.var(-1, unbiased=False)), np.ones((3, 4)), rtol=1e-4)
    assert np.abs(host(out).mean(0)).max() > 0.1


@cases("padding_idx", [None, 2, -1])
def test_embedding(padding_idx: int | None, device: str) -> None:
    mine, other = twinned(
        nn.Embedding(6, 4, padding_idx=padding_idx), torch.nn.Embedding(6, 4, padding_idx=padding_idx), device
    )
    index, tindex = pair(np.array([[1, 2, 2], [5, 1, 0]]), device)
    out, expected = mine(index), other(tindex)
    assert_close(out, expected)
    g, tg = pair(rng.standard_normal((2, 3, 4)), device)
    out.backward(g)
    expected.backward(tg)
    compare_gradients(mine, other)  # rows taken twice add up, the padding row gets nothing
    assert repr(mine) == repr(other)
    assert mine.padding_idx == other.padding_idx


def test_embedding_from_pretrained() -> None:
    table = minigrad.randn(4, 3)
    layer = nn.Embedding.from_pretrained(table)
    assert not layer.weight.requires_grad and layer.weight.data_ptr() == table.data_ptr()
    assert nn.Embedding.from_pretrained(table, freeze=False, padding_idx=1).weight.requires_grad
    assert layer(minigrad.tensor([3])).tolist() == table[3:].tolist()


def test_embedding_errors() -> None:
    layer = nn.Embedding(4, 3)
    with pytest.raises(IndexError, match=r"embedding: index 4 is out of range: indices must be in 0 \.\. 3"):
        layer(minigrad.tensor([0, 4]))
    raises(RuntimeError, r"integer dtype, but got minigrad\.float32: use \.long\(\)", lambda: layer(minigrad.ones(2)))
    raises(AssertionError, "Padding_idx must be within", lambda: nn.Embedding(4, 3, padding_idx=4))


def test_shape_and_dtype_errors_name_the_function() -> None:
    with pytest.raises(RuntimeError, match="linear: mat1 and mat2 shapes cannot be multiplied"):
        nn.Linear(3, 2)(minigrad.ones(4, 5))
    with pytest.raises(RuntimeError, match=r"linear: expected input and weight to have the same dtype.*\.to\(dtype\)"):
        nn.Linear(3, 2)(minigrad.ones(4, 3).double())
    with pytest.raises(RuntimeError, match=r"layer_norm: given normalized_shape=\[4\], expected input with shape"):
        nn.LayerNorm(4)(minigrad.ones(2, 3))
    raises(RuntimeError, "layer_norm: expected input and weight", lambda: nn.LayerNorm(4)(minigrad.ones(2, 4).double()))
    raises(RuntimeError, "Halving dimension must be even", lambda: F.glu(minigrad.ones(3)))


# Dropout ---------------------------------------------------------------------------------------------------


def test_dropout(device: str) -> None:
    x = minigrad.ones(200, 100, device=device, requires_grad=True)
    layer = nn.Dropout(0.3)
    out = layer(x)
    values = host(out)
    np.testing.assert_allclose(np.unique(values), [0, 1 / 0.7], rtol=1e-6)
    assert abs(float((values == 0).mean()) - 0.3) < 0.02
    out.sum().backward()
    np.testing.assert_array_equal(host(x.grad), values)
    assert layer.eval()(x) is x
    assert out.dtype is minigrad.float32


def test_dropout_at_its_ends_and_in_place(device: str) -> None:
    x = minigrad.ones(5, device=device)
    assert F.dropout(x, 0.0) is x
    assert not F.dropout(x, 1.0).any().item()
    assert F.dropout(x, 0.5, inplace=True) is x and x.max().item() in (0, 2)
    raises(ValueError, r"dropout probability has to be between 0 and 1, but got 1\.5", lambda: F.dropout(x, 1.5))
    raises(ValueError, "between 0 and 1", lambda: nn.Dropout(-0.1))


def test_dropout_repeats_with_the_seed(device: str) -> None:
    x = minigrad.ones(50, device=device)
    first = F.dropout(x).tolist()
    assert F.dropout(x).tolist() != first
    minigrad.manual_seed(0)
    assert F.dropout(x).tolist() == first


# Other functions -------------------------------------------------------------------------------------------

FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "normalize": lambda f, x: f.normalize(x, dim=1),
    "normalize p=1": lambda f, x: f.normalize(x, p=1.0, dim=-1),
    "softmin": lambda f, x: f.softmin(x, dim=1),
    "pad": lambda f, x: f.pad(x, (1, 2)),
    "pad of two axes": lambda f, x: f.pad(x, (1, 2, 0, 3), value=1.5),
    "pad that crops": lambda f, x: f.pad(x, (-1, 2, 0, -1)),
    "pad of nothing": lambda f, x: f.pad(x, ()),
    "cosine_similarity": lambda f, x: f.cosine_similarity(x, x.flip([0]) * 2 + 1, dim=-1),
    "silu in place": lambda f, x: f.silu(x * 2, inplace=True),
    "leaky_relu in place": lambda f, x: f.leaky_relu(x * 2, 0.1, inplace=True),
    "elu in place": lambda f, x: f.elu(x * 2, inplace=True),
}


@cases("name", FUNCTIONS)
def test_functions(name: str, device: str) -> None:
    x, tx = pair(rng.standard_normal((3, 4, 5)), device, requires_grad=True)
    out, expected = FUNCTIONS[name](F, x), FUNCTIONS[name](torch.nn.functional, tx)
    assert_close(out, expected)
    out.exp().sum().backward()
    expected.exp().sum().backward()
    assert_close(x.grad, tx.grad)


def test_softmax_with_a_dtype_or_without_an_axis() -> None:
    x = minigrad.randn(2, 3)
    assert F.softmax(x, dim=-1, dtype=minigrad.float64).dtype is minigrad.float64
    assert F.log_softmax(x, dim=-1, dtype=minigrad.float64).dtype is minigrad.float64
    with pytest.warns(UserWarning, match="Implicit dimension choice for softmax"):
        assert F.softmax(x).tolist() == F.softmax(x, 1).tolist()


def test_one_hot(device: str) -> None:
    x, tx = pair(np.array([[0, 2], [1, 1]]), device)
    for classes in (-1, 5):
        found = F.one_hot(x, classes)
        assert_close(found, torch.nn.functional.one_hot(tx, classes))
        assert found.dtype is minigrad.int64
    raises(RuntimeError, r"use \.long\(\)", lambda: F.one_hot(minigrad.ones(2)))


def test_one_hot_out_of_range() -> None:
    raises(RuntimeError, "Class values must be smaller than num_classes", lambda: F.one_hot(minigrad.tensor([0, 2]), 2))


def test_gumbel_softmax(device: str) -> None:
    logits = ours(np.log(np.tile([0.1, 0.6, 0.3], (4000, 1))), True, device)
    sample = F.gumbel_softmax(logits, tau=0.5, hard=True)
    np.testing.assert_allclose(host(sample).sum(-1), 1)
    np.testing.assert_allclose(host(sample.mean(0)), [0.1, 0.6, 0.3], atol=0.04)
    sample[:, 0].sum().backward()
    assert logits.grad is not None and logits.grad.any().item()
    np.testing.assert_allclose(host(F.gumbel_softmax(logits).sum(-1)), 1)


def test_pad_errors() -> None:
    x = minigrad.ones(2, 3)
    raises(RuntimeError, "pair for at most 2 axes, but got 3", lambda: F.pad(x, (1, 1, 1)))
    raises(RuntimeError, "takes more away than axis 1 of length 3", lambda: F.pad(x, (-2, -2)))


def test_names_that_programs_look_for() -> None:
    for name in ("scaled_dot_product_attention", "cross_entropy", "relu", "softmax", "gelu", "pad", "linear", "tanh"):
        assert hasattr(F, name)
