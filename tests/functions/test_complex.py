"""Complex tensors: arithmetic with gradients as PyTorch defines them, and clear errors for undefined operations."""

import io
from typing import Any

import numpy as np
import pytest

import minigrad
from minigrad.ops.complex import for_complex
from minigrad.ops.op import Op
from tests.support.both import agree
from tests.support.cases import cases, raises
from tests.support.parity import in_torch_words


def rotary(t: Any, device: str = "cpu") -> list[Any]:
    """Rotary embeddings written with complex numbers; values and gradients of two orders."""
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


def test_rotary_embeddings(device: str) -> None:
    torch = pytest.importorskip("torch")
    for ours, theirs in zip(rotary(minigrad, device), rotary(torch), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-10)


@cases("name", ["logical_and", "logical_or", "logical_xor", "logical_not"])
def test_logic(name: str, device: str) -> None:
    z = minigrad.tensor([0j, 1j, 2, 0j], device=device)
    others = [] if name == "logical_not" else [minigrad.tensor([0j, 0j, 1j, 3], device=device)]
    plain = [np.array(t.tolist()) for t in (z, *others)]
    assert getattr(z, name)(*others).tolist() == getattr(np, name)(*plain).tolist()


def test_views_share_memory() -> None:
    x = minigrad.zeros(3, 2)
    z = minigrad.view_as_complex(x)
    z[1] = 2 - 1j
    assert x.tolist() == [[0, 0], [2, -1], [0, 0]]
    z.real.fill_(5)
    assert x[:, 0].tolist() == [5, 5, 5]
    minigrad.view_as_real(z)[2, 1] = 7
    assert x[2].tolist() == [5, 7]


@cases("text", ["(2 + 1j) * a", "a / (1 + 2j)", "(1 + 2j) / a", "a - 1j", "1j - a"])
def test_python_complex_numbers_with_real_tensors(text: str) -> None:
    for kind in ("float32", "float64", "int64"):
        agree(lambda t, a: t.view_as_real(eval(text, {"a": a})), np.array([1, 2], kind), near=1e-6)


def test_the_angle_of_zero_has_gradient_zero() -> None:
    z = minigrad.tensor([0j, 1 + 1j], requires_grad=True)
    z.angle().sum().backward()
    assert z.grad is not None and z.grad.tolist() == [0, -0.5 + 0.5j]


@cases("dtype", [minigrad.complex64, minigrad.complex128])
def test_they_are_saved(dtype: Any) -> None:
    z, file = minigrad.tensor([1 + 2j, 3], dtype=dtype), io.BytesIO()
    minigrad.save({"z": z}, file)
    file.seek(0)
    loaded = minigrad.load(file, weights_only=dtype is minigrad.complex64)["z"]
    assert loaded.dtype is dtype and loaded.equal(z)


def test_operations_that_are_not_provided_are_refused() -> None:
    z = minigrad.tensor([1 + 1j, 2.0], requires_grad=True)
    for wrong_op in (minigrad.relu, minigrad.sort, minigrad.argmax, minigrad.floor, lambda z: z < z):
        with pytest.raises(NotImplementedError, match="is not implemented for complex tensors"):
            wrong_op(z)
    for name in ("median", "mode", "histc", "unique", "argsort"):
        with pytest.raises(NotImplementedError, match=f"{name} is not implemented for complex tensors"):
            getattr(z.detach(), name)()
    raises(RuntimeError, "use sgn", lambda: z.sign())
    for wrong, message in {(3,): "last dimension of size 2", (3, 4): "last dimension of size 2"}.items():
        with pytest.raises(RuntimeError, match=message):
            minigrad.view_as_complex(minigrad.ones(*wrong))
    raises(RuntimeError, r"contiguous\(\)", lambda: minigrad.view_as_complex(minigrad.ones(2, 3).t()))
    raises(RuntimeError, "only supported for complex tensors", lambda: minigrad.view_as_real(minigrad.ones(2)))
    with pytest.raises(RuntimeError, match="two float32 or two float64"):
        minigrad.complex(minigrad.ones(2), minigrad.ones(2).double())


def test_a_custom_op_is_differentiated_where_it_is_holomorphic() -> None:
    def forward(x: Any, y: Any) -> Any:
        return x * y * y

    rules = {"x": lambda g, y: g * y * y, "y": lambda g, x, y: 2 * g * x * y}
    real = Op(forward, promote="same").gradient("dx = g y²; dy = 2 g x y", **rules)
    with pytest.raises(RuntimeError, match="forward is not implemented for complex tensors"):
        real(minigrad.tensor(1j), minigrad.tensor(2.0))
    plane = Op(forward, promote="same", holomorphic=True).gradient("dx = g y²; dy = 2 g x y", **rules)
    inputs = [minigrad.tensor([1 + 2j, 3.0], dtype=minigrad.complex128), minigrad.tensor([-1j, 2 + 1j])]
    parts = [minigrad.view_as_real(z.to(minigrad.complex128)).clone().requires_grad_() for z in inputs]

    def in_reals(x: Any, y: Any) -> Any:
        return minigrad.view_as_real(plane(minigrad.view_as_complex(x), minigrad.view_as_complex(y)))

    assert minigrad.autograd.gradcheck(in_reals, parts)
    assert minigrad.autograd.gradgradcheck(in_reals, parts)
    assert for_complex(plane).formula("x") == "dx = g y², of ḡ and conjugated"
    assert for_complex(plane).rule_place("x") == plane.rule_place("x")
    assert for_complex(plane) is for_complex(for_complex(plane))


def test_real_operands_of_complex_numbers_have_real_gradients() -> None:
    x = minigrad.tensor([2.0, 3.0], requires_grad=True)
    z = minigrad.tensor([1 + 1j, -1j], requires_grad=True)
    (x * z * 1j).real.sum().backward()
    assert x.grad is not None and x.grad.tolist() == [-1, 1]
    assert z.grad is not None and z.grad.tolist() == [-2j, -3j]


def test_powers_at_zero_and_of_negative_numbers() -> None:
    derivatives = lambda t, a, b: t.autograd.grad((a**b).real.sum(), (a, b))
    agree(derivatives, np.array([0j, 0j, -1 + 0j]), np.array([2 + 0j, 0j, 0.5 + 0j]), near=1e-12)
    b, c = (minigrad.tensor(0.5 + 1j, dtype=minigrad.complex128, requires_grad=True) for _ in range(2))
    ((-2.0) ** b).real.backward()
    (minigrad.tensor(-2.0 + 0j, dtype=minigrad.complex128) ** c).real.backward()
    assert b.grad is not None and c.grad is not None and abs((b.grad - c.grad).item()) < 1e-12


ROOT = np.exp(-2j * np.pi / 24)
POWERS: dict[str, Any] = {
    "a range": lambda t, z: z[1] ** t.arange(25),
    "floats": lambda t, z: z ** (t.arange(25.0) / 2),
    "negative ones": lambda t, z: z[1] ** -t.arange(25),
    "complex ones": lambda t, z: z ** (z + 2),
    "a base that is a number": lambda t, z: ROOT ** (z * 5),
    "in place": lambda t, z: z.clone().pow_(t.tensor(7)),
    "at zero": lambda t, z: (z - z) ** t.tensor([1, 2, -1, 0.5, 3] * 5),
    **{f"{k!r}": lambda t, z, k=k: z**k for k in (0, 1, 4, 12, -1, -3, 0.5, 1.5, -2.5, 1j, 0j, 4 + 0j)},
}


@cases("dtype", ["complex64", "complex128"])
@cases("name", POWERS)
def test_powers_round_as_pytorchs(name: str, dtype: str) -> None:
    """Bit for bit, so that poles stay where a program puts them; complex exponents and 1 / z within a few ulp."""
    near = {"-1": 2, "complex ones": 8, "a base that is a number": 8}.get(name, 0) * float(np.finfo(dtype).eps)
    torch = pytest.importorskip("torch")
    mine, other = (
        POWERS[name](t, t.from_numpy(ROOT ** np.arange(25)).to(getattr(t, dtype))) for t in (minigrad, torch)
    )
    assert in_torch_words(mine.dtype) == str(other.dtype)
    np.testing.assert_allclose(mine.numpy(), other.numpy(), rtol=near, atol=near)


@cases("kind", [minigrad.complex64, minigrad.complex128])
def test_a_whole_power_is_an_exponential(kind: Any, device: str) -> None:
    """aⁿ is exp(n ln a), even in place. This avoids the pole of 1 / (1 + w): state-space models' nodes are finite."""
    n = minigrad.arange(13, device=device)
    w = minigrad.tensor(ROOT, dtype=kind, device=device) ** n
    plain = np.exp(np.arange(13) * np.log(kind.numpy.type(ROOT)))
    np.testing.assert_allclose(w.cpu().numpy(), plain, rtol=4e-6 if kind is minigrad.complex64 else 1e-14)
    assert minigrad.isfinite(minigrad.view_as_real(2 * (1 - w) / (1 + w))).all()
    zero = minigrad.zeros(3, dtype=kind, device=device)
    assert (zero ** minigrad.tensor([0, 1, 2], device=device)).tolist() == [1, 0, 0]
    assert zero.clone().pow_(0).tolist() == [1, 1, 1] and (zero**2).tolist() == [0, 0, 0]


def test_a_complex_number_has_no_gradient_by_itself() -> None:
    z = minigrad.tensor(1j, requires_grad=True)
    with pytest.raises(RuntimeError, match="grad can be implicitly created only for real scalar outputs but got"):
        (z * z).backward()
    (z * z).backward(minigrad.tensor(1 + 0j))
    assert z.grad is not None and z.grad.item() == -2j


def test_the_residuals_of_least_squares_are_real() -> None:
    a = minigrad.eye(2, dtype=minigrad.complex128) * 1j
    assert minigrad.linalg.lstsq(a, a).residuals.dtype is minigrad.float64
