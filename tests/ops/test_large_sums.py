"""Sums over millions of float32 numbers keep their digits: they add blocks, where NumPy or a loop would add one number
after another. Each result, and each gradient of a norm, is compared with float64."""

from collections.abc import Callable
from typing import Any

import numpy as np

import minigrad
from minigrad.nn import functional as F
from tests.support.cases import cases

COUNT = 1 << 20
VALUES = np.random.default_rng(0).random(COUNT, dtype=np.float32)
Case = tuple[tuple[int, ...], Callable[[Any, Any], Any]]  # the shape, and a function of the library and the tensor
OVER_ALL: dict[str, Case] = {
    "layer_norm": ((2, -1), lambda t, x: t.nn.functional.layer_norm(x, x.shape[1:])),
    "layer_norm of several axes": ((1, 64, -1), lambda t, x: t.nn.functional.layer_norm(x, x.shape[1:])),
    "rms_norm": ((1, -1), lambda t, x: t.nn.functional.rms_norm(x, x.shape[1:])),
    "group_norm": ((1, 8, 512, -1), lambda t, x: t.nn.functional.group_norm(x, 2)),
    "group_norm of small planes": ((1, 4096, -1), lambda t, x: t.nn.functional.group_norm(x, 1)),
    "instance_norm": ((1, 2, -1), lambda t, x: t.nn.functional.instance_norm(x)),
    "batch_norm": ((-1, 2), lambda t, x: t.nn.functional.batch_norm(x, None, None, training=True)),
    "batch_norm of signals": ((-1, 4, 2), lambda t, x: t.nn.functional.batch_norm(x, None, None, training=True)),
    "batch_norm, channels last": (
        (1, 1024, -1, 4),
        lambda t, x: t.nn.functional.batch_norm(x.permute(0, 3, 1, 2), None, None, training=True),
    ),
    "logsumexp": ((-1, 2), lambda t, x: x.logsumexp(0)),
    "cumsum": ((-1,), lambda t, x: x.cumsum(0)),
    "norm": ((-1, 2), lambda t, x: x.norm(dim=0)),
}
LAYOUTS: dict[str, tuple[tuple[int, ...], Any, Any]] = {
    "all": ((-1,), None, lambda x: x),
    "rows": ((2, -1), 1, lambda x: x),
    "columns": ((-1, 2), 0, lambda x: x),
    "many columns": ((-1, 64), 0, lambda x: x),
    "both ends": ((-1, 4, 2), (0, 2), lambda x: x),
    "transposed rows": ((-1, 2), 1, lambda x: x.t()),
    "transposed columns": ((2, -1), 0, lambda x: x.t()),
    "channels last": ((4, -1, 16, 4), (0, 2, 3), lambda x: x.permute(0, 3, 1, 2)),
    "a swapped pair": ((-1, 2, 3), (1,), lambda x: x.permute(2, 0, 1)),
}


def far(ours: Any, exact: Any) -> float:
    """The largest difference, relative to the largest number."""
    exact = exact.detach().numpy()
    return float(np.abs(ours.detach().numpy() - exact).max() / np.abs(exact).max())


@cases("name", OVER_ALL)
def test_a_norm_of_a_million_numbers(name: str) -> None:
    """Result and gradient."""
    shape, program = OVER_ALL[name]
    x = minigrad.tensor(VALUES).reshape(shape).detach().requires_grad_()
    y, exact = program(minigrad, x), program(minigrad, wide := x.detach().double().requires_grad_())
    assert y.dtype == minigrad.float32 and far(y, exact) < 5e-7
    g = minigrad.linspace(0, 1, y.numel()).reshape(y.shape)
    y.backward(g)
    exact.backward(g.double())
    assert far(x.grad, wide.grad) < 4e-6


@cases("layout", LAYOUTS)
def test_reductions_of_any_layout(layout: str) -> None:
    """Values, shapes and the order of axes, with and without ``keepdim``."""
    shape, dim, turned = LAYOUTS[layout]
    count = COUNT // 6 * 6 if 3 in shape else COUNT
    x = turned(minigrad.tensor(VALUES[:count]).reshape(shape))
    wide = x.double()
    for keepdim, name in enumerate(("sum", "mean", "var", "std")):
        y, exact = (getattr(v, name)(dim=dim, keepdim=keepdim % 2 == 1) for v in (x, wide))
        assert y.shape == exact.shape and far(y, exact) < 8e-7, name  # NumPy's loops for var: 5.2e-7


def test_the_norm_of_a_long_row_of_zeros() -> None:
    assert F.layer_norm(minigrad.zeros(2, 1 << 17), (1 << 17,)).abs().max() == 0
