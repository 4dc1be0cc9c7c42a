"""Views and in-place changes within the graph behave as in PyTorch, in random programs and in known ones."""

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minigrad
from tests.support.both import agree, numbers
from tests.support.cases import cases, programs, raises
from tests.support.parity import assert_close, host, ours, theirs, torch

VIEWS = [*["live[n][key]"] * 3, "live[n].permute(dims)", "live[n].unsqueeze(0)", "live[n].squeeze()"]
VIEWS += ["live[n].reshape(-1)", "live[n].detach() * 1"]
OF_MATRICES = ["live[n].transpose(0, -1)", "live[n].diagonal()", "live[n].flatten(0, 1)"]
OF_ROWS = ["live[n].narrow(0, 1, 1)", "live[n].expand(2, *shape) * 1"]
CHANGES = programs("""
live[n][key] = w[0] * number; live[n][key] = number; live[n][key] += w[1] * number; live[n][mask] = w[2];
live[n] *= w[3]; live[n].mul_(number); live[n].add_(w[1], alpha=2); live[n].sin_(); live[n].abs_(); live[n].zero_();
live[n].masked_fill_(mask, number); live[n].copy_(w[:1]); live[n].fill_(number); live[n].div_(w[0] + 3)
""")
NEW = ["live[n] * 2", "live[n].sin()", "live[n] * w[0]", "live[n].contiguous().clone()", "live[n].exp()"]


def _slices(rng: random.Random, shape: tuple[int, ...]) -> tuple[Any, ...]:
    """A basic index that selects at least one element."""
    key: list[Any] = []
    for n in shape:
        start = rng.randrange(n)
        parts = [slice(None), slice(start, None), slice(start, start + 2), slice(start, None, 2), start, start - n]
        key.append(rng.choice(parts))
    if key and rng.random() < 0.3:
        key[rng.randrange(len(key)) :] = [Ellipsis]
    if rng.random() < 0.2:
        key.insert(0, None)
    return tuple(key)


def _step(rng: random.Random, n: int, shape: tuple[int, ...]) -> dict[str, Any]:
    """A step that takes a view of tensor ``n``, changes it, or computes a new tensor: its text and names."""
    dims, kind = list(range(len(shape))), rng.random()
    rng.shuffle(dims)
    mask = np.array(np.random.default_rng(rng.randrange(99)).random(shape) < 0.5)
    views = VIEWS + OF_MATRICES * (len(shape) > 1) + OF_ROWS * (shape[:1] > (1,))
    text = rng.choice(CHANGES) if 0.4 <= kind < 0.85 else f"new = {rng.choice(views if kind < 0.4 else NEW)}"
    names = {"text": text, "n": n, "shape": shape, "dims": dims, "mask": mask}
    return {**names, "number": round(rng.uniform(0.5, 1.5), 2), "key": _slices(rng, shape)}


def _run_step(step: dict[str, Any], t: Any, live: list[Any], w: Any) -> bool:
    """Run a step, and add its result to the tensors. Returns False if it raised RuntimeError."""
    names = {**step, "mask": t.from_numpy(step["mask"]), "live": live, "w": w}
    try:
        exec(step["text"], names)
    except RuntimeError:
        return False
    if "new" in names and not any(names["new"] is x for x in live):
        live.append(names["new"])
    return True


@cases("seed", range(300))
def test_random_programs_give_torch_values_and_gradients(seed: int) -> None:
    rng = random.Random(seed)
    start, weights = np.random.default_rng(seed).standard_normal((2, 3, 4)), np.array([0.3, -0.7, 1.1, 0.9])
    leaves = [(ours(start[0], True), ours(weights, True)), (theirs(start[0], True), theirs(weights, True))]
    lives = [[x * 1] for x, _ in leaves]
    if seed % 3 == 0:  # also a buffer without history
        lives[0].append(minigrad.zeros(3, 4, dtype=minigrad.float64))
        lives[1].append(torch.zeros(3, 4, dtype=torch.float64))
    for _ in range(rng.randrange(2, 9)):
        n = rng.randrange(len(lives[1]))
        step = _step(rng, n, tuple(lives[1][n].shape))
        if not _run_step(step, torch, lives[1], leaves[1][1]):
            return  # torch's errors have separate tests; here they end the program
        assert _run_step(step, minigrad, lives[0], leaves[0][1])
    for mine, other in zip(*lives, strict=True):
        assert_close(mine, other, 1e-12, "value")
        assert mine.requires_grad == other.requires_grad
    losses = [
        sum((x.sum() * (i + 1) for i, x in enumerate(live)), start=w.sum() * 0)
        for live, (_, w) in zip(lives, leaves, strict=True)
    ]
    try:
        losses[1].backward()
    except RuntimeError:
        raises(RuntimeError, "modified by an inplace operation", losses[0].backward)
        return
    losses[0].backward()
    for mine, other in zip(leaves[0], leaves[1], strict=True):
        assert (mine.grad is None) == (other.grad is None)
        if other.grad is not None:
            assert_close(mine.grad, other.grad, 1e-12, "gradient")


# On leaves x (3, 4) and v (3,); each makes "out".
PROGRAMS = [
    """out = t.zeros(3, 4, dtype=t.float64)
out[:, 0::2] = (v.unsqueeze(1) * x[:, :2]).sin()
out[:, 1::2] = (v.unsqueeze(1) * x[:, 2:]).cos()""",
    """out = x * 1
out[out > 0] = v[0]""",
    """out = x * 1
out[t.tensor([0, 2]), t.tensor([1, 1])] = v[:2]""",
    """out = x * 1
out[1:] += v[1:, None]
out[:, [0, 3]] *= 2""",
    """y = x.clone()
y[1:].t()[2] += v[1:]  # through a view of a view
out = y * y.t().reshape(3, 4)""",
    """y = t.zeros(3, 4, dtype=t.float64)
row = y[1]  # a view taken before the base has a history
y[...] = x * v.unsqueeze(1)
out = row * 2""",
    """y = x * 1
a, b = y[0], y[:, 0]
a *= v[0]
b += 1  # sees the change of a, as they share y[0, 0]
out = a.sum() + (b * b).sum() + y.prod()""",
    "out = (x * 2).relu_() + (x * 3).sigmoid_() * v.unsqueeze(1).clone().tanh_()",
    "out = (x * 1).pow_(2).mul_(v.unsqueeze(1)).sin_()  # keeps its own input",
    """out = t.zeros(4, dtype=t.float64)
for row in x:
    out += row * row""",
    """y = t.zeros(3, 4, dtype=t.float64)
y.scatter_(1, t.tensor([[0], [2], [1]]), v.unsqueeze(1))
y.scatter_add_(0, t.tensor([[0, 0, 0, 1], [0, 0, 0, 1]]), x[:2])
out = y.index_fill_(1, t.tensor([3]), 1.5)""",
    """out = x * 1
out[0] = x[1:2]  # (1, 4) into (4,)
out[:, 1] = v[0]""",
]
# On b, which is a base of expanded memory, and w, a number; each makes "v", of shape (2, 3).
EXPANDED = [
    "v = b.expand(2, 3)\nv[0] = w * 3",
    "v = b.expand(2, 3)\nv[0, 1] = w * 3",
    "v = b.expand(2, 3)\nv[1, :2].mul_(w)",
    "v = b.reshape(3, 1).t().expand(2, 3).unsqueeze(0).expand(2, 2, 3)\nv[0, 1, ::2] = w\nv = v[1]",
    "v = b.expand(2, 3)\nv.select(0, 0).copy_(w * t.ones(3, dtype=w.dtype))",
    "v = b.expand(1, 3)\nv.mul_(w)\nv[0, 1] = 4.0\nv = v.expand(2, 3)",
]


def run(text: str, **names: Any) -> dict[str, Any]:
    exec(text, names)
    return names


@cases("program", PROGRAMS)
def test_known_programs(program: str) -> None:
    agree(lambda t, x, v: run(program, t=t, x=x, v=v)["out"].square(), numbers(3, 4), numbers(3))


@cases("program", EXPANDED)
def test_a_part_of_an_expanded_tensor_can_be_written(program: str) -> None:
    def both(t: Any, x: Any, w: Any) -> list[Any]:
        b = x * 1
        v = run(program, t=t, b=b, w=w)["v"]
        return [v, b.square()]

    agree(both, np.arange(1.0, 4.0), np.array(2.0))


@cases("take", [lambda y: y.chunk(2, dim=1)[1], lambda y: y.split([1, 2])[1], lambda y: y.unbind(0)[2]])
def test_parts_of_a_split_can_be_changed(take: Callable[[Any], Any]) -> None:
    """PyTorch rejects these; here the gradient equals that of the same change made out of place."""
    x = ours(np.arange(12.0).reshape(3, 4), True)
    y = x * 1
    part = take(y)
    part *= 3
    (y * y).sum().backward()
    factor = host(y) / np.where(host(x) == 0, 1, host(x))
    assert_close(x.grad, 2 * host(x) * factor**2 * (host(x) != 0))


def test_memory_is_shared_as_in_torch() -> None:
    x = minigrad.arange(12.0).reshape(3, 4)
    views = [x[1], x.t(), x.view(4, 3), x[:, 1:3], x.unsqueeze(0), x.expand(2, 3, 4), x.diagonal(), x.detach(), x.data]
    views += [x.squeeze(), x.permute(1, 0), x.split(2)[1], x.unbind(1)[0], x.narrow(0, 1, 2), x.mT]
    for view in views:
        assert np.shares_memory(view.array, x.array)
    raises(RuntimeError, r"Use \.reshape", lambda: x.t().view(12))
    for copy in (x.clone(), x.repeat(1, 1), x[[0, 1]], x[x > 3], x.flip(0), x.t().reshape(12), x.t().contiguous()):
        assert not np.shares_memory(copy.array, x.array)


@cases("write", [lambda v: v.mul_(2), lambda v: v.index_fill_(0, minigrad.tensor([0]), 2.0)])
def test_a_whole_expanded_tensor_cannot_be_written(write: Callable[[Any], Any]) -> None:
    b = minigrad.ones(3, requires_grad=True) * 1
    raises(RuntimeError, r"share memory|single memory location", lambda: write(b.expand(2, 3)))
    v = b.expand(2, 3)
    with pytest.raises(RuntimeError, match="share memory"):
        v[minigrad.tensor([0])] = 1.0


def test_a_view_made_under_no_grad_is_a_constant() -> None:
    x = ours(np.ones(3), True)
    with minigrad.no_grad():
        view = x[1:]
        x.mul_(2)
    assert not view.requires_grad and not (view * 2).requires_grad
    assert host(view).tolist() == [2, 2]


def test_a_view_from_before_its_base_required_a_gradient() -> None:
    a = minigrad.ones(3)
    view, further = a[:], a[:].view(3)
    a.requires_grad = True
    for tensor in (a, view, further):
        raises(RuntimeError, "leaf Variable that requires grad", lambda tensor=tensor: tensor.add_(1))
    with minigrad.no_grad():
        further.add_(1)
    assert a.tolist() == [2.0] * 3
    raises(RuntimeError, "Can't detach views in-place", view.detach_)
