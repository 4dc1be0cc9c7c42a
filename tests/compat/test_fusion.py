"""A batch norm fused into the layer before it: weights equal PyTorch's, and the results stay the same."""

from typing import Any

import numpy as np

import minigrad
from minigrad.nn import BatchNorm2d, Conv2d, ConvTranspose2d
from minigrad.nn.utils import fusion
from tests.support.cases import cases, raises
from tests.support.parity import assert_close, ours, theirs, torch

rng = np.random.default_rng(0)
NORM = rng.normal(size=4), rng.random(4) + 0.5, 1e-3, rng.normal(size=4), rng.normal(size=4)


@cases("transpose", [False, True])
@cases("absent", [(), (0,), (1, 5, 6)])
def test_weights_are_pytorchs(transpose: bool, absent: tuple[int, ...]) -> None:
    values = [rng.normal(size=(3, 4, 2, 2) if transpose else (4, 3, 2, 2)), rng.normal(size=4), *NORM]
    results = []
    for library, make in ((fusion, ours), (torch.nn.utils.fusion, theirs)):
        args = [None if i in absent and i else v if i == 4 else make(v, i < 2) for i, v in enumerate(values)]
        results.append(library.fuse_conv_bn_weights(*args, transpose))
    for a, b in zip(*results, strict=True):
        assert_close(a, b)
        assert a.requires_grad == b.requires_grad and isinstance(a, minigrad.nn.Parameter)


LAYERS: list[tuple[Any, Any, tuple[int, ...]]] = [
    (Conv2d(3, 4, 2), BatchNorm2d(4), (2, 3, 5, 5)),
    (ConvTranspose2d(3, 4, 2), BatchNorm2d(4, affine=False), (2, 3, 5, 5)),
]


@cases("layer, norm, shape", LAYERS)
def test_the_fused_layer_has_the_results_of_both(layer: Any, norm: Any, shape: tuple[int, ...]) -> None:
    norm.running_mean.fill_(0.3)
    norm.running_var.fill_(2.0)
    layer.eval(), norm.eval()
    x = minigrad.rand(*shape)
    fused = fusion.fuse_conv_bn_eval(layer, norm, isinstance(layer, ConvTranspose2d))
    assert minigrad.allclose(fused(x), norm(layer(x)), atol=1e-6)
    assert fused is not layer and fused.weight is not layer.weight


def test_layers_in_training_are_not_fused() -> None:
    raises(AssertionError, "only for eval", lambda: fusion.fuse_conv_bn_eval(Conv2d(1, 2, 1), BatchNorm2d(2).eval()))
