"""Layers that put elements elsewhere, or more of them there, against PyTorch."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minigrad
import minigrad.nn.functional as F
from minigrad import nn
from tests.support.both import agree
from tests.support.cases import cases, programs, raises, rng
from tests.support.layer_checks import check_row
from tests.support.parity import assert_close, host, torch
from tests.support.twins import pair

LAYERS = programs("""
n.Flatten() of (2, 3, 4); n.Flatten(0, -2) of (2, 3, 4); n.Unflatten(1, (2, -1)) of (2, 6, 3);
n.Unfold(2, padding=1, stride=(1, 2)) of (2, 3, 4, 5); n.Fold((4, 5), (2, 2)) of (2, 12, 12);
n.PixelShuffle(2) of (2, 8, 2, 3); n.PixelShuffle(3) of (2, 2, 9, 2, 1); n.PixelUnshuffle(2) of (3, 4, 6);
n.ChannelShuffle(2) of (2, 6, 3, 2); n.Upsample(scale_factor=2) of (2, 3, 4);
n.Upsample(scale_factor=(2.0, 1.5)) of (2, 3, 4, 5); n.Upsample(size=(3, 7)) of (2, 3, 4, 5);
n.Upsample(scale_factor=2, mode="linear") of (2, 3, 4); n.Upsample((3, 9), mode="bilinear") of (2, 3, 5, 4);
n.Upsample(scale_factor=2, mode="bilinear", align_corners=True) of (2, 3, 3, 4);
n.Upsample(size=(7, 3), mode="bicubic") of (1, 2, 4, 5);
n.Upsample(scale_factor=2, mode="trilinear") of (1, 2, 2, 3, 2); n.UpsamplingNearest2d(scale_factor=2) of (1, 2, 3, 2);
n.UpsamplingBilinear2d(size=(4, 5)) of (1, 2, 3, 2)
""")


@cases("row", LAYERS)
def test_layers(row: str, device: str) -> None:
    check_row(row, device)


MODES = {"nearest": 1, "nearest-exact": 1, "linear": 1, "area": 1, "bilinear": 2, "bicubic": 2}


@cases("mode", MODES)
def test_lengths_and_factors_one_by_one(mode: str) -> None:
    plane = (2,) * (MODES[mode] - 1)
    for length in range(1, 8):
        x, tx = pair(rng.standard_normal((1, 2, *plane, length)))
        hows: list[dict[str, Any]] = [{"size": (*plane, n)} for n in range(1, 12)]
        hows += [{"scale_factor": f} for f in (0.7, 1.3, 1.5, 2, 2.3, 2.6, 3.0) if int(length * f)]
        hows += [{"scale_factor": 1.5, "recompute_scale_factor": True}]
        if mode in ("linear", "bilinear", "bicubic"):
            hows += [{**how, "align_corners": True} for how in hows]
        for how in hows:
            expected = torch.nn.functional.interpolate(tx, mode=mode, **how)
            assert_close(F.interpolate(x, mode=mode, **how), expected, name=f"{length} {how}")


FUNCTIONS: list[Callable[[Any, Any], Any]] = [
    lambda f, x: f.interpolate(x[..., :3, :2], scale_factor=1.3),
    lambda f, x: f.interpolate(x[..., :3, :2], scale_factor=2.3),
    lambda f, x: f.interpolate(x, (2, 3), mode="area"),
    lambda f, x: f.interpolate(x, scale_factor=1),
]


@cases("call", FUNCTIONS)
def test_functions(call: Callable[[Any, Any], Any], device: str) -> None:
    agree(lambda t, x: call(t.nn.functional, x).exp(), rng.standard_normal((2, 3, 4, 5)), device=device)


@cases("mode", ["bilinear", "bicubic"])
@cases("align_corners", [False, True])
@cases("antialias", [False, True])
def test_antialias_and_uint8(mode: str, align_corners: bool, antialias: bool, device: str) -> None:
    values = np.random.default_rng(0).integers(0, 256, (2, 3, 7, 9)).astype(np.uint8)
    options: dict[str, Any] = {"mode": mode, "align_corners": align_corners, "antialias": antialias}
    hows: list[dict[str, Any]] = [{"size": size} for size in ((3, 5), (14, 9), (7, 9), (2, 30))]
    hows += [{"scale_factor": (0.4, 2.3)}, {"scale_factor": 0.35, "recompute_scale_factor": True}]
    for how in hows:
        x, tx = pair(values, device)
        out, expected = F.interpolate(x, **how, **options), torch.nn.functional.interpolate(tx, **how, **options)
        assert out.dtype is minigrad.uint8
        assert np.abs(host(out).astype(int) - host(expected).astype(int)).max() <= 2  # PyTorch rounds its weights, too
        x, tx = pair(values / 255, device, requires_grad=True)
        out, expected = F.interpolate(x, **how, **options), torch.nn.functional.interpolate(tx, **how, **options)
        assert_close(out, expected)
        out.exp().sum().backward()
        expected.exp().sum().backward()
        assert_close(x.grad, tx.grad)


def test_one_bad_element_spoils_its_neighbours_alone(device: str) -> None:
    values = np.ones((1, 1, 6))
    values[0, 0, 4] = np.nan
    x, tx = pair(values, device)
    for call in (lambda f, x: f.interpolate(x, 12, mode="linear"), lambda f, x: f.adaptive_avg_pool1d(x, 4)):
        assert_close(call(F, x), call(torch.nn.functional, tx))


def test_the_old_name() -> None:
    x = minigrad.ones(1, 2, 3)
    with pytest.warns(UserWarning, match="upsample` is deprecated"):
        assert F.upsample(x, 6).shape == (1, 2, 6)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nn.Upsample(6)(x)


@cases("name", ["upsample_nearest", "upsample_bilinear"])
def test_older_names(name: str) -> None:
    x, tx = pair(rng.standard_normal((1, 2, 3, 4)))
    for how in ({"size": (5, 3)}, {"scale_factor": 2}):
        with pytest.warns(UserWarning, match=f"{name}` is deprecated"):
            out = getattr(F, name)(x, **how)
        assert_close(out, getattr(torch.nn.functional, name)(tx, **how))


one = minigrad.ones


def test_errors() -> None:
    raises(ValueError, "either size or scale_factor should be", lambda: F.interpolate(one(1, 2, 5)))
    raises(ValueError, "only one of size or scale_factor", lambda: F.interpolate(one(1, 2, 5), 3, 2))
    words = "Got 3D input, but bilinear mode needs 4D input"
    raises(NotImplementedError, words, lambda: F.interpolate(one(1, 2, 5), 3, mode="bilinear"))
    raises(NotImplementedError, r"got 2D\) for the modes", lambda: F.interpolate(one(1, 5), 3))
    raises(ValueError, "align_corners opt", lambda: F.interpolate(one(1, 2, 5), 3, align_corners=True))
    words = "must have the same number of spatial dimensions"
    raises(ValueError, words, lambda: F.interpolate(one(1, 2, 5), (3, 4), mode="linear"))
    words = "Anti-alias option is restricted to bilinear and bicubic"
    raises(ValueError, words, lambda: F.interpolate(one(1, 2, 5, 5), 3, antialias=True))
    words = r"not implemented for .*int64: use .float\(\)"
    raises(NotImplementedError, words, lambda: F.interpolate(one(1, 2, 5, 5).long(), 3, mode="bilinear"))
    words = "not meaningful with an explicit size"
    raises(ValueError, words, lambda: F.interpolate(one(1, 2, 5), 3, recompute_scale_factor=True))
    raises(RuntimeError, "is not divisible by 4", lambda: F.pixel_shuffle(one(1, 3, 5, 5), 2))
    raises(RuntimeError, "is not divisible by 2", lambda: F.pixel_unshuffle(one(1, 3, 5, 5), 2))
    raises(RuntimeError, "at least 3 dimensions", lambda: F.pixel_shuffle(one(3, 5), 2))
    raises(RuntimeError, "Got 3 channels and 2 groups", lambda: F.channel_shuffle(one(1, 3, 2), 2))
    raises(TypeError, "no named axes", lambda: nn.Unflatten("a", (2, 3)))  # type: ignore[arg-type]
    raises(TypeError, "must be a tuple of ints", lambda: nn.Unflatten(1, 5))  # type: ignore[arg-type]
    raises(TypeError, "at pos 1", lambda: nn.Unflatten(1, (2, 1.5)))  # type: ignore[arg-type]
