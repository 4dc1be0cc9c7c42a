"""Elementwise functions: operands of every kind, PyTorch's promotion of dtypes, and errors."""

import itertools
import operator
from typing import Any

import numpy as np
import pytest

import minigrad
from tests.support.both import agree
from tests.support.cases import cases, raises
from tests.support.expressions import evaluate, split
from tests.support.parity import assert_close, assert_same_dtype, host, ours, theirs, torch

DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64"]
OPERATORS = {"add": operator.add, "mul": operator.mul, "div": operator.truediv}
SCALARS: list[Any] = [True, 2, 2.5, -1]


def tensor_of(t: Any, dtype: str, axes: bool) -> Any:
    return t.tensor([1, 2] if axes else 1, dtype=getattr(t, dtype))


@cases("name", OPERATORS)
@cases("axes", list(itertools.product([True, False], repeat=2)))
def test_promotion_of_two_tensors(name: str, axes: tuple[bool, bool], device: str) -> None:
    """The whole table: 9 x 9 dtypes, with and without axes."""
    for a, b in itertools.product(DTYPES, repeat=2):
        if device != "cpu" and "16" in a + b:
            continue
        actual = OPERATORS[name](tensor_of(minigrad, a, axes[0]).to(device), tensor_of(minigrad, b, axes[1]).to(device))
        expected = OPERATORS[name](tensor_of(torch, a, axes[0]), tensor_of(torch, b, axes[1]))
        assert_same_dtype(actual, expected, f"{a} {name} {b}")
        assert_close(actual, expected, 1e-3 if "float16" in (a, b) else 1e-6)


@cases("name", OPERATORS)
@cases("axes", [True, False])
def test_promotion_with_python_scalars(name: str, axes: bool) -> None:
    for dtype, scalar in itertools.product(DTYPES, SCALARS):
        if dtype == "uint8" and scalar == -1:
            continue
        for swap in (False, True):
            x, y = tensor_of(minigrad, dtype, axes), tensor_of(torch, dtype, axes)
            actual = OPERATORS[name](*((scalar, x) if swap else (x, scalar)))
            expected = OPERATORS[name](*((scalar, y) if swap else (y, scalar)))
            assert_same_dtype(actual, expected, f"{dtype} {name} {scalar!r}")
            assert_close(actual, expected, 1e-3)


def test_result_type_of_where_cat_and_stack() -> None:
    for a, b in itertools.product(DTYPES, repeat=2):
        for program in (
            lambda t, x, y: t.where(t.tensor([True, False]), x, y),
            lambda t, x, y: t.cat([x, y]),
            lambda t, x, y: t.stack([x, y]),
        ):
            assert_same_dtype(
                program(minigrad, tensor_of(minigrad, a, True), tensor_of(minigrad, b, True)),
                program(torch, tensor_of(torch, a, True), tensor_of(torch, b, True)),
            )
    for dtype, scalar in itertools.product(DTYPES, SCALARS):
        assert_same_dtype(
            minigrad.where(minigrad.tensor([True, False]), tensor_of(minigrad, dtype, True), scalar),
            torch.where(torch.tensor([True, False]), tensor_of(torch, dtype, True), scalar),
        )
    assert minigrad.where(minigrad.tensor([True, False]), 1.0, 0.0).dtype is minigrad.float32


def test_numpy_scalars_and_arrays_on_either_side() -> None:
    x = minigrad.tensor([1.0, 2.0], requires_grad=True)
    for scalar in (np.float64(2), np.float32(2), np.int64(2), np.sqrt(4), np.array(2.0)[()]):
        for result in (x * scalar, scalar * x, x / scalar, scalar / x, x + scalar, scalar - x, x**scalar, scalar**x):
            assert result.dtype is minigrad.float32
            assert result.requires_grad, "ndarray * Tensor keeps the graph"
            assert isinstance(result, minigrad.Tensor)
    array = np.array([3.0, 4.0], np.float32)
    for result, expected in (
        (x * array, [3, 8]),
        (array * x, [3, 8]),
        (array - x, [2, 2]),
        (array / x, [3, 2]),
        (x @ array, 11),
        (array @ x, 11),
        (array > x, [True, True]),
    ):
        assert isinstance(result, minigrad.Tensor)
        assert result.tolist() == expected
    (array * x).sum().backward()
    assert x.grad.tolist() == [3, 4]


def test_gradients_through_promotion() -> None:
    x = minigrad.tensor([1.0, 2.0], requires_grad=True)
    y = minigrad.tensor([3.0, 4.0], dtype=minigrad.float64, requires_grad=True)
    n = minigrad.tensor([2, 3])
    (x * y * n).sum().backward()
    assert (x.grad.dtype, y.grad.dtype) == (minigrad.float32, minigrad.float64)
    assert (x.grad.tolist(), y.grad.tolist()) == ([6, 12], [2, 6])


@cases("name", ["exp", "sqrt", "sin", "tanh", "sigmoid", "log", "reciprocal", "erf", "rsqrt", "log1p"])
def test_functions_of_integers_give_floats(name: str) -> None:
    for dtype in ("int64", "uint8", "bool", "float64", "float16"):
        agree(lambda t, x: getattr(x, name)(), np.array([1, 2]).astype(dtype))


@cases("name", ["neg", "abs", "sign", "square", "relu", "floor", "ceil", "round", "trunc"])
def test_functions_of_integers_that_stay_integers(name: str) -> None:
    agree(lambda t, x: getattr(x, name)(), np.array([-3, 0, 2]))


WITHOUT_GRADIENT = """
a // b ; a % b ; t.fmod(a, b) ; a == b ; a != b ; a < b ; a <= b ; a > b ; a >= b ; a.logical_and(b)
t.logical_or(a, b) ; t.logical_xor(a, b) ; a.logical_not() ; a.div(b, rounding_mode='floor') ; t.maximum(a, b)
t.div(a, b, rounding_mode='trunc') ; t.minimum(a, b) ; 7 - a ; 7 // b ; 7 % b ; a.isnan() ; t.isinf(a) ; a.isfinite()
a.clamp(-1, 2) ; t.clamp(a, 0.5, 1.5) ; a.clamp_min(0) ; t.add(a, b, alpha=2) ; a.sub(b, alpha=3) ; t.clip(a, min=b)
t.add(a, 3, b) ; a.sub(2, b) ; a.clone().add_(3, b) ; a.clone().sub_(3, b) ; a.addcmul(2, a, b)
a.clone().addcmul_(2, a, b) ; t.div(a, 2.5, rounding_mode='trunc') ; t.div(-7, 2, rounding_mode='trunc')
t.div(-7, 2, rounding_mode='floor') ; t.add(2, 3.0) ; t.mul(2, 3)
"""


@pytest.mark.filterwarnings("ignore:This overload")
@cases("expression", split(WITHOUT_GRADIENT))
def test_values(expression: str, device: str) -> None:
    for dtype in (np.int64, np.float32):
        a, b = np.array([-7, -3, 0, 2, 5], dtype), np.array([2, -2, 3, 2, -4], dtype)
        agree(lambda t, a, b: evaluate(expression, t=t, a=a.detach(), b=b.detach()), a, b, near=1e-7, device=device)


@cases("expression", split("a & b; a | b; a ^ b; ~a; a * b; a + b; a & (b == 0); a | True"))
def test_bits_and_masks(expression: str, device: str) -> None:
    for dtype in (bool, np.int64):
        a, b = np.array([True, False, True]).astype(dtype), np.array([True, True, False]).astype(dtype)
        agree(lambda t, a, b: evaluate(expression, a=a, b=b), a, b, device=device)


def test_comparison_with_objects_that_are_no_numbers() -> None:
    x = minigrad.ones(2)
    assert (x == None) is False  # noqa: E711
    assert (x != None) is True  # noqa: E711
    assert (x == "a") is False
    raises(TypeError, None, lambda: operator.lt(x, "a"))


def test_errors_name_op_and_shapes(device: str) -> None:
    x, y = minigrad.ones(2, 3, device=device), minigrad.ones(4, device=device)
    for program, name in (
        (lambda: x + y, "add"),
        (lambda: x * y, "mul"),
        (lambda: x.maximum(y), "maximum"),
        (lambda: x > y, "gt"),
        (lambda: minigrad.where(x > 0, x, y), "where"),
    ):
        with pytest.raises(RuntimeError, match=rf"^{name}: .*\(2, 3\).*\(4,\)"):
            program()
    for operation in (operator.add, operator.mul, operator.matmul, operator.and_):
        with pytest.raises(TypeError, match="unsupported operand"):
            operation(x, object())
        with pytest.raises(TypeError, match="unsupported operand"):
            operation({}, x)
    raises(TypeError, "must be a Tensor or a number, not str", lambda: minigrad.add(x, "two"))
    raises(NotImplementedError, "bitwise_and", lambda: x & x)
    raises(RuntimeError, "negative integer powers", lambda: minigrad.tensor([2]) ** -1)
    raises(RuntimeError, "rounding_mode", lambda: minigrad.div(x, x, rounding_mode="up"))
    raises(RuntimeError, "boolean tensor", lambda: minigrad.where(x, x, x))
    raises(RuntimeError, "At least one of 'min' or 'max'", lambda: x.clamp())


def test_devices_do_not_mix() -> None:
    pytest.importorskip("tests.support.strict").install(emulate=False)
    x, y = minigrad.ones(2, 3), minigrad.ones(3, device="strict")
    with pytest.raises(
        RuntimeError, match=r"add: expected all tensors .* \(2, 3\) float32 on cpu and \(3,\) float32 on strict"
    ):
        x + y
    scalar = minigrad.tensor(2.0, requires_grad=True)
    result = y * scalar  # a CPU tensor without axes counts as a number
    assert str(result.device) == "strict"
    result.sum().backward()
    assert scalar.grad.item() == 3
    raises(RuntimeError, "same device", lambda: y.masked_fill(minigrad.ones(3) > 0, 0))
    with pytest.raises(RuntimeError, match="same device"):
        y[0:3] = minigrad.ones(3)
    y[0] = minigrad.tensor(5.0)
    assert y.tolist() == [5, 1, 1]


def test_in_place_dtypes() -> None:
    n = minigrad.tensor([1, 2])
    with pytest.raises(
        RuntimeError, match=r"result type minigrad.float32 can't be cast to the desired output type minigrad.int64"
    ):
        n += 0.5
    with pytest.raises(RuntimeError, match="can't be cast"):
        n /= 2
    with pytest.raises(RuntimeError, match=r"shape \[2\] doesn't match the broadcast shape \[3, 2\]"):
        n += minigrad.ones(3, 2, dtype=minigrad.int64)
    h = minigrad.ones(2, dtype=minigrad.float32)
    h += minigrad.ones(2, dtype=minigrad.float64)
    assert h.dtype is minigrad.float32
    assert n.tolist() == [1, 2]


NARROW = """
x.clamp(0, 1) ; x**2 ; 2**x ; x.maximum(x * 2) ; x.std() ; x.amax() ; x.relu() ; x.masked_fill(x > 1, -1e9)
x.nan_to_num() ; x.logsumexp(0) ; t.where(x > 1, x, 0.0) ; x.norm() ; x.prod() ; x.cumprod(0) ; x[0]**2 + x[1]**x[0]
x[0].maximum(x[1])
"""


@cases("expression", split(NARROW))
def test_python_numbers_and_constants_of_rules_never_change_a_dtype(expression: str) -> None:
    x = minigrad.tensor([0.5, 2.0], requires_grad=True)
    result = evaluate(expression, t=minigrad, x=x)
    assert result.dtype is minigrad.float32
    result.sum().backward()
    assert x.grad is not None and x.grad.dtype is minigrad.float32


def test_a_function_of_tensors_refuses_numbers() -> None:
    raises(TypeError, r"pow\(\): argument 'input' \(position 1\) must be Tensor, not int", lambda: minigrad.pow(2, 3))
    raises(TypeError, "must be Tensor, not float", lambda: minigrad.sqrt(2.0))
    raises(TypeError, "positional arguments", lambda: minigrad.ones(1).add(minigrad.ones(1), 5))


QUOTIENTS = {  # CuPy's ⌊a / b⌋ is 10 for 1 and 0.1, where PyTorch's is 9, and its remainder by inf is NaN
    "floor_divide": lambda t, a, b: a // b,
    "div": lambda t, a, b: t.div(a, b, rounding_mode="floor"),
    "remainder": lambda t, a, b: a % b,
    "fmod": lambda t, a, b: t.fmod(a, b),
}


@cases("dtype", [np.float64, np.float32])
@cases("name", QUOTIENTS)
def test_quotients_are_exact_and_know_infinity(name: str, dtype: Any, device: str) -> None:
    parts = np.array([0.1, 0.3, 0.7, 1, 2.5, 1e-3, 1e5, 0, np.inf, np.nan], dtype)
    numbers = np.concatenate((parts, -parts))
    a, b = (x.ravel().copy() for x in np.meshgrid(numbers * 3, numbers))
    results, derivatives = [], []
    for t, x, y in (
        (minigrad, ours(a, True, device), ours(b, True, device)),
        (torch, theirs(a, True), theirs(b, True)),
    ):
        result = QUOTIENTS[name](t, x, y)
        results.append(result.detach())
        if name == "remainder":
            derivatives.append(t.autograd.grad(result.sum(), (x, y)))
        results += [QUOTIENTS[name](t, x.detach(), n) for n in (0.1, 0.0, -2.0)]
        results += (
            [QUOTIENTS[name](t, n, y.detach()) for n in (0.7, -3.0)] if name in ("floor_divide", "remainder") else []
        )
    for f, e in zip(results[: len(results) // 2], results[len(results) // 2 :], strict=True):
        np.testing.assert_array_equal(host(f), host(e))
    for f, e in zip(*derivatives, strict=True):
        finite = np.isfinite(host(e))
        np.testing.assert_array_equal(host(f)[finite], host(e)[finite])


@cases("name", QUOTIENTS)
def test_quotients_of_large_integers(name: str, device: str) -> None:
    a, b = np.array([2**53 + 1, -(2**53) - 1, 7, -7, 7, -7]), np.array([2, 2, 2, 2, -2, -2])
    agree(QUOTIENTS[name], a, b, near=1e-17, device=device)


def test_frexp_and_nextafter(device: str) -> None:
    """The gradient of nextafter goes to its first operand."""
    agree(lambda t, x: tuple(t.frexp(x.detach())), np.array([3.0, -0.25, 0.0, 1e300, 5e-324]), device=device)
    x = np.array([3.0, -0.25, 0.0, 1e300, 5e-324, 2.0])
    agree(lambda t, a, b: t.nextafter(a, b), x, x + (x != 2))
    assert minigrad.nextafter(ours(x), ours(x + 1)).tolist() == torch.nextafter(theirs(x), theirs(x + 1)).tolist()


@cases("name", ["fmax", "fmin"])
def test_the_gradient_of_equal_numbers_is_the_first_ones(name: str) -> None:
    a, b = np.array([1.0, 2.0, np.nan, 4.0]), np.array([1.0, 3.0, 5.0, np.nan])
    agree(lambda t, a, b: getattr(t, name)(a, b), a, b)


@cases("x", [[True, False], [0, 1, 2]])
@cases("eps", [None, 0.25])
def test_logit_of_integers(x: list[int], eps: float | None) -> None:
    agree(lambda t, x: t.logit(x, eps), np.array(x))


# Corners ----------------------------------------------------------------------------------------------------


@cases("base", [-5.5, 0.0, 2.0])
def test_gradient_of_powers_of_a_number(base: float) -> None:
    agree(lambda t, x: base**x, np.array([1.0, 2.0, -1.0, 0.5, 0.0]))


def test_gradient_of_powers_of_zero() -> None:
    agree(lambda t, x, y: x**y, np.zeros(6), np.array([1.0, 2.0, -1.0, 0.5, 0.0, -0.5]))


def test_squares_of_bools() -> None:
    agree(lambda t, x: x.square(), np.array([True, False]))


@cases("name", ["add", "sub"])
def test_factor_with_a_point_of_integers(name: str) -> None:
    x = ours(np.array([1, 2]))
    for call in (lambda: getattr(x, name)(x, alpha=1.5), lambda: getattr(minigrad, name)(x, 2, alpha=1.0)):
        with pytest.raises(RuntimeError, match="argument alpha must not be a floating point number"):
            call()
    assert getattr(x, name)(1.5, alpha=2.0).dtype == minigrad.float32


@cases("base", [2, 1, -1, 0, -3, np.array([2, -1, -1, 0, 1, -3])])
def test_integers_to_negative_powers(base: Any, device: str) -> None:
    """The result is truncated."""
    agree(lambda t, powers, base: base**powers, np.array([-3, -2, -1, 0, 1, 2]), base, device=device)
