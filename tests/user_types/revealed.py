"""The inferred types. ``assert_type`` is an error if a type differs or is Any."""

from collections.abc import Iterator
from typing import Any, NamedTuple, assert_type

import numpy as np

import minigrad
import minigrad.nn.functional as F
from minigrad import Size, Tensor, nn, optim
from minigrad.compat.functions import return_types
from minigrad.nn.utils.rnn import PackedSequence, pack_sequence
from minigrad.utils.data import DataLoader, TensorDataset

x = minigrad.randn(2, 3)

# Arithmetic, with Python's numbers and NumPy's arrays
numbers = [x + 1, 2.5 * x - 1, 1 / (x @ x.T) ** 2, x * np.float32(2) + np.ones(3, np.float32)]
assert_type([*numbers, x < 1e-3, (x > 0) & ~(x > 1)], list[Tensor])
x += 1
assert_type(x, Tensor)

# Shapes, elements and parts
assert_type((x.shape, x.shape[1:]), tuple[Size, Size])
assert_type((x.shape[0], x.size(0), len(x)), tuple[int, int, int])
assert_type([x[:, None, ..., 1:], x[x > 0], x.to("cpu").float().contiguous()], list[Tensor])
assert_type([row for row in x], list[Tensor])  # noqa: C416 (what an iteration gives)
assert_type(x.sum().item(), int | float)
assert_type(float(x.sum()), float)
assert_type((x.dtype, x.device), tuple[minigrad.dtype, minigrad.device])
assert_type(x.grad, Tensor | None)
assert_type(x.detach().numpy(), np.ndarray[Any, Any])

# Named results
assert_type(x.max(0), return_types.max[Tensor])
parts = [x.max(), x.max(dim=1, keepdim=True).values, minigrad.max(x, 0).indices, minigrad.max(x, x), x.unique()]
parts += [x.topk(2).values, x.sort(descending=True)[1], minigrad.linalg.svd(x).S, minigrad.where(x > 0, x, 0.0)]
assert_type(parts, list[Tensor])
values, _ = x.min(0)
assert_type(values, Tensor)
assert_type(x.nonzero(as_tuple=True), tuple[Tensor, ...])
assert_type(x.chunk(2), tuple[Tensor, ...])

# Functions
results = [minigrad.tensor([[1, 2], [3, 4]]), minigrad.zeros(2, 3, dtype=minigrad.float32, device="cpu")]
results += [minigrad.einsum("ij,kj->ik", x, x), F.softmax(x, dim=-1), F.max_pool1d(x, 2)]
assert_type([*results, F.cross_entropy(x, minigrad.tensor([0, 1]))], list[Tensor])
assert_type(F.max_pool1d(x, 2, return_indices=True), tuple[Tensor, Tensor])

# Modules: a call has the types of ``forward``
outputs = [nn.Linear(3, 4)(x), nn.CrossEntropyLoss()(x, x), nn.Sequential(nn.Linear(3, 4), nn.Tanh())(x)]
assert_type([*outputs, nn.Embedding(5, 3)(minigrad.tensor([1]))], list[Tensor])
assert_type(nn.MultiheadAttention(3, 1)(x, x, x), tuple[Tensor, Tensor | None])
assert_type(nn.GRU(3, 4)(x), tuple[Tensor, Tensor])
assert_type(nn.LSTM(3, 4)(x), tuple[Tensor, tuple[Tensor, Tensor]])
assert_type(nn.LSTM(3, 4)(pack_sequence([x])), tuple[PackedSequence, tuple[Tensor, Tensor]])
assert_type(nn.Linear(3, 4).to("cpu").eval(), nn.Linear)
assert_type(nn.Linear(3, 4).weight, nn.Parameter)
assert_type(list(nn.Linear(3, 4).parameters()), list[nn.Parameter])


class Scores(NamedTuple):
    """The result of a user's module."""

    best: Tensor
    places: int


class Scorer(nn.Module):
    """A user's module."""

    def forward(self, x: Tensor, *, top: int = 1) -> Scores:
        return Scores(x.topk(top).values, top)


assert_type(Scorer()(x, top=2), Scores)
assert_type(Scorer()(x).best, Tensor)


# Training
def closure() -> Tensor:
    """The loss."""
    return x.sum()


@minigrad.no_grad()
def count(model: nn.Module, times: int = 1) -> int:
    """A decorated function keeps its types."""
    return times * sum(p.numel() for p in model.parameters())


@minigrad.no_grad
def double(x: Tensor) -> Tensor:
    """The same for a decorator without parentheses."""
    return 2 * x


assert_type(count(nn.Linear(3, 4)), int)
assert_type(double(x), Tensor)
optimizer = optim.Adam(nn.Linear(3, 4).parameters(), lr=1e-3, betas=(0.9, 0.999))
assert_type(optimizer.step(), None)
assert_type(optimizer.step(closure), Tensor)
assert_type(nn.utils.clip_grad_norm_(nn.Linear(3, 4).parameters(), 1.0), Tensor)


def pairs(examples: list[tuple[Tensor, ...]]) -> Scores:
    """A batch."""
    return Scores(minigrad.stack([x for x, _ in examples]), len(examples))


data = TensorDataset(x, x)
assert_type(data[0], tuple[Tensor, ...])
assert_type(DataLoader(data, collate_fn=pairs), DataLoader[tuple[Tensor, ...], Scores])
assert_type(iter(DataLoader(data, collate_fn=pairs)), Iterator[Scores])
assert_type(len(DataLoader(data)), int)
