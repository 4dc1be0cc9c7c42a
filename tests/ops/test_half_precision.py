"""Ops on float16 and bfloat16 compute in float32: every op, counts and numbers beyond float16, and tails.

The reference is the same function with the same numbers in float32, rounded once.
"""

import math
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import minigrad
from minigrad import nn
from minigrad.autograd import grad
from minigrad.nn import functional as F
from tests.ops.cases import CASES, Case
from tests.support.cases import cases
from tests.support.expressions import evaluate, split
from tests.support.parity import in_torch_words, listed, torch

PRECISION = {"float16": 2.0**-11, "bfloat16": 2.0**-8}  # half the distance from 1 to the next number
SMALLEST = {"float16": 2.0**-24, "bfloat16": 2.0**-133}
Program = Callable[..., Any]
both = pytest.mark.parametrize("dtype", ["float16", "bfloat16"])


@pytest.fixture(autouse=True)
def needs_ml_dtypes(request: pytest.FixtureRequest) -> None:
    if "bfloat16" in request.node.name:
        pytest.importorskip("ml_dtypes")


def tensors(value: Any) -> Iterator[Any]:
    """The floating-point tensors in a result."""
    if isinstance(value, (tuple, list)):
        for part in value:
            yield from tensors(part)
    elif isinstance(value, minigrad.Tensor) and value.is_floating_point():
        yield value


def run(program: Program, inputs: list[Any], kind: Any) -> tuple[list[Any], list[Any]]:
    """The results for 16-bit inputs that are first converted to a dtype, and the unrounded gradients of these inputs.
    The gradients of the results are multiples of 1/4."""
    leaves = [x.to(kind).detach() if x.is_floating_point() else x for x in inputs]
    variables = [x.requires_grad_() for x in leaves if x.is_floating_point()]
    outputs = list(tensors(program(*leaves)))
    sources = [y for y in outputs if y.requires_grad]
    arriving = [minigrad.arange(y.numel()).remainder(7).add(1).div(4).reshape(y.shape).to(y) for y in sources]
    derivatives = grad(sources, variables, arriving, allow_unused=True) if sources else ()
    return outputs, [g for g in derivatives if g is not None]


def check(program: Program, inputs: list[Any], dtype: str, units: float = 0, large: bool = False) -> None:
    """Assert that results and gradients equal the rounded ones of float32.

    Args:
        units: the largest error in half units in the last place, for ``large`` relative to the largest element.
    """
    kind = getattr(minigrad, dtype)
    for what, narrow, wide in zip(
        ("result", "gradient"), run(program, inputs, kind), run(program, inputs, minigrad.float32), strict=True
    ):
        assert len(narrow) == len(wide)
        for mine, reference in zip(narrow, wide, strict=True):
            if reference.dtype is not minigrad.float32:
                continue
            assert mine.dtype is kind
            actual, expected = (x.detach().float().cpu().numpy() for x in (mine, reference.to(kind)))
            top = np.abs(expected[np.isfinite(expected)]).max(initial=0) if large else 0
            near = units * PRECISION[dtype]
            np.testing.assert_allclose(actual, expected, near, units * SMALLEST[dtype] + near * top, err_msg=what)


def inputs_of(case: Case, dtype: str, device: str, scale: float) -> list[Any]:
    """The inputs of a case; floats are scaled and rounded to 16 bits."""
    arrays = (minigrad.tensor(a) for a in case.arrays())
    kind = getattr(minigrad, dtype)
    return [((x * scale).to(kind) if x.is_floating_point() else x).to(device) for x in arrays]


OTHERS = {"pinv", "eig"}  # PyTorch has them only in float32 and float64


@both
def test_every_op(dtype: str, device: str) -> None:
    """A case has one op, or a few, which round the gradients in between; a kernel may sum in another order.
    Elementwise functions are correct even in their tails."""
    wrong = []
    for case in CASES:
        for scale in (1, 30, 1e-3) if case.extreme and case.op not in OTHERS else (1,):
            inputs = inputs_of(case, dtype, device, scale)
            try:
                check(lambda *a, case=case: case.ours(minigrad, *a), inputs, dtype, 4, large=scale == 1)
            except Exception as error:
                if case.op not in OTHERS and "complex" not in str(error):  # 16-bit complex numbers do not exist
                    wrong.append(f"{case}, {scale}: {error}")
    assert not wrong, "\n".join(wrong)


# Counts beyond float16 --------------------------------------------------------------------------------------------

COUNT = 70_000


def signs(x: Any) -> Any:
    """Alternating 1 and -1."""
    return minigrad.arange(len(x), device=x.device).remainder(2) * 2 - 1


def classes(x: Any) -> Any:
    """Logits of two classes."""
    return minigrad.stack([x, 1 - x], 1)


LOSSES = """
F.binary_cross_entropy(x, x.detach() / 2) ; F.binary_cross_entropy_with_logits(x, x.detach())
F.cosine_embedding_loss(classes(x), t.ones_like(classes(x)), signs(x)) ; F.cross_entropy(classes(x), signs(x) % 2)
F.gaussian_nll_loss(x, 2 * x, x.detach()) ; F.hinge_embedding_loss(x, signs(x)) ; F.huber_loss(x, 2 * x)
F.kl_div(x, x.detach()) ; F.l1_loss(x, t.zeros_like(x)) ; F.margin_ranking_loss(x, 2 * x, signs(x), 0.1)
F.linear_cross_entropy(classes(x), t.eye(2).to(x), signs(x) % 2) ; F.mse_loss(x, t.zeros_like(x))
F.multi_margin_loss(classes(x), signs(x) % 2) ; F.multilabel_soft_margin_loss(classes(x), classes(x.detach()))
F.multilabel_margin_loss(classes(x), t.zeros_like(classes(x)).long()) ; F.nll_loss(classes(x), signs(x) % 2)
F.poisson_nll_loss(x, x.detach()) ; F.smooth_l1_loss(x, 2 * x) ; F.soft_margin_loss(x, signs(x))
F.triplet_margin_loss(classes(x), classes(x) + 1, classes(x) * 0.5)
F.triplet_margin_with_distance_loss(classes(x), classes(x) + 1, classes(x) * 0.5)
"""
COUNTS = """
x.mean() ; x.nanmean() ; t.masked.mean(x, mask=x > 0) ; x.var() ; x.std() ; x.cov() ; x.norm() ; (x / COUNT).sum()
x[0].expand(COUNT).mean() + x[:1].repeat(COUNT).mean() + (x[:1] * x).mean() ; x[t.zeros_like(x).long()].mean()
x.softmax(0) ; x.logsumexp(0) ; F.layer_norm(x, (COUNT,)) ; F.rms_norm(x, (COUNT,), eps=1e-5)
F.batch_norm(x[:, None], None, None, training=True) ; F.group_norm(x[None, None], 1) ; F.instance_norm(x[None, None])
F.cosine_similarity(x, 2 * x, dim=0) ; F.adaptive_avg_pool1d(x.view(1, -1), 1)
F.adaptive_avg_pool2d(x.view(1, 250, 280), (1, 1)) ; F.adaptive_avg_pool3d(x.view(1, 70, 50, 20), (1, 1, 1))
F.interpolate(x.view(1, 1, -1), 1, mode="area")
F.embedding_bag(t.arange(COUNT, device=x.device)[None], x[:, None], mode="mean")
"""


def test_every_loss_is_counted() -> None:
    losses = {name for name in dir(F) if name.endswith(("_loss", "_entropy", "kl_div", "_with_logits"))}
    assert losses - {"ctc_loss"} == {*re.findall(r"F\.(\w+)", LOSSES)}  # CTC loss divides by lengths


@cases("expression", split(LOSSES + COUNTS))
def test_counts_beyond_float16(expression: str, device: str) -> None:
    x = minigrad.linspace(0.25, 0.75, COUNT).half().to(device)
    names = {"t": minigrad, "F": F, "signs": signs, "classes": classes, "COUNT": COUNT}
    program: Program = lambda x: evaluate(expression, x=x, **names)
    check(program, [x], "float16", 8)
    assert any(y.isfinite().any() and (y != 0).any() for part in run(program, [x], minigrad.float32) for y in part)


# Numbers beyond float16 -------------------------------------------------------------------------------------------

NUMBERS = """
x * 70001 ; x * 1e-09 ; (x * 1).mul_(100000.0) ; x * t.tensor(150000.0) + t.tensor(1e-09) * x ; x / 70001
(x * 1).div_(70001) ; x / t.tensor(70001.0) ; 70001 / x ; t.div(x * 60, 70001, rounding_mode='trunc')
t.div(x * 60, 70001, rounding_mode='floor') ; x + 70001 ; 70001 - x ; t.fmod(x, 70001)
t.addcmul(x, x, x, value=70001) ; t.addcdiv(x, t.ones_like(x), x, value=70001) ; (x * 1).addcmul_(x, x, value=1e-09)
t.lerp(x, x.detach() * 2, 70001) ; (x > 70001, x == 70001, x <= 70001) ; t.where(x > 0, x, 70001.0)
x.clamp(-70001, 70001) ; x.masked_fill(x > 0, 70001) ; t.full_like(x, 70001.0)
t.nn.functional.pad(x, (1, 1), value=70001) ; (x * math.inf).nan_to_num(0, 70001, -70001) ; x.abs() ** 70001
t.nn.functional.hardtanh(x, -70001, 70001) ; t.nn.functional.threshold(x, 70001, 0.5)
t.nn.functional.leaky_relu(-x, 70001) ; t.nn.functional.elu(-x, 70001) ; t.nn.functional.celu(-x, 70001)
t.nn.functional.softplus(x, 70001) ; t.nn.functional.hardshrink(x, 70001)
t.nn.functional.huber_loss(x, -x, delta=70001) ; t.nn.functional.layer_norm(x, (len(x),), eps=70001)
t.nn.functional.batch_norm(x[:, None], None, None, training=True, eps=70001)
t.addmm(x[:, None], x[:, None], x[None, 2:3], alpha=70001, beta=1e-09) ; t.addr(x[:, None], x, x[-1:], alpha=70001)
(*t._foreach_mul([x], 1e-09), *t._foreach_div([x], 70001.0)) ; t._foreach_div_([x * 1], 70001.0) or x
"""


@cases("expression", split(NUMBERS))
def test_numbers_beyond_float16(expression: str, device: str) -> None:
    if "addmm" in expression and device != "cpu":
        return  # on a GPU matrix products, and so their gradients, have 16 bits
    x = minigrad.tensor([1000.0, -500.0, 0.25, 3.0, 1e-3], dtype=minigrad.float16, device=device)
    check(lambda x: evaluate(expression, t=minigrad, x=x), [x], "float16", 8)


@cases("expression", split(NUMBERS))
def test_numbers_as_in_pytorch(expression: str) -> None:
    values = [1000.0, -500.0, 0.25, 3.0, 1e-3]
    try:
        expected = listed(evaluate(expression, t=torch, x=torch.tensor(values, dtype=torch.float16)))
    except RuntimeError as error:
        assert "without overflow" in str(error)  # PyTorch rejects the number
        return
    results = listed(evaluate(expression, t=minigrad, x=minigrad.tensor(values, dtype=minigrad.float16)))
    for mine, theirs in zip(results, expected, strict=True):
        assert in_torch_words(mine.dtype) == str(theirs.dtype)
        np.testing.assert_allclose(mine.float().numpy(), theirs.float().numpy(), 4e-3, 2.0**-22)


def test_higher_orders() -> None:
    """Second derivatives are also computed in float32: 1 / 70000² would be 0."""
    x = minigrad.tensor([3.0], dtype=minigrad.float16, requires_grad=True)
    (derivative,) = grad((x / 70000).square().sum(), x, create_graph=True)
    assert derivative.item() == pytest.approx(2 * 3 / 70000**2, abs=2.0**-24)
    y = minigrad.tensor([-11.5], dtype=minigrad.float16, requires_grad=True)
    (first,) = grad(y.sigmoid().sum() * 1000, y, create_graph=True)
    (second,) = grad(first.sum(), y)
    assert first.item() == pytest.approx(second.item(), 2e-3) == pytest.approx(1000 * math.exp(-11.5), 2e-3)


def test_ops_that_do_not_round_are_not_converted(device: str) -> None:
    x = minigrad.ones(3, dtype=minigrad.float16, device=device, requires_grad=True)
    for y in (x + 1, x - x, -x, x * x, x.abs(), x.maximum(x), minigrad.cat([x, x]), x.view(3, 1), x.clamp(max=2)):
        assert y.grad_fn is not None and "Copy" not in y.grad_fn.name()


def test_a_layer_keeps_its_dtype(device: str) -> None:
    layer = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.GELU(), nn.LayerNorm(4)).half().to(device)
    y = layer(minigrad.arange(8, dtype=minigrad.float16, device=device).view(2, 4))
    y.square().mean().backward()
    assert y.dtype is minigrad.float16 and {p.grad.dtype for p in layer.parameters()} == {minigrad.float16}


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_rms_norm_adds_the_epsilon_of_float32(dtype: str, device: str) -> None:
    x = minigrad.full((2, 4), 1e-3, dtype=getattr(minigrad, dtype), device=device)
    np.testing.assert_allclose(F.rms_norm(x, (4,)).tolist(), np.full((2, 4), (1 + 2**-23 * 1e6) ** -0.5), 1e-3)
