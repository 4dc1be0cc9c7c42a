"""Channels-last memory: dropout draws in that order, and the layers before it preserve the order, as in PyTorch."""

import contextlib
import io
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import minigrad
from minigrad.backend import dtype
from minigrad.ops.op import Watch
from tests.support.cases import cases
from tests.support.expressions import evaluate, split
from tests.support.layer_checks import dropout_of_pytorch as dropout_of_pytorch

PROGRAM = """
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
ONLY = [nn.Conv2d(4, 6, 1).to(memory_format=torch.channels_last)]  # only the weight has channels last
ONLY += [nn.Sequential(nn.Conv2d(4, 6, 3).to(memory_format=torch.channels_last), nn.ReLU())]
LAYERS = [nn.Conv2d(4, 6, 3), nn.Conv2d(4, 4, 3, groups=4), nn.ConvTranspose2d(4, 6, 2, 2), nn.BatchNorm2d(4)]
LAYERS += [nn.GroupNorm(2, 4), nn.InstanceNorm2d(4), nn.MaxPool2d(2), nn.AvgPool2d(2), nn.AdaptiveMaxPool2d(2)]
LAYERS += [nn.Upsample(scale_factor=2), nn.Upsample(scale_factor=2, mode="bilinear"), nn.ZeroPad2d(1)]
LAYERS += [nn.ReflectionPad2d(1), nn.ReLU(), nn.GELU(), nn.SiLU(), nn.PReLU(), nn.GLU(1), nn.Softmax(1)]
LAYERS += [nn.Conv2d(4, 6, 1), nn.Sequential(nn.Conv2d(4, 1, 1), nn.Conv2d(1, 1, 3), nn.ReLU(), nn.Conv2d(1, 4, 1))]
LAYERS += [lambda x: torch.cat([x, x], 1), lambda x: torch.cat([x, x.contiguous()], 1), lambda x: x.contiguous() + x]
LAYERS += [lambda x: x + x.contiguous(), lambda x: x * x.mean((2, 3), keepdim=True).sigmoid(), lambda x: x.flip(3)]
LAYERS += [lambda x: x.roll(1, 2), torch.clone, lambda x: x.contiguous(), lambda x: x.half()]
LAYERS += [lambda x: x.chunk(2, 1)[0]]
for name, layer in enumerate(LAYERS + ONLY):
    for wants in (False, True):
        torch.manual_seed(0)
        x = torch.randn(2, 4, 6, 6).requires_grad_(wants)
        x = x if layer in ONLY else x.to(memory_format=torch.channels_last)
        y = layer(x)
        dropped = F.dropout(y, 0.4)
        print(name, y.stride(), dropped.stride(), (dropped != 0).flatten().int().tolist(), "%.6f" % torch.rand(1))
torch.manual_seed(1)
x = torch.randn(2, 5, 7)
position = torch.randn(1, 7, 5)
turned = x.mT
sums = turned + position, turned - turned.contiguous(), turned * 2
for y in (*sums, F.gelu(turned), F.relu(turned).clone(), torch.randn_like(turned)):
    print(y.stride(), (F.dropout(y) != 0).flatten().int().tolist())
MODES = [(F.interpolate, 4, {"mode": mode}) for mode in ("nearest", "nearest-exact", "bilinear", "bicubic", "area")]
MODES += [(F.interpolate, 5, {"mode": mode}) for mode in ("nearest", "trilinear")]
for function, axes, options in MODES:
    for factor in (0.5, 1.5):
        x = torch.rand(2, 4, *[6] * (axes - 2))
        x = x.contiguous(memory_format=torch.channels_last if axes == 4 else torch.channels_last_3d)
        print(options, factor, function(x, scale_factor=factor, **options).stride())
LAYERS = [nn.AdaptiveAvgPool2d(3), nn.PixelShuffle(2), nn.PixelUnshuffle(2), nn.PixelShuffle(1)]
LAYERS += [nn.Conv2d(8, 6, 3), nn.Conv2d(8, 6, 3).to(memory_format=torch.channels_last), nn.MaxPool2d(2), nn.GELU()]
for layer in LAYERS:
    for last in (True, False):
        x = torch.rand(2, 8, 6, 6)
        print(layer, layer(x.contiguous(memory_format=torch.channels_last) if last else x).stride())
x = torch.rand(2, 1, 6, 6)
print(F.pixel_unshuffle(x, 2).stride())
"""


def test_a_programs_layers_have_pytorchs_layouts(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    program = tmp_path / "layers.py"
    program.write_text(PROGRAM, encoding="utf-8")
    command = [sys.executable, "-W", "ignore", "-m", "minigrad", "compat", str(program)]
    ran = subprocess.run(command, check=False, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    theirs = io.StringIO()
    with contextlib.redirect_stdout(theirs):
        exec(PROGRAM, {})
    expected = theirs.getvalue().splitlines()
    assert len(expected) > 90
    for ours, line in zip(ran.stdout.splitlines(), expected, strict=True):
        assert ours == line


LAYOUTS = """
last ; last[:1] ; last[:, :, :2] ; x.reshape(2, 3, 4, 5, 1).to(memory_format=t.channels_last_3d) ; last.clone()
last.contiguous() ; last.double() ; t.ones_like(last) ; x[:, :1, :, 0].expand(2, 7, 4).transpose(0, 2)
"""
DRAWS = """
F.dropout(x, 0.4) ; F.alpha_dropout(x, 0.4, True) ; F.feature_alpha_dropout(x, 0.4, True) ; t.rand_like(x)
t.randn_like(x) ; t.bernoulli(x.abs().clamp(max=1)) ; t.bernoulli(x, 0.4)
t.empty_like(x).bernoulli_(t.full_like(x, 0.4))
"""


@pytest.mark.usefixtures("dropout_of_pytorch")
@cases("layout", split(LAYOUTS))
@cases("draw", split(DRAWS))
def test_random_numbers_are_drawn_in_the_order_of_memory(layout: str, draw: str) -> None:
    torch = pytest.importorskip("torch")
    results = []
    for t in (minigrad, torch):
        t.manual_seed(4)
        x = t.arange(1.0, 121).reshape(2, 3, 4, 5) / 200
        x = evaluate(layout, t=t, x=x, last=x.contiguous(memory_format=t.channels_last))
        numbers = evaluate(draw, t=t, F=t.nn.functional, x=x).double().contiguous().numpy()
        results.append((x.stride(), numbers, t.rand(1).item()))
    (steps, ours, after), (expected_steps, theirs, expected) = results
    assert tuple(steps) == tuple(expected_steps)
    np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-6)
    assert after == expected


def test_a_format_sets_strides_and_needs_the_right_number_of_axes() -> None:
    x = minigrad.rand(2, 3, 4, 5)
    last = x.to(memory_format=minigrad.channels_last)
    assert last.stride() == (60, 1, 15, 3) and last.equal(x)
    assert last.is_contiguous(memory_format=minigrad.channels_last) and not last.is_contiguous()
    assert last.contiguous(memory_format=minigrad.channels_last) is last
    assert minigrad.empty_like(last, memory_format=minigrad.contiguous_format).is_contiguous()
    with pytest.raises(RuntimeError, match="required rank 4 tensor to use channels_last format"):
        x[0].to(memory_format=minigrad.channels_last)


def test_a_minigrad_program_is_not_observed() -> None:
    watching, on_use = Watch.observers, dtype.memory_format.on_use
    try:
        dtype.memory_format.on_use = None
        assert minigrad.rand(2, 3, 4, 5).to(memory_format=minigrad.channels_last).relu().add(1).stride()[1] == 1
        assert Watch.observers == watching
    finally:
        dtype.memory_format.on_use = on_use
