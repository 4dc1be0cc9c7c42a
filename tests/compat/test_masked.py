"""torch.masked: functions of the elements under a mask."""

from typing import Any

import numpy as np
import pytest

import minigrad
from tests.support.cases import cases, raises
from tests.support.parity import assert_close, assert_same_dtype, ours, theirs, torch

RNG = np.random.default_rng(0)
VALUES = RNG.permutation(np.arange(24.0)).reshape(2, 3, 4) / 4 - 2
MASK = np.array([[[1, 0, 1, 1], [0, 0, 0, 0], [1, 1, 1, 1]], [[1, 1, 0, 0], [0, 0, 0, 1], [0, 1, 0, 1]]], bool)
OVER_AXES = ["sum", "prod", "amax", "amin", "mean", "logsumexp", "norm", "var"]
ALONG = ["cumsum", "cumprod", "median", "argmax", "argmin", "log_softmax"]


def compare(name: str, *args: Any, mask: Any, gradients: bool = True, values: Any = VALUES, **options: Any) -> None:
    """Compare a function and its gradient on both libraries."""
    x, y = (make(values) for make in (ours, theirs))
    if gradients:
        x.requires_grad_(), y.requires_grad_()
    actual = getattr(minigrad.masked, name)(x, *args, mask=None if mask is None else ours(mask), **options)
    expected = getattr(torch.masked, name)(y, *args, mask=None if mask is None else theirs(mask), **options)
    assert_same_dtype(actual, expected)
    assert_close(actual, expected)
    if gradients:
        actual.nan_to_num(0, 0, 0).sum().backward(), expected.nan_to_num(0, 0, 0).sum().backward()
        assert_close(x.grad, y.grad)


@cases("name", OVER_AXES)
@cases("dim", [None, 1, (0, 2), -1])
@cases("mask", [None, MASK, MASK[0, :, :1]])
def test_over_axes(name: str, dim: Any, mask: Any) -> None:
    kwargs: dict[str, Any] = {"dim": dim, "mask": mask}
    compare(name, **kwargs, gradients=name not in ("var", "logsumexp"))  # NaN in PyTorch where the mask is empty
    compare(name, **kwargs, keepdim=True, gradients=False)


@cases("name", ALONG)
@cases("mask", [None, MASK])
def test_along_an_axis(name: str, mask: Any) -> None:
    compare(name, 1, mask=mask, gradients=name in ("cumsum", "cumprod"))


def test_integers() -> None:
    for name in ("sum", "prod", "amax", "argmin", "cumsum"):
        compare(name, 0, mask=MASK, gradients=False, values=np.arange(24, dtype=np.int32).reshape(2, 3, 4))
    x, mask = ours(np.arange(6).reshape(2, 3)), ours(np.array([[True, True, True], [False] * 3]))
    assert minigrad.masked.median(x[:1], 1).tolist() == [1]
    raises(ValueError, "no fully masked out rows", lambda: minigrad.masked.median(x, 1, mask=mask))
    raises(ValueError, "could not infer output dtype", lambda: minigrad.masked.mean(x))
    assert minigrad.masked.mean(x, 1, dtype=minigrad.float32, mask=mask)[0].item() == 1


@cases("name", ["softmax", "log_softmax", "softmin"])
@cases("mask", [None, MASK, MASK[1, 1:2, :1]])
def test_softmax(name: str, mask: Any) -> None:
    """The result is NaN along the axis where the mask is empty, with a gradient of 0."""
    for dim in (0, 2):
        compare(name, dim, mask=mask)
    compare(name, 1, mask=mask, gradients=False, values=np.full((2, 3), -np.inf) if mask is None else VALUES)


def test_norms_and_pairs() -> None:
    for order in (1.0, 3.0, float("inf"), float("-inf")):
        compare("norm", order, 1, mask=MASK)
        compare("normalize", order, 1, mask=MASK[:, :, :1], gradients=False)
    compare("std", 2, mask=MASK[:, :1], correction=0, gradients=False)
    pair = [
        t.masked.logaddexp(make(VALUES[0]), make(VALUES[1]), input_mask=make(MASK[0]), other_mask=make(MASK[1]))
        for t, make in ((minigrad, ours), (torch, theirs))
    ]
    assert_close(*pair)


def test_errors() -> None:
    x = ours(VALUES)
    for mask in (np.ones((1, 2, 3, 4), bool), np.ones(3, bool)):
        with pytest.raises((ValueError, RuntimeError), match=r"mask of shape|cannot be broadcast"):
            minigrad.masked.sum(x, mask=ours(mask))
    raises(ValueError, "only one of unbiased and correction", lambda: minigrad.masked.var(x, 0, True, correction=1))


def test_logarithms_of_complex_numbers() -> None:
    values = VALUES + 1j * np.flip(VALUES)
    expected = np.log(np.where(MASK, np.exp(values), 0).sum((0, 1)))
    actual = minigrad.masked.logsumexp(ours(values), (0, 1), mask=ours(MASK))
    np.testing.assert_allclose(actual.numpy(), expected, rtol=1e-12)
    x, mask = minigrad.tensor([1 + 2j, 3 - 1j]), minigrad.tensor([True, False])
    assert_close(minigrad.masked.logaddexp(x, 2 * x, input_mask=mask)[1], torch.tensor(6 - 2j))
