"""Layers and their functions against PyTorch in float64: results, gradients, dtypes, errors."""

import itertools
from typing import Any

import numpy as np

import minigrad
import minigrad.nn.functional as F
from minigrad import nn
from tests.support.both import agree, numbers
from tests.support.cases import cases, programs, raises
from tests.support.layer_checks import check_float32, check_row
from tests.support.parity import host, ours
from tests.support.twins import check_twins

LAYERS = programs("""
n.Linear(5, 3) of (4, 5); n.Linear(5, 3) of (5,); n.Linear(5, 3, bias=False) of (2, 3, 4, 5);
n.LayerNorm(5) of (2, 3, 5); n.LayerNorm((3, 5), eps=1e-3) of (2, 3, 5); n.LayerNorm(5, bias=False) of (2, 5);
n.LayerNorm([3, 5], elementwise_affine=False) of (2, 3, 5); n.RMSNorm(5) of (2, 3, 5);
n.RMSNorm((3, 5), eps=1e-3) of (2, 3, 5); n.ReLU() of (4, 5); n.GELU() of (4, 5); n.GELU(approximate="tanh") of (4, 5);
n.SiLU() of (4, 5); n.Tanh() of (4, 5); n.Sigmoid() of (4, 5); n.LogSigmoid() of (4, 5);
n.Softplus(beta=2, threshold=1) of (4, 5); n.ELU(alpha=0.7) of (4, 5); n.LeakyReLU(0.2) of (4, 5);
n.GLU(dim=1) of (4, 6, 5); n.Softmax(dim=1) of (4, 5, 2); n.LogSoftmax(dim=-1) of (4, 5);
n.Sequential(n.Linear(5, 7), n.ReLU(inplace=True), n.Linear(7, 1)) of (4, 5)
""")


@cases("row", LAYERS)
def test_layers(row: str, device: str) -> None:
    check_row(row, device)


@cases("row", LAYERS)
def test_layers_keep_float32(row: str, device: str) -> None:
    """Also without PyTorch."""
    make, _, shape = row.rpartition(" of ")
    check_float32(lambda n: eval(make, {"n": n}), eval(shape), device)


def test_layers_are_created_on_a_device_in_a_dtype(device: str) -> None:
    how = {"device": device, "dtype": minigrad.float64}
    layers = [
        nn.Linear(2, 3, **how),
        nn.ConvTranspose2d(2, 3, 3, **how),
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
    assert not host(layers[3].weight)[1].any() and host(layers[3].weight)[0].any()


def test_bilinear(device: str) -> None:
    check_twins(lambda n: n.Bilinear(3, 4, 5), numbers(2, 6, 3), numbers(2, 6, 4), device=device)
    layer = nn.Bilinear(3, 4, 5)
    raises(RuntimeError, "bilinear: inputs of shapes", lambda: layer(minigrad.ones(2, 4), minigrad.ones(2, 3)))


# PyTorch rejects a bias with an input of two axes
@cases("shape, bias", [((3,), False), ((3,), True), ((2, 3), False), ((2, 4, 3), False), ((2, 4, 3), True)])
def test_linear_with_a_weight_of_one_axis(shape: tuple[int, ...], bias: bool) -> None:
    more = [np.array(0.5)] if bias else []
    agree(lambda t, *args: t.nn.functional.linear(*args), numbers(*shape), numbers(3), *more)


DISTANCES = programs("""
n.CosineSimilarity(); n.CosineSimilarity(dim=-1, eps=1e-3); n.PairwiseDistance();
n.PairwiseDistance(p=1.0, keepdim=True); n.PairwiseDistance(3.0, eps=0.1)
""")


@cases("layer, shape", itertools.product(DISTANCES, [(4, 5), (1, 5)]))
def test_distances(layer: str, shape: tuple[int, ...], device: str) -> None:
    check_twins(lambda n: eval(layer, {"n": n}), numbers(4, 5), numbers(*shape, seed=1), device=device)


@cases("shapes", [((1, 2, 3), (2, 1, 3)), ((4, 1), (4, 3)), ((3,), (2, 3, 3))])
def test_cosine_similarity_along_an_axis_that_is_repeated(shapes: tuple[Any, Any], device: str) -> None:
    dims = (-1, -2) if len(shapes[1]) > 2 else (1,)
    program = lambda t, a, b: [t.nn.functional.cosine_similarity(a, b, dim) for dim in dims]
    agree(program, *(numbers(*shape) for shape in shapes), device=device)


def test_shape_and_dtype_errors_name_the_function() -> None:
    linear, norm, one, kind = nn.Linear(3, 2), nn.LayerNorm(4), minigrad.ones, RuntimeError
    raises(kind, "linear: mat1 and mat2 shapes cannot be multiplied", lambda: linear(one(4, 5)))
    words = r"linear: expected input and weight to have the same dtype.*\.to\(dtype\)"
    raises(kind, words, lambda: linear(one(4, 3).double()))
    raises(kind, r"layer_norm: given normalized_shape=\[4\], expected input with", lambda: norm(one(2, 3)))
    raises(kind, "layer_norm: expected input and weight", lambda: norm(one(2, 4).double()))
    raises(kind, "Halving dimension must be even", lambda: F.glu(one(3)))


FUNCTIONS = programs("""
f.normalize(x, dim=1); f.normalize(x, p=1.0, dim=-1); f.softmin(x, dim=1); f.pad(x, (1, 2));
f.pad(x, (1, 2, 0, 3), value=1.5); f.pad(x, (-1, 2, 0, -1)); f.pad(x, ());
f.cosine_similarity(x, x.flip([0]) * 2 + 1, dim=-1); f.silu(x * 2, inplace=True);
f.leaky_relu(x * 2, 0.1, inplace=True); f.elu(x * 2, inplace=True)
""")


@cases("program", FUNCTIONS)
def test_functions(program: str, device: str) -> None:
    agree(lambda t, x: eval(program, {"f": t.nn.functional, "x": x}).exp(), numbers(3, 4, 5), device=device)


def test_gumbel_softmax(device: str) -> None:
    logits = ours(np.log(np.tile([0.1, 0.6, 0.3], (4000, 1))), True, device)
    sample = F.gumbel_softmax(logits, tau=0.5, hard=True)
    np.testing.assert_allclose(host(sample).sum(-1), 1)
    np.testing.assert_allclose(host(sample.mean(0)), [0.1, 0.6, 0.3], atol=0.04)
    sample[:, 0].sum().backward()
    assert logits.grad is not None and logits.grad.any().item()
    np.testing.assert_allclose(host(F.gumbel_softmax(logits).sum(-1)), 1)
