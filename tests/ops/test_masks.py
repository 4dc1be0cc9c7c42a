"""Masks block gradients completely, even infinite ones and NaN, whose product with 0 is NaN.

A gradient of 1 reveals a mask: the result is exactly 0. The test runs every case of every op in the registry, and so
includes a new op as soon as it has a case.
"""

from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from functools import partial
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad.autograd import grad
from minigrad.compat.ops.registry import REGISTRY
from minigrad.nn import functional as F
from minigrad.nn.functional.activation import relu_dropout
from minigrad.ops import recurrent
from tests.ops.cases import CASES, Case
from tests.ops.test_rules import floats, inputs, wanting
from tests.support.both import numbers
from tests.support.cases import cases, each
from tests.support.expressions import evaluate, split
from tests.support.parity import host, ours
from tests.support.plain_checks import without_kernel

MOST = 3  # number of tested positions in a result
ELSEWHERE = {  # cases in which the 0 is a factor, not a mask; PyTorch's gradient is also NaN there
    "adjugate-2x3x3": "of zeros",
    **dict.fromkeys(("prod-3x3-3x3", "cumprod-4-4"), "the case multiplies by 0"),
    "convolve*": "the margin of zeros is multiplied",
    "rnn-5x2-2x2-2x2": "a state of relu's is 0",
    "rotate-*": "the sine of the first place is 0",
    "scaled_dot_product_attention-*": "the weight of a masked key is 0, and the others' gradients are NaN",
    **dict.fromkeys(("cholesky-*", "lu_factor-*", "qr-*"), "products with triangles"),
}
OF_COMPLEX = "conj-* cumprod-3x3x2 imag-* lerp-3x2-3x2 logcumsumexp-3x4x2 scatter_prod-2x2x2-1x2x2 view_as_real-*"
ELSEWHERE |= dict.fromkeys(OF_COMPLEX.split(), "complex numbers are multiplied: each part by both")


MASKED = [case for case in CASES if not any(fnmatchcase(str(case), pattern) for pattern in ELSEWHERE)]


def arriving(output: Any, device: str) -> Iterator[Callable[[float], Any]]:
    """Functions that make a gradient from a value: the value at one position of a result and 0 at the others."""
    shape, count = tuple(output.shape), output.numel()

    def gradient(value: float, place: int) -> Any:
        g = np.zeros(count, output.dtype.name)
        g[place] = value
        return ours(g.reshape(shape), device=device)

    for place in range(count) if count <= MOST else np.random.default_rng(0).choice(count, MOST, replace=False):
        yield partial(gradient, place=place)


def check(output: Any, inputs: list[Any], g: Callable[[float], Any], value: float, create_graph: bool = False) -> None:
    """Assert that a value in g yields 0 wherever a 1 yields 0."""
    usual, actual = (
        grad(output, inputs, g(v), retain_graph=True, create_graph=create_graph, materialize_grads=True)
        for v in (1.0, value)
    )
    for number, (a, b) in enumerate(zip(map(host, usual), map(host, actual), strict=True)):
        wrong = b[(a == 0) & (b != 0)]
        assert not wrong.size, f"{value} gives {wrong[:3]} in input {number} behind a mask"


@pytest.mark.parametrize("op", sorted({case.op for case in MASKED}))
def test_no_gradient_passes_the_masks_of_an_op(op: str, device: str) -> None:
    """By the kernel, if there is one, and by the rules."""

    def by_rules(case: Case) -> None:
        mine = inputs(case, device)
        for output in floats(case.ours(mg, *mine)):
            for g in arriving(output, device):
                check(output, wanting(mine), g, np.inf)
                check(output, wanting(mine), g, np.nan, create_graph=True)

    if device == "cuda" and op == "fft":
        pytest.skip("cuFFT multiplies by roots of 1, one part of which is 0")
    of_op = [case for case in MASKED if case.op == op]
    each(of_op, by_rules)
    if REGISTRY[op].kernel:
        with without_kernel(REGISTRY[op]):
            each(of_op, by_rules)


def ignoring(x: Any) -> Any:
    """Cross-entropy that ignores every third row."""
    target = np.where(np.arange(len(x)) % 3, np.arange(len(x)) % x.shape[1], -100)
    return F.cross_entropy(x, ours(target, device=str(x.device)), reduction="none")


def embedded(x: Any) -> Any:
    """Rows of x; padding rows have no gradient."""
    indices = np.random.default_rng(1).integers(0, len(x), (50, 60))
    return F.embedding(ours(indices, device=str(x.device)), x, padding_idx=2)


LARGE = """
x.relu() ; (x + x.mean(1, keepdim=True)).relu() ; F.relu6(4 * x) ; F.hardtanh(x) ; F.hardswish(4 * x)
F.threshold(x, 0.3, -1.0) ; x.clamp(-0.5, 0.7) ; mg.maximum(x, x.detach().flip(0)) ; mg.minimum(x, x.detach().flip(0))
x.amax(1) ; x.floor() ; F.dropout(x, 0.4) ; relu_dropout(x, 0.4) ; F.dropout1d(x[None], 0.4)
F.alpha_dropout(x, 0.4, True) ; F.feature_alpha_dropout(x[:, :, None], 0.4, True) ; x.masked_fill(x.detach() > 0, 1.0)
mg.where(x.detach() > 0, x, 1.0) ; F.max_pool2d(x[None, None], 3, 2, 1) ; F.pad(x, (3, -5, 1, 0)) ; ignoring(x)
embedded(x) ; x.topk(4).values ; x.triu()
recurrent.rnn(x, x.new_full((120, 120), 0.01), x.new_zeros(9, 120), (9,) * 10, False, True)[0]
"""


@cases("expression", split(LARGE))
def test_no_gradient_passes_the_masks_of_kernels_for_large_arrays(expression: str, device: str) -> None:
    x = ours(numbers(90, 120, dtype=np.float32), True, device)
    names = {"relu_dropout": relu_dropout, "recurrent": recurrent, "ignoring": ignoring, "embedded": embedded}
    output = evaluate(expression, mg=mg, F=F, x=x, **names)
    for value in (np.inf, -np.inf, np.nan):
        check(output, [x], lambda v: mg.full_like(output.detach(), v), value)


ROOTS: dict[str, Callable[[Any], Any]] = {  # its derivative at 0 is infinite
    "relu": lambda x: x.relu().sqrt(),
    "clamp": lambda x: x.clamp(min=0).sqrt(),
    "maximum": lambda x: mg.maximum(x, mg.zeros_like(x)).log(),
    "minimum": lambda x: mg.minimum(-x, mg.zeros_like(x)).pow(0.5),
    "relu6": lambda x: F.relu6(x).rsqrt(),
    "distance that rounds below 0": lambda x: (2 * x * x - 2 * x * x * (1 + 1e-6)).clamp_min(0).sqrt(),
}


FLAT: dict[str, Callable[[Any], Any]] = {
    "prod": lambda x: x.prod(),
    "cumprod": lambda x: x.cumprod(0)[-1],
    "sinc": lambda x: x.sinc()[1],
}


@cases("name", FLAT)
@cases("value", [np.inf, np.nan])
def test_a_derivative_of_0(name: str, value: float, device: str) -> None:
    """For a product with two zeros, and for sinc at 0."""
    x = ours(np.array([2.0, 0.0, 3.0, 0.0]), True, device)
    check(FLAT[name](x), [x], lambda v: ours(np.array(v), device=device), value)


def test_an_infinite_gradient_of_a_binary_cross_entropy(device: str) -> None:
    """One of its two terms has a factor of 0."""
    x = ours(np.array([[-1.0, 2.0, -3.0], [1.0, -2.0, 3.0]]), True, device)
    loss = F.binary_cross_entropy_with_logits(x, ours(np.array([[0.0] * 3, [1.0] * 3]), device=device))
    np.testing.assert_array_equal(host(grad(loss * np.inf, x)[0]), [[np.inf] * 3, [-np.inf] * 3])


@cases("name", ROOTS)
def test_the_root_of_a_mask(name: str, device: str) -> None:
    x = ours(np.full(5, -10, np.float32), True, device)
    ROOTS[name](x).sum().backward()
    assert x.grad is not None
    np.testing.assert_array_equal(host(x.grad), np.zeros(5))
