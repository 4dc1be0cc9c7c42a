"""Probes of arrays: each computes on a device, and its tensors are compared with those of the CPU."""

from __future__ import annotations

import copy
import io
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import minigrad as mg
from minigrad import nn

from .place import Place

F = nn.functional
_DTYPES = "bool uint8 int8 int16 int32 int64 float16 float32 float64 complex64 complex128"
DTYPES = _DTYPES.split()
# Relative, also to the largest number of a result; whole numbers are equal.
TOLERANCE = {"float16": 2e-2, "float32": 2e-5, "float64": 1e-10, "complex64": 2e-5, "complex128": 1e-10}


class Inputs:
    """What probes compute with, on one device."""

    def __init__(self, device: str) -> None:
        self.device = device

    def grid(self, *shape: int, dtype: str = "float32") -> Any:
        """Numbers from -1.5 on, in steps of a quarter, which every dtype holds exactly."""
        count = int(np.prod(shape))
        return mg.tensor((np.arange(count) % 32 / 4 - 1.5).reshape(shape).astype(dtype), device=self.device)

    def layer(self, kind: Any, *sizes: Any, **options: Any) -> Any:
        mg.manual_seed(0)
        return kind(*sizes, **options).to(self.device)


Probe = Callable[[Any], Any]


def items(place: Place) -> dict[str, Callable[[], Any]]:
    """The probes by name."""
    return {name.replace("_", " "): partial(compared, place, probe) for name, probe in PROBES.items()}


def compared(place: Place, probe: Probe) -> None:
    """Run a probe on the CPU and on the device. Raises AssertionError: they differ."""
    expected, actual = (flat(probe(Probes(device))) for device in ("cpu", place.device))
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


def with_gradients(module: Any, *inputs: Any) -> Any:
    """The result of a module, and all gradients of its sum of squares."""
    leaves = [x.requires_grad_() for x in inputs]
    out = module(*leaves)
    first = out[0] if isinstance(out, tuple) else out
    (first * first).sum().backward()
    return [first, *(x.grad for x in leaves), *(p.grad for p in module.parameters())]


class Probes(Inputs):
    """Each method is a probe, and returns what must be equal."""

    # There and back

    def every_dtype_there_and_back(self) -> Any:
        return [mg.tensor(np.arange(6).reshape(2, 3).astype(dtype), device=self.device) for dtype in DTYPES]

    def every_dtype_to_every_other(self) -> Any:
        x = mg.tensor([0.0, 1.0, 2.0], device=self.device)
        return [x.to(getattr(mg, one)).to(getattr(mg, other)) for one in DTYPES[:9] for other in DTYPES[:9]]

    def no_axes(self) -> Any:
        x = mg.tensor(2.5, device=self.device)
        x += 1
        return [x, x * x, x.item(), x[None], self.grid(3).sum(), self.grid(3)[1], x.reshape(1, 1)]

    def no_elements(self) -> Any:
        x = mg.zeros(0, 3, device=self.device)
        products = [x.T @ x, x @ mg.ones(3, 2, device=self.device), x.sum(), x.sum(0)]
        joined = mg.cat([x, mg.ones(1, 3, device=self.device)])
        return [*products, joined, x[:, 1], F.softmax(x, -1), x.cumsum(0), x.clone()]

    def a_state_dict_to_a_file(self) -> Any:
        mg.manual_seed(0)
        one, other, file = nn.Linear(3, 2).to(self.device), nn.Linear(3, 2).to(self.device), io.BytesIO()
        mg.save(one.state_dict(), file)
        file.seek(0)
        other.load_state_dict(mg.load(file))
        return [*other.parameters(), *copy.deepcopy(one).parameters()]

    # Views and indices

    def views_are_read(self) -> Any:
        x = self.grid(4, 5, 6)
        return [
            x[1:3, ::2],
            x.transpose(0, 2),
            x.permute(1, 2, 0)[2],
            x[..., None],
            x.flip(1),
            x[:, -1].T,
            x.unfold(2, 3, 2),
        ]

    def views_are_written(self) -> Any:
        x = self.grid(4, 6)
        x[1:3, ::2] = 0
        x.T[0] += 2
        x.view(2, 2, 6)[:, 1].mul_(3)
        return x

    def an_expanded_array(self) -> Any:
        x = self.grid(3, 1).expand(3, 4)
        return [x, x.sum(1), x.contiguous(), x @ self.grid(4, 2), F.layer_norm(x, (4,))]

    def fancy_indices_are_read(self) -> Any:
        x, rows = self.grid(5, 6), mg.tensor([4, 0, 0, -1], device=self.device)
        return [x[rows], x[:, rows], x[rows, rows], x[rows[:, None], rows], x.index_select(1, rows[:3]), x.take(rows)]

    def fancy_indices_are_written(self) -> Any:
        x, rows = self.grid(5, 6), mg.tensor([4, 0, 2], device=self.device)
        x[rows] = 0
        x[rows, rows + 1] = self.grid(3)
        x.index_add_(0, mg.tensor([1, 1, 3], device=self.device), mg.ones(3, 6, device=self.device))
        return x

    def boolean_indices(self) -> Any:
        x = self.grid(5, 6)
        subsets = [x[x > 1], x[x.sum(1) > 0], x.masked_select(x < 0), x.nonzero()]
        x[x > 1] = 0
        return [*subsets, x, x.masked_fill(x < 0, 9.0), mg.where(x == 0, x + 1, x)]

    def gather_and_scatter(self) -> Any:
        x, where = self.grid(3, 5), mg.tensor([[0, 2, 2], [1, 1, 0], [4, 3, 4]], device=self.device)
        sums = mg.zeros(3, 5, device=self.device).scatter_add(1, where, mg.ones(3, 3, device=self.device))
        return [x.gather(1, where), sums, mg.zeros(3, 5, device=self.device).scatter(1, where[:, :1], 2.0)]

    # In place, sorts, reductions

    def casts_in_place(self) -> Any:
        whole, half, single = (
            mg.ones(3, dtype=mg.int64, device=self.device),
            self.grid(3, dtype="float16"),
            self.grid(3),
        )
        whole += mg.tensor([True, False, True], device=self.device)
        half *= 2.5
        single += self.grid(3, dtype="float64")
        single.copy_(mg.tensor([1, 2, 3], device=self.device))
        return [whole, half, single]

    def sorts_with_nan(self) -> Any:
        x = mg.tensor([[3.0, float("nan"), -1.0, float("inf")], [2.0, 1.0, -float("inf"), 0.5]], device=self.device)
        values, order = x.sort()
        return [values, order, x.argsort(), x.max(1).values, x.amax(0), x.argmax(1), x.isnan(), x.nansum(), *x.topk(2)]

    def sorts_of_many(self) -> Any:
        x = mg.tensor(np.random.default_rng(0).permutation(3000).reshape(3, 1000), device=self.device)
        return [*x.sort(descending=True), *x.topk(7), x.unique(), x.kthvalue(5).values, x.median()]

    def numbers_at_the_border(self) -> Any:
        x = mg.tensor([1.0, 0.0, -1.0], device=self.device)
        most = mg.tensor([6e4, 7e4, -1e5], device=self.device)
        return [x / 0, 0 * x / 0, mg.log(x), mg.sqrt(x), most.half(), mg.exp(most), x // 0.3, x % -0.3, mg.sign(x / 0)]

    def whole_numbers(self) -> Any:
        x = mg.tensor([7, -7, 3, -3], device=self.device)
        return [x // 2, x % 3, x % -3, x << 2, x >> 1, x & 6, x | 8, ~x, x.abs(), x.float() / 2, x.prod(), x.cumsum(0)]

    def reductions(self) -> Any:
        x = self.grid(4, 5, 6)
        some = [f(x, 1) for f in (mg.sum, mg.mean, mg.var, mg.amax, mg.prod, mg.logsumexp, mg.cumsum, mg.any, mg.std)]
        return [*some, x.norm(), x.mean((0, 2)), x.half().sum(), x.int().sum(0), (x > 0).sum(), x.norm(dim=-1)]

    def a_sum_of_a_million(self) -> Any:
        x = mg.full((1000, 1000), 0.125, device=self.device)
        return [x.sum(), x.half().sum(0, dtype=mg.float32), x.mean(), x.sum(1)]

    def join_and_split(self) -> Any:
        x = self.grid(4, 6)
        joins = [mg.cat([x, x[:1]]), mg.stack([x, x], 1), F.pad(x, (1, 2, 0, 1)), x.repeat(2, 3), mg.roll(x, 2, 1)]
        return [*joins, *x.chunk(3, 1), *x.split([1, 3]), x.tril(), mg.outer(x[0], x[1]), x.repeat_interleave(2, 1)]

    # Products and layers, with gradients

    def products_in_all_widths(self) -> Any:
        results = []
        for dtype in ("float16", "float32", "float64"):
            a, b = self.grid(2, 3, 4, dtype=dtype), self.grid(2, 4, 5, dtype=dtype)
            results += [
                a @ b,
                a[0] @ b[1],
                a @ b[0],
                a.transpose(1, 2) @ a,
                a[0, 0] @ b[0],
                mg.einsum("bij,bjk->ik", a, b),
            ]
        return results

    def a_linear_layer(self) -> Any:
        return with_gradients(self.layer(nn.Linear, 6, 3), self.grid(5, 6))

    def convolutions(self) -> Any:
        flat_image = with_gradients(self.layer(nn.Conv2d, 2, 3, 3, padding=1), self.grid(2, 2, 5, 6))
        return [*flat_image, *with_gradients(self.layer(nn.Conv1d, 2, 3, 3, stride=2), self.grid(2, 2, 9))]

    def pooling(self) -> Any:
        x = self.grid(1, 2, 6, 6)
        return [F.max_pool2d(x, 2), F.avg_pool2d(x, 3), F.adaptive_avg_pool2d(x, 2), F.interpolate(x, scale_factor=2.0)]

    def recurrent_layers(self) -> Any:
        kinds = (nn.LSTM, nn.GRU, nn.RNN)
        return [with_gradients(self.layer(kind, 4, 3, batch_first=True), self.grid(2, 5, 4) / 4) for kind in kinds]

    def norms(self) -> Any:
        x = self.grid(4, 6)
        results = [
            with_gradients(self.layer(kind, 6), x.clone()) for kind in (nn.LayerNorm, nn.RMSNorm, nn.BatchNorm1d)
        ]
        return [*results, *with_gradients(self.layer(nn.GroupNorm, 2, 6), self.grid(4, 6, 3))]

    def a_transformer(self) -> Any:
        model = self.layer(nn.Transformer, 8, 2, 1, 1, 16, 0.0, batch_first=True)
        mask = nn.Transformer.generate_square_subsequent_mask(4, device=self.device)
        out = model(self.grid(2, 5, 8), self.grid(2, 4, 8), tgt_mask=mask, tgt_is_causal=True)
        out.sum().backward()
        return [out, *(p.grad for p in model.parameters() if p.grad is not None)]

    def second_derivatives(self) -> Any:
        x = self.grid(3, 4).requires_grad_()
        (g,) = mg.autograd.grad(F.softmax(x, -1).square().sum(), x, create_graph=True)
        g.square().sum().backward()
        return [g, x.grad]

    def optimisers(self) -> Any:
        kinds: dict[Any, dict[str, Any]] = {
            mg.optim.SGD: {"momentum": 0.9},
            mg.optim.Adam: {},
            mg.optim.AdamW: {"amsgrad": True},
            mg.optim.Muon: {},
        }
        results = []
        for kind, options in kinds.items():
            model = self.layer(nn.Linear, 6, 3, bias=False)
            optimizer = kind(model.parameters(), lr=0.01, **options)
            for _ in range(3):
                optimizer.zero_grad()
                model(self.grid(5, 6)).square().sum().backward()
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
            results += list(model.parameters())
        return results

    # Other parts of the library

    def factorisations(self) -> Any:
        x = self.grid(3, 3, dtype="float64") + 3 * mg.eye(3, dtype=mg.float64, device=self.device)
        return [mg.linalg.det(x), mg.linalg.solve(x, x[0]), mg.linalg.inv(x), mg.linalg.cholesky(x @ x.T)]

    def fourier_transforms(self) -> Any:
        x = self.grid(4, 8, dtype="float64")
        return [mg.fft.rfft(x), mg.fft.fft2(x), mg.fft.irfft(mg.fft.rfft(x), 8)]

    def complex_numbers(self) -> Any:
        x = mg.complex(self.grid(4), self.grid(4) + 1)
        return [x * x, x.abs(), x.angle(), mg.exp(x), x.conj() @ x, mg.view_as_real(x)]

    def special_functions(self) -> Any:
        x = self.grid(12, dtype="float64").abs() + 0.1
        return [mg.erf(x), mg.lgamma(x), mg.digamma(x), mg.special.i0(x), mg.sinc(x), mg.expm1(x), mg.tanh(x)]

    def random_numbers(self) -> Any:
        mg.manual_seed(3)
        x = mg.rand(1000, device=self.device)
        dropped = F.dropout(mg.ones(200, 500, device=self.device), 0.25)
        draws = mg.multinomial(mg.tensor([0.0, 1.0, 1.0], device=self.device), 500, replacement=True)
        shares = [(dropped != 0).float().mean().item(), (draws == 1).float().mean().item(), x.mean().item()]
        near = [abs(share - expected) < 0.1 for share, expected in zip(shares, (0.75, 0.5, 0.5), strict=True)]
        return [*near, (draws == 0).any().item(), round(dropped.max().item(), 4)]


PROBES: dict[str, Probe] = {name: probe for name, probe in vars(Probes).items() if not name.startswith("_")}
