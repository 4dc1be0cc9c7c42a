"""The checker itself: it accepts right gradients, and locates the errors in wrong ones."""

import inspect
import warnings

import numpy as np
import pytest

import minigrad
from minigrad.autograd import GradcheckError, gradcheck, gradgradcheck
from minigrad.ops.op import Op, op
from tests.support.cases import cases, raises


def leaf(*shape: int) -> minigrad.Tensor:
    return minigrad.randn(*shape, dtype=minigrad.float64, requires_grad=True)


@pytest.fixture
def wrong() -> Op:
    """An op whose rule for b omits a factor in one element."""

    @op
    def skewed(a, b):  # type: ignore[no-untyped-def]
        """a b"""
        return a * b

    skewed.gradient(a=lambda g, b: g * b, b=lambda g, a: g * a * (1 + (a == a.max()) * 0.5))
    return skewed


def test_right_gradients(device: str) -> None:
    x, y = (leaf(*shape).to(device).detach().requires_grad_() for shape in ((2, 2), (2,)))
    function = lambda a, b: ((a * b).tanh() @ b, a.sum(0))
    assert gradcheck(function, (x, y)) and gradgradcheck(function, (x, y))
    assert gradcheck(lambda a: a.exp(), x)
    assert gradcheck(lambda a, k, m: a[m] * k, (x, 3, minigrad.tensor([True, False], device=device)))


def test_a_wrong_rule_is_named(wrong: Op) -> None:
    x = minigrad.tensor([1.0, 3.0, 2.0], dtype=minigrad.float64, requires_grad=True)
    y = minigrad.tensor([1.0, 1.0, 1.0], dtype=minigrad.float64, requires_grad=True)
    with pytest.raises(GradcheckError) as info:
        gradcheck(lambda a, b: wrong(a, b * 2) * 1.0, (x, y))
    text = str(info.value)
    line = inspect.getsourcelines(wrong.rules["b"][0])[1]
    assert "for output 0 with respect to input 1 in 1 of 9 elements" in text
    assert "d output[1] / d input[1]" in text and "analytical 9.0, numerical " in text
    assert "absolute difference 3, relative 0.5" in text
    rules = [rule.strip() for rule in text.splitlines()[4:]]
    assert [rule.split(" (")[0] for rule in rules] == ["mul for a", "skewed for b"]  # each once
    assert f"test_gradcheck.py:{line}" in rules[1]
    assert gradcheck(lambda a, b: wrong(a, b), (x, y), raise_exception=False) is False
    assert gradcheck(lambda a, b: wrong(a, b), (x, y.detach()))


def test_missing_paths_and_nan_and_infinities_are_wrong() -> None:
    wrong = "no recorded ops connect this input to the output"
    raises(GradcheckError, wrong, lambda: gradcheck(lambda a: a.detach() * 2, leaf(2)))
    zeros, ones = (f(3, dtype=minigrad.float64).requires_grad_() for f in (minigrad.zeros, minigrad.ones))
    raises(GradcheckError, None, lambda: gradcheck(lambda a: (a * a).sqrt(), zeros))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not gradcheck(lambda v: v / 0, [ones], raise_exception=False)


def test_a_backward_that_is_not_repeatable() -> None:
    calls: list[int] = []

    def noisy(a: minigrad.Tensor) -> minigrad.Tensor:
        product = a * 2
        product.register_hook(lambda g: g * (1 + 1e-3 * (calls.append(1) or len(calls))))  # type: ignore[func-returns-value]
        return product

    raises(GradcheckError, "gradcheck cannot check it", lambda: gradcheck(noisy, leaf(2)))


def test_second_order_is_checked_separately() -> None:
    @op
    def once(x):  # type: ignore[no-untyped-def]
        """x³, whose gradient has the right value but is detached from x"""
        return x * x * x

    once.gradient(x=lambda g, x: g * 3 * minigrad.backend.xp(getattr(x, "array", x)).square(getattr(x, "array", x)))
    assert gradcheck(once, leaf(3))
    raises(GradcheckError, None, lambda: gradgradcheck(once, leaf(3)))


def test_functions_that_cannot_be_checked() -> None:
    with pytest.warns(UserWarning, match=r"input 1 requires gradient and is not a double .*\.double\(\)"):
        gradcheck(lambda a, b: a + b, (leaf(2), minigrad.ones(2, requires_grad=True)), eps=1e-2)
    with pytest.raises(ValueError, match="at least one input tensor to require gradient"):
        gradcheck(lambda a: a, minigrad.ones(2, dtype=minigrad.float64))
    raises(ValueError, "no floating-point tensor", lambda: gradcheck(lambda a: a > 0, leaf(2)))


def test_torch_arguments_are_taken() -> None:
    how = {"eps": 1e-5, "atol": 1e-4, "rtol": 1e-3, "nondet_tol": 1e-9, "fast_mode": True}
    how |= {"check_undefined_grad": False, "check_batched_grad": False}
    x = leaf(2, 3)
    before, version = x.tolist(), x._changes[0]
    assert gradcheck(lambda a: a * a, (x,), **how)
    assert (x.tolist(), x._changes[0], x.grad) == (before, version, None)
    assert gradgradcheck(lambda a: a * a, [leaf(2)], [leaf(2)], check_rev_over_rev=True)


def test_complex_inputs_and_results() -> None:
    rng = np.random.default_rng(0)
    z = minigrad.tensor(rng.standard_normal((2, 3)) + 1j * rng.standard_normal((2, 3)), requires_grad=True)
    w = minigrad.tensor(rng.standard_normal(3), requires_grad=True)
    before = z.tolist()
    for function in (lambda z, w: z.exp() * w, lambda z, w: ((z @ (w * 1j)).abs(), z.conj() * w)):
        assert gradcheck(function, (z, w)) and gradgradcheck(function, (z, w))
    assert gradcheck(lambda w: (1j * w).exp(), w) and z.tolist() == before

    square = Op(lambda z: z * z, holomorphic=True).gradient("dz = g z", z=lambda g, z: g * z)
    raises(GradcheckError, "Jacobian mismatch for output 0", lambda: gradcheck(square, z))


@cases("fast_mode", [False, True])
def test_right_gradients_need_few_evaluations(fast_mode: bool) -> None:
    calls: list[int] = []

    def counted(a: minigrad.Tensor) -> minigrad.Tensor:
        calls.append(1)
        return (a @ a).tanh()

    assert gradcheck(counted, leaf(10, 10), fast_mode=fast_mode) and len(calls) <= 5


@cases("fast_mode", [False, True])
def test_one_wrong_element_of_many_is_found(fast_mode: bool) -> None:
    x = minigrad.linspace(0.5, 1, 400, dtype=minigrad.float64).reshape(20, 20).requires_grad_()
    error = 20.0 if fast_mode else 3e-5  # the tolerance of fast_mode applies to all elements together

    @op
    def nearly(a):  # type: ignore[no-untyped-def]
        """a"""
        return a * 1.0

    nearly.gradient(a=lambda g, a: g * (1 + error * (a == a[7, 3])))
    arguments = {"rtol": 0.0, "atol": 1e-5, "fast_mode": fast_mode}
    assert gradcheck(lambda a: a * 1.0, x, **arguments)  # type: ignore[arg-type]
    with pytest.raises(GradcheckError, match="in 1 of 160000 elements"):
        gradcheck(nearly, x, **arguments)  # type: ignore[arg-type]


def test_elements_that_share_memory_are_checked_one_by_one() -> None:
    x = minigrad.tensor([[0.5], [0.7]], dtype=minigrad.float64).expand(2, 3).detach().requires_grad_()
    assert gradcheck(lambda a: a[:, :1].sin(), x[:, :1].detach().requires_grad_())
    before = x.tolist()
    raises(GradcheckError, None, lambda: gradcheck(lambda a: a.sin(), x))
    assert x.tolist() == before
