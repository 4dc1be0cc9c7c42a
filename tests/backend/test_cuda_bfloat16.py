"""CUDA kernels on arrays of bfloat16 compute in float32 and round once."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import minigrad
from minigrad.autograd.calls import apply
from minigrad.autograd.observer import Observer, observed
from minigrad.backend import dtype as dt
from minigrad.nn import functional as F
from minigrad.nn.functional.activation import relu_dropout
from minigrad.ops.attention import rotate, scaled_dot_product_attention
from tests.support import cuda_emulator, strict
from tests.support.cases import cases

pytest.importorskip("ml_dtypes")
pytestmark = pytest.mark.skipif(bool(cuda_emulator.missing()), reason=cuda_emulator.missing())

FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "attention": lambda x, w: F.scaled_dot_product_attention(x, x, x, is_causal=True),
    "cross_entropy": lambda x, w: F.cross_entropy(x[0], minigrad.arange(5, device=x.device), w, reduction="none"),
    "dropout": lambda x, w: F.dropout(x, 0.5),
    "gelu": lambda x, w: F.gelu(x),
    "gelu by tanh": lambda x, w: F.gelu(x, approximate="tanh"),
    "layer_norm": lambda x, w: F.layer_norm(x, (8,), w, w),
    "log_softmax": lambda x, w: F.log_softmax(x, -1),
    "relu": lambda x, w: F.relu(x),
    "relu_dropout": lambda x, w: relu_dropout(x, 0.5),
    "rms_norm": lambda x, w: F.rms_norm(x, (8,), w),
    "rotate": lambda x, w: apply(rotate, (x, x.detach()[0].view(5, 4, 2), False)),
    "softmax": lambda x, w: F.softmax(x, 1),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_kernels(name: str) -> None:
    """The CPU's numbers up to bfloat16 rounding, forward and backward, without a conversion in between."""
    strict.install()
    results: dict[str, list[Any]] = {}
    shape = (6, 90, 8) if name == "relu" else (3, 5, 8)  # its kernel is for large arrays
    for device in ("cpu", "strict"):
        minigrad.manual_seed(0)
        x = minigrad.tensor(np.random.default_rng(0).normal(size=shape), dtype=minigrad.bfloat16).to(device)
        w = minigrad.tensor(np.random.default_rng(1).uniform(0.5, 2, 8), dtype=minigrad.bfloat16).to(device)
        x, w = x.detach().requires_grad_(), w.detach().requires_grad_()
        ops: list[str] = []

        class Watch(Observer):
            def applying(self, op: Any, args: Any, ops: list[str] = ops) -> None:
                ops.append(op.name)

        with observed(Watch()):
            y = FUNCTIONS[name](x, w)
        if device == "strict":
            assert "cast" not in ops
        y.backward(minigrad.linspace(-1, 1, y.numel()).reshape(y.shape).bfloat16().to(device))
        results[device] = [t.float().cpu().numpy() for t in (y.detach(), x.grad, w.grad) if t is not None]
        assert {dt.of(t.array).name for t in (y, x.grad) if t is not None} == {"bfloat16"}
    for expected, actual in zip(results["cpu"], results["strict"], strict=True):
        np.testing.assert_allclose(actual, expected, 2e-2, 2e-2)


class Dtypes(Observer):
    """The dtypes of the operands of attention, by op."""

    def __init__(self) -> None:
        self.of: set[str] = set()

    def applying(self, op: Any, args: Any) -> None:
        if op is scaled_dot_product_attention:
            self.of |= {dt.of(a.array).name for a in args[:3]}


def attended(device: str, dtype: Any, arrays: list[Any], mask: Any, p: float, how: dict[str, Any]) -> list[Any]:
    """The result of attention and the gradients of q, k, v and a float mask, in float64, and the op's dtypes."""
    minigrad.manual_seed(3)
    q, k, v, g = (minigrad.tensor(x, dtype=minigrad.bfloat16).to(device).to(dtype) for x in arrays)
    q, k, v = (x.detach().requires_grad_() for x in (q, k, v))
    if mask is not None:
        mask = minigrad.tensor(mask).to(device)
        mask = mask if mask.dtype is minigrad.bool else mask.bfloat16().to(dtype).detach().requires_grad_()
    with observed(dtypes := Dtypes()):
        out = F.scaled_dot_product_attention(q, k, v, mask, p, **how)
    out.backward(g)
    leaves: list[Any] = [q, k, v] + ([mask] if mask is not None and mask.requires_grad else [])
    assert {x.dtype for x in (out, *leaves, *(x.grad for x in leaves))} == {dtype}
    return [x.detach().double().cpu().numpy() for x in (out, *(x.grad for x in leaves))] + [dtypes.of]


@cases(
    "kind, p, how",
    [
        ("none", 0.0, {}),
        ("none", 0.0, {"is_causal": True}),
        ("bool", 0.0, {}),
        ("float", 0.0, {}),
        ("broadcast", 0.0, {}),
        ("none", 0.3, {"is_causal": True, "scale": 0.7}),
        ("bool", 0.3, {}),
        ("shared heads", 0.0, {"enable_gqa": True}),
        ("wide heads", 0.0, {"is_causal": True}),
    ],
)
def test_attention(kind: str, p: float, how: dict[str, Any]) -> None:
    """The plain definition's float64 numbers, to 8 bits; only heads too wide for a tile are converted."""
    rng = np.random.default_rng(5)
    heads, width = 2 if kind == "shared heads" else 4, 257 if kind == "wide heads" else 16
    sizes = (2, 4, 21, width), (2, heads, 35, width), (2, heads, 35, 8), (2, 4, 21, 8)
    arrays = [rng.normal(size=size) for size in sizes]
    masks = {
        "bool": rng.random((2, 1, 21, 35)) < 0.7,
        "float": rng.normal(size=(2, 4, 21, 35)),
        "broadcast": rng.normal(size=(4, 1, 35)),
    }
    run = partial(attended, "strict", arrays=arrays, mask=masks.get(kind), p=p, how=how)
    strict.install(emulate=False)
    *expected, _ = run(dtype=minigrad.float64)
    *converted, plain = run(dtype=minigrad.bfloat16)
    strict.install()
    *fused, dtypes = run(dtype=minigrad.bfloat16)
    assert plain == {"float32"} and dtypes == {"float32" if kind == "wide heads" else "bfloat16"}
    for exact, one, other in zip(expected, fused, converted, strict=True):
        largest = np.abs(exact).max()
        np.testing.assert_allclose(one, exact, rtol=1e-2, atol=1e-2 * largest)
        np.testing.assert_allclose(other, exact, rtol=1e-2, atol=1e-2 * largest)


@cases("device", ["cpu", "strict"])
def test_attention_with_a_wider_mask(device: str) -> None:
    """The mask keeps its precision, and the result has the query's dtype, as in PyTorch."""
    strict.install()
    q = minigrad.tensor(np.random.default_rng(0).normal(size=(1, 2, 5, 4))).bfloat16().to(device)
    mask = minigrad.tensor(np.random.default_rng(1).normal(size=(5, 5)) + 100, dtype=minigrad.float32).to(device)
    out = F.scaled_dot_product_attention(q, q, q, mask)
    wide = q.double()
    exact = F.scaled_dot_product_attention(wide, wide, wide, mask.double())
    assert out.dtype is minigrad.bfloat16
    np.testing.assert_allclose(out.double().cpu().numpy(), exact.cpu().numpy(), 4e-3, 4e-3)
