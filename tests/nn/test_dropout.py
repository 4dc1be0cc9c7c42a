"""Dropout of elements and of channels, and for SELU; with PyTorch's stream it draws PyTorch's masks."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minigrad
import minigrad.nn.functional as F
from minigrad import nn
from tests.support.both import agree
from tests.support.cases import cases, pairwise, raises, rng
from tests.support.layer_checks import dropout_of_pytorch as dropout_of_pytorch
from tests.support.parity import host, torch

LAYERS: list[tuple[Callable[[Any], Any], tuple[int, ...]]] = [
    (lambda n: n.Dropout1d(0.3), (4, 5, 3)),
    (lambda n: n.Dropout1d(), (8, 3)),
    (lambda n: n.Dropout2d(0.3), (4, 5, 3, 2)),
    (lambda n: n.Dropout3d(0.6), (3, 4, 2, 3, 2)),
    (lambda n: n.Dropout3d(0.6), (8, 2, 3, 2)),
    (lambda n: n.AlphaDropout(0.3), (6, 7)),
    (lambda n: n.FeatureAlphaDropout(0.3), (6, 7, 2)),
    (lambda n: n.Dropout1d(1.0), (2, 3, 4)),
    (lambda n: n.AlphaDropout(1.0), (2, 3, 4)),
    (lambda n: n.Dropout2d(0.0), (2, 3, 4, 5)),
]


@cases("make, shape", LAYERS)
def test_layers(make: Callable[[Any], Any], shape: tuple[int, ...], dropout_of_pytorch: None, device: str) -> None:
    def program(t: Any, x: Any) -> list[Any]:
        t.manual_seed(3)
        layer = make(t.nn)
        assert t is not minigrad or layer.eval()(x) is x
        return [repr(layer), layer.train()(x)]

    agree(program, rng.standard_normal(shape), device=device)


def test_in_place(dropout_of_pytorch: None, device: str) -> None:
    def program(t: Any, x: Any) -> list[Any]:
        t.manual_seed(3)
        ys, names = [x.detach().clone() for _ in range(3)], ("dropout1d", "alpha_dropout", "feature_alpha_dropout")
        return [(getattr(t.nn.functional, name)(y, 0.5, True, True) is y, y) for name, y in zip(names, ys, strict=True)]

    agree(program, rng.standard_normal((3, 4, 5)), device=device)


LAYOUTS: list[Callable[[Any], Any]] = [
    lambda x: x,
    lambda x: x.transpose(0, 2),
    lambda x: x.permute(1, 2, 0),
    lambda x: x[:, :, ::2].transpose(0, 1),
    lambda x: x[:, :1].expand(3, 4, 5),
    lambda x: x[:0],
    lambda x: x[0, 0, 0],
]


@cases("layout, p", pairwise(LAYOUTS, [0.0, 0.1, 0.5, 1.0]))
def test_masks_are_pytorchs_and_so_is_the_number_after_them(
    layout: Callable[[Any], Any], p: float, dropout_of_pytorch: None
) -> None:
    def program(t: Any) -> list[Any]:
        t.manual_seed(3)
        return [t.nn.functional.dropout(layout(t.ones(3, 4, 5)), p) != 0, t.rand(1).item()]

    agree(program)


def losses(t: Any, batch_first: bool, norm_first: bool) -> list[float]:
    """The losses of 10 steps of an encoder-decoder with dropout everywhere, from one seed."""
    t.manual_seed(0)
    model = t.nn.Transformer(16, 4, 2, 2, 32, dropout=0.2, batch_first=batch_first, norm_first=norm_first)
    draw = np.random.default_rng(0)
    x, y, w = (t.tensor(draw.standard_normal(s).astype("f")) for s in ((3, 5, 16), (3, 6, 16), 16))
    if not batch_first:
        x, y = x.transpose(0, 1), y.transpose(0, 1)
    optimizer, actual = t.optim.Adam(model.parameters(), 1e-3), []
    for _ in range(10):
        optimizer.zero_grad()
        loss = (model(x, y, tgt_mask=model.generate_square_subsequent_mask(6)) * w).exp().mean()
        loss.backward()
        optimizer.step()
        actual.append(loss.item())
    return actual


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
@cases("batch_first, norm_first", [(False, True), (True, False)])
def test_steps_with_dropout_follow_pytorch(batch_first: bool, norm_first: bool, dropout_of_pytorch: None) -> None:
    mine, other = (losses(t, batch_first, norm_first) for t in (minigrad, torch))
    np.testing.assert_allclose(mine, other, rtol=1e-5)


def test_pytorchs_stream_runs_on_every_device(dropout_of_pytorch: None, device: str) -> None:
    results = []
    for at in (device, "cpu"):
        minigrad.manual_seed(5)
        results.append(F.dropout(minigrad.ones(100, device=at), 0.3))
    assert results[0].device.type == device and results[0].cpu().equal(results[1])


def test_another_name_of_a_stream_is_refused(dropout_of_pytorch: None) -> None:
    raises(ValueError, "one of 'auto', 'fast', 'pytorch'", lambda: minigrad.set_dropout_stream("torch"))
    assert minigrad.get_dropout_stream() == "pytorch"


def test_elements_are_dropped(device: str) -> None:
    x = minigrad.ones(200, 100, device=device, requires_grad=True)
    layer = nn.Dropout(0.3)
    out = layer(x)
    values = host(out)
    np.testing.assert_allclose(np.unique(values), [0, 1 / 0.7], rtol=1e-6)
    assert abs(float((values == 0).mean()) - 0.3) < 0.02
    out.sum().backward()
    np.testing.assert_array_equal(host(x.grad), values)
    assert layer.eval()(x) is x and out.dtype is minigrad.float32


def test_ends_in_place_and_seeds(device: str) -> None:
    x = minigrad.ones(50, device=device)
    first = F.dropout(x).tolist()
    assert F.dropout(x).tolist() != first
    minigrad.manual_seed(0)
    assert F.dropout(x).tolist() == first and F.dropout(x, 0.0) is x
    assert not F.dropout(x, 1.0).any().item()
    assert F.dropout(x, 0.5, inplace=True) is x and set(x.tolist()) == {0, 2}


def test_whole_channels_are_dropped(device: str) -> None:
    out = host(F.dropout2d(minigrad.ones(50, 40, 2, 3, device=device), 0.3))
    assert out.dtype == np.float32 and (out == out[:, :, :1, :1]).all()
    assert abs(float((out == 0).mean()) - 0.3) < 0.05
    np.testing.assert_allclose(np.unique(out), [0, 1 / 0.7], rtol=1e-6)


def test_mean_and_variance_stay(device: str) -> None:
    x = minigrad.randn(300, 300, device=device)
    out = host(F.alpha_dropout(x, 0.3, training=True))
    assert abs(float(out.mean())) < 0.02 and abs(float(out.var()) - 1) < 0.02


def test_zeros_have_the_sign_of_the_dropped_elements(device: str) -> None:
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
    x = minigrad.ones(4)
    raises(ValueError, r"dropout probability has to be between 0 and 1, but got 1\.5", lambda: F.dropout(x, 1.5))
    raises(ValueError, "between 0 and 1", lambda: nn.Dropout(-0.1))
    raises(RuntimeError, "Expected 2D or 3D input, but received a 1D input", lambda: F.dropout1d(minigrad.ones(4)))
    raises(ValueError, r"between 0 and 1, but got 1\.5", lambda: F.alpha_dropout(minigrad.ones(4), 1.5))
    raises(ValueError, "between 0 and 1", lambda: nn.Dropout2d(-0.1))
    raises(RuntimeError, "at least 2 dimensions", lambda: F.feature_alpha_dropout(minigrad.ones(4), training=True))
    with pytest.warns(UserWarning, match="Received a 3D input"):
        F.dropout2d(minigrad.ones(2, 3, 4))
    with pytest.warns(UserWarning, match="dropout3d: Received a 2-D input"):
        F.dropout3d(minigrad.ones(2, 3))
