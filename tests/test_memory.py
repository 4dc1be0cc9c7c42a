"""Nothing leaks: reference counting frees tensors and nodes as soon as nobody uses them.

The garbage collector is off in these tests: a cycle, which only the collector could free, counts as a leak, because on
a GPU it holds memory that the program needs now.
"""

import gc
import weakref
from collections.abc import Callable, Iterator

import pytest

import minigrad
from minigrad import Tensor, nn, optim
from minigrad.autograd.tape import Node
from tests.support.cases import raises

Step = Callable[[], object]


@pytest.fixture(autouse=True)
def no_garbage_collection() -> Iterator[None]:
    """Collect the garbage of other tests, then switch the collector off."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def alive() -> tuple[int, int]:
    """How many tensors and nodes there are."""
    kinds = [type(each) for each in gc.get_objects()]
    return sum(issubclass(kind, Tensor) for kind in kinds), sum(issubclass(kind, Node) for kind in kinds)


def nodes() -> int:
    """How many nodes there are."""
    return alive()[1]


def assert_flat(step: Step, repeats: int = 5) -> None:
    """Check that after a first run, which may fill caches, ``step`` leaks nothing however often it runs."""
    step()
    before = alive()
    for _ in range(repeats):
        step()
    assert alive() == before, "(tensors, nodes) that are alive grew from step to step"


class Model(nn.Module):
    """A small model with each kind of layer that saves something for its backward pass."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(11, 8)
        self.norm = nn.LayerNorm(8)
        self.attention = nn.MultiheadAttention(8, 2, dropout=0.1, batch_first=True)
        self.feed = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Dropout(0.1), nn.Linear(16, 8))
        self.head = nn.Linear(8, 11)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.norm(self.embed(tokens))
        x = x + self.attention(x, x, x, need_weights=False)[0]
        return self.head(x + self.feed(x))


def make_training() -> tuple[Model, Tensor, Tensor]:
    """A model, and tokens (B=2, T=3) with their targets."""
    return Model(), minigrad.randint(0, 11, (2, 3)), minigrad.randint(0, 11, (2, 3))


def loss_of(model: Model, tokens: Tensor, targets: Tensor) -> Tensor:
    """The mean cross-entropy, over (B · T, V) logits."""
    return nn.functional.cross_entropy(model(tokens).view(-1, 11), targets.view(-1))


@pytest.mark.parametrize("kind", [optim.SGD, optim.Adam, optim.AdamW])
def test_training_leaves_nothing_behind(kind: Callable[..., optim.Optimizer]) -> None:
    model, tokens, targets = make_training()
    optimizer = kind(model.parameters(), lr=0.1)

    def step() -> None:
        optimizer.zero_grad()
        loss_of(model, tokens, targets).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    assert_flat(step)


def test_a_walked_graph_holds_no_arrays() -> None:
    """A program that keeps the loss (to print it later) keeps no activations."""
    hidden = minigrad.ones(3, requires_grad=True).exp()
    loss, array = (hidden * hidden).sum(), weakref.ref(hidden.array)
    del hidden
    assert array() is not None
    loss.backward()
    assert array() is None


def test_forwards_without_a_backward_leave_nothing_behind() -> None:
    model, tokens, targets = make_training()
    assert_flat(lambda: loss_of(model, tokens, targets), repeats=20)


def test_evaluation_makes_no_nodes() -> None:
    model, tokens, targets = make_training()
    before = nodes()
    with minigrad.no_grad():
        loss = loss_of(model, tokens, targets)
    assert nodes() == before and loss.item() > 0


def second_order(x: Tensor) -> None:
    (derivative,) = minigrad.autograd.grad((x.tanh() ** 3).sum(), x, create_graph=True)
    minigrad.autograd.grad(derivative.sum(), x)


def views_and_changes_in_place(weight: Tensor) -> None:
    x = weight * 2
    x[0] = weight[1]
    x[:, 1].mul_(3)
    x.transpose(0, 1)[2].relu_()
    x.sum().backward()


def views_without_a_backward(weight: Tensor) -> None:
    h = (weight @ weight).tanh()
    h[:, 0] = weight[0]
    h.mul_(weight).add_(1).exp_()
    part = h[1:]
    part += weight[0]
    minigrad.cat(h.split(2, dim=1), 1).softmax(-1).retain_grad()


def hooks(x: Tensor) -> None:
    y = x * 2
    y.register_hook(lambda g: g * 2)
    y.retain_grad()
    y.sum().backward()


def anomaly_mode(x: Tensor) -> None:
    with minigrad.autograd.detect_anomaly():
        (x.log() * x).sum().backward()


@pytest.mark.parametrize(
    "step", [second_order, views_and_changes_in_place, views_without_a_backward, hooks, anomaly_mode]
)
def test_a_step_leaves_nothing_behind(step: Callable[[Tensor], None]) -> None:
    x = minigrad.ones(4, 4, requires_grad=True)
    assert_flat(lambda: step(x))


def test_errors_leave_nothing_behind() -> None:
    x = minigrad.ones(3, requires_grad=True)

    def step() -> None:
        raises(RuntimeError, None, lambda: minigrad.matmul(x.exp(), minigrad.ones(4)))
        with pytest.raises(RuntimeError):
            x.exp().backward()  # not a scalar

    assert_flat(step)


def test_a_deep_graph_is_freed_without_a_walk() -> None:
    """Freeing a chain must not recurse either: this one is deeper than any stack."""
    x = minigrad.ones(1, requires_grad=True)
    before = nodes()
    for _ in range(50_000):
        x = x + 1
    assert nodes() == before + 50_000
    del x
    assert nodes() == before
