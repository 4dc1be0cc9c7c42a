"""Normalisation against PyTorch: training, evaluation, running statistics, errors."""

import itertools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minigrad
import minigrad.nn.functional as F
from minigrad import nn
from tests.support.both import agree, numbers
from tests.support.cases import cases, programs, raises, rng
from tests.support.layer_checks import Make, check_layer, check_row
from tests.support.parity import assert_close, host, ours, theirs, torch
from tests.support.twins import check_twins, pair

one = minigrad.ones


def evaluated(make: Make) -> Make:
    """The layer in evaluation mode, with running statistics that are not the initial ones."""

    def built(n: Any) -> Any:
        layer = make(n).eval()
        state = layer.state_dict()
        draw = np.random.default_rng(3)
        for name in ("running_mean", "running_var"):
            values = draw.uniform(0.5, 2, tuple(state[name].shape))
            state[name].copy_(ours(values) if n is nn else theirs(values))
        return layer

    return built


LAYERS = programs("""
n.BatchNorm1d(3) of (4, 3); n.BatchNorm1d(3, eps=1e-3, momentum=0.3) of (4, 3, 5);
n.BatchNorm1d(3, momentum=None) of (4, 3, 5); n.BatchNorm1d(3, affine=False) of (4, 3);
n.BatchNorm1d(3, bias=False) of (4, 3); n.BatchNorm1d(3, track_running_stats=False) of (4, 3);
n.BatchNorm1d(3, track_running_stats=False).eval() of (4, 3); n.BatchNorm2d(3) of (2, 3, 4, 5);
n.BatchNorm3d(2) of (2, 2, 2, 3, 2); n.InstanceNorm1d(3) of (2, 3, 5); n.InstanceNorm1d(3, affine=True) of (3, 5);
n.InstanceNorm1d(3, track_running_stats=True) of (2, 3, 5); n.InstanceNorm2d(3, affine=True, eps=1e-3) of (2, 3, 4, 2);
n.InstanceNorm3d(2) of (2, 2, 2, 3, 2); n.GroupNorm(2, 4) of (3, 4, 5);
n.GroupNorm(3, 6, eps=1e-3, affine=False) of (2, 6, 2, 3); n.GroupNorm(1, 4, bias=False) of (3, 4);
n.LocalResponseNorm(2, alpha=0.3) of (2, 5, 4); n.LocalResponseNorm(3, beta=0.5, k=2.0) of (2, 5, 2, 3)
""")
EVALUATED: list[tuple[Make, tuple[int, ...]]] = [
    (evaluated(lambda n: n.BatchNorm1d(3)), (4, 3, 5)),
    (evaluated(lambda n: n.BatchNorm1d(3)), (1, 3)),
    (evaluated(lambda n: n.BatchNorm2d(3, affine=False)), (2, 3, 4, 5)),
    (evaluated(lambda n: n.InstanceNorm1d(3, affine=True, track_running_stats=True)), (2, 3, 5)),
]


@cases("row", LAYERS)
def test_layers(row: str, device: str) -> None:
    check_row(row, device)


@cases("make, shape", EVALUATED)
def test_layers_in_evaluation(make: Make, shape: tuple[int, ...], device: str) -> None:
    check_layer(make, shape, device)


@cases("momentum", [0.1, None])
def test_running_statistics_over_several_batches(momentum: float | None, device: str) -> None:
    def call(t: Any, layer: Any, batches: Any, last: Any) -> Any:
        outs = [*(layer(x).detach() for x in batches), layer.eval()(last).detach()]
        before = [value.clone() for value in layer.state_dict().values()]
        layer.reset_running_stats()
        return outs, before, list(layer.state_dict().values())

    arrays = rng.standard_normal((4, 5, 3)) * 2 + 1, rng.standard_normal((5, 3))
    check_twins(lambda n: n.BatchNorm1d(3, momentum=momentum), *arrays, device=device, call=call)


def test_state_from_before_version_two() -> None:
    """Old files have no num_batches_tracked."""
    layer = nn.BatchNorm1d(2)
    old = {k: v.clone() for k, v in nn.BatchNorm1d(2).state_dict().items() if k != "num_batches_tracked"}
    layer.load_state_dict(old)
    assert "num_batches_tracked" not in old
    for key, value in (("cpu", 7), ("meta", 0)):  # without data there is no count that could be kept
        layer = nn.BatchNorm1d(2, device=key)
        if key == "cpu":
            layer.num_batches_tracked.fill_(value)
        layer.load_state_dict({}, strict=False, assign=True)
        assert layer.state_dict()["num_batches_tracked"].item() == value


def test_functions_in_evaluation(device: str) -> None:
    def program(t: Any, x: Any, *stats: Any) -> list[Any]:
        f = t.nn.functional.batch_norm
        return [f(x, *(a.detach() for a in stats[:2]), *stats[2:]), f(x, None, None, training=True)]

    agree(program, rng.standard_normal((4, 3)), *rng.uniform(0.5, 2, (4, 3)), device=device)


@cases("training, dims", itertools.product([True, False], [(0, 2, 1), (1, 0), (0, 3, 1, 2), (0, 2, 1, 3)]))
def test_the_order_in_memory_is_torchs(training: bool, dims: tuple[int, ...]) -> None:
    def strides(t: Any) -> tuple[int, ...]:
        x = t.rand(*range(2, 2 + len(dims))).permute(dims)
        n = x.shape[1]
        return tuple(t.nn.functional.batch_norm(x, t.zeros(n), t.ones(n), training=training).stride())

    assert strides(minigrad) == strides(torch)


def test_equal_numbers_become_zeros(device: str) -> None:
    x = minigrad.full((4, 3, 2), 1e15, device=device, requires_grad=True)
    for layer in (nn.BatchNorm1d(3), nn.InstanceNorm1d(3), nn.GroupNorm(3, 3)):
        out = layer.to(device)(x)
        assert out.dtype is minigrad.float32 and not host(out).any()


NORMS: list[Callable[[Any, Any, Any], Any]] = [
    lambda f, x, w: f.layer_norm(x, (6,), w, w),
    lambda f, x, w: f.rms_norm(x, (6,), w),
    lambda f, x, w: f.batch_norm(x, None, None, w[:3], w[3:], training=True),
    lambda f, x, w: f.group_norm(x, 1, w[:3], w[3:]),
    lambda f, x, w: f.instance_norm(x, weight=w[:3], bias=w[3:]),
    lambda f, x, w: f.normalize(x) + w * 0,
]


@cases("norm", NORMS)
def test_float16_whose_squares_overflow(norm: Callable[[Any, Any, Any], Any], device: str) -> None:
    values = (rng.standard_normal((4, 3, 6)) * 3000).astype(np.float16)
    weights, derivatives = rng.uniform(0.5, 2, 6).astype(np.float16), rng.standard_normal((4, 3, 6)).astype(np.float16)
    (x, tx), (w, tw) = (pair(array, device, requires_grad=True) for array in (values, weights))
    g, tg = pair(derivatives, device)
    out, expected = norm(F, x, w), norm(torch.nn.functional, tx.double(), tw.double())
    assert out.dtype is minigrad.float16
    assert_close(out, expected, 2e-3)
    out.backward(g)
    expected.backward(tg.double())
    for mine, other, rtol in ((x, tx, 3e-3), (w, tw, 5e-3)):
        assert mine.grad is not None and mine.grad.dtype is minigrad.float16
        assert_close(mine.grad, other.grad, rtol)
    if device == "cpu":
        y = x.detach().requires_grad_()
        (derivative,) = minigrad.autograd.grad(norm(F, y, w), y, g, create_graph=True)  # by its rule
        assert_close(derivative, x.grad, 3e-3)


# Normalisation of 16-bit inputs with weights in float32: computed in float32, and rounded.
MIXED: list[Callable[[Any, Any, Any, Any], Any]] = [
    lambda t, x, w, b: t.nn.functional.layer_norm(x, (6,), w, b),
    lambda t, x, w, b: t.nn.functional.group_norm(x.view(2, 6, 4), 3, w, b),
    lambda t, x, w, b: t.nn.functional.batch_norm(x.view(4, 6, 2), None, None, w, b, True),
    lambda t, x, w, b: t.nn.functional.batch_norm(x.view(4, 6, 2), t.ones(6), t.ones(6) * 2, w, b),
]


@cases("norm, dtype, has_bias", itertools.product(MIXED, ["float16", "bfloat16"], [True, False]))
def test_weights_in_float32(norm: Callable[..., Any], dtype: str, has_bias: bool) -> None:
    def program(t: Any, x: Any, w: Any, b: Any) -> Any:
        out = norm(t, x.to(getattr(t, dtype)), w, b if has_bias else None)
        return out.float(), str(out.dtype).rpartition(".")[2]

    agree(program, *(numbers(*shape).astype("float32") for shape in [(8, 6), (6,), (6,)]), near=0.02)


@cases("axes", [1, 2])
def test_instance_norm_without_eps(axes: int) -> None:
    def program(t: Any, x: Any) -> Any:
        layer = getattr(t.nn, f"InstanceNorm{axes}d")(3, eps=0, track_running_stats=True).double()
        return layer(x), layer.eval()(x)

    agree(program, numbers(2, 3, *(5, 2)[:axes]))


def test_an_empty_batch_has_an_empty_result(device: str) -> None:
    """It does not change the statistics."""
    for kind, shape in itertools.product((nn.BatchNorm1d, nn.InstanceNorm1d), ((0, 3, 2), (2, 3, 0))):
        layer = kind(3, track_running_stats=True).to(device)
        assert layer(one(shape, device=device)).shape == shape
        assert layer.running_mean.tolist() == [0, 0, 0] and layer.running_var.tolist() == [1, 1, 1]
    for training in (False, True):
        assert F.batch_norm(one(0), one(0), one(0), training=training).shape == (0,)
    for shape in ((0, 3, 2), (2, 0, 3), (2, 3, 0)):
        x = one(shape, requires_grad=True)
        F.local_response_norm(x, 3).sum().backward()
        assert x.grad is not None and x.grad.shape == shape


def test_sync_batch_norm_is_batch_norm_here() -> None:
    mine, other = nn.SyncBatchNorm(3), torch.nn.SyncBatchNorm(3)
    assert repr(mine) == repr(other) and list(mine.state_dict()) == list(other.state_dict())
    x = minigrad.randn(4, 3, 2)
    assert_close(mine(x), nn.BatchNorm1d(3)(x), 1e-6)
    model = nn.Sequential(nn.BatchNorm1d(3))
    assert nn.SyncBatchNorm.convert_sync_batchnorm(model) is model


def test_errors() -> None:
    raises(ValueError, r"expected 2D or 3D input \(got 1D input\)", lambda: nn.BatchNorm1d(3)(one(3)))
    raises(ValueError, r"expected 4D input \(got 2D", lambda: nn.BatchNorm2d(3)(one(2, 3)))
    raises(ValueError, "Expected more than 1 value per channel", lambda: nn.BatchNorm1d(3)(one(1, 3)))
    raises(RuntimeError, "running_mean should contain 4 elements not 3", lambda: nn.BatchNorm1d(3)(one(2, 4)))
    raises(RuntimeError, "to have the same dtype", lambda: nn.BatchNorm1d(3)(one(2, 3).double()))
    raises(ValueError, "eps must be positive", lambda: nn.BatchNorm1d(3, eps=0)(one(2, 3)))
    raises(RuntimeError, "must be defined in", lambda: F.batch_norm(one(2, 3), None, None))
    raises(ValueError, r"\(5\) must be divisible by num_groups \(2\)", lambda: nn.GroupNorm(2, 5))
    raises(RuntimeError, r"input of shape \[2, 3\] and num_groups=2", lambda: nn.GroupNorm(2, 4)(one(2, 3)))
    raises(ValueError, "Expected more than 1 value", lambda: nn.GroupNorm(4, 4)(one(1, 4)))
    raises(ValueError, "Expected more than 1 spatial element", lambda: nn.InstanceNorm1d(3)(one(2, 3, 1)))
    words = r"expected input's size at dim=1 to match num_features \(3\), but got: 4"
    raises(ValueError, words, lambda: nn.InstanceNorm1d(3, affine=True)(one(2, 4, 5)))
    raises(ValueError, "expected 2D or 3D input", lambda: nn.InstanceNorm1d(3)(one(2)))


def test_instance_norm_without_affine_takes_other_numbers_of_channels() -> None:
    with pytest.warns(UserWarning, match="does not match num_features"):
        assert nn.InstanceNorm1d(3)(minigrad.randn(2, 4, 5)).shape == (2, 4, 5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nn.InstanceNorm1d(4)(minigrad.randn(2, 4, 5))
