"""Probes of arrays: each computes on a device, and its tensors are compared with those of the CPU.

Every op is one, with its gradients (tests/ops/cases.py); the others, in ``PROBES``, are what no single op shows.
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

from .place import Place

F = nn.functional
Probe = Callable[[Any], Any]
_DTYPES = "bool uint8 int8 int16 int32 int64 float16 float32 float64 complex64 complex128"
DTYPES = _DTYPES.split()
# Relative, also to the largest number of a result; whole numbers are equal.
TOLERANCE = {"float16": 2e-2, "float32": 2e-5, "float64": 1e-10, "complex64": 2e-5, "complex128": 1e-10}


def items(place: Place) -> dict[str, Callable[[], Any]]:
    """The probes by name, those of ops at the end."""
    cases = import_module("tests.ops.cases")
    ops = dict.fromkeys(case.op for case in cases.CASES)
    probes: dict[str, Probe] = {**PROBES, **{f"op {name}": partial(of_op, cases.find(name)) for name in ops}}
    return {name: partial(compared, place, probe) for name, probe in probes.items()}


def compared(place: Place, probe: Probe) -> None:
    """Run a probe on the CPU and on the device, each the default one, and with that of ``grid`` for 4 × 6 numbers.
    Raises AssertionError: they differ."""
    results = []
    for device in ("cpu", place.device):
        with mg.device(device):
            results.append(flat(probe(grid(4, 6))))
    expected, actual = results
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


def of_op(cases: list[Any], x: Any) -> Any:
    """The results of an op's cases in float64, and the gradients of their inputs along a direction."""
    results: list[Any] = []
    for case in cases:
        inputs = [
            mg.tensor(values, requires_grad=not isinstance(kind, np.ndarray))
            for kind, values in zip(case.inputs, case.arrays(), strict=True)
        ]
        outputs = case.ours(mg, *inputs)
        outputs = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
        sloping = [out for out in outputs if out.requires_grad]
        if sloping:
            draw = np.random.default_rng(1)
            mg.autograd.backward(sloping, [mg.tensor(draw.standard_normal(tuple(out.shape))) for out in sloping])
        results += [*outputs, *(leaf.grad for leaf in inputs if leaf.grad is not None)]
    return results


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


def sorts_of_many(x: Any) -> Any:
    x = mg.tensor(np.random.default_rng(0).permutation(3000).reshape(3, 1000))
    return [*x.sort(descending=True), *x.topk(7), x.unique(), x.kthvalue(5).values, x.median()]


def numbers_at_the_border(x: Any) -> Any:
    x, most = mg.tensor([1.0, 0.0, -1.0]), mg.tensor([6e4, 7e4, -1e5])
    return [x / 0, 0 * x / 0, mg.log(x), mg.sqrt(x), most.half(), mg.exp(most), x // 0.3, x % -0.3, mg.sign(x / 0)]


def layers(x: Any) -> Any:
    results = []
    for kind in (nn.LSTM, nn.GRU, nn.RNN):
        module, inputs = layer(kind, 4, 3), (grid(5, 4) / 4).requires_grad_()
        out, _ = module(inputs)
        out.square().sum().backward()
        results += [out, inputs.grad, *(p.grad for p in module.parameters())]
    model = layer(nn.Transformer, 8, 2, 1, 1, 16, 0.0, batch_first=True)
    mask = nn.Transformer.generate_square_subsequent_mask(4)
    out = model(grid(2, 5, 8), grid(2, 4, 8), tgt_mask=mask, tgt_is_causal=True)
    out.sum().backward()
    return [*results, out, *(p.grad for p in model.parameters())]


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
    mg.manual_seed(3)
    x, dropped = mg.rand(1000), F.dropout(mg.ones(200, 500), 0.25)
    draws = mg.multinomial(mg.tensor([0.0, 1.0, 1.0]), 500, replacement=True)
    shares = [(dropped != 0).float().mean().item(), (draws == 1).float().mean().item(), x.mean().item()]
    near = [abs(share - expected) < 0.1 for share, expected in zip(shares, (0.75, 0.5, 0.5), strict=True)]
    return [*near, (draws == 0).any().item(), round(dropped.max().item(), 4)]


_OF_SEVERAL_LINES = (
    *(no_elements, a_state_dict_to_a_file, views_are_written, fancy_indices, boolean_indices, casts_in_place),
    *(sorts_with_nan, sorts_of_many, numbers_at_the_border, layers, optimisers, random_numbers),
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
    "Fourier transforms": lambda x: [mg.fft.rfft(x), mg.fft.fft2(x), mg.fft.irfft(mg.fft.rfft(x), 8)],
    "complex numbers": lambda x: [f(mg.complex(x, x + 1)) for f in (mg.square, mg.abs, mg.angle, mg.exp, mg.conj)],
    **{probe.__name__.replace("_", " "): probe for probe in _OF_SEVERAL_LINES},
}
