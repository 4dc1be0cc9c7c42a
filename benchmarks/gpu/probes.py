"""Probes of arrays: each computes on a device, and its tensors are compared with those of the CPU.

The cases of each op are one, with its gradients (tests/ops/cases.py); ``PROBES`` show what no single op does.
"""

from __future__ import annotations

import copy
import io
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

import minigrad as mg
from minigrad import nn
from minigrad.backend.kernels import CUDA_FILES

from .place import Place

F = nn.functional
Probe = Callable[[Any], Any]
_DTYPES = "bool uint8 int8 int16 int32 int64 float16 float32 float64 complex64 complex128"
DTYPES = _DTYPES.split()
# Relative, also to the largest number of a result; whole numbers are equal.
TOLERANCE = {"float16": 2e-2, "float32": 2e-5, "float64": 1e-10, "complex64": 2e-5, "complex128": 1e-10}
OF_KERNELS = {"float32": 2e-5, "float16": 8e-3, "bfloat16": 5e-2, "float64": 1e-10}


def items(place: Place) -> dict[str, Callable[[], Any]]:
    """The probes by name: of ops with a CUDA kernel in each dtype, and of others in float64."""
    cases = import_module("tests.ops.cases")
    jobs: dict[str, Callable[[], Any]] = {}
    for op in dict.fromkeys(case.op for case in cases.CASES):
        dtypes = OF_KERNELS if op in CUDA_FILES and has_bfloat16(place) else ("float64",)
        for dtype in dtypes:
            some = cases.find(op)[: 3 if "16" in dtype else None]  # those of complex numbers come later
            jobs[f"op {op} in {dtype}"] = partial(checked, place, some, dtype)
    return {**jobs, **{name: partial(compared, place, probe) for name, probe in PROBES.items()}}


def has_bfloat16(place: Place) -> bool:
    """Whether the device takes bfloat16."""
    try:
        mg.zeros(1).to(mg.bfloat16).to(place.device)
    except (ImportError, RuntimeError, TypeError):
        return False
    return True


def checked(place: Place, cases: list[Any], dtype: str) -> None:
    """Compare an op's results and gradients with those of the CPU in float64. Raises AssertionError: they differ."""
    for case in cases:
        inputs = [
            mg.tensor(values) if isinstance(kind, np.ndarray) else mg.tensor(values).to(getattr(mg, dtype))
            for kind, values in zip(case.inputs, case.arrays(), strict=True)
        ]
        expected, actual = (results(case, inputs, device) for device in ("cpu", place.device))
        for want, got in zip(expected, actual, strict=True):
            assert want.shape == got.shape, (want.shape, got.shape)
            atol = OF_KERNELS[dtype] * np.abs(want[np.isfinite(want)]).max(initial=1.0)
            np.testing.assert_allclose(got, want, rtol=0, atol=atol)


def results(case: Any, inputs: list[Any], device: str) -> list[Any]:
    """The results of a case, and the gradients of its inputs along a direction. The CPU computes in float64."""
    leaves = []
    for x, kind in zip(inputs, case.inputs, strict=True):
        wide = x.double() if device == "cpu" and x.is_floating_point() else x
        leaves.append(wide.to(device).detach().requires_grad_(not isinstance(kind, np.ndarray)))
    with mg.device(device):
        outputs = case.ours(mg, *leaves)
        outputs = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
        if sloping := [out for out in outputs if out.requires_grad]:
            draw = np.random.default_rng(1)
            slopes = [draw.standard_normal(tuple(out.shape)) for out in sloping]
            mg.autograd.backward(sloping, [mg.tensor(g).to(out.dtype) for g, out in zip(slopes, sloping, strict=True)])
    values = [*outputs, *(x.grad for x in leaves if x.grad is not None)]
    return [(x.detach().double() if x.is_floating_point() else x).cpu().numpy() for x in values]


def compared(place: Place, probe: Probe) -> None:
    """Run a probe on the CPU and on the device, each the default one, and with that of ``grid`` for 4 × 6 numbers.
    Raises AssertionError: they differ."""
    outcomes = []
    for device in ("cpu", place.device):
        with mg.device(device):
            outcomes.append(flat(probe(grid(4, 6))))
    expected, actual = outcomes
    assert len(expected) == len(actual)
    for want, got in zip(expected, actual, strict=True):
        assert want.shape == got.shape and want.dtype == got.dtype, (want.shape, want.dtype, got.shape, got.dtype)
        tolerance = TOLERANCE.get(want.dtype.name, 0.0)
        largest = np.abs(want[np.isfinite(want)]).max(initial=1.0) if tolerance else 0.0
        np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance * largest)


def flat(values: Any) -> list[Any]:
    """Tensors, numbers and lists of them as NumPy arrays."""
    if isinstance(values, (list, tuple)):
        return [array for value in values for array in flat(value)]
    return [values.detach().cpu().numpy() if isinstance(values, mg.Tensor) else np.asarray(values)]


def grid(*shape: int, dtype: str = "float32") -> Any:
    """Numbers from -1.5 on, in steps of a quarter, which every dtype holds exactly."""
    return mg.tensor((np.arange(int(np.prod(shape))) % 32 / 4 - 1.5).reshape(shape).astype(dtype))


def layer(kind: Any, *sizes: Any, **options: Any) -> Any:
    """A module on the default device, whose weights the CPU has drawn."""
    device = mg.get_default_device()
    with mg.device("cpu"):
        mg.manual_seed(0)
        return kind(*sizes, **options).to(device)


def no_elements(x: Any) -> Any:
    x = mg.zeros(0, 3)
    products = [x.T @ x, x @ mg.ones(3, 2), x.sum(), x.sum(0), x[:, 1]]
    return [*products, mg.cat([x, mg.ones(1, 3)]), F.softmax(x, -1), x.cumsum(0), x.clone()]


def a_state_dict_to_a_file(x: Any) -> Any:
    one, other, file = layer(nn.Linear, 3, 2), layer(nn.Linear, 3, 2), io.BytesIO()
    mg.save({name: value + 1 for name, value in one.state_dict().items()}, file)
    file.seek(0)
    other.load_state_dict(mg.load(file))
    return [*other.parameters(), *copy.deepcopy(one).parameters()]


def views_are_written(x: Any) -> Any:
    x[1:3, ::2] = 0
    x.T[0] += 2
    x.view(2, 2, 6)[:, 1].mul_(3)
    return x


def fancy_indices(x: Any) -> Any:
    rows = mg.tensor([3, 0, 0, -1])
    reads = [x[rows], x[:, rows], x[rows, rows], x[rows[:, None], rows], x.index_select(1, rows[:3]), x.take(rows)]
    rows = mg.tensor([3, 0, 2])
    x[rows] = 0
    x[rows, rows + 1] = grid(3)
    x.index_add_(0, mg.tensor([1, 1, 3]), mg.ones(3, 6))
    return [*reads, x]


def boolean_indices(x: Any) -> Any:
    subsets = [x[x > 1], x[x.sum(1) > 0], x.masked_select(x < 0), x.nonzero()]
    x[x > 1] = 0
    return [*subsets, x, x.masked_fill(x < 0, 9.0), mg.where(x == 0, x + 1, x)]


def casts_in_place(x: Any) -> Any:
    whole, half, single = mg.ones(3, dtype=mg.int64), grid(3, dtype="float16"), grid(3)
    whole += mg.tensor([True, False, True])
    half *= 2.5
    single += grid(3, dtype="float64")
    single.copy_(mg.tensor([1, 2, 3]))
    return [whole, half, single]


def sorts_with_nan(x: Any) -> Any:
    x = mg.tensor([[3.0, float("nan"), -1.0, float("inf")], [2.0, 1.0, -float("inf"), 0.5]])
    return [*x.sort(), x.argsort(), x.max(1).values, x.amax(0), x.argmax(1), x.isnan(), x.nansum(), *x.topk(2)]


def numbers_at_the_border(x: Any) -> Any:
    x, most = mg.tensor([1.0, 0.0, -1.0]), mg.tensor([6e4, 7e4, -1e5])
    return [x / 0, 0 * x / 0, mg.log(x), mg.sqrt(x), most.half(), mg.exp(most), x // 0.3, x % -0.3, mg.sign(x / 0)]


def optimisers(x: Any) -> Any:
    kinds: dict[Any, dict[str, Any]] = {mg.optim.SGD: {"momentum": 0.9}, mg.optim.AdamW: {"amsgrad": True}}
    results = []
    for kind, options in {**kinds, mg.optim.Adam: {}, mg.optim.Muon: {}}.items():
        model = layer(nn.Linear, 6, 3, bias=False)
        optimizer = kind(model.parameters(), lr=0.01, **options)
        for _ in range(3):
            optimizer.zero_grad()
            model(x).square().sum().backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
        results += list(model.parameters())
    return results


def random_numbers(x: Any) -> Any:
    draws = []
    for _ in range(2):
        mg.manual_seed(5)
        draws.append(F.dropout(mg.ones(300, 400), 0.3))
    kept = draws[0] != 0
    drawn = mg.multinomial(mg.tensor([0.0, 1.0, 1.0]), 500, replacement=True)
    shares = [kept.float().mean(), (drawn == 1).float().mean(), mg.rand(1000).mean()]
    near = [abs(share.item() - expected) < 0.1 for share, expected in zip(shares, (0.7, 0.5, 0.5), strict=True)]
    return [*near, mg.equal(*draws), (kept.float().mean(1).min() > 0.5).item(), (drawn == 0).any().item()]


def one_index_of_many(x: Any) -> Any:
    table = mg.zeros(5, 64, requires_grad=True)
    out = F.embedding(mg.zeros(20_000, dtype=mg.int64), table)
    out.backward(mg.full(out.shape, 0.5))
    return table.grad


_OF_SEVERAL_LINES = (
    *(no_elements, a_state_dict_to_a_file, views_are_written, fancy_indices, boolean_indices, casts_in_place),
    *(sorts_with_nan, numbers_at_the_border, optimisers, random_numbers),
    one_index_of_many,
)
PROBES: dict[str, Probe] = {
    "every dtype there": lambda x: [mg.tensor(np.arange(6).reshape(2, 3).astype(dtype)) for dtype in DTYPES],
    "every dtype to every other": lambda x: [
        x[0].abs().to(getattr(mg, one)).to(getattr(mg, other)) for one in DTYPES[:9] for other in DTYPES[:9]
    ],
    "no axes": lambda x: [x[0, 0], x[0, 0] * x[1, 2], x[1, 2].item(), x[1, 2][None], x.sum(), x[1, 2].reshape(1, 1)],
    "views": lambda x: [x[1:3, ::2], x.T, x[..., None], x.flip(1), x[:, -1].T, x.unfold(1, 3, 2)],
    "a sum of a million": lambda x: [f(mg.full((1000, 1000), 0.125)) for f in (mg.sum, mg.mean, lambda y: y.sum(1))],
    "a product of halves": lambda x: [x.half() @ x.half().T, x.half() @ x[0].half(), x[0].half() @ x[1].half()],
    **{probe.__name__.replace("_", " "): probe for probe in _OF_SEVERAL_LINES},
}
