"""First contact: the library on a GPU, one small thing at a time, against the CPU.

Here are the probes of the CUDA kernels: forward and backward in all dtypes, against the CPU in float64.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import minigrad as mg
from minigrad import nn

from . import probes_arrays
from .place import Place

F = nn.functional
TOLERANCE = {"float32": 2e-5, "float16": 8e-3, "bfloat16": 5e-2, "float64": 1e-10}  # of a result's largest number
Case = tuple[Callable[..., Any], tuple[tuple[int, ...], ...]]


def _target(device: str, count: int, classes: int) -> Any:
    target = np.random.default_rng(2).integers(0, classes, count)
    target[1] = -100
    return mg.tensor(target, device=device)


def _attend(device: str, q: Any, k: Any, v: Any) -> Any:
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def _attend_masked(device: str, q: Any, k: Any, v: Any) -> Any:
    mask = mg.tensor(np.arange(k.shape[-2]) % 3 > 0, device=device)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask.expand(q.shape[-2], k.shape[-2]))


def _look_up(device: str, table: Any) -> Any:
    return F.embedding(mg.tensor(np.arange(400) ** 2 % 7 % len(table), device=device), table)


# By name: a function of the device and of tensors, and the shapes of these.
CASES: dict[str, Case] = {
    "softmax": (lambda device, x: F.softmax(x, -1), ((5, 70),)),
    "softmax of long rows": (lambda device, x: F.softmax(x, -1), ((3, 1100),)),
    "log softmax along the first axis": (lambda device, x: F.log_softmax(x, 0), ((33, 4),)),
    "layer norm": (lambda device, x, w, b: F.layer_norm(x, (40,), w, b), ((37, 40), (40,), (40,))),
    "rms norm": (lambda device, x, w: F.rms_norm(x, (40,), w), ((37, 40), (40,))),
    "gelu": (lambda device, x: F.gelu(x), ((300,),)),
    "gelu by tanh": (lambda device, x: F.gelu(x, approximate="tanh"), ((300,),)),
    "cross-entropy": (lambda device, x: F.cross_entropy(x, _target(device, 6, 50), label_smoothing=0.1), ((6, 50),)),
    "linear cross-entropy": (
        lambda device, x, w, b: F.linear_cross_entropy(x, w, _target(device, 6, 50), linear_bias=b),
        ((6, 9), (50, 9), (50,)),
    ),
    "linear": (lambda device, x, w, b: F.linear(x, w, b), ((6, 9), (5, 9), (5,))),
    "product": (lambda device, a, b: a @ b, ((6, 9), (9, 5))),
    "batched product": (lambda device, a, b: a @ b, ((2, 3, 6, 9), (2, 3, 9, 5))),
    "causal attention": (_attend, ((2, 2, 40, 16), (2, 2, 40, 16), (2, 2, 40, 16))),
    "masked attention": (_attend_masked, ((1, 2, 9, 8), (1, 2, 19, 8), (1, 2, 19, 8))),
    "embedding": (_look_up, ((7, 33),)),
}


def items(place: Place) -> dict[str, Callable[[], Any]]:
    """Each kernel in each dtype, checks that no plain definition has, and the probes of the other modules. They do not
    depend on each other; those that CuPy's own tests do not cover come first."""
    dtypes = place.choose(tuple(TOLERANCE), ("float32", "bfloat16") if has_bfloat16(place) else ("float32",))
    pairs = [(name, dtype) for name in CASES for dtype in dtypes]
    checks: dict[str, Callable[[], Any]] = {
        f"{name}, {dtype}": partial(checked, place, CASES[name], dtype) for name, dtype in pairs
    }
    checks |= {"keep mask": partial(masks, place), "a long row of one index": partial(frequent, place)}
    return {**checks, **probes_arrays.items(place)}


def has_bfloat16(place: Place) -> bool:
    """Whether the device takes bfloat16."""
    try:
        mg.zeros(1).to(mg.bfloat16).to(place.device)
    except (ImportError, RuntimeError, TypeError):
        return False
    return True


def checked(place: Place, case: Case, dtype: str) -> dict[str, float]:
    """Compare the results and gradients of a case. Raises AssertionError: they differ."""
    function, shapes = case
    draw, kind = np.random.default_rng(1), getattr(mg, dtype)
    inputs = [mg.tensor(draw.standard_normal(shape)).to(kind) for shape in shapes]
    expected = results(function, "cpu", [x.double() for x in inputs])
    actual = results(function, place.device, inputs)
    worst = 0.0
    for want, got in zip(expected, actual, strict=True):
        assert got.shape == want.shape and got.dtype == kind, f"{got.shape} of {got.dtype}"
        wide, right = got.double().numpy(), want.numpy()
        worst = max(worst, float(np.abs(wide - right).max() / max(1.0, np.abs(right).max())))
    assert worst <= TOLERANCE[dtype], f"differs by {worst:.1e} of the largest number"
    return {"differs by": worst}


def results(function: Callable[..., Any], device: str, inputs: list[Any]) -> list[Any]:
    """The result, and the gradient of each input along a direction, on the CPU."""
    leaves = [x.detach().to(device).requires_grad_() for x in inputs]
    out = function(device, *leaves)
    g = np.random.default_rng(3).standard_normal(tuple(out.shape))
    out.backward(mg.tensor(g).to(inputs[0].dtype).to(device))
    return [out.detach().cpu(), *(leaf.grad.cpu() for leaf in leaves)]


def masks(place: Place) -> None:
    """Masks repeat with their seed, and drop as many as they should."""
    draws = []
    for _ in range(2):
        mg.manual_seed(5)
        draws.append(F.dropout(mg.ones(300, 400, device=place.device), 0.3).cpu().numpy() > 0)
    assert (draws[0] == draws[1]).all()
    share, rows = draws[0].mean(), draws[0].mean(1)
    assert abs(share - 0.7) < 0.01 and rows.min() > 0.5, f"{share:.3f} are kept, of a row at least {rows.min():.3f}"


def frequent(place: Place) -> None:
    """Thousands of rows of one index are added up, as in a text by characters."""
    count = place.choose(20_000, 300)
    table: Any = mg.zeros(5, 64, device=place.device, requires_grad=True)
    out = F.embedding(mg.zeros(count, dtype=mg.int64, device=place.device), table)
    out.backward(mg.full(out.shape, 0.5, device=place.device))
    actual = table.grad.cpu().numpy()
    assert (actual[0] == count / 2).all() and not actual[1:].any(), actual[:2, :3]
