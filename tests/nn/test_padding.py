"""Padding in every mode against PyTorch."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest

import minigrad
import minigrad.nn.functional as F
from tests.support.both import agree
from tests.support.cases import cases, raises, rng
from tests.support.layer_checks import Make, check_layer
from tests.support.parity import ours, theirs, torch

SHAPES = {1: (2, 3, 5), 2: (2, 3, 4, 5), 3: (1, 2, 3, 4, 5)}
LAYERS: dict[str, tuple[Make, tuple[int, ...]]] = {}
for _axes, _shape in SHAPES.items():
    for _kind in ("Zero", "Reflection", "Replication", "Circular"):
        _name = f"{_kind}Pad{_axes}d"
        for _widths in (2, tuple(range(2 * _axes))[::-1] if _axes == 1 else (1, 2, 0, 1, 2, 1)[: 2 * _axes]):
            LAYERS[f"{_name} {_widths}"] = (lambda n, c=_name, w=_widths: getattr(n, c)(w), _shape)
    LAYERS[f"ConstantPad{_axes}d"] = (lambda n, a=_axes: getattr(n, f"ConstantPad{a}d")(1, 2.5), _shape)
LAYERS["ReflectionPad2d of one sample"] = (lambda n: n.ReflectionPad2d(1), (3, 4, 5))
LAYERS["CircularPad1d of one sample"] = (lambda n: n.CircularPad1d((5, 0)), (3, 5))


@cases("name", LAYERS)
def test_layers(name: str, device: str) -> None:
    check_layer(*LAYERS[name], device)


FUNCTIONS: list[Callable[[Any, Any], Any]] = [
    lambda f, x: f.pad(x, (-1, 2), mode="reflect"),
    lambda f, x: f.pad(x, (2, -2), mode="circular"),
    lambda f, x: f.pad(x, (-1, 3), mode="replicate"),
    lambda f, x: f.pad(x, (1, 0, 0, 2, 1, 1), "constant", 0.5),
    lambda f, x: f.pad(x, (0, 0), mode="reflect"),
]


@cases("call", FUNCTIONS)
def test_functions(call: Callable[[Any, Any], Any], device: str) -> None:
    agree(lambda t, x: call(t.nn.functional, x).exp(), rng.standard_normal((2, 3, 5)), device=device)


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


def test_coming_round_twice() -> None:
    """Where PyTorch shows memory that nothing was written to."""
    assert F.pad(minigrad.arange(4)[None], (4, -2), mode="circular").tolist() == [[0, 1, 0, 1, 0, 1]]


def test_the_result_has_memory_of_its_own() -> None:
    x = minigrad.zeros(2, 3)
    for mode in ("constant", "reflect", "replicate", "circular"):
        F.pad(x, (0, 0), mode=mode).add_(1)
        F.pad(x, (-1, 0), mode=mode).add_(1)
    assert not x.any().item()


def test_errors() -> None:
    x = minigrad.ones(2, 3)
    with pytest.raises(ValueError, match=r"expected 2D or 3D input \(got 4D input\)"):
        minigrad.nn.CircularPad1d(1)(minigrad.ones(2, 3, 4, 5))
    raises(NotImplementedError, "Unrecognised padding mode foo", lambda: F.pad(x, (1, 1), mode="foo"))
    raises(RuntimeError, r"less than .* \(3, 1\) at dimension 1 of 3", lambda: F.pad(x, (3, 1), mode="reflect"))
    raises(RuntimeError, r"at most .* \(4, 1\) at dimension 1 of 3", lambda: F.pad(x, (4, 1), mode="circular"))
    raises(NotImplementedError, "1 pairs for 1 axes", lambda: F.pad(minigrad.ones(3), (1, 1), mode="replicate"))
    raises(RuntimeError, "doesn't take in value argument", lambda: F.pad(x, (1, 1), mode="reflect", value=1.0))
