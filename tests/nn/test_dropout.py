"""Dropout of channels, and for SELU, against PyTorch's with PyTorch's stream."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import minigrad
import minigrad.nn.functional as F
from minigrad import nn
from tests.support.cases import cases, raises, rng
from tests.support.parity import assert_close, host, torch
from tests.support.twins import pair

LAYERS: dict[str, tuple[Callable[[Any], Any], tuple[int, ...]]] = {
    "Dropout1d": (lambda n: n.Dropout1d(0.3), (4, 5, 3)),
    "Dropout1d of one sample": (lambda n: n.Dropout1d(), (8, 3)),
    "Dropout2d": (lambda n: n.Dropout2d(0.3), (4, 5, 3, 2)),
    "Dropout3d": (lambda n: n.Dropout3d(0.6), (3, 4, 2, 3, 2)),
    "Dropout3d of one sample": (lambda n: n.Dropout3d(0.6), (8, 2, 3, 2)),
    "AlphaDropout": (lambda n: n.AlphaDropout(0.3), (6, 7)),
    "FeatureAlphaDropout": (lambda n: n.FeatureAlphaDropout(0.3), (6, 7, 2)),
    "Dropout1d of all": (lambda n: n.Dropout1d(1.0), (2, 3, 4)),
    "AlphaDropout of all": (lambda n: n.AlphaDropout(1.0), (2, 3, 4)),
    "Dropout2d of none": (lambda n: n.Dropout2d(0.0), (2, 3, 4, 5)),
}


@pytest.fixture
def stream() -> Iterator[None]:
    before = minigrad.get_dropout_stream()
    minigrad.set_dropout_stream("pytorch")
    yield
    minigrad.set_dropout_stream(before)


@cases("name", LAYERS)
def test_layer(name: str, stream: None, device: str) -> None:
    make, shape = LAYERS[name]
    mine, other = make(nn), make(torch.nn)
    assert repr(mine) == repr(other)
    x, tx = pair(rng.standard_normal(shape), device, requires_grad=True)
    minigrad.manual_seed(3)
    torch.manual_seed(3)
    out, expected = mine(x), other(tx)
    assert_close(out, expected)
    out.square().sum().backward()
    expected.square().sum().backward()
    assert_close(x.grad, tx.grad)
    assert mine.eval()(x) is x


def test_in_place(stream: None, device: str) -> None:
    for name in ("dropout1d", "alpha_dropout", "feature_alpha_dropout"):
        x, tx = pair(rng.standard_normal((3, 4, 5)), device)
        minigrad.manual_seed(3)
        torch.manual_seed(3)
        assert getattr(F, name)(x, 0.5, True, True) is x
        getattr(torch.nn.functional, name)(tx, 0.5, True, True)
        assert_close(x, tx)


def test_whole_channels_are_dropped(device: str) -> None:
    out = host(F.dropout2d(minigrad.ones(50, 40, 2, 3, device=device), 0.3))
    assert out.dtype == np.float32
    assert (out == out[:, :, :1, :1]).all()
    assert abs(float((out == 0).mean()) - 0.3) < 0.05
    np.testing.assert_allclose(np.unique(out), [0, 1 / 0.7], rtol=1e-6)


def test_mean_and_variance_stay(device: str) -> None:
    x = minigrad.randn(300, 300, device=device)
    out = host(F.alpha_dropout(x, 0.3, training=True))
    assert abs(float(out.mean())) < 0.02 and abs(float(out.var()) - 1) < 0.02


def test_zeros_have_the_sign_of_what_is_dropped(device: str) -> None:
    """As in PyTorch, which prints -0."""
    x = minigrad.tensor([-1.0, 1.0, -2.0] * 20, device=device)
    out = host(F.dropout(x, 0.5))
    assert (out == 0).any()
    np.testing.assert_array_equal(np.signbit(out), np.signbit(host(x)))


def test_functions_that_do_not_train_by_default() -> None:
    x = minigrad.ones(3, 4)
    assert F.alpha_dropout(x) is x and F.feature_alpha_dropout(x) is x
    assert F.dropout1d(x, training=False) is x


def test_errors_and_warnings() -> None:
    raises(RuntimeError, "Expected 2D or 3D input, but received a 1D input", lambda: F.dropout1d(minigrad.ones(4)))
    raises(ValueError, r"between 0 and 1, but got 1\.5", lambda: F.alpha_dropout(minigrad.ones(4), 1.5))
    raises(ValueError, "between 0 and 1", lambda: nn.Dropout2d(-0.1))
    raises(RuntimeError, "at least 2 dimensions", lambda: F.feature_alpha_dropout(minigrad.ones(4), training=True))
    with pytest.warns(UserWarning, match="Received a 3D input"):
        F.dropout2d(minigrad.ones(2, 3, 4))
    with pytest.warns(UserWarning, match="dropout3d: Received a 2-D input"):
        F.dropout3d(minigrad.ones(2, 3))
