"""The factors ``alpha`` and ``beta`` of addends keep the dtype: for integers they are truncated, for bools they are
bools. And reductions by index, in all dtypes."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad import pdist
from tests.support.both import agree
from tests.support.cases import cases, raises
from tests.support.parity import in_torch_words, torch

DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "complex64"]
A = [[0, 1, 2], [3, 0, 1], [1, 1, 0], [0, 0, 2]]
B = [[1, 0, 3], [0, 2, 1], [1, 0, 0], [2, 1, 0]]
ROWS, PLACES = [0, 2, 2, 1], [[0, 1, 2], [0, 0, 0]]
Program = Callable[..., Any]  # called with the library, two tensors and a factor
OF_FACTORS: dict[str, Program] = {
    "index_add": lambda t, a, b, alpha: a.index_add(0, t.tensor(ROWS), b, alpha=alpha),
    "index_add_": lambda t, a, b, alpha: a.index_add_(0, t.tensor(ROWS), b, alpha=alpha),
    "add": lambda t, a, b, alpha: a.add(b, alpha=alpha),
    "addmm": lambda t, a, b, alpha: t.addmm(a[:3], a[:3], b[:3], beta=alpha, alpha=alpha),
    "addbmm": lambda t, a, b, alpha: t.addbmm(a[:3], a[None, :3], b[None, :3], beta=alpha, alpha=alpha),
}
PROGRAMS: dict[str, Program] = {
    "scatter_add": lambda t, a, b: a.scatter_add(0, t.tensor(PLACES), b),
    "index_put": lambda t, a, b: a.index_put((t.tensor(ROWS),), b, accumulate=True),
    "put_": lambda t, a, b: a.put_(t.tensor(ROWS), b[:, 0], accumulate=True),
}


def reducing(name: str, how: str, own: bool) -> Program:
    """``scatter_reduce`` or ``index_reduce``."""
    places = PLACES if name == "scatter_reduce" else ROWS
    return lambda t, a, b: getattr(a, name)(0, t.tensor(places), b, how, include_self=own)


def along(name: str) -> Program:
    """A method along the first axis."""
    return lambda t, a, b: getattr(a, name)(0)


PROGRAMS |= {
    f"{name} of {alpha}": partial(OF_FACTORS[name], alpha=alpha) for alpha in (0, -1, True, 1.5) for name in OF_FACTORS
}
PROGRAMS |= {
    f"{name} {how}, {own}": reducing(name, how, own)
    for name in ("scatter_reduce", "index_reduce")
    for how in ("prod", "mean", "amax", "amin")
    for own in (True, False)
}
PROGRAMS |= {f"{name} along 0": along(name) for name in ("sum", "prod", "cumsum", "cumprod")}


def run(t: Any, name: str, dtype: str) -> Any:
    """The result of a program on tensors of a dtype, or the error."""
    a, b = (t.tensor(values).to(getattr(t, dtype)) for values in (A, B))
    try:
        return PROGRAMS[name](t, a, b)
    except (RuntimeError, TypeError) as error:
        return error


@pytest.mark.filterwarnings("ignore")  # index_reduce is in beta there
@cases("dtype", DTYPES)
@cases("name", PROGRAMS)
def test_values_and_dtypes_are_pytorchs(name: str, dtype: str) -> None:
    """If PyTorch supports the dtype."""
    mine, other = run(mg, name, dtype), run(torch, name, dtype)
    if isinstance(other, Exception) or (dtype == "complex64" and "mean" in name):
        return
    assert in_torch_words(mine.dtype) == str(other.dtype)
    np.testing.assert_allclose(mine.numpy(), other.numpy(), rtol=1e-3 if dtype == "float16" else 1e-6)


def test_factors_of_bools_and_integers(device: str) -> None:
    """Explicitly: bools are combined by "or", and integer addends are truncated."""
    yes = mg.tensor([True, False, False], device=device)
    index, other = mg.tensor([2, 1], device=device), mg.tensor([True, False], device=device)
    for alpha, last in ((1, True), (2, True), (-1, True), (0, False), (0.5, True)):
        out = yes.index_add(0, index, other, alpha=alpha)
        assert out.dtype == mg.bool and out.tolist() == [True, False, last]
    assert yes.add(yes, alpha=2).dtype == mg.bool
    whole = mg.zeros(3, dtype=mg.int32, device=device).index_add(
        0, index, mg.tensor([3, 5], device=device).int(), alpha=1.9
    )
    assert whole.dtype == mg.int32 and whole.tolist() == [0, 5, 3]


NORMS = (0, 0.5, 1, 1.5, 2, 3, float("inf"))
ENDS = np.array([[0.0, 1, 2], [0, 1, 2], [0, -1, float("inf")], [float("nan"), 1, 2]])


@cases("p", NORMS)
def test_distances_are_pytorchs(p: float) -> None:
    """Including equal rows, NaN and no columns; the gradient for p = 0 and for equal rows is 0."""
    squares: Program = lambda t, x: [o * o for o in (t.nn.functional.pdist(x, p), t.cdist(x, x[:2] * 1, p))]
    for x in (ENDS[:2], ENDS[:3] if p == 0 else ENDS[1:2], ENDS if p == 0 else ENDS[:2], ENDS[:, :0], ENDS[:1]):
        agree(squares, x, near=1e-12, gradient=bool(np.isfinite(x).all()))


def test_distances_of_nothing_and_of_no_norm(device: str) -> None:
    """0 between rows without columns; a negative p is rejected."""
    x = mg.zeros(3, 0, device=device)
    assert [pdist(x, p).tolist() for p in NORMS] == [[0, 0, 0]] * len(NORMS)
    raises(RuntimeError, "only supports non-negative p values", lambda: pdist(x, -1))
    raises(RuntimeError, "only supports non-negative p values", lambda: mg.cdist(x, x, -1))
    counted = pdist(mg.tensor([[1.0, 0.0], [float("nan"), 0.0], [1.0, 3.0]], device=device), 0)
    assert counted[0].isnan() and counted[1].item() == 1 and counted[2].isnan()
