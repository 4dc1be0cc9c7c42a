"""Batch, instance and group norm against PyTorch: training, evaluation, running statistics, errors."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minigrad
import minigrad.nn.functional as F
from minigrad import nn
from tests.support.cases import cases, raises, rng
from tests.support.layer_checks import Make, check_first_numbers, check_float32, check_layer
from tests.support.parity import assert_close, host, ours, theirs, torch
from tests.support.twins import pair, twinned

one = minigrad.ones


def evaluated(make: Make) -> Make:
    """The layer in evaluation, with running statistics that are not the first ones."""

    def made(n: Any) -> Any:
        layer = make(n).eval()
        state = layer.state_dict()
        draw = np.random.default_rng(3)
        for name in ("running_mean", "running_var"):
            values = draw.uniform(0.5, 2, tuple(state[name].shape))
            state[name].copy_(ours(values) if n is nn else theirs(values))
        return layer

    return made


LAYERS: dict[str, tuple[Make, tuple[int, ...]]] = {
    "BatchNorm1d": (lambda n: n.BatchNorm1d(3), (4, 3)),
    "BatchNorm1d of lengths": (lambda n: n.BatchNorm1d(3, eps=1e-3, momentum=0.3), (4, 3, 5)),
    "BatchNorm1d of all batches": (lambda n: n.BatchNorm1d(3, momentum=None), (4, 3, 5)),
    "BatchNorm1d without affine": (lambda n: n.BatchNorm1d(3, affine=False), (4, 3)),
    "BatchNorm1d without bias": (lambda n: n.BatchNorm1d(3, bias=False), (4, 3)),
    "BatchNorm1d without statistics": (lambda n: n.BatchNorm1d(3, track_running_stats=False), (4, 3)),
    "BatchNorm1d without statistics, evaluated": (lambda n: n.BatchNorm1d(3, track_running_stats=False).eval(), (4, 3)),
    "BatchNorm1d evaluated": (evaluated(lambda n: n.BatchNorm1d(3)), (4, 3, 5)),
    "BatchNorm1d of one, evaluated": (evaluated(lambda n: n.BatchNorm1d(3)), (1, 3)),
    "BatchNorm2d": (lambda n: n.BatchNorm2d(3), (2, 3, 4, 5)),
    "BatchNorm2d evaluated": (evaluated(lambda n: n.BatchNorm2d(3, affine=False)), (2, 3, 4, 5)),
    "BatchNorm3d": (lambda n: n.BatchNorm3d(2), (2, 2, 2, 3, 2)),
    "InstanceNorm1d": (lambda n: n.InstanceNorm1d(3), (2, 3, 5)),
    "InstanceNorm1d of one sample": (lambda n: n.InstanceNorm1d(3, affine=True), (3, 5)),
    "InstanceNorm1d tracked": (lambda n: n.InstanceNorm1d(3, track_running_stats=True), (2, 3, 5)),
    "InstanceNorm1d evaluated": (
        evaluated(lambda n: n.InstanceNorm1d(3, affine=True, track_running_stats=True)),
        (2, 3, 5),
    ),
    "InstanceNorm2d": (lambda n: n.InstanceNorm2d(3, affine=True, eps=1e-3), (2, 3, 4, 2)),
    "InstanceNorm3d": (lambda n: n.InstanceNorm3d(2), (2, 2, 2, 3, 2)),
    "GroupNorm": (lambda n: n.GroupNorm(2, 4), (3, 4, 5)),
    "GroupNorm of planes": (lambda n: n.GroupNorm(3, 6, eps=1e-3, affine=False), (2, 6, 2, 3)),
    "GroupNorm without lengths": (lambda n: n.GroupNorm(1, 4, bias=False), (3, 4)),
    "LocalResponseNorm": (lambda n: n.LocalResponseNorm(2, alpha=0.3), (2, 5, 4)),
    "LocalResponseNorm of planes": (lambda n: n.LocalResponseNorm(3, beta=0.5, k=2.0), (2, 5, 2, 3)),
}


@cases("name", LAYERS)
def test_layer(name: str, device: str) -> None:
    check_layer(*LAYERS[name], device)


@cases("name", LAYERS)
def test_layers_keep_float32(name: str, device: str) -> None:
    check_float32(*LAYERS[name], device)


@cases("name", LAYERS)
def test_first_numbers(name: str) -> None:
    if "evaluated" not in name:
        check_first_numbers(LAYERS[name][0])


@cases("momentum", [0.1, None])
def test_running_statistics_over_several_batches(momentum: float | None, device: str) -> None:
    mine, other = (n.BatchNorm1d(3, momentum=momentum) for n in (nn, torch.nn))
    mine, other = twinned(mine, other, device)
    for _ in range(4):
        x, tx = pair(rng.standard_normal((5, 3)) * 2 + 1, device)
        assert_close(mine(x), other(tx))
    for name in ("running_mean", "running_var", "num_batches_tracked"):
        assert_close(mine.state_dict()[name], other.state_dict()[name], what=name)
    x, tx = pair(rng.standard_normal((5, 3)), device)
    assert_close(mine.eval()(x), other.eval()(tx))
    assert mine.num_batches_tracked.item() == 4 and mine.num_batches_tracked.dtype is minigrad.int64
    mine.reset_running_stats()
    assert not mine.running_mean.any().item() and mine.num_batches_tracked.item() == 0
    assert mine.running_mean.requires_grad is False


def test_state_of_before_version_two() -> None:
    """Old files have no num_batches_tracked."""
    layer = nn.BatchNorm1d(2)
    old = {k: v.clone() for k, v in nn.BatchNorm1d(2).state_dict().items() if k != "num_batches_tracked"}
    layer.load_state_dict(old)
    assert "num_batches_tracked" not in old
    for key, value in (("cpu", 7), ("meta", 0)):  # without data there is no count that could stay
        layer = nn.BatchNorm1d(2, device=key)
        if key == "cpu":
            layer.num_batches_tracked.fill_(value)
        layer.load_state_dict({}, strict=False, assign=True)
        assert layer.state_dict()["num_batches_tracked"].item() == value


def test_functions_in_evaluation(device: str) -> None:
    x, tx = pair(rng.standard_normal((4, 3)), device)
    stats = [pair(rng.uniform(0.5, 2, 3), device) for _ in range(4)]
    found = F.batch_norm(x, *(s for s, _ in stats))
    assert_close(found, torch.nn.functional.batch_norm(tx, *(t for _, t in stats)))
    assert_close(
        F.batch_norm(x, None, None, training=True), torch.nn.functional.batch_norm(tx, None, None, training=True)
    )


@cases("training", [True, False])
@cases("dims", [(0, 2, 1), (1, 0), (0, 3, 1, 2), (0, 2, 1, 3)])
def test_the_order_in_memory_is_torchs(dims: tuple[int, ...], training: bool) -> None:
    def strides(t: Any) -> tuple[int, ...]:
        x = t.rand(*range(2, 2 + len(dims))).permute(dims)
        n = x.shape[1]
        steps: tuple[int, ...] = t.nn.functional.batch_norm(x, t.zeros(n), t.ones(n), training=training).stride()
        return steps

    assert strides(minigrad) == strides(torch)


def test_equal_numbers_become_zeros(device: str) -> None:
    x = minigrad.full((4, 3, 2), 1e15, device=device, requires_grad=True)
    for layer in (nn.BatchNorm1d(3), nn.InstanceNorm1d(3), nn.GroupNorm(3, 3)):
        out = layer.to(device)(x)
        assert out.dtype is minigrad.float32 and not host(out).any()


def normalised(f: Any, name: str, x: Any, weight: Any) -> Any:
    """A norm of ``functional``, with weight and bias where it has them."""
    channels = [weight[:3], weight[3:6]]
    if name == "batch_norm":
        return f.batch_norm(x, None, None, *channels, training=True)
    if name == "instance_norm":
        return f.instance_norm(x, weight=channels[0], bias=channels[1])
    if name == "group_norm":
        return f.group_norm(x, 1, *channels)
    if name == "normalize":
        return f.normalize(x)
    return f.layer_norm(x, (6,), weight, weight) if name == "layer_norm" else f.rms_norm(x, (6,), weight)


@cases("name", ["layer_norm", "rms_norm", "batch_norm", "group_norm", "instance_norm", "normalize"])
def test_float16_whose_squares_overflow(name: str, device: str) -> None:
    values = (rng.standard_normal((4, 3, 6)) * 3000).astype(np.float16)
    weights, slopes = rng.uniform(0.5, 2, 6).astype(np.float16), rng.standard_normal((4, 3, 6)).astype(np.float16)
    (x, tx), (w, tw) = (pair(array, device, requires_grad=True) for array in (values, weights))
    g, tg = pair(slopes, device)
    out, expected = normalised(F, name, x, w), normalised(torch.nn.functional, name, tx.double(), tw.double())
    assert out.dtype is minigrad.float16
    assert_close(out, expected, 2e-3)
    out.backward(g)
    expected.backward(tg.double())
    assert x.grad is not None and x.grad.dtype is minigrad.float16
    assert_close(x.grad, tx.grad, 3e-3)
    if name != "normalize":
        assert w.grad is not None and w.grad.dtype is minigrad.float16
        assert_close(w.grad, tw.grad, 5e-3)
    if device == "cpu":
        y = x.detach().requires_grad_()
        (slope,) = minigrad.autograd.grad(normalised(F, name, y, w), y, g, create_graph=True)  # by the rule
        assert_close(slope, x.grad, 3e-3)


@cases("shape", [(0, 3), (0, 3, 2), (2, 3, 0)])
def test_an_empty_batch_leaves_the_statistics(shape: tuple[int, ...], device: str) -> None:
    for make in (nn.BatchNorm1d, nn.InstanceNorm1d):
        if make is nn.InstanceNorm1d and len(shape) == 2:
            continue
        layer = make(3, track_running_stats=True).to(device)
        assert layer(minigrad.ones(shape, device=device)).shape == shape
        assert layer.running_mean.tolist() == [0, 0, 0] and layer.running_var.tolist() == [1, 1, 1]


def test_functions_of_nothing() -> None:
    for training in (False, True):
        assert F.batch_norm(one(0), one(0), one(0), training=training).shape == (0,)
    for shape in ((0, 3, 2), (2, 0, 3), (2, 3, 0)):
        x = minigrad.ones(shape, requires_grad=True)
        out = F.local_response_norm(x, 3)
        out.sum().backward()
        assert x.grad is not None and out.shape == x.grad.shape == shape


def test_sync_batch_norm_is_batch_norm_here() -> None:
    mine, other = nn.SyncBatchNorm(3), torch.nn.SyncBatchNorm(3)
    assert repr(mine) == repr(other) and list(mine.state_dict()) == list(other.state_dict())
    x = minigrad.randn(4, 3, 2)
    assert_close(mine(x), nn.BatchNorm1d(3)(x), 1e-6)
    model = nn.Sequential(nn.BatchNorm1d(3))
    assert nn.SyncBatchNorm.convert_sync_batchnorm(model) is model


ERRORS: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "axes": (lambda: nn.BatchNorm1d(3)(one(3)), ValueError, r"expected 2D or 3D input \(got 1D input\)"),
    "axes of planes": (lambda: nn.BatchNorm2d(3)(one(2, 3)), ValueError, r"expected 4D input \(got 2D"),
    "one value": (lambda: nn.BatchNorm1d(3)(one(1, 3)), ValueError, "Expected more than 1 value per channel"),
    "channels": (lambda: nn.BatchNorm1d(3)(one(2, 4)), RuntimeError, "running_mean should contain 4 elements not 3"),
    "dtype": (lambda: nn.BatchNorm1d(3)(one(2, 3).double()), RuntimeError, "to have the same dtype"),
    "eps": (lambda: nn.BatchNorm1d(3, eps=0)(one(2, 3)), ValueError, "eps must be positive"),
    "no statistics": (lambda: F.batch_norm(one(2, 3), None, None), RuntimeError, "must be defined in"),
    "groups": (lambda: nn.GroupNorm(2, 5), ValueError, r"\(5\) must be divisible by num_groups \(2\)"),
    "groups of the input": (
        lambda: nn.GroupNorm(2, 4)(one(2, 3)),
        RuntimeError,
        r"input of shape \[2, 3\] and num_groups=2",
    ),
    "groups of one value": (lambda: nn.GroupNorm(4, 4)(one(1, 4)), ValueError, "Expected more than 1 value"),
    "one element": (lambda: nn.InstanceNorm1d(3)(one(2, 3, 1)), ValueError, "Expected more than 1 spatial element"),
    "features": (
        lambda: nn.InstanceNorm1d(3, affine=True)(one(2, 4, 5)),
        ValueError,
        r"expected input's size at dim=1 to match num_features \(3\), but got: 4",
    ),
    "axes of samples": (lambda: nn.InstanceNorm1d(3)(one(2)), ValueError, "expected 2D or 3D input"),
}


@cases("name", ERRORS)
def test_errors(name: str) -> None:
    call, error, text = ERRORS[name]
    raises(error, text, call)


def test_instance_norm_without_affine_takes_other_numbers_of_channels() -> None:
    with pytest.warns(UserWarning, match="does not match num_features"):
        assert nn.InstanceNorm1d(3)(minigrad.randn(2, 4, 5)).shape == (2, 4, 5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nn.InstanceNorm1d(4)(minigrad.randn(2, 4, 5))
