"""Products: einsum in all its forms, and shapes that do not fit. (Gradients: tests/ops.)"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import minigrad
from tests.support.parity import assert_close, assert_same_dtype, ours, theirs, torch


def arrays(*shapes: tuple[int, ...]) -> list[Any]:
    rng = np.random.default_rng(0)
    return [rng.standard_normal(shape) for shape in shapes]


EQUATIONS: list[tuple[str, tuple[tuple[int, ...], ...]]] = [
    ("ij->ji", ((2, 3),)),
    ("ij", ((2, 3),)),
    ("ji", ((2, 3),)),
    ("ii", ((3, 3),)),
    ("ii->i", ((3, 3),)),
    ("ij->", ((2, 3),)),
    ("ij->j", ((2, 3),)),
    ("...i->...", ((2, 3, 4),)),
    ("i,i", ((3,), (3,))),
    ("i,j->ji", ((2,), (3,))),
    ("ij,jk", ((2, 3), (3, 4))),
    ("ij, jk -> ki", ((2, 3), (3, 4))),
    ("bij,bjk->bik", ((2, 3, 4), (2, 4, 5))),
    ("bhqd,bhkd->bhqk", ((2, 2, 3, 4), (2, 2, 5, 4))),
    ("nqhd,nkhd->nhqk", ((2, 3, 2, 4), (2, 5, 2, 4))),
    ("nhql,nlhd->nqhd", ((2, 2, 3, 5), (2, 5, 2, 4))),
    ("...ij,...jk->...ik", ((5, 1, 2, 3), (4, 3, 2))),
    ("i...,i...->...", ((3, 2), (3, 2))),
    ("ij,kj,lj->ikl", ((2, 3), (4, 3), (5, 3))),
    ("abc,cd,de->abe", ((2, 3, 4), (4, 5), (5, 2))),
    ("ij,ij->i", ((2, 3), (2, 3))),
    ("ij,j->ij", ((2, 3), (3,))),
    ("ii,ij->j", ((3, 3), (3, 2))),
    ("b...,b...->b...", ((2, 3, 4), (2, 3, 4))),
    ("ijk,lk->ijl", ((2, 3, 4), (5, 4))),
    ("ij,kl->ijkl", ((2, 3), (2, 2))),
    ("iij->j", ((2, 2, 3),)),
    ("i,->i", ((3,), ())),
    ("Bt,tD->BD", ((2, 3), (3, 4))),
]


@pytest.mark.parametrize(("equation", "shapes"), EQUATIONS, ids=[e for e, _ in EQUATIONS])
def test_einsum(equation: str, shapes: tuple[tuple[int, ...], ...], device: str) -> None:
    given = arrays(*shapes)
    found = minigrad.einsum(equation, *(ours(a, device=device) for a in given))
    expected = torch.einsum(equation, *(theirs(a) for a in given))
    assert_close(found, expected)
    assert_close(minigrad.einsum(equation, [ours(a) for a in given]), expected)


def test_einsum_errors() -> None:
    x = minigrad.ones(2, 3)
    for equation, operands, message in (
        ("ij,jk->ik", (x,), "names 2 operands, but 1 were given"),
        ("ijk->i", (x,), "do not match operand 0 of 2 dimensions"),
        ("ij,jk->ik", (x, x), "'j' has length 3 and 2"),
        ("ij->iz", (x,), "names one no operand has"),
        ("ij->ii", (x,), "repeats a subscript"),
    ):
        with pytest.raises(RuntimeError, match=message):
            minigrad.einsum(equation, *operands)


@pytest.mark.filterwarnings("ignore:This overload of addmm")  # PyTorch's: older programs write it so
def test_products() -> None:
    a, b, c, v = arrays((2, 3), (3, 4), (2, 4), (3,))
    for program in (
        lambda t, a, b, c, v: a.mm(b),
        lambda t, a, b, c, v: t.mm(a, b),
        lambda t, a, b, c, v: a @ v,
        lambda t, a, b, c, v: a.mv(v),
        lambda t, a, b, c, v: t.dot(v, v),
        lambda t, a, b, c, v: v @ b,
        lambda t, a, b, c, v: t.addmm(c, a, b, beta=0.5, alpha=2),
        lambda t, a, b, c, v: t.addmm(0.5, c, 2, a, b),
        lambda t, a, b, c, v: c.addmm(0.5, 2, a, b),
        lambda t, a, b, c, v: c.clone().addmm_(0.5, a, b),
        lambda t, a, b, c, v: t.outer(v, v),
        lambda t, a, b, c, v: t.ger(v, v),
        lambda t, a, b, c, v: c.addmm(a, b),
        lambda t, a, b, c, v: v.dot(v),
        lambda t, a, b, c, v: t.bmm(a[None], b[None]),
        lambda t, a, b, c, v: a[None].bmm(b.unsqueeze(0)),
        lambda t, a, b, c, v: t.baddbmm(c[None], a[None], b[None], beta=2, alpha=3),
    ):
        assert_close(program(minigrad, *map(ours, (a, b, c, v))), program(torch, *map(theirs, (a, b, c, v))))


def test_products_of_integers() -> None:
    a = np.arange(6).reshape(2, 3)
    assert_close(ours(a) @ ours(a.T), theirs(a) @ theirs(a.T))


def test_errors() -> None:
    x, y = minigrad.ones(2, 3), minigrad.ones(2, 4)
    with pytest.raises(RuntimeError, match=r"matmul: mat1 and mat2 shapes cannot be multiplied \(2x3 and 2x4\)"):
        x @ y
    with pytest.raises(RuntimeError, match="at least one axis"):
        x @ minigrad.tensor(1.0)
    with pytest.raises(RuntimeError, match=r"same dtype, but got: minigrad\.float32 and minigrad\.float64"):
        x @ minigrad.ones(3, dtype=minigrad.float64)
    with pytest.raises(RuntimeError, match=r"mm: expected a tensor of 2 dimensions, but got shape \(3,\)"):
        x.mm(minigrad.ones(3))
    with pytest.raises(RuntimeError, match="bmm: batch sizes 2 and 3 differ"):
        minigrad.bmm(minigrad.ones(2, 2, 2), minigrad.ones(3, 2, 2))
    with pytest.raises(RuntimeError, match=r"matmul.*\(3, 2, 2\)"):
        minigrad.ones(2, 2, 2) @ minigrad.ones(3, 2, 2)
    with pytest.raises(TypeError):
        x @ 2
    with pytest.raises(TypeError):
        x @ [[1.0]]


@pytest.mark.parametrize("name", ["addmm", "addmv", "addbmm", "baddbmm"])
def test_factors_of_integers_lose_their_fraction(name: str) -> None:
    shapes = {"addmm": [(2, 2), (2, 3), (3, 2)], "addmv": [(2,), (2, 3), (3,)]}
    shapes |= {"addbmm": [(2, 2), (4, 2, 3), (4, 3, 2)], "baddbmm": [(4, 2, 2), (4, 2, 3), (4, 3, 2)]}
    results = []
    for t in (minigrad, torch):
        operands = [t.arange(math.prod(shape)).reshape(shape) for shape in shapes[name]]
        results.append(getattr(t, name)(*operands, alpha=2.6, beta=0.6))
    assert_same_dtype(*results)
    assert_close(*results)


@pytest.mark.parametrize(("beta", "alpha"), [(1, 1), (2, 3), (0, 1), (1, 0)])
def test_addr_of_bools(beta: int, alpha: int) -> None:
    """A sum of bools is their "or", whatever the factors."""
    found, expected = (
        t.addr(
            t.tensor([[True, False, False], [False, False, True]]),
            t.tensor([True, False]),
            t.tensor([False, True, True]),
            beta=beta,
            alpha=alpha,
        )
        for t in (minigrad, torch)
    )
    assert_close(found, expected)
