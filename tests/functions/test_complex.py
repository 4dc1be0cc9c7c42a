"""Complex tensors: what rotary embeddings need, and a clear refusal of the rest."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest

import minigrad


def rotary(t: Any, device: str = "cpu") -> list[Any]:
    """Rotary embeddings as they are written with complex numbers; values and gradients of two orders."""
    rng = np.random.default_rng(0)
    frequencies = 1.0 / 10000.0 ** (t.arange(0, 8, 2, device=device).double() / 8)
    angles = t.outer(t.arange(5, device=device).double(), frequencies)
    turns = t.polar(t.ones_like(angles), angles)
    x = t.tensor(rng.standard_normal((2, 5, 3, 8)), device=device, requires_grad=True)
    pairs = t.view_as_complex(x.reshape(*x.shape[:-1], -1, 2))
    out = t.view_as_real(pairs * turns.view(1, 5, 1, 4)).flatten(3)
    (first,) = t.autograd.grad((out**3).sum(), x, create_graph=True)
    (second,) = t.autograd.grad((first * first).sum(), x)
    return [v.detach().cpu().numpy() for v in (out, first, second)]


@pytest.mark.parity
def test_rotary_embeddings(device: str) -> None:
    torch = pytest.importorskip("torch")
    for ours, theirs in zip(rotary(minigrad, device), rotary(torch), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-10)


def test_views_share_memory() -> None:
    x = minigrad.zeros(3, 2)
    z = minigrad.view_as_complex(x)
    z[1] = 2 - 1j
    assert x.tolist() == [[0, 0], [2, -1], [0, 0]]
    z.real.fill_(5)
    assert x[:, 0].tolist() == [5, 5, 5]
    minigrad.view_as_real(z)[2, 1] = 7
    assert x[2].tolist() == [5, 7]


@pytest.mark.parity
def test_dtypes_and_text_are_pytorchs() -> None:
    torch = pytest.importorskip("torch")
    for t in (
        expressions := [
            lambda t: t.tensor([1 + 2j, -0.5 - 1j]),
            lambda t: t.complex(t.ones(2, dtype=t.float64), t.zeros(2, dtype=t.float64)),
            lambda t: t.tensor([1j]) + t.tensor([1, 2]),
            lambda t: t.tensor([1j]) * t.tensor([1.0, 2.0], dtype=t.float64),
            lambda t: t.tensor([3.0, -4.0]) * 1j,
            lambda t: t.zeros(2, dtype=t.complex64),
            lambda t: t.tensor([3.0 + 4j]).abs(),
            lambda t: t.tensor([1.0, -2.0, float("nan")]).angle(),
            lambda t: t.isreal(t.tensor([1 + 0j, 1j])),
            lambda t: t.stack([t.tensor(1j), t.tensor(2j)])[0],
            lambda t: t.tensor([1 + 1j]) == t.tensor([1 + 1j]),
        ]
    ):
        assert repr(t(minigrad)) == repr(t(torch))
    assert len(expressions) == 11


@pytest.mark.parity
@pytest.mark.parametrize(
    "made", [lambda a: (2 + 1j) * a, lambda a: a / (1 + 2j), lambda a: (1 + 2j) / a, lambda a: a - 1j, lambda a: 1j - a]
)
def test_python_complex_numbers_with_real_tensors(made: Any) -> None:
    torch = pytest.importorskip("torch")
    for kind in ("float32", "float64", "int64"):
        found = []
        for t in (minigrad, torch):
            a = t.tensor([1, 2], dtype=getattr(t, kind)).requires_grad_(kind != "int64")
            z = made(a)
            slopes = []
            if a.requires_grad:
                loss = (t.view_as_real(z * (3 - 1j)) * t.tensor([[1.0, 2.0], [3.0, 4.0]])).sum()
                (slope,) = t.autograd.grad(loss, a, create_graph=True)
                slopes = [slope.tolist()]
            found.append((str(z.dtype).rpartition(".")[2], z.tolist(), slopes))
        assert found[0][0] == found[1][0]
        np.testing.assert_allclose(found[0][1], found[1][1], rtol=1e-6)
        np.testing.assert_allclose(found[0][2], found[1][2], rtol=1e-6)


def test_the_angle_of_zero_has_gradient_zero() -> None:
    z = minigrad.tensor([0j, 1 + 1j], requires_grad=True)
    z.angle().sum().backward()
    assert z.grad is not None and z.grad.tolist() == [0, -0.5 + 0.5j]


@pytest.mark.parametrize("dtype", [minigrad.complex64, minigrad.complex128])
def test_they_are_saved(dtype: Any) -> None:
    z, file = minigrad.tensor([1 + 2j, 3], dtype=dtype), io.BytesIO()
    minigrad.save({"z": z}, file)
    file.seek(0)
    found = minigrad.load(file, weights_only=dtype is minigrad.complex64)["z"]
    assert found.dtype is dtype and found.equal(z)


def test_what_is_not_provided_is_refused() -> None:
    z = minigrad.tensor([1 + 1j, 2.0])
    with pytest.raises(RuntimeError, match="exp cannot be computed for complex tensors"):
        z.exp()
    with pytest.raises(RuntimeError, match="matmul cannot be computed for complex tensors"):
        z @ z
    x = minigrad.ones(2, 2, requires_grad=True)
    with pytest.raises(RuntimeError, match="square cannot be differentiated for complex tensors"):
        minigrad.view_as_complex(x).square()
    for wrong, told in {(3,): "last dimension of size 2", (3, 4): "last dimension of size 2"}.items():
        with pytest.raises(RuntimeError, match=told):
            minigrad.view_as_complex(minigrad.ones(*wrong))
    with pytest.raises(RuntimeError, match=r"contiguous\(\)"):
        minigrad.view_as_complex(minigrad.ones(2, 3).t())
    with pytest.raises(RuntimeError, match="only supported for complex tensors"):
        minigrad.view_as_real(minigrad.ones(2))
    with pytest.raises(RuntimeError, match="two float32 or two float64"):
        minigrad.complex(minigrad.ones(2), minigrad.ones(2).double())


@pytest.mark.parity
def test_a_conjugate_that_is_resolved_stays_one() -> None:
    torch = pytest.importorskip("torch")
    found, expected = (t.tensor([1 + 2j, 3 - 1j]).conj().resolve_conj() for t in (minigrad, torch))
    assert found.tolist() == expected.tolist() == [1 - 2j, 3 + 1j]
