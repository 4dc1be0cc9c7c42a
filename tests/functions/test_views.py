"""Writing to views: parts of complex numbers, memory read as another dtype, and the base of a view."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minigrad
from tests.support.both import agree, complexes, numbers, refuse
from tests.support.cases import cases
from tests.support.parity import torch


@cases("part", ["real", "imag"])
@cases("value", [numbers(2, 3, seed=2), numbers(3, seed=3), numbers(), 2.5, np.arange(3)])
def test_assigned_parts(part: str, value: Any) -> None:
    def program(t: Any, z: Any, value: Any) -> Any:
        changed = z * 2
        setattr(changed, part, value)
        turned = (z * 3).t()
        setattr(turned.t(), part, value)
        return changed, turned, (changed * changed.conj()).real

    agree(program, complexes(2, 3), value)


def test_parts_that_cannot_be_assigned() -> None:
    def leaf(t: Any) -> None:
        t.ones(2, dtype=t.complex64, requires_grad=True).real = t.zeros(2)

    def real(t: Any) -> None:
        t.ones(2).imag = t.zeros(2)

    def shape(t: Any) -> None:
        t.ones(2, dtype=t.complex64).real = t.zeros(3)

    def matrix(t: Any) -> None:
        t.ones(2, 2).T = t.zeros(2, 2)

    for program in (leaf, real, shape, matrix):
        refuse(program)


def test_the_real_part_of_a_real_tensor_is_assigned_to() -> None:
    def program(t: Any) -> Any:
        x = t.zeros(3)
        x.real = t.arange(3.0)
        return x

    agree(program, gradient=False)


LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "dense": lambda x: x,
    "transposed": lambda x: x.transpose(0, 2),
    "every second": lambda x: x[..., ::2],
    "cut": lambda x: x[:, 1:, 4:],
    "cut by one": lambda x: x[..., 1:5],
    "one number": lambda x: x[0, 0, 0],
    "empty": lambda x: x[:0],
    "expanded": lambda x: x[:1].expand(5, 4, 8),
}
DTYPES = "bool uint8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128"


@cases("layout", LAYOUTS)
@cases("source", ["uint8", "int16", "float32", "float64", "complex64"])
def test_memory_read_as_another_dtype(layout: str, source: str) -> None:
    def read(t: Any, target: str) -> Any:
        x = LAYOUTS[layout](t.arange(96).reshape(3, 4, 8).to(getattr(t, source)))
        try:
            result = x.view(getattr(t, target))
        except RuntimeError:
            return "refused"
        same_memory = result.data_ptr() == x.data_ptr() if x.numel() else True
        return [tuple(result.shape), result.stride(), same_memory, result.view(getattr(t, source)).equal(x)]

    for target in DTYPES.split():
        assert read(minigrad, target) == read(torch, target), target


def test_writing_to_memory_read_as_another_dtype() -> None:
    def program(t: Any, x: Any) -> Any:
        y = x * 2
        bits = y.view(t.int64)
        bits += 1
        y.view(dtype=t.int32)[0, 0] = 7
        return [y.detach(), bits.requires_grad, x.view(float).requires_grad, x.detach().view(int)]

    agree(program, numbers(2, 3), gradient=False)


def test_a_value_that_is_changed_as_another_dtype_is_noticed() -> None:
    def program(t: Any) -> None:
        x = t.ones(3, requires_grad=True) * 1
        y = x * x
        x.view(t.int32).zero_()
        y.sum().backward()

    refuse(program)


def test_whose_view_a_view_of_views_is() -> None:
    def program(t: Any) -> Any:
        x = t.zeros(2, 4, dtype=t.complex64)
        steps: list[Callable[[Any], Any]] = [
            lambda v: v[0],
            lambda v: v.transpose(0, -1),
            lambda v: v.real,
            lambda v: v.reshape(-1),
            lambda v: v.unsqueeze(0),
        ]
        bases = []
        for first, second in itertools.product(steps, steps):
            view = second(first(x))
            bases.append(view._base is x if view._is_view() else view._base)
        return bases

    assert program(minigrad) == program(torch)
    assert minigrad.ones(2)._base is None


@cases("shape", [(2, 3), ()])
@cases("name", ["uint8", "bool"])
@cases("value", [0, 1])
def test_one_number_as_a_mask(shape: tuple[int, ...], name: str, value: int) -> None:
    def program(t: Any) -> Any:
        x, mask = t.ones(shape), t.tensor(value, dtype=getattr(t, name))
        part = x[mask]
        x[mask] = t.zeros(1, 1, *shape)
        return x, part

    agree(program, gradient=False)


def test_refused_indices() -> None:
    refuse(lambda t: t.tensor(1)[0])
    with pytest.raises(IndexError, match=r"invalid index of a 0-dim tensor. Use `tensor.item\(\)`"):
        _ = minigrad.tensor(1)[0]
    refuse(lambda t: t.unravel_index(t.tensor(0.5), (2, 2)))
    refuse(lambda t: t.take_along_dim(t.ones(2, 2), t.ones(2, 2), 0))
    refuse(lambda t: t.take_along_dim(t.ones(2, 2), t.ones(2, 2, dtype=t.bool)))


STRIDED: dict[str, Callable[[Any], Any]] = {
    "by steps": lambda x: x.as_strided((3, 2), (5, 3), 1),
    "by steps that overlap": lambda x: x.view(-1).as_strided((4, 4), (1, 1)),
    "in place": lambda x: x.view_as(x).as_strided_((8,), (2,)),
    "of a view": lambda x: x.view(7, 4).as_strided((3, 2), (5, 3), 1),
}


@cases("case", STRIDED)
def test_memory_by_steps_is_a_view(case: str) -> None:
    def program(t: Any, x: Any) -> Any:
        y = x.detach() * 2
        view = STRIDED[case](y)
        view[0] = 5.0
        view[(-1,) * view.ndim].mul_(3)
        return [y, view, view._is_view(), view._base is y, view.stride()]

    agree(program, numbers(4, 7), gradient=False)


@cases("case", STRIDED)
def test_memory_by_steps_is_differentiated(case: str) -> None:
    agree(lambda t, x: STRIDED[case](x * 2) ** 2, numbers(4, 7), orders=2)


CHANGES: list[Callable[[Any, Any], Any]] = [
    lambda y, w: y.as_strided((2, 2), (1, 1)).__setitem__(0, w),
    lambda y, w: y.as_strided((2, 2), (1, 1)).mul_(w),
]


@cases("which", ["tensor", "both", "value"])
@cases("number", range(len(CHANGES)))
def test_changes_that_would_lose_a_gradient_are_refused(number: int, which: str) -> None:
    y = minigrad.ones(1, 3, requires_grad=which != "value") * 1
    w = minigrad.ones((), requires_grad=which != "tensor")
    with pytest.raises(RuntimeError, match=r"clone\(\) it"):
        CHANGES[number](y, w)


def test_flattening_one_axis_gives_the_tensor_itself() -> None:
    def program(t: Any) -> Any:
        x = t.ones(3, 2)
        same = [x.flatten(1, 1) is x, x.flatten(0) is x, x[0].flatten().ndim, t.ones(()).flatten().shape[0]]
        vector = t.ones(3)
        return [*same, vector.flatten() is vector]

    agree(program, gradient=False)
    refuse(lambda t: t.tensor_split(t.ones(()), 2))
