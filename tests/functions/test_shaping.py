"""Shapes: every form the arguments may take, and errors. (Values and gradients: tests/ops.)"""

from typing import Any

import numpy as np
import pytest

import minigrad
from tests.support.both import agree, numbers
from tests.support.cases import cases, raises
from tests.support.expressions import evaluate, split
from tests.support.parity import assert_close, ours, theirs, torch

X = np.arange(24.0).reshape(2, 3, 4)


def test_shapes_are_sizes() -> None:
    x = minigrad.zeros(2, 3)
    assert x.shape == (2, 3) == x.size()
    assert repr(x.shape) == "minigrad.Size([2, 3])"
    assert x.shape.numel() == 6
    batch, rest = x.shape
    assert (batch, rest, x.size(0), x.size(-1), x.dim(), x.ndim, x.numel(), x.nelement()) == (2, 3, 2, 3, 2, 2, 6, 6)
    assert (x.stride(), x.t().stride(), x.stride(0)) == ((3, 1), (1, 3), 3)
    assert x.is_contiguous()
    assert not x.t().is_contiguous()
    assert x.contiguous() is x


def test_sizes_from_tensors_and_numpy() -> None:
    n = minigrad.tensor(3)
    assert minigrad.zeros(n, np.int64(2)).shape == (3, 2)
    assert minigrad.zeros(6).view(n, -1).shape == (3, 2)
    assert minigrad.ones(1).expand(n).shape == (3,)


def test_errors() -> None:
    x = minigrad.zeros(2, 3)
    raises(RuntimeError, r"shape '\[4, 2\]' is invalid for input of size 6", lambda: x.view(4, 2))
    raises(RuntimeError, "invalid for input", lambda: x.reshape(-1, -1))
    raises(RuntimeError, "invalid for input", lambda: x.reshape(4, -1))
    raises(TypeError, r"a shape must consist of ints, not float \(1\.5\)", lambda: x.reshape(1.5, 4))
    raises(RuntimeError, "each of the 2 axes once", lambda: x.permute(0, 0))
    raises(IndexError, "Dimension out of range", lambda: x.transpose(0, 2))
    raises(RuntimeError, "<= 2 dimensions", lambda: minigrad.zeros(1, 2, 3).t())
    with pytest.raises(RuntimeError, match=r"The expanded size of the tensor \(4\) must match the existing size \(3\)"):
        x.expand(2, 4)
    raises(RuntimeError, "number of sizes provided", lambda: x.expand(6))
    raises(RuntimeError, "repeat dims", lambda: x.repeat(2))
    with pytest.raises(
        RuntimeError,
        match=r"cat: sizes of tensors must match.* in dimension 0: .*\(2, 3\), tensor 1 has shape \(2, 4\)",
    ):
        minigrad.cat([x, minigrad.zeros(2, 4)])
    raises(ValueError, "non-empty", lambda: minigrad.cat([]))
    raises(RuntimeError, "equal size", lambda: minigrad.stack([x, minigrad.zeros(3, 2)]))
    raises(RuntimeError, "sum exactly to 3", lambda: x.split([1, 1], 1))
    raises(RuntimeError, "positive", lambda: x.split(0))
    raises(RuntimeError, "greater than 0", lambda: x.chunk(0))
    raises(RuntimeError, "exceeds dimension size", lambda: x.narrow(1, 2, 2))
    raises(RuntimeError, "at least 2 dimensions", lambda: minigrad.zeros(3).tril())
    raises(RuntimeError, "mT", lambda: minigrad.zeros(3).mT)
    raises(RuntimeError, "unbind", lambda: minigrad.tensor(1.0).unbind())
    raises(RuntimeError, "start_dim", lambda: x.flatten(1, 0))
    raises(IndexError, "Dimension out of range", lambda: minigrad.cat([x, x], dim=2))
    raises(RuntimeError, "unflatten", lambda: x.unflatten(1, (2, 2)))


IN_ORDER = """
t.cat([x, x], 1) ; t.stack([x, x]) ; x.roll(1, 0) ; t.nn.functional.pad(x, (1, 1)) ; x.tril() ; x.triu()
x.masked_fill(x > 3, 0) ; x.sum(1) ; x.mean(-1) ; x.var(1) ; x.amax(0) ; x.cumsum(1) ; x.cumprod(1) ; x.logsumexp(1)
x.topk(2, 0).values
"""


@cases("expression", split(IN_ORDER))
def test_results_that_programs_view_are_contiguous(expression: str, device: str) -> None:
    agree(lambda t, x: evaluate(expression, t=t, x=x.transpose(0, 2)).view(-1), numbers(2, 3, 4), device=device)


def test_as_strided_reads_the_memory_whatever_the_order_of_axes() -> None:
    agree(lambda t, x: t.permute(x * 2, (2, 0, 1)).as_strided((2, 4), (3, 2), 2) ** 2, numbers(2, 3, 4))
    part = ours(np.arange(16.0).reshape(4, 4))[:, :2]
    assert part.as_strided((3,), (1,)).tolist() == [0, 1, 2]


# Memory and numerical gradients -------------------------------------------------------------------------------


def test_as_strided_of_a_part_of_memory(device: str) -> None:
    """It reads the whole memory that contains the tensor; gradients reach only the tensor's part."""

    def program(t: Any, x: Any, offset: Any) -> Any:
        part = x.detach()[5:15].requires_grad_()
        view = t.as_strided(part, (3, 2), (1, 2), offset)
        return view.detach(), *t.autograd.grad((view * view).sum(), part)

    for offset in (None, 0, 4, 10):
        agree(program, np.arange(20.0), offset, device=device)
    x = ours(np.arange(12.0), device=device).reshape(3, 4)[1:, ::2]
    assert x.as_strided(x.shape, x.stride(), x.storage_offset()).tolist() == x.tolist()


def test_as_strided_in_place() -> None:
    agree(lambda t, x: x.detach().as_strided_((2, 2), (1, 2)), np.arange(6.0))


def test_as_strided_scatter(device: str) -> None:
    x, src = ours(np.arange(9.0).reshape(3, 3), device=device), ours(-np.ones((2, 2)), device=device)
    place = (2, 2), (1, 3), 1
    expected = theirs(np.arange(9.0).reshape(3, 3)).as_strided_scatter(theirs(-np.ones((2, 2))), *place)
    assert_close(minigrad.as_strided_scatter(x, src, *place), expected)
    leaves = [x.requires_grad_(), src.requires_grad_()]
    assert minigrad.autograd.gradcheck(lambda x, src: x.as_strided_scatter(src, *place), leaves)


def test_as_strided_errors() -> None:
    x = ours(np.arange(6.0))
    for call, message in (
        (lambda: x.as_strided((2,), (1, 1)), "mismatch in length of strides"),
        (lambda: x.as_strided((2,), (-1,)), "must not be negative"),
        (lambda: x[2:].as_strided((5,), (1,)), "extend past"),
        (lambda: x[:1].expand(3).as_strided((2,), (1,)), "share memory"),
        (lambda: x.as_strided_scatter(x[:2], (2,), (0,)), "written to the same memory"),
        (lambda: x.as_strided_scatter(x[:3], (2,), (1,)), "expected src to have a size equal"),
        (lambda: x[1:].as_strided_scatter(x[:2], (2,), (1,)), "and span its storage"),
    ):
        with pytest.raises(RuntimeError, match=message):
            call()


@cases("edge_order", [1, 2])
@cases("spacing", [1, 0.5, "numbers", "places"])
@cases("dim", [None, 1, (0, -1)])
def test_gradient(spacing: Any, dim: Any, edge_order: int) -> None:
    values = numbers(4, 3, 5)
    axes = [0, 1, 2] if dim is None else [dim] if isinstance(dim, int) else dim

    def program(t: Any, x: Any) -> Any:
        steps = spacing
        if spacing == "numbers":
            steps = [0.5 + d for d in range(len(axes))]
        if spacing == "places":
            steps = [t.from_numpy(np.arange(values.shape[d]) ** 1.5) for d in axes]
        if isinstance(steps, list) and len(steps) == 1:
            steps = tuple(steps)
        return t.gradient(x, spacing=steps, dim=dim, edge_order=edge_order)

    agree(program, values)


def test_gradient_of_integers_and_errors() -> None:
    assert_close(*(t.gradient(t.tensor([1, 4, 9, 16]))[0] for t in (minigrad, torch)))
    x = ours(np.ones((2, 3)))
    for options, message in (
        ({"edge_order": 3}, "only supports edge_order"),
        ({"edge_order": 2}, "at least edge_order"),
        ({"spacing": [1.0]}, "spacing for 2 dimensions, got 1"),
        ({"spacing": [ours(np.ones(2)), ours(np.ones(2))]}, "expected 3 positions along axis 1"),
    ):
        with pytest.raises(RuntimeError, match=message):
            minigrad.gradient(x, **options)


def test_no_difference_returns_the_input_unchanged() -> None:
    for t in (minigrad, torch):
        x = t.tensor(X.tolist())
        y = t.diff(x, 0, prepend=x, append=x)
        assert y.tolist() == x.tolist()
        y.zero_()
        assert x.tolist() == X.tolist()


@cases("shape", [(), (1,), (2, 1)])
def test_sum_to_size_of_bools(shape: tuple[int, ...]) -> None:
    for size in {shape, shape[1:]}:
        agree(lambda t, x, size: x.sum_to_size(size), np.ones(shape, bool), size)
