"""``torch.linalg`` against PyTorch: values, gradients, float32 kept, and what is refused."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minigrad
from tests.support.parity import assert_close, gradients, listed, ours, theirs, torch

pytestmark = pytest.mark.parity
Call = Callable[[Any, Any], Any]

SMOOTH: dict[str, Call] = {
    "inv": lambda t, a: t.linalg.inv(a),
    "det": lambda t, a: t.linalg.det(a),
    "slogdet": lambda t, a: t.linalg.slogdet(a).logabsdet,
    "logdet": lambda t, a: t.logdet(a @ a.mT),
    "solve": lambda t, a: t.linalg.solve(a, a[..., :2] + 1),
    "solve vector": lambda t, a: t.linalg.solve(a[0], a[0, 0] * 2),
    "solve right": lambda t, a: t.linalg.solve(a, a[:, :2] + 1, left=False),
    "cholesky": lambda t, a: t.linalg.cholesky(a @ a.mT),
    "cholesky upper": lambda t, a: t.linalg.cholesky(a @ a.mT, upper=True),
    "norm": lambda t, a: t.linalg.norm(a),
    "norm dim": lambda t, a: t.linalg.norm(a, dim=-1, keepdim=True),
    "norm 1": lambda t, a: t.linalg.norm(a, 1, dim=(-2, -1)),
    "vector_norm": lambda t, a: t.linalg.vector_norm(a, 3, dim=1),
    "vector_norm inf": lambda t, a: t.linalg.vector_norm(a, math.inf, dim=1),
    "matrix_norm": lambda t, a: t.linalg.matrix_norm(a),
    "matrix_norm inf": lambda t, a: t.linalg.matrix_norm(a, math.inf, keepdim=True),
    "matrix_power": lambda t, a: t.linalg.matrix_power(a, 3),
    "multi_dot": lambda t, a: t.linalg.multi_dot([a[0], a[1], a[0]]),
    "vecdot": lambda t, a: t.linalg.vecdot(a, a + 1),
    "cross": lambda t, a: t.linalg.cross(a, a + 1),
    "diagonal": lambda t, a: t.linalg.diagonal(a, offset=1),
}


def matrices() -> Any:
    return np.random.default_rng(0).standard_normal((2, 3, 3)) + 3 * np.eye(3)


@pytest.mark.parametrize("name", SMOOTH)
def test_values_and_gradients(name: str, device: str) -> None:
    a, b = ours(matrices(), True, device), theirs(matrices(), True)
    found, expected = SMOOTH[name](minigrad, a), SMOOTH[name](torch, b)
    assert_close(found, expected)
    g = np.asarray(np.random.default_rng(1).standard_normal(tuple(expected.shape)))
    got = gradients([found], [a], [ours(g, device=device)])
    assert_close(got[0], gradients([expected], [b], [theirs(g)])[0], rtol=1e-9)


@pytest.mark.parametrize("name", SMOOTH)
def test_float32_is_kept(name: str, device: str) -> None:
    found = SMOOTH[name](minigrad, ours(matrices().astype(np.float32), device=device))
    assert found.dtype is minigrad.float32
    assert_close(found, SMOOTH[name](torch, theirs(matrices().astype(np.float32))), rtol=1e-4)


def signed(columns: Any) -> Any:
    """Columns whose sign is nobody's choice: the first element is positive."""
    columns = columns.numpy(force=True)
    return columns * np.sign(columns[..., :1, :])


def test_decompositions(device: str) -> None:
    a = matrices()
    symmetric = a + np.swapaxes(a, 1, 2)
    x, y = ours(symmetric, device=device), theirs(symmetric)
    assert_close(minigrad.linalg.eigh(x).eigenvalues, torch.linalg.eigh(y).eigenvalues)
    assert_close(signed(minigrad.linalg.eigh(x)[1]), signed(torch.linalg.eigh(y)[1]))
    assert_close(minigrad.linalg.eigvalsh(x), torch.linalg.eigvalsh(y))
    x, y = ours(a[:, :2], device=device), theirs(a[:, :2])
    for full in (False, True):
        found, expected = minigrad.linalg.svd(x, full), torch.linalg.svd(y, full)
        assert_close(found.S, expected.S)
        assert [tuple(f.shape) for f in found] == [tuple(e.shape) for e in expected]
    u, s, vh = minigrad.linalg.svd(x, full_matrices=False)
    assert_close(u @ minigrad.diag_embed(s) @ vh, x)
    q, r = minigrad.linalg.qr(x)
    assert_close(q @ r, x)
    assert_close(abs(r), abs(torch.linalg.qr(y).R))
    assert_close(minigrad.linalg.pinv(x), torch.linalg.pinv(y))
    assert_close(minigrad.linalg.matrix_rank(x), torch.linalg.matrix_rank(y))
    assert_close(minigrad.linalg.svdvals(x), torch.linalg.svdvals(y))


def test_what_has_no_gradient_says_so() -> None:
    x = minigrad.eye(3).requires_grad_()
    for name in ("eigh", "svd", "qr", "pinv", "svdvals"):
        with pytest.raises(NotImplementedError, match=rf"linalg\.{name} has no gradient|no gradient"):
            getattr(minigrad.linalg, name)(x)


def test_refusals() -> None:
    with pytest.raises(RuntimeError, match="square matrices"):
        minigrad.linalg.inv(minigrad.ones(2, 3))
    with pytest.raises(RuntimeError, match="floating point"):
        minigrad.linalg.det(minigrad.ones(2, 2).long())
    with pytest.raises(minigrad.linalg.LinAlgError):
        minigrad.linalg.inv(minigrad.zeros(2, 2))
    with pytest.raises(ValueError, match="is not one of"):
        minigrad.linalg.matrix_norm(minigrad.ones(2, 2), 3)
    with pytest.raises(AttributeError, match=r"no torch\.linalg\.nrom; nearest: torch\.linalg\.norm"):
        minigrad.linalg.nrom  # type: ignore[attr-defined]


@pytest.mark.parametrize("n", [None, 0, 2, 5])
@pytest.mark.parametrize("increasing", [False, True])
def test_vander(n: int | None, increasing: bool, device: str) -> None:
    x = np.array([1.0, -2.0, 0.5])
    assert_close(minigrad.vander(ours(x, device=device), n, increasing), torch.vander(theirs(x), n, increasing))


@pytest.mark.parametrize("p", [1.0, 2.0, math.inf])
def test_pdist(p: float, device: str) -> None:
    x = matrices()[0]
    a, b = ours(x, True, device), theirs(x, True)
    found, expected = minigrad.nn.functional.pdist(a, p), torch.nn.functional.pdist(b, p)
    assert_close(found, expected)
    got, wanted = (listed(gradients([f], [i], [f.detach()])) for f, i in ((found, a), (expected, b)))
    assert_close(got[0], wanted[0])
