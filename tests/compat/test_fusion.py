"""A batch norm that becomes a part of the layer before it: weights as PyTorch's, and the same results."""

from typing import Any

import numpy as np
import pytest

import minigrad
from minigrad.nn import BatchNorm1d, BatchNorm2d, Conv2d, ConvTranspose2d, Linear
from minigrad.nn.utils import fusion
from tests.support.cases import cases, raises
from tests.support.parity import assert_close, ours, theirs, torch

rng = np.random.default_rng(0)
NORM = rng.normal(size=4), rng.random(4) + 0.5, 1e-3, rng.normal(size=4), rng.normal(size=4)


@cases("kind", ["linear", "conv", "transposed"])
@cases("absent", [(), (0,), (1, 5, 6)])
def test_weights_are_pytorchs(kind: str, absent: tuple[int, ...]) -> None:
    shape = {"linear": (4, 3), "conv": (4, 3, 2, 2), "transposed": (3, 4, 2, 2)}[kind]
    values = [rng.normal(size=shape), rng.normal(size=4), *NORM]
    if kind == "linear":
        absent = tuple(i for i in absent if i < 5)  # PyTorch's needs weight and bias of the norm here
    results = []
    for library, make in ((fusion, ours), (torch.nn.utils.fusion, theirs)):
        args = [None if i in absent and i else v if i == 4 else make(v, i < 2) for i, v in enumerate(values)]
        name, more = ("linear", ()) if kind == "linear" else ("conv", (kind == "transposed",))
        results.append(getattr(library, f"fuse_{name}_bn_weights")(*args, *more))
    for a, b in zip(*results, strict=True):
        assert_close(a, b)
        assert a.requires_grad == b.requires_grad and isinstance(a, minigrad.nn.Parameter)


LAYERS: list[tuple[Any, Any, tuple[int, ...]]] = [
    (Linear(3, 4), BatchNorm1d(4), (2, 3)),
    (Linear(3, 4, bias=False), BatchNorm1d(1), (2, 3)),
    (Conv2d(3, 4, 2), BatchNorm2d(4), (2, 3, 5, 5)),
    (ConvTranspose2d(3, 4, 2), BatchNorm2d(4, affine=False), (2, 3, 5, 5)),
]


@cases("layer, norm, shape", LAYERS)
def test_the_fused_layer_has_the_results_of_both(layer: Any, norm: Any, shape: tuple[int, ...]) -> None:
    norm.running_mean.fill_(0.3)
    norm.running_var.fill_(2.0)
    layer.eval(), norm.eval()
    x = minigrad.rand(*shape)
    if isinstance(layer, Linear):
        fused = fusion.fuse_linear_bn_eval(layer, norm)
        expected = norm(layer(x)) if norm.num_features == 4 else norm(layer(x).reshape(-1, 1)).reshape(2, 4)
    else:
        fused = fusion.fuse_conv_bn_eval(layer, norm, isinstance(layer, ConvTranspose2d))
        expected = norm(layer(x))
    assert minigrad.allclose(fused(x), expected, atol=1e-6)
    assert fused is not layer and fused.weight is not layer.weight


def test_layers_in_training_or_of_other_widths_stay_apart() -> None:
    raises(AssertionError, "only for eval", lambda: fusion.fuse_conv_bn_eval(Conv2d(1, 2, 1), BatchNorm2d(2).eval()))
    with pytest.raises(AssertionError, match=r"linear.out_features=4 or 1 channels, not bn.num_features=3"):
        fusion.fuse_linear_bn_eval(Linear(2, 4).eval(), BatchNorm1d(3).eval())
