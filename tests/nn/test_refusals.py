"""Calls that both libraries refuse, with the same type of error and the same wording."""

import re
from collections.abc import Callable
from typing import Any

import pytest

import minigrad
from tests.support.cases import cases
from tests.support.parity import torch

pytestmark = pytest.mark.filterwarnings("ignore")
Call = Callable[[Any, Any], Any]


def _cell(t: Any, f: Any, images: tuple[int, ...], places: tuple[int, ...], mode: str = "nearest") -> Any:
    return f.grid_sample(t.ones(images), t.ones(places), mode, align_corners=False)


CALLS: list[tuple[Call, str]] = [
    (lambda t, f: f.pad(t.ones(1, 2, 3), (3, 0), "reflect"), "less than the corresponding"),
    (lambda t, f: f.pad(t.ones(1, 1, 2, 3), (1, 1, 3, 0), "reflect"), "less than the corr"),
    (lambda t, f: t.nn.ReflectionPad2d(1)(t.ones(3, 0, 4, 4)), "Expected 3D or 4D"),
    (lambda t, f: f.pad(t.ones(2, 3, 0), (1, 0), "replicate"), "Expected 2D or 3D"),
    (lambda t, f: f.unfold(t.ones(2, 0, 3, 3), 2), "Expected 3D or 4D"),
    (lambda t, f: f.unfold(t.ones(1, 2, 2, 2), (2, 3)), "its components must be at least one"),
    (lambda t, f: f.fold(t.ones(1, 5, 4), 3, 2), "be divisible by the product of kernel_size"),
    (lambda t, f: f.fold(t.ones(1, 8, 5), 3, 2), "match the calculated number of sliding blocks"),
    (lambda t, f: f.fold(t.ones(1, 4, 12), (4, 5), 2, dilation=8), r"of sliding blocks as \(-4, -3\)"),
    (lambda t, f: f.one_hot(t.tensor([0, 1]), -2), "num_classes"),
    (lambda t, f: f.multi_margin_loss(t.ones(2, 0), t.zeros(2).long()), "Expected .*non-empty"),
    (lambda t, f: f.multi_margin_loss(t.ones(0), t.zeros(2).long()), "Expected .*non-empty"),
    (lambda t, f: f.multilabel_margin_loss(t.ones(2, 0), t.zeros(2, 0).long()), "Expected .*non-empty"),
    (lambda t, f: f.fractional_max_pool2d(t.ones(1, 1, 8, 8), 2, output_ratio=(0.5,) * 3), "output_ratio to e"),
    (lambda t, f: _cell(t, f, (1, 1, 2, 2), (2, 1, 1, 2)), "same batch size"),
    (lambda t, f: _cell(t, f, (1, 1, 2, 2), (1, 1, 1, 3)), "grid to have size 2 in last dimension"),
    (lambda t, f: _cell(t, f, (1, 1, 2, 2, 2), (1, 1, 3)), "same number of dimensions"),
    (lambda t, f: _cell(t, f, (1, 1, 0, 2), (1, 1, 1, 2)), "input to have non-empty spatial"),
    (lambda t, f: _cell(t, f, (1, 1, 2, 2, 2), (1, 1, 1, 1, 3), "bicubic"), "bicubic interpolation only supp"),
    (lambda t, f: f.linear(t.tensor(1.0), t.ones(2, 2)), "both arguments .*1D"),
    (lambda t, f: f.nll_loss(t.ones(4, 3), t.zeros(4, 2).long()), "1D target tensor expected"),
    (lambda t, f: f.cross_entropy(t.ones(4, 3), t.zeros(3).long()), "(?i)expected .*batch_size"),
    (lambda t, f: f.nll_loss(t.ones(4, 3), t.zeros(4).long(), t.ones(1, 3)), "for all 3 classes or no classes"),
    (lambda t, f: f.binary_cross_entropy(t.ones(3, 1), t.ones(3)), "Using a target size"),
    (lambda t, f: f.interpolate(t.ones(1, 1, 4, 4), (2.5, 2)), "expected size to be one of int or"),
    (lambda t, f: f.interpolate(t.ones(1, 1, 4, 4), (t.tensor(2.5), 2)), "expected size to be one"),
    (lambda t, f: f.interpolate(t.ones(1, 1, 4, 4), (0, 2)), "sizes should be greater than 0"),
    (lambda t, f: f.interpolate(t.ones(1, 1, 4, 4), scale_factor=1e20), ""),
    (lambda t, f: f.interpolate(t.ones(1, 1, 4).int(), 2, mode="linear"), "not implemented for"),
    (lambda t, f: f.pixel_shuffle(t.ones(1, 4, 2, 2), 0), "expects a positive .*factor, but got 0"),
    (lambda t, f: f.pixel_unshuffle(t.ones(1, 4, 2, 2), -1), "a positive .*factor, but got -1"),
    (lambda t, f: t.nn.Linear(1, 1).to("cpu", True), "to()"),
    (lambda t, f: t.ones(1).to(None, True), "to()"),
    (lambda t, f: t.nn.Linear(1, 1).to([]), ""),
    (lambda t, f: t.nn.Linear(1, 1).to({}, non_blocking=True), ""),
    (lambda t, f: t.ones(1).to(t.float64, "cpu"), "to()"),
    (lambda t, f: t.nn.Linear(1, 1).to(t.tensor(3)), "only accepts floating point or complex"),
    (lambda t, f: t.nn.Linear(1, 1).to("cpu", t.ones(1)), "to()"),
    (lambda t, f: t.nn.Linear(1, 1).to("cpu", copy=True), "does not accept copy"),
    (lambda t, f: t.nn.Linear(1, 1).to(t.float64, False, True), "does not accept copy"),
    (lambda t, f: t.nn.InstanceNorm1d(4, affine=True)(t.ones(2, 3)), "size at dim=0"),
]


@cases("call, words", CALLS)
def test_both_refuse(call: Call, words: str) -> None:
    errors = []
    for library in (torch, minigrad):
        with pytest.raises((RuntimeError, ValueError, TypeError)) as raised:
            call(library, library.nn.functional)
        assert re.search(words, str(raised.value)), str(raised.value)
        errors.append(raised.type)
    assert issubclass(errors[1], errors[0])


WARNINGS: list[tuple[Call, str]] = [
    (lambda t, f: f.l1_loss(t.ones(3, 1), t.ones(3)), "Please ensure they have the same size"),
    (lambda t, f: f.affine_grid(t.ones(1, 2, 3), (1, 1, 2, 1), True), "See the documentation of affine_grid"),
]


@cases("call, words", WARNINGS)
def test_both_warn(call: Call, words: str) -> None:
    for library in (torch, minigrad):
        with pytest.warns(UserWarning, match=words):
            call(library, library.nn.functional)


def test_positional_flags_of_to() -> None:
    for t in (torch, minigrad):
        x = t.ones(2)
        assert x.to(t.float32, False) is x and x.to(t.float32, False, True) is not x
        assert x.to("cpu", None, False, True) is not x
        assert x.to(t.ones(1, dtype=t.float64), True).dtype is t.float64
        assert t.nn.Linear(1, 1).to(None, t.float64).weight.dtype is t.float64
