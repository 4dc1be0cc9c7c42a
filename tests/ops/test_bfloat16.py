"""bfloat16, with the package ml_dtypes: ops compute in float32 and round, compared with PyTorch."""

import operator
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minigrad
from minigrad.autograd.observer import Observer, observed
from minigrad.backend import dtype as dt
from minigrad.ops.linear import matmul
from tests.support.cases import cases, raises
from tests.support.expressions import evaluate, split
from tests.support.parity import in_torch_words, torch

pytest.importorskip("ml_dtypes")

SPECIAL = [0.0, -0.0, 1.0, -2.5, 3.140625, 1e-3, -7e4, 7e37, float("inf"), -float("inf"), float("nan")]


def pair(values: Any, requires_grad: bool = False, device: str = "cpu") -> tuple[Any, Any]:
    """The same bfloat16 tensor in PyTorch and, on a device, in minigrad."""
    theirs = torch.as_tensor(np.asarray(values, np.float32)).bfloat16()
    ours = minigrad.tensor(np.asarray(values, np.float32)).bfloat16().to(device)
    return theirs.requires_grad_(requires_grad), ours.requires_grad_(requires_grad)


def normal(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def check(theirs: Any, ours: Any, tolerance: float = 0.0) -> None:
    """Assert equal dtypes, shapes and values, bitwise or within a relative tolerance."""
    assert in_torch_words(ours.dtype) == str(theirs.dtype)
    assert tuple(ours.shape) == tuple(theirs.shape)
    wide = "cdouble" if theirs.is_complex() else "double"
    actual, expected = (getattr(x.detach(), wide)().cpu().numpy() for x in (ours, theirs))
    np.testing.assert_allclose(actual, expected, tolerance, tolerance, equal_nan=True)


METHODS = "neg abs sqrt exp log1p sigmoid square relu isnan sum mean amax argmax median double half bool"
FORMULAS: list[Callable[[Any], Any]] = [
    *(lambda x: x * 0.1, lambda x: x / 0.1, lambda x: 0.1 + x, lambda x: 0.1 - x, lambda x: x % 0.1, lambda x: x**1.3),
    *(lambda x: x == 0.1, lambda x: x < 3.14159, lambda x: x.ne(1)),
    *(lambda x: x.sort().values, lambda x: x.clamp(-1, 0.3), lambda x: x**2, lambda x: 1 / x),
    *(lambda x: x.softmax(0) if x.numel() else x, lambda x: x.cumsum(0)),
]


@cases("function", [*map(operator.methodcaller, METHODS.split()), *FORMULAS])
@cases("values", [SPECIAL, normal(7), normal(0), 0.1])
def test_functions(function: Callable[[Any], Any], values: Any, device: str) -> None:
    theirs, ours = pair(values, device=device)
    try:
        expected = function(theirs)
    except (RuntimeError, IndexError):
        return  # PyTorch rejects it
    check(expected, function(ours))


@cases("shapes", [((3,), (3,)), ((3,), ()), ((), (3,)), ((), ()), ((2, 1), (3,))])
@cases("dtype", ["bfloat16", "float16", "float32", "float64", "int64", "int8", "uint8", "bool", "complex64"])
@cases("name", ["add", "mul", "truediv", "eq", "lt"])
def test_operands_of_two_dtypes(name: str, dtype: str, shapes: tuple[Any, Any]) -> None:
    if name == "lt" and dtype == "complex64":
        return
    (a, ours), numbers = pair(normal(*shapes[0])), 300 * abs(normal(*shapes[1], seed=1)) + 1
    b, other = torch.as_tensor(numbers).to(getattr(torch, dtype)), minigrad.tensor(numbers).to(getattr(minigrad, dtype))
    function = getattr(operator, name)
    tolerance = 1e-6 if dtype == "complex64" else 0
    check(function(a, b), function(ours, other), tolerance)
    check(function(b, a), function(other, ours), tolerance)


def test_long_sums_do_not_stop_growing() -> None:
    _, ones = pair(np.ones(1000), requires_grad=True)
    assert ones.sum().item() == 1000 and ones.mean().item() == 1  # added one by one in bfloat16 they stop at 256
    _, one = pair([1.0], requires_grad=True)
    one.expand(1000).float().sum().backward()
    assert one.grad.item() == 1000
    table = minigrad.ones(1, dtype=minigrad.bfloat16, requires_grad=True)
    table[minigrad.zeros(1000, dtype=minigrad.int64)].float().sum().backward()
    assert table.grad.item() == 1000


def test_gradients(device: str) -> None:
    def loss(x: Any, w: Any) -> Any:
        y = (x @ w.T).tanh() * w.sum(1)
        return (y[:, 1:] / y.exp().sum()).reshape(-1)[::2].square().sum() + (w * w).mean()

    x, w = pair(normal(5, 4), device=device), pair(normal(3, 4, seed=1), True, device)
    results = [loss(a, b) for a, b in zip(x, w, strict=True)]
    for result in results:
        result.backward()
    check(*results, tolerance=2e-2)
    check(*(b.grad for b in w), tolerance=2e-2)
    for result in (loss(a, b) for a, b in zip(x, w, strict=True)):
        result.backward()
    check(*(b.grad for b in w), tolerance=2e-2)
    derivatives = []
    for t, x in zip((torch, minigrad), pair([0.5, -1.5, 2.0], True, device), strict=True):
        (derivative,) = t.autograd.grad((x**3).sum(), x, create_graph=True)
        derivatives += t.autograd.grad(derivative.sum(), x)
    check(*derivatives)


def test_through_a_conversion() -> None:
    wide, half = minigrad.tensor([1.01, 2.0], requires_grad=True), minigrad.tensor([3.0, 0.1], requires_grad=True)
    (wide.bfloat16().float() * half).sum().backward()
    assert wide.grad is not None and wide.grad.dtype is minigrad.float32 and half.grad is not None
    assert wide.grad.tolist() == half.bfloat16().tolist()  # the gradient also passes through bfloat16
    assert half.grad.tolist() == wide.bfloat16().tolist()


def test_in_place_and_views() -> None:
    for a in pair(normal(3, 4)):
        library: Any = torch if isinstance(a, torch.Tensor) else minigrad
        row, flat = a[1], a.view(-1)
        assert row.data_ptr() - a.data_ptr() == 8
        row.mul_(3).add_(0.1)
        flat[::5] = 2
        a[a > 1.9] = library.tensor(7.0)
        a.T[0].copy_(library.arange(3))
        a[2:].zero_()
        if library is torch:
            expected = a
    check(expected, a)
    x = minigrad.ones(3, dtype=minigrad.bfloat16, requires_grad=True)
    y = x * 2
    y[0] = 5.0
    y.exp_().sum().backward()
    assert x.grad is not None and x.grad[0] == 0 and x.grad[1] == (2 * minigrad.tensor(2.0).bfloat16().exp()).item()
    with pytest.raises(RuntimeError, match="can't be cast"):
        minigrad.ones(2, dtype=minigrad.int64).add_(minigrad.ones(2).bfloat16())


PIECES = """
t.cat([x, x.float()]) ; t.stack([x, x * 2], 1) ; x.split(4, 1)[1] ; x.unbind(1)[2] ; x[:, None, [0, 2, 2]] ; x[x > 0]
x.gather(1, t.tensor([[0, 1]] * 4)) ; t.where(x > 0, x, 0.1) ; x.as_strided((2, 3), (1, 2), 1)
x.clone().permute(1, 0).contiguous() ; t.zeros_like(x) + t.full((), 0.1, dtype=t.bfloat16)
"""


def test_pieces() -> None:
    theirs, ours = pair(normal(4, 6))
    for expression in split(PIECES):
        check(*(evaluate(expression, t=t, x=x) for t, x in ((torch, theirs), (minigrad, ours))))
    assert ours.equal(ours.clone()) and ours.allclose(ours.float().bfloat16())
    x, y = pair([3, float("nan"), 1, 2, float("nan"), 1])
    for name in ("sort", "median", "nanmedian", "argsort"):
        results = [getattr(z, name)() for z in (x, y)]
        check(*(r[0] if isinstance(r, tuple) else r for r in results))
    assert y[2:4].unique().tolist() == [1, 2] and minigrad.isin(y, y[2]).nonzero().tolist() == [[2], [5]]


CREATED = """
t.zeros(2, dtype=k) ; t.tensor([1, 2.7, True], dtype=k) ; t.tensor([[1, 2]], dtype=k) ; t.tensor(2.0**70, dtype=k)
t.arange(0, 1, 0.1, dtype=k) ; t.eye(3, dtype=k) ; t.full((2,), 0.1, dtype=k) ; t.BFloat16Tensor([0.1])
t.tensor([0.1]).type("torch.BFloat16Tensor")
"""


def test_creation() -> None:
    for expression in split(CREATED):
        theirs, ours = (evaluate(expression, t=t, k=t.bfloat16) for t in (torch, minigrad))
        check(theirs, ours)
        assert in_torch_words(repr(ours)) == repr(theirs)
        assert ours.tolist() == theirs.tolist() and ours.type() == theirs.type()
    assert ours.element_size() == 2 and ours.is_floating_point() and not ours.is_complex()
    for count in (5, 20, 64):
        torch.manual_seed(0)
        minigrad.manual_seed(0)
        for name in ("rand", "randn"):
            draws = (getattr(library, name)(count, dtype=library.bfloat16) for library in (torch, minigrad))
            check(*draws, tolerance=1e-2)


def test_refusals(device: str) -> None:
    x = minigrad.ones(2).bfloat16()
    raises(TypeError, r"unsupported ScalarType BFloat16.*\.float\(\)\.numpy\(\)", lambda: x.numpy())
    raises(TypeError, "BFloat16", lambda: np.asarray(x))
    if device != "cpu":
        eight = minigrad.float8_e5m2
        for move in (lambda: x.to(eight).to(device), lambda: minigrad.ones(2, device=device).to(eight)):
            with pytest.raises(TypeError, match=f"float8_e5m2 tensors are not supported on '{device}"):
                move()


@cases("shapes", [((5, 4), (4, 3)), ((2, 5, 4), (2, 4, 3)), ((2, 1, 5, 4), (3, 4, 3)), ((2, 5, 4), (4,))])
def test_products_stay_in_bfloat16(shapes: Any, device: str) -> None:
    """On a GPU no operand of a product is converted, forward or backward."""
    a, b = (pair(normal(*shape, seed=i), True, device) for i, shape in enumerate(shapes))
    dtypes: list[Any] = []

    class Watch(Observer):
        def applying(self, op: Any, args: Any) -> None:
            dtypes.extend(dt.of(getattr(x, "array", x)).name for x in args if op is matmul and hasattr(x, "shape"))

    with observed(Watch()):
        products = [x @ y for x, y in zip(a, b, strict=True)]
    check(*products, tolerance=1e-2)
    for product in products:
        product.square().float().sum().backward()
    for theirs, ours in (a, b):
        check(theirs.grad, ours.grad, tolerance=3e-2)
    assert set(dtypes) == {"float32" if device == "cpu" else "bfloat16"}


def test_the_package_is_imported_when_it_is_needed() -> None:
    program = """import sys, minigrad; minigrad.ones(2).half() + 1; minigrad.finfo(minigrad.bfloat16)
assert 'ml_dtypes' not in sys.modules
minigrad.ones(2).bfloat16(); assert 'ml_dtypes' in sys.modules"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    assert not minigrad.bfloat16.is_available
    for make in (lambda: minigrad.ones(2).bfloat16(), lambda: minigrad.zeros(2, dtype=minigrad.bfloat16)):
        with pytest.raises(TypeError, match="pip install ml_dtypes"):
            make()
    assert minigrad.finfo(minigrad.bfloat16).eps == torch.finfo(torch.bfloat16).eps
    assert minigrad.promote_types(minigrad.bfloat16, minigrad.float16) is minigrad.float32
