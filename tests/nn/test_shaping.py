"""Layers that move or resample elements, against PyTorch: shuffles, padding, sizes, grids."""

import itertools
import warnings
from typing import Any

import numpy as np
import pytest

import minigrad
import minigrad.nn.functional as F
from minigrad import nn
from minigrad.autograd import gradcheck, gradgradcheck
from tests.support.both import agree
from tests.support.cases import cases, programs, raises, rng
from tests.support.layer_checks import check_row
from tests.support.parity import assert_close, host, ours, theirs, torch
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


PADS = [
    f"n.{kind}Pad{axes}d({widths}) of {shape}"
    for axes, shape in {1: (2, 3, 5), 2: (2, 3, 4, 5), 3: (1, 2, 3, 4, 5)}.items()
    for kind in ("Zero", "Reflection", "Replication", "Circular")
    for widths in (2, (1, 0) if axes == 1 else (1, 2, 0, 1, 2, 1)[: 2 * axes])
]
PADS += programs("""
n.ConstantPad1d(1, 2.5) of (2, 3, 5); n.ConstantPad2d(1, 2.5) of (2, 3, 4, 5);
n.ConstantPad3d(1, 2.5) of (1, 2, 3, 4, 5);
n.ReflectionPad2d(1) of (3, 4, 5); n.CircularPad1d((5, 0)) of (3, 5)
""")


@cases("row", [*LAYERS, *PADS])
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


FUNCTIONS = programs("""
f.interpolate(x[..., :3, :2], scale_factor=1.3); f.interpolate(x[..., :3, :2], scale_factor=2.3);
f.interpolate(x, (2, 3), mode="area"); f.interpolate(x, scale_factor=1); f.pad(x[0], (-1, 2), mode="reflect");
f.pad(x[0], (2, -2), mode="circular"); f.pad(x[0], (-1, 3), mode="replicate");
f.pad(x[0], (1, 0, 0, 2, 1, 1), "constant", 0.5); f.pad(x[0], (0, 0), mode="reflect")
""")


@cases("call", FUNCTIONS)
def test_functions(call: str, device: str) -> None:
    program = lambda t, x: eval(call, {"f": t.nn.functional, "x": x}).exp()
    agree(program, rng.standard_normal((2, 3, 4, 5)), device=device)


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
        assert np.abs(host(out).astype(int) - host(expected).astype(int)).max() <= 2  # PyTorch also rounds its weights
        x, tx = pair(values / 255, device, requires_grad=True)
        out, expected = F.interpolate(x, **how, **options), torch.nn.functional.interpolate(tx, **how, **options)
        assert_close(out, expected)
        out.exp().sum().backward()
        expected.exp().sum().backward()
        assert_close(x.grad, tx.grad)


def test_a_nan_spoils_only_adjacent_elements(device: str) -> None:
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


WIDTHS = [(-1, 2), (3, -1), (-3, -1), (-2, 2), (2, -2), (-5, 8), (-1, 2, 2, -1), (0, 0, -2, 1), (-3, 2, -1, -2)]


@cases("mode, widths", itertools.product(["constant", "reflect", "replicate", "circular"], WIDTHS))
def test_negative_widths(mode: str, widths: tuple[int, ...], device: str) -> None:
    array = rng.standard_normal((2, 3, 4, 5)[2 - len(widths) // 2 :])
    try:
        torch.nn.functional.pad(theirs(array), widths, mode=mode)
    except RuntimeError:
        raises(RuntimeError, "pad: ", lambda: F.pad(ours(array, device=device), widths, mode=mode))
    else:
        agree(lambda t, x: t.nn.functional.pad(x, widths, mode=mode).exp(), array, device=device)


def test_wrapping_around_twice() -> None:
    """Here PyTorch returns uninitialized memory."""
    assert F.pad(minigrad.arange(4)[None], (4, -2), mode="circular").tolist() == [[0, 1, 0, 1, 0, 1]]


def test_the_result_has_its_own_memory() -> None:
    x = minigrad.zeros(2, 3)
    for mode in ("constant", "reflect", "replicate", "circular"):
        F.pad(x, (0, 0), mode=mode).add_(1)
        F.pad(x, (-1, 0), mode=mode).add_(1)
    assert not x.any().item()


SAMPLING, PADDINGS = ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection")
GRID = [row for row in itertools.product((2, 3), SAMPLING, PADDINGS, (False, True)) if row[:2] != (3, "bicubic")]


@cases("axes, mode, padding, align_corners", GRID)
def test_grid_sample(axes: int, mode: str, padding: str, align_corners: bool, device: str) -> None:
    lengths, places = ((4, 5), (3, 4)) if axes == 2 else ((3, 1, 5), (2, 3, 2))
    grid = rng.uniform(-2.5, 2.5, (2, *places, axes))
    grid.reshape(-1)[:4] = [-1, 1, 0, 1e4]
    program = lambda t, x, g: t.nn.functional.grid_sample(x, g, mode, padding, align_corners).exp()
    agree(program, rng.standard_normal((2, 3, *lengths)), grid, device=device)


@cases("mode", SAMPLING)
def test_grid_sample_to_second_order_and_in_float32(mode: str) -> None:
    x = ours(rng.standard_normal((1, 2, 3, 4)), True)
    grid = ours(rng.uniform(-0.9, 0.9, (1, 2, 2, 2)), True)
    sample = lambda x, grid: F.grid_sample(x, grid, mode, align_corners=False)
    assert gradcheck(sample, [x, grid]) and gradgradcheck(sample, [x, grid])
    derivative = minigrad.autograd.grad(sample(x, grid).sum(), grid, create_graph=True)[0]
    assert derivative.requires_grad  # also for "nearest", where it is 0
    assert sample(x.float(), grid.float()).dtype is minigrad.float32


def test_infinity_in_a_grid(device: str) -> None:
    x = minigrad.ones(1, 1, 3, 3, device=device)
    grid = minigrad.tensor([[[[np.inf, 0.0], [0.0, -np.inf]]]], device=device).float()
    assert F.grid_sample(x, grid, "nearest", align_corners=False).tolist() == [[[[0, 0]]]]


@cases("align_corners, size", itertools.product([False, True], [(2, 1, 4, 5), (2, 1, 3, 4, 5)]))
def test_affine_grid(align_corners: bool, size: tuple[int, ...], device: str) -> None:
    n = len(size) - 2
    program = lambda t, theta: t.nn.functional.affine_grid(theta, size, align_corners).exp()
    agree(program, rng.standard_normal((2, n, n + 1)), device=device)


@cases("images, places", [((0, 1, 4, 5), (0, 2, 3, 2)), ((2, 3, 2, 2), (2, 0, 3, 2)), ((1, 0, 2, 2), (1, 2, 2, 2))])
def test_empty_grids(images: tuple[int, ...], places: tuple[int, ...], device: str) -> None:
    program = lambda t, x, g: t.nn.functional.grid_sample(x, g, align_corners=False)
    agree(program, np.ones(images), np.ones(places), device=device)


def test_an_affine_grid_of_the_identity_gives_the_input() -> None:
    x = minigrad.randn(1, 2, 3, 4)
    with pytest.warns(UserWarning, match="align_corners"):
        grid = F.affine_grid(minigrad.eye(2, 3)[None], x.shape)
        np.testing.assert_allclose(F.grid_sample(x, grid).numpy(), x.numpy(), rtol=1e-5, atol=1e-6)


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


def test_errors_of_padding() -> None:
    x = one(2, 3)
    raises(ValueError, r"expected 2D or 3D input \(got 4D input\)", lambda: nn.CircularPad1d(1)(one(2, 3, 4, 5)))
    raises(RuntimeError, "pairs for at most 2 axes, but got 3", lambda: F.pad(x, (1, 1, 1)))
    raises(RuntimeError, "removes more than the 3 elements of axis 1", lambda: F.pad(x, (-2, -2)))
    raises(NotImplementedError, "Unrecognised padding mode foo", lambda: F.pad(x, (1, 1), mode="foo"))
    raises(RuntimeError, r"less than .* \(3, 1\) at dimension 1 of 3", lambda: F.pad(x, (3, 1), mode="reflect"))
    raises(RuntimeError, r"at most .* \(4, 1\) at dimension 1 of 3", lambda: F.pad(x, (4, 1), mode="circular"))
    raises(NotImplementedError, "1 pairs for 1 axes", lambda: F.pad(one(3), (1, 1), mode="replicate"))
    raises(RuntimeError, "doesn't take in value argument", lambda: F.pad(x, (1, 1), mode="reflect", value=1.0))


def test_errors_of_grids() -> None:
    images, f, g = one(1, 1, 2, 2), F.grid_sample, F.affine_grid  # others: test_refusals.py
    raises(ValueError, "expected mode to be", lambda: f(images, one(1, 1, 1, 2), "cubic"))
    raises(ValueError, "expected padding_mode to be", lambda: f(images, one(1, 1, 1, 2), padding_mode="same"))
    raises(RuntimeError, "same dtype", lambda: f(images, one(1, 1, 1, 2).double(), align_corners=True))
    raises(ValueError, "matrices of shape Nx2x3", lambda: g(one(1, 2, 2), (1, 1, 2, 2), True))
    raises(ValueError, "floating point type", lambda: g(one(1, 2, 3).long(), (1, 1, 2, 2), True))
    raises(NotImplementedError, "only supports 4D and 5D", lambda: g(one(1, 2, 3), (1, 1, 2), True))
    raises(ValueError, "non-zero, positive", lambda: g(one(1, 2, 3), (1, 1, 0, 2), True))
