"""NaN, infinities and ends of intervals: values, indices and gradients equal PyTorch's; powers equal C's where PyTorch
takes a root."""

import itertools
import math
from typing import Any

import numpy as np

import minigrad
from minigrad.nn import functional as F
from tests.support.both import agree
from tests.support.cases import cases
from tests.support.expressions import evaluate, split
from tests.support.parity import host, ours, theirs, torch

INF, NAN = math.inf, math.nan
ROWS = np.array([[1.0, NAN, 3.0, NAN], [4.0, 2.0, NAN, 1.0], [INF, -INF, 0.0, NAN], [1.0, 2.0, 3.0, 4.0], [NAN] * 4])


def pool(t: Any, name: str, *args: Any) -> Any:
    functional = F if t is minigrad else t.nn.functional
    return lambda x: getattr(functional, name)(x.unsqueeze(0), *args, return_indices=True)


WITH_NAN = """
x.max() ; x.min() ; x.max(1) ; x.min(0) ; x[3:].amax(0) ; (x.argmax(1), x.argmin(0), x.argmax())
t.aminmax(x[1:4], dim=0) ; x.clamp(0, 2) ; x.clamp(max=NAN) ; x.cummax(1) ; x.cummin(0) ; x[:4].topk(1, 1)
t.sort(x, dim=1, stable=True) ; t.sort(x, dim=1, descending=True, stable=True) ; x.median(1) ; x[:4].nanmedian(1)
x.mode(1) ; x[:4].kthvalue(2, 1) ; t.quantile(x, 0.5, dim=1) ; t.nanquantile(x, 0.5, dim=1)
pool(t, 'max_pool1d', 2)(x) ; pool(t, 'max_pool2d', 2)(x) ; pool(t, 'adaptive_max_pool1d', 2)(x[:4])
"""


@cases("expression", split(WITH_NAN))
def test_nan_among_numbers(expression: str, device: str) -> None:
    agree(lambda t, x: evaluate(expression, t=t, x=x, NAN=NAN, pool=pool), ROWS, near=1e-15, device=device)


@cases("dim", [None, 0])
def test_every_nan_is_a_separate_value(dim: int | None, device: str) -> None:
    """PyTorch leaves rows (dim=0) unsorted if one has NaN, and may repeat equal ones."""
    x = ours(np.array([3.0, NAN, 1.0, NAN, 3.0]), device=device)
    values, inverse, counts = minigrad.unique(x, return_inverse=True, return_counts=True, dim=dim)
    np.testing.assert_array_equal(host(values), [1, 3, NAN, NAN])
    assert (inverse.tolist(), counts.tolist()) == ([1, 2, 0, 3, 1], [1, 2, 1, 1])
    in_a_row = minigrad.unique_consecutive(ours(np.array([1.0, 1.0, NAN, NAN]), device=device), True, True, dim)
    np.testing.assert_array_equal(host(in_a_row[0]), [1, NAN, NAN])
    assert [t.tolist() for t in in_a_row[1:]] == [[0, 0, 1, 2], [2, 1, 1]]


CORNERS = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -3.0, INF, -INF, NAN]


def c_pow(a: float, b: float) -> float:
    """C99's pow (Annex F), where Python's raises errors."""
    try:
        return math.pow(a, b)
    except (ValueError, OverflowError):
        return math.copysign(INF, a) if a == 0 and b % 2 == 1 else INF if a == 0 else NAN


@cases("dtype", ["float32", "float64"])
def test_the_corners_of_pow(dtype: str) -> None:
    """Powers of numbers and tensors, with and without axes, are C's pow; PyTorch takes √x for the number 1/2."""
    for a, b in itertools.product(CORNERS, repeat=2):
        x, y = minigrad.tensor([a], dtype=dtype), minigrad.tensor([b], dtype=dtype)
        forms = [x**b, a**y, x**y, x[0] ** b, x[0] ** y[0], x ** y[0], x[0] ** y, x.clone().pow_(b)]
        for actual in [*forms, minigrad.float_power(x, b)]:
            np.testing.assert_allclose(host(actual).item(), c_pow(a, b), 1e-7, err_msg=f"{a} ** {b}")
            assert math.isnan(c_pow(a, b)) or np.signbit(host(actual)).item() == (math.copysign(1, c_pow(a, b)) < 0)


@cases("weight", [0, 0.25, 0.5, 1, 1.0])
def test_lerp_reaches_its_ends(weight: float, device: str) -> None:
    """In float32 1e8 + (1 - 1e8) is 0, not 1."""
    a: Any = ours(np.array([1e8], np.float32), True, device)
    b: Any = ours(np.array([1.0], np.float32), True, device)
    x, y = (theirs(np.array([n], np.float32), True).float().detach().requires_grad_() for n in (1e8, 1.0))
    for w, v in ((weight, weight), (a.new_tensor([weight]), x.new_tensor([weight]))):
        actual, expected = minigrad.lerp(a, b, w), torch.lerp(x, y, v)
        np.testing.assert_array_equal(host(actual), host(expected))
        changed = a.detach().clone()
        np.testing.assert_array_equal(host(changed.lerp_(b.detach(), w)), host(expected))
    library: Any = minigrad
    (actual,), means = library._foreach_lerp([a], [b], weight), [a.detach().clone()]
    minigrad.optim.swa_utils.get_ema_multi_avg_fn(1 - weight)(means, [b.detach()], 1)
    assert actual.item() == means[0].item() == expected.item()
    actual.backward()
    assert (a.grad.item(), b.grad.item()) == (1 - weight, weight)
