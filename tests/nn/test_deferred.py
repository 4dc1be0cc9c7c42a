"""Logits that are not computed: the numbers, errors and gradients of programs that do not know of it."""

from __future__ import annotations

import copy
import gc
import io
import os
import pickle
import subprocess
import sys
import threading
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minigrad
import minigrad.nn.functional as F
import minigrad.utils.checkpoint
from minigrad import Tensor, nn, optim
from minigrad.autograd import tape
from minigrad.backend import of
from minigrad.nn.functional import deferred
from minigrad.nn.functional._pending import Pending, Product
from minigrad.nn.functional.deferred import Deferred
from tests.support.parity import assert_close, host, ours, theirs, torch

V, D = 1030, 6
B, T = 2, 4
rng = np.random.default_rng(1)
STATES, WEIGHT, BIAS = rng.standard_normal((B, T, D)), rng.standard_normal((V, D)), rng.standard_normal(V)
TARGET = rng.integers(0, V, (B, T))
Program = Callable[..., Any]


@pytest.fixture(autouse=True)
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small logits are deferred, too."""
    monkeypatch.setattr(deferred, "SMALLEST", 0)


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The shapes of the logits that were computed after all."""
    shapes: list[Any] = []
    compute = Product._compute

    def noted(self: Product) -> Any:
        found = compute(self)
        shapes.append(found.shape)
        return found

    monkeypatch.setattr(Product, "_compute", noted)
    return shapes


def factors(device: str = "cpu") -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Leaves x (B, T, D), W (V, D), b (V), and a target (B, T)."""
    x, weight, bias = (ours(a, True, device) for a in (STATES, WEIGHT, BIAS))
    return x, weight, bias, minigrad.tensor(TARGET, device=device)


def compare(program: Program, device: str = "cpu") -> None:
    """What ``program(library, F, x, W, b, target)`` gives here and in PyTorch: its results, the gradients of
    the first for the leaves, and ``.grad`` of further results that keep it."""
    leaves = factors(device)
    others = (*(theirs(a, True) for a in (STATES, WEIGHT, BIAS)), torch.from_numpy(TARGET))
    found = program(minigrad, F, *leaves)
    expected = program(torch, torch.nn.functional, *others)
    found[0].backward()
    expected[0].backward()
    for mine, other in zip((*found, *leaves[:3]), (*expected, *others[:3]), strict=True):
        assert_close(mine, other)
        if mine.is_leaf or getattr(mine, "retains_grad", False):
            assert (mine.grad is None) == (other.grad is None)
            if other.grad is not None:
                assert_close(mine.grad, other.grad)


# Programs that never look at their logits -----------------------------------------------------------------


def flat(_: Any, f: Any, x: Any, w: Any, b: Any, y: Any) -> Any:
    logits = f.linear(x, w, b)
    return (f.cross_entropy(logits.view(-1, logits.size(-1)), y.view(-1), label_smoothing=0.1),)


def without_bias(_: Any, f: Any, x: Any, w: Any, b: Any, y: Any) -> Any:
    logits = f.linear(x * 2, w)
    return (f.cross_entropy(logits.reshape(B * T, -1), y.reshape(-1), reduction="sum") + b.sum(),)


def flattened(_: Any, f: Any, x: Any, w: Any, b: Any, y: Any) -> Any:
    return (f.cross_entropy(f.linear(x, w, b).flatten(0, 1).float().double(), y.flatten()),)


def classes_second(_: Any, f: Any, x: Any, w: Any, b: Any, y: Any) -> Any:
    return (f.cross_entropy(f.linear(x, w, b).transpose(1, 2), y, ignore_index=int(TARGET[0, 0])),)


def permuted(_: Any, f: Any, x: Any, w: Any, b: Any, y: Any) -> Any:
    return (f.cross_entropy(f.linear(x, w, b).permute(1, 2, 0), y.t().contiguous()),)  # T B V -> B V T


def shifted(_: Any, f: Any, x: Any, w: Any, b: Any, y: Any) -> Any:
    logits = f.linear(x, w, b)[..., :-1, :].contiguous()
    return (f.cross_entropy(logits.view(-1, logits.shape[-1]), y[..., 1:].contiguous().view(-1)),)


def sliced(_: Any, f: Any, x: Any, w: Any, b: Any, y: Any) -> Any:
    return (f.cross_entropy(f.linear(x, w, b)[:, :-1].reshape(-1, V), y[:, 1:].reshape(-1)),)


def last_of_each(_: Any, f: Any, x: Any, w: Any, b: Any, y: Any) -> Any:
    return (f.cross_entropy(f.linear(x, w, b)[:, -1], y[:, -1]),)


def one_state(_: Any, f: Any, x: Any, w: Any, b: Any, y: Any) -> Any:
    return (f.cross_entropy(f.linear(x[0, 0], w, b), y[0, 0]) + f.cross_entropy(f.linear(x[0], w, b), y[0]),)


def new_axes(_: Any, f: Any, x: Any, w: Any, b: Any, y: Any) -> Any:
    logits = f.linear(x, w, b).unsqueeze(0).squeeze(0).unflatten(1, (2, T // 2)).movedim(-1, 1)
    return (f.cross_entropy(logits, y.view(B, 2, T // 2)),)


def twice(_: Any, f: Any, x: Any, w: Any, b: Any, y: Any) -> Any:
    logits = f.linear(x, w, b).view(-1, V)
    first = f.cross_entropy(logits, y.view(-1))
    return (first + 0.5 * f.cross_entropy(logits[1:], y.view(-1)[1:]),)


def frozen_table(_: Any, f: Any, x: Any, w: Any, b: Any, y: Any) -> Any:
    loss = f.cross_entropy(f.linear(x, w.detach(), b.detach()).view(-1, V), y.view(-1))
    return (loss + 0 * (w.sum() + b.sum()),)


def frozen_states(_: Any, f: Any, x: Any, w: Any, b: Any, y: Any) -> Any:
    return (f.cross_entropy(f.linear(x.detach(), w, b).view(-1, V), y.view(-1)) + 0 * x.sum(),)


def tied(_: Any, f: Any, x: Any, w: Any, b: Any, y: Any) -> Any:
    states = x + f.embedding(y, w)
    return (f.cross_entropy(f.linear(states, w, b).view(-1, V), y.view(-1)),)


UNSEEN = [
    flat,
    without_bias,
    flattened,
    classes_second,
    permuted,
    shifted,
    sliced,
    last_of_each,
    one_state,
    new_axes,
    twice,
    frozen_table,
    frozen_states,
    tied,
]


@pytest.mark.parity
@pytest.mark.parametrize("program", UNSEEN)
def test_programs_that_never_look_at_their_logits(
    program: Program, device: str, computed: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    if program is flattened:  # float() and back is a change of dtype in double: of the same dtype it is none
        monkeypatch.setattr(minigrad.Tensor, "float", minigrad.Tensor.double)
        monkeypatch.setattr(torch.Tensor, "float", torch.Tensor.double)
    compare(program, device)
    fused = of(minigrad.zeros(1, device=device).array).kernel("linear_cross_entropy") is not None
    assert (not computed) == fused


@pytest.mark.parity
@pytest.mark.parametrize("ignored", [-100, 3])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
@pytest.mark.parametrize("weighted", [False, True])
def test_options_of_cross_entropy(
    ignored: int, reduction: str, smoothing: float, weighted: bool, computed: list[Any]
) -> None:
    weights = rng.uniform(0.5, 2, V)

    def program(library: Any, f: Any, x: Any, w: Any, b: Any, y: Any) -> Any:
        y = library.where(y % 3 == 0, ignored, y).view(-1)
        given = (ours if library is minigrad else theirs)(weights) if weighted else None
        loss = f.cross_entropy(
            f.linear(x, w, b).view(-1, V),
            y,
            given,
            ignore_index=ignored,
            reduction=reduction,
            label_smoothing=smoothing,
        )
        return loss.sum(), loss.detach()

    compare(program)
    assert (not computed) == (reduction != "none" and not weighted)


def test_the_mean_over_no_target_is_nan(computed: list[Any]) -> None:
    x, w, b, y = factors()
    loss = F.cross_entropy(F.linear(x, w, b).view(-1, V), (y * 0 - 100).view(-1))
    assert np.isnan(loss.item()) and not computed


def test_layers_and_losses_of_nn(computed: list[Any]) -> None:
    head = nn.Linear(D, V)
    x = minigrad.tensor(STATES, dtype=minigrad.float32)
    loss = nn.CrossEntropyLoss(label_smoothing=0.1)(head(x).view(-1, V), minigrad.tensor(TARGET).view(-1))
    loss.backward()
    assert loss.dtype == minigrad.float32 and not computed
    expected = (x.double() @ head.weight.double().t() + head.bias.double()).view(-1, V)
    expected = F.cross_entropy(expected, minigrad.tensor(TARGET).view(-1), label_smoothing=0.1)
    gradient = minigrad.autograd.grad(expected, head.weight)[0]
    assert_close(loss, expected.float(), 1e-6)
    assert_close(head.weight.grad, gradient, 1e-5)


def test_errors_are_those_of_logits() -> None:
    x, w, b, y = factors()
    flat_target = y.view(-1)
    bad = flat_target.clone()
    bad[3] = V
    with pytest.raises(IndexError, match=f"cross_entropy: target: index {V} is out of range"):
        F.cross_entropy(F.linear(x, w, b).view(-1, V), bad)
    with pytest.raises(ValueError, match="so the target must have shape"):
        F.cross_entropy(F.linear(x, w, b).view(-1, V), flat_target[:-1])
    with pytest.raises(RuntimeError, match="the target must have shape"):
        F.cross_entropy(F.linear(x, w, b), flat_target)
    with pytest.raises(RuntimeError, match="must have the shape of the input"):
        F.cross_entropy(F.linear(x, w, b).view(-1, V), flat_target.double())
    with pytest.raises(RuntimeError, match="view size is not compatible"):
        F.linear(x, w, b)[:, :-1].view(-1, V)
    with pytest.raises(RuntimeError, match=r"shape '\[-1, 7\]' is invalid"):
        F.linear(x, w, b).view(-1, 7)
    with pytest.raises(IndexError, match="too many indices"):
        F.linear(x, w, b)[0, 0, 0, 0]
    with pytest.raises(RuntimeError, match="linear: mat1 and mat2 shapes cannot be multiplied"):
        F.linear(x[..., 1:], w, b)


# What is known without the values -------------------------------------------------------------------------


def test_shape_and_dtype_need_no_values(device: str, computed: list[Any]) -> None:
    x, w, b, _ = factors(device)
    logits = F.linear(x, w, b)
    assert type(logits) is Deferred and minigrad.is_tensor(logits)
    assert isinstance(logits, Tensor)
    assert logits.shape == logits.size() == (B, T, V) and logits.size(-1) == V and len(logits) == B
    assert logits.ndim == logits.dim() == 3 and logits.numel() == B * T * V
    assert logits.dtype == minigrad.float64 and logits.is_floating_point() and logits.device.type == device
    assert logits.nbytes == B * T * V * 8 and logits.element_size() == 8
    assert logits.requires_grad and not logits.is_leaf and repr(logits.grad_fn).startswith("<LinearBackward0")
    assert logits.is_contiguous() and logits.contiguous() is logits and logits.double() is logits
    assert logits.to(minigrad.float64) is logits and not logits[:, 1:].is_contiguous()
    assert not computed
    assert_close(logits, STATES @ WEIGHT.T + BIAS)
    assert type(logits) is Tensor and computed == [(B, T, V)]


@pytest.mark.parametrize(
    "view",
    [
        lambda t: t.view(-1, V),
        lambda t: t[1:],
        lambda t: t[:, 1:3],
        lambda t: t[0],
        lambda t: t[..., 1, :],
        lambda t: t[1, 2],
        lambda t: t[:, :, :],
        lambda t: t[...],
        lambda t: t[0, ...],
        lambda t: t[:, ::2],
        lambda t: t.transpose(0, 1),
        lambda t: t.transpose(0, 1)[1:],
        lambda t: t.permute(2, 0, 1),
        lambda t: t.transpose(0, 1).reshape(-1, V),
        lambda t: t[:, 1:].reshape(-1, V),
        lambda t: t[:1, 1:].view(-1, V),
        lambda t: t[0, 0, 0, ...],
        lambda t: t[:, 1:].reshape(B, 1, -1, V),
        lambda t: t[:, 1:].contiguous(),
        lambda t: t.unsqueeze(1),
        lambda t: t.flatten(0, 1)[::2].contiguous().view(2, 2, V),
        lambda t: t.unflatten(-1, (2, V // 2)),
        lambda t: t[..., 5:],
        lambda t: t[0, 0, 3],
        lambda t: t[:, :0],
        lambda t: t[:, None],
        lambda t: t.T,
        lambda t: t[minigrad.tensor([1, 0])],
        lambda t: t.swapaxes(0, 2),
        lambda t: t.flatten(),
    ],
)
def test_views_are_those_of_a_tensor(view: Callable[[Tensor], Tensor], monkeypatch: pytest.MonkeyPatch) -> None:
    """In shape and value, and in what they share with the logits."""
    results = []
    for enabled in (True, False):
        monkeypatch.setattr(deferred, "ENABLED", enabled)
        x, w, b, _ = factors()
        logits = F.linear(x, w, b)
        assert (type(logits) is Deferred) == enabled
        seen = view(logits)
        told = (tuple(seen.shape), seen.is_contiguous(), seen.requires_grad, seen.stride())
        gradients = minigrad.autograd.grad(seen.square().sum(), (x, w, b), retain_graph=True)
        with minigrad.no_grad():
            logits.mul_(2)
            after = host(seen).copy()
            seen.zero_()
        results.append((told, (*gradients, after, logits)))
    assert results[0][0] == results[1][0]
    for mine, expected in zip(results[0][1], results[1][1], strict=True):
        assert_close(mine, expected)


def test_what_is_not_deferred(monkeypatch: pytest.MonkeyPatch) -> None:
    x, w, b, _ = factors()
    assert type(F.linear(x, w, b)) is Deferred
    with minigrad.no_grad():
        assert type(F.linear(x, w, b)) is Tensor
    assert type(F.linear(x.detach(), w.detach(), b.detach())) is Tensor
    assert type(F.linear(x, w[:1000], b[:1000])) is Tensor  # too few classes
    assert type(F.linear(minigrad.ones(3, 600), minigrad.ones(1100, 600, requires_grad=True))) is Tensor
    half = [t.half() for t in (x, w, b)]
    assert type(F.linear(*half)) is Tensor
    with minigrad.autograd.detect_anomaly():
        assert type(F.linear(x, w, b)) is Tensor
    monkeypatch.setattr(deferred, "SMALLEST", 1 << 22)
    assert type(F.linear(x, w, b)) is Tensor


def test_the_environment_rules_it_out() -> None:
    program = "from minigrad.nn.functional import deferred; assert not deferred.ENABLED"
    environment = {**os.environ, "MINIGRAD_DEFERRED_LOGITS": "0", "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", program], env=environment, check=True)


# Logits that are looked at --------------------------------------------------------------------------------


def looked_at_after(_: Any, f: Any, x: Any, w: Any, b: Any, y: Any) -> Any:
    logits = f.linear(x, w, b)
    loss = f.cross_entropy(logits.view(-1, V), y.view(-1))
    return loss, logits.argmax(-1), (logits.detach() * 2).sum()


def looked_at_before(_: Any, f: Any, x: Any, w: Any, b: Any, y: Any) -> Any:
    logits = f.linear(x, w, b)
    right = logits.argmax(-1) == y
    return f.cross_entropy(logits.view(-1, V), y.view(-1)), right


def used_beside(_: Any, f: Any, x: Any, w: Any, b: Any, y: Any) -> Any:
    logits = f.linear(x, w, b)
    flat = logits.view(-1, V)
    z = logits.logsumexp(-1).square().mean()
    return f.cross_entropy(flat, y.view(-1)) + z + flat.square().mean() + logits[:, 0].sum(), z.detach()


def loss_first_then_used(_: Any, f: Any, x: Any, w: Any, b: Any, y: Any) -> Any:
    logits = f.linear(x, w, b)
    loss = f.cross_entropy(logits.view(-1, V), y.view(-1))
    return (loss + 0.1 * logits.square().mean(),)


def changed_before(_: Any, f: Any, x: Any, w: Any, b: Any, y: Any) -> Any:
    logits = f.linear(x, w, b)
    flat = logits.view(-1, V)
    logits[..., 0] = -1.0
    flat /= 2.0
    return f.cross_entropy(flat, y.view(-1)), logits


def view_of_a_view_after_a_change(_: Any, f: Any, x: Any, w: Any, b: Any, y: Any) -> Any:
    logits = f.linear(x, w, b)
    flat = logits.view(-1, V)
    logits.mul_(2)
    part = flat[1:]
    return f.cross_entropy(part, y.view(-1)[1:]) + part.square().mean(), part


def masked(library: Any, f: Any, x: Any, w: Any, b: Any, y: Any) -> Any:
    logits = f.linear(x, w, b)
    active = y.view(-1) % 2 == 0
    return (f.cross_entropy(logits.view(-1, V)[active], y.view(-1)[active]),)


def distribution(library: Any, f: Any, x: Any, w: Any, b: Any, y: Any) -> Any:
    return (f.nll_loss(f.log_softmax(f.linear(x, w, b), -1).view(-1, V), y.view(-1)),)


def relu_of_a_wide_layer(library: Any, f: Any, x: Any, w: Any, b: Any, y: Any) -> Any:
    hidden = f.linear(x, w, b).relu()
    return (f.linear(hidden, w.t()).square().mean() + x.sum(),)


def under_no_grad(library: Any, f: Any, x: Any, w: Any, b: Any, y: Any) -> Any:
    logits = f.linear(x, w, b)
    with library.no_grad():
        seen = logits.view(-1, V)
        loss = f.cross_entropy(seen, y.view(-1))
    assert not loss.requires_grad
    return f.cross_entropy(logits.view(-1, V), y.view(-1)), loss, seen


def detached(library: Any, f: Any, x: Any, w: Any, b: Any, y: Any) -> Any:
    logits = f.linear(x, w, b)
    loss = f.cross_entropy(logits.detach().view(-1, V), y.view(-1))
    assert not loss.requires_grad
    return f.cross_entropy(logits.view(-1, V), y.view(-1)), loss


@pytest.mark.parity
@pytest.mark.parametrize(
    "program",
    [
        looked_at_after,
        looked_at_before,
        used_beside,
        loss_first_then_used,
        changed_before,
        view_of_a_view_after_a_change,
        masked,
        distribution,
        relu_of_a_wide_layer,
        under_no_grad,
        detached,
    ],
)
def test_programs_that_look_at_their_logits(program: Program, device: str) -> None:
    compare(program, device)


def test_logits_cut_off_in_place() -> None:
    x, w, b, y = factors()
    logits = F.linear(x, w, b).detach_()
    assert logits.is_leaf and not F.cross_entropy(logits.view(-1, V), y.view(-1)).requires_grad
    logits.requires_grad_()
    F.cross_entropy(logits.view(-1, V), y.view(-1)).backward()
    assert logits.grad is not None and w.grad is None


def test_printing_pickling_and_copying() -> None:
    x, w, b, _ = factors()
    expected = STATES @ WEIGHT.T + BIAS
    alike = repr(minigrad.matmul(x, w.t()).add(b))
    assert repr(F.linear(x, w, b)) == alike.replace("AddBackward0", "LinearBackward0")
    loaded = pickle.loads(pickle.dumps(F.linear(x, w, b)))
    assert type(loaded) is Tensor
    assert_close(loaded, expected)
    file = io.BytesIO()
    minigrad.save({"logits": F.linear(x, w, b)}, file)
    assert_close(minigrad.load(io.BytesIO(file.getvalue()))["logits"], expected)
    with pytest.raises(RuntimeError, match="only leaf tensors can be deep-copied"):
        copy.deepcopy(F.linear(x, w, b))
    assert_close(np.asarray(F.linear(x, w, b).detach()), expected)


def test_threads_compute_them_once(computed: list[Any]) -> None:
    x, w, b, _ = factors()
    logits = F.linear(x, w, b)
    flat, found = logits.view(-1, V), []
    threads = [threading.Thread(target=lambda t=t: found.append(t.array)) for t in (logits, flat) * 4]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(computed) == 1 and len(found) == 8
    for array in found:
        assert_close(array.reshape(-1, V), (STATES @ WEIGHT.T + BIAS).reshape(-1, V))


# Values of the time of the call ---------------------------------------------------------------------------


def step(x: Tensor, w: Tensor, b: Tensor) -> None:
    for p in (x, w, b):
        p.grad = minigrad.ones_like(p)
    optim.Adam([x, w, b], lr=0.1).step()


def lbfgs(x: Tensor, w: Tensor, b: Tensor) -> None:
    optimizer = optim.LBFGS([w], max_iter=2)

    def closure() -> Tensor:
        optimizer.zero_grad()
        loss = w.square().sum()
        loss.backward()
        return loss

    optimizer.step(closure)


def load(x: Tensor, w: Tensor, b: Tensor) -> None:
    head = nn.Linear(D, V)
    head.weight, head.bias = nn.Parameter(w), nn.Parameter(b)
    head.load_state_dict({"weight": minigrad.zeros(V, D), "bias": minigrad.zeros(V)})


def accumulate(x: Tensor, w: Tensor, b: Tensor) -> None:
    leaf = minigrad.zeros_like(w).requires_grad_()
    leaf.grad = w.detach()
    (leaf * 3).sum().backward()


CHANGES: dict[str, Callable[[Tensor, Tensor, Tensor], Any]] = {
    "a step": step,
    "LBFGS": lbfgs,
    "load_state_dict": load,
    "backward, which adds to .grad": accumulate,
    "add_": lambda x, w, b: w.add_(1),
    "add_ of the input": lambda x, w, b: x.add_(1),
    "mul_ of the bias": lambda x, w, b: b.mul_(2),
    "a row": lambda x, w, b: w.__setitem__(3, 0.0),
    "data.add_": lambda x, w, b: w.data.add_(1),
    "data = ": lambda x, w, b: setattr(w, "data", minigrad.zeros_like(w)),
    "data.copy_": lambda x, w, b: w.data.copy_(minigrad.zeros_like(w)),
    "detach().zero_": lambda x, w, b: w.detach().zero_(),
    "a view's": lambda x, w, b: w.view(-1)[5:].zero_(),
    "uniform_": lambda x, w, b: nn.init.uniform_(w),
    "xavier_": lambda x, w, b: nn.init.xavier_uniform_(w),
    "clamp_": lambda x, w, b: w.clamp_(0, 0.1),
    "index_fill_": lambda x, w, b: w.index_fill_(0, minigrad.tensor([1]), 3.0),
    "renorm of an embedding": lambda x, w, b: F.embedding(minigrad.tensor([1, 2]), w, max_norm=0.1),
    "out=": lambda x, w, b: minigrad.cumsum(w.detach(), 0, out=w.detach()),  # type: ignore[call-arg]
    "vector_to_parameters": lambda x, w, b: nn.utils.vector_to_parameters(w.new_zeros(V * D), [w]),
    "set_": lambda x, w, b: w.set_(minigrad.zeros(V, D).double()),
    "to another dtype": lambda x, w, b: setattr(w, "data", w.data.float()),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("looked_at", ["logits", "a view", "the loss"])
def test_values_are_those_of_the_call(change: Any, looked_at: str) -> None:
    """Whatever changes between the call and the first look."""
    x, w, b, y = factors()
    logits = F.linear(x, w, b)
    flat = logits.view(-1, V)
    with minigrad.no_grad() if change is not accumulate and change is not lbfgs else minigrad.enable_grad():
        change(x, w, b)
    expected = STATES @ WEIGHT.T + BIAS
    if looked_at == "logits":
        assert_close(logits, expected)
    elif looked_at == "a view":
        assert_close(flat, expected.reshape(-1, V))
    else:
        ordinary = F.cross_entropy(minigrad.tensor(expected).view(-1, V), y.view(-1))
        assert_close(F.cross_entropy(flat, y.view(-1)), ordinary)


@pytest.mark.parametrize(
    "change",
    [lambda h, w: w.requires_grad_(False), lambda h, w: h.detach_(), lambda h, w: h.detach_().requires_grad_()],
)
def test_the_history_is_that_of_the_call(change: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever becomes of the factors' own before the loss."""
    found = []
    for enabled in (True, False):
        monkeypatch.setattr(deferred, "ENABLED", enabled)
        x, w, b, y = factors()
        h = x * 2
        logits = F.linear(h, w, b)
        change(h, w)
        F.cross_entropy(logits.view(-1, V), y.view(-1)).backward()
        assert h.grad is None
        found.append([x.grad, w.grad, b.grad])
    for mine, expected in zip(*found, strict=True):
        assert_close(mine, expected)


def test_a_backward_after_a_change_is_refused() -> None:
    for program in (lambda t, y: t.sum(), lambda t, y: F.cross_entropy(t.view(-1, V), y.view(-1))):
        x, w, b, y = factors()
        logits = F.linear(x, w, b)
        with minigrad.no_grad():
            w.mul_(2)
        with pytest.raises(RuntimeError, match="modified by an inplace operation: linear"):
            program(logits, y).backward()
    x, w, b, y = factors()
    loss = F.cross_entropy(F.linear(x, w, b).view(-1, V), y.view(-1))
    with minigrad.no_grad():
        w.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_logits_changed_after_the_loss_are_refused() -> None:
    for hooked in (False, True):
        x, w, b, y = factors()
        logits = F.linear(x, w, b)
        loss = F.cross_entropy(logits.view(-1, V), y.view(-1))
        logits.mul_(2)
        if hooked:
            logits.register_hook(lambda g: g)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            loss.backward()


def test_a_copy_of_logits_does_not_follow_them() -> None:
    x, w, b, _ = factors()
    logits = F.linear(x, w, b)
    part = logits[:, 1:].contiguous()
    with minigrad.no_grad():
        logits.zero_()
    assert_close(part, (STATES @ WEIGHT.T + BIAS)[:, 1:])


@pytest.mark.parametrize("copied", [lambda t: t[:, 1:].reshape(-1, V), lambda t: t[:, 1:].contiguous().view(-1, V)])
def test_the_loss_of_a_copy_does_not_care_what_becomes_of_the_logits(copied: Any) -> None:
    gradients = []
    for changed in (True, False):
        x, w, b, y = factors()
        logits = F.linear(x, w, b)
        loss = F.cross_entropy(copied(logits), y[:, 1:].reshape(-1))
        if changed:
            with minigrad.no_grad():
                logits.mul_(2)
        loss.backward()
        gradients.append((x.grad, w.grad, b.grad))
    for mine, expected in zip(*gradients, strict=True):
        assert_close(mine, expected)


def test_copies_under_no_grad_have_no_history() -> None:
    x, w, b, _ = factors()
    part = F.linear(x, w, b)[:, 1:]
    with minigrad.no_grad():
        assert not part.contiguous().requires_grad
        assert not part.reshape(-1, V).requires_grad


def test_factors_are_copied_only_where_logits_wait_for_them() -> None:
    x, w, b, y = factors()
    logits = F.linear(x, w, b)
    assert isinstance(logits, Deferred)
    product = logits._recipe.product
    F.cross_entropy(logits.view(-1, V), y.view(-1)).backward()
    optimizer = optim.SGD([w, b], lr=0.1)
    optimizer.step()
    copies = list(product.arrays)
    assert copies[0] is x.array and copies[1] is not w.array and copies[2] is not b.array
    optimizer.step()
    assert all(a is c for a, c in zip(product.arrays, copies, strict=True))  # once is enough
    del logits, product
    assert not tape._readers


# Gradients of the logits ----------------------------------------------------------------------------------


def retained(after: bool, flat_too: bool = False) -> Program:
    def program(_: Any, f: Any, x: Any, w: Any, b: Any, y: Any) -> Any:
        logits = f.linear(x * 1.5, w, b)
        flat = logits.view(-1, V)
        kept = (logits, flat) if flat_too else (logits,)
        if not after:
            for t in kept:
                t.retain_grad()
        loss = f.cross_entropy(flat, y.view(-1), label_smoothing=0.1)
        total = loss * 2 + logits.square().mean()
        if after:
            for t in kept:
                t.retain_grad()
        return total, *kept

    return program


def hooked(where: str, after: bool) -> Program:
    def program(_: Any, f: Any, x: Any, w: Any, b: Any, y: Any) -> Any:
        logits = f.linear(x.sin(), w, b)
        flat = logits.view(-1, V)
        other = logits[:, 1:]
        target = {"logits": logits, "flat": flat, "other": other}[where]
        if not after:
            target.register_hook(lambda g: g * 3)
        loss = f.cross_entropy(flat, y.view(-1), reduction="sum")
        second = f.cross_entropy(other.reshape(-1, V), y[:, 1:].reshape(-1))
        if after:
            target.register_hook(lambda g: g * 3)
        return (loss + 2 * second + (x * loss).mean(),)

    return program


def gradient_of_logits(looked_at: bool) -> Program:
    def program(library: Any, f: Any, x: Any, w: Any, b: Any, y: Any) -> Any:
        logits = f.linear(x, w, b)
        shown = logits[:, :-1].contiguous()
        loss = f.cross_entropy(shown.view(-1, V), y[:, 1:].reshape(-1))
        if looked_at:
            logits.argmax(-1)
        found = library.autograd.grad(loss, (shown, logits, x), retain_graph=True)
        return loss, *found, *library.autograd.grad(loss, (w, logits), retain_graph=True)

    return program


def second_order(through: bool) -> Program:
    def program(library: Any, f: Any, x: Any, w: Any, b: Any, y: Any) -> Any:
        logits = f.linear(x, w, b)
        loss = f.cross_entropy(logits.view(-1, V), y.view(-1), label_smoothing=0.1)
        wanted = (x, logits) if through else (x,)
        found = library.autograd.grad(loss, wanted, create_graph=True)
        return sum(g.square().sum() for g in found) + loss, *(g.detach() for g in found)

    return program


def only_into_the_logits(library: Any, f: Any, x: Any, w: Any, b: Any, y: Any) -> Any:
    logits = f.linear(x, w, b)
    loss = f.cross_entropy(logits.view(-1, V), y.view(-1))
    if library is minigrad:
        loss.backward(inputs=[logits], retain_graph=True)
        gradient = logits.grad
    else:
        gradient = library.autograd.grad(loss, logits, retain_graph=True)[0]
    return loss, gradient


def the_loss_has_a_hook(library: Any, f: Any, x: Any, w: Any, b: Any, y: Any) -> Any:
    logits = f.linear(x, w, b)
    loss = f.cross_entropy(logits.view(-1, V), y.view(-1))
    loss.register_hook(lambda g: g * 5)
    loss.retain_grad()
    logits.retain_grad()
    return loss * loss, loss, logits


@pytest.mark.parity
@pytest.mark.parametrize(
    "program",
    [
        *(retained(after, both) for after in (False, True) for both in (False, True)),
        *(hooked(where, after) for where in ("logits", "flat", "other") for after in (False, True)),
        gradient_of_logits(False),
        gradient_of_logits(True),
        second_order(False),
        second_order(True),
        only_into_the_logits,
        the_loss_has_a_hook,
    ],
    ids=lambda program: program.__qualname__,
)
def test_gradients_of_the_logits(program: Program, device: str) -> None:
    compare(program, device)


def test_a_gradient_of_the_logits_between_two_walks() -> None:
    x, w, b, y = factors()
    logits = F.linear(x * 2, w, b)
    loss = F.cross_entropy(logits.view(-1, V), y.view(-1))
    loss.backward(retain_graph=True)
    first = host(w.grad).copy()
    logits.retain_grad()
    loss.backward(retain_graph=True)
    assert_close(w.grad, 2 * first)
    assert_close(host(logits.grad).reshape(-1, V).T @ (2 * STATES).reshape(-1, D), first)
    loss.backward()
    with pytest.raises(RuntimeError, match="a second time"):
        loss.backward()
    x, w, b, y = factors()
    logits = F.linear(x * 2, w, b)
    loss = F.cross_entropy(logits.view(-1, V), y.view(-1))
    loss.backward()
    with pytest.raises(RuntimeError, match="a second time"):
        minigrad.autograd.grad(loss, logits)


def test_a_gradient_of_the_logits_asked_for_under_no_grad() -> None:
    x, w, b, y = factors()
    logits = F.linear(x, w, b)
    loss = F.cross_entropy(logits.view(-1, V), y.view(-1))
    with minigrad.no_grad():
        logits.retain_grad()
    loss.backward()
    assert logits.grad is not None
    assert_close(host(logits.grad).reshape(-1, V).T @ STATES.reshape(-1, D), w.grad)


def test_a_gradient_of_the_logits_asked_for_in_a_checkpoint() -> None:
    x, w, b, y = factors()
    logits = F.linear(x, w, b)
    loss = F.cross_entropy(logits.view(-1, V), y.view(-1))
    seen: list[Tensor] = []

    def watched(h: Tensor) -> Tensor:
        logits.register_hook(seen.append)
        return h.sin().square()

    total = minigrad.utils.checkpoint.checkpoint(watched, x).sum() + loss
    total.backward()
    assert seen[0].shape == (B, T, V)


def test_ages_between_logits_and_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    """After the loss has been led through the logits, each node is younger than those behind it."""
    x, w, b, y = factors()
    logits = F.linear(x, w, b)
    losses = [F.cross_entropy(t, y) for t in (logits.transpose(1, 2), logits.permute(0, 2, 1))]
    losses.append(F.cross_entropy(logits.view(-1, V), y.view(-1)))
    total = losses[0] * losses[1] + losses[2]
    logits.retain_grad()
    seen, stack = 0, [total._node]
    while stack:
        node = stack.pop()
        assert node is not None
        for source, *_ in node.edges:
            if isinstance(source, tape.Node):
                assert source.order < node.order
                stack.append(source)
                seen += 1
    assert seen > 15
    total.backward()
    assert logits.grad is not None


# Other machinery ------------------------------------------------------------------------------------------


def recomputed_head(library: Any, f: Any, x: Any, w: Any, b: Any, y: Any) -> Any:
    run = library.utils.checkpoint.checkpoint
    logits = run(lambda h: f.linear(h.sin(), w, b), x, use_reentrant=False)
    return f.cross_entropy(logits.view(-1, V), y.view(-1)), logits.argmax(-1)


def recomputed_loss(library: Any, f: Any, x: Any, w: Any, b: Any, y: Any) -> Any:
    run = library.utils.checkpoint.checkpoint
    loss = run(lambda h: f.cross_entropy(f.linear(h, w, b).view(-1, V), y.view(-1)), x, use_reentrant=False)
    return (loss,)


def recomputed_from_logits(library: Any, f: Any, x: Any, w: Any, b: Any, y: Any) -> Any:
    run = library.utils.checkpoint.checkpoint
    logits = f.linear(x, w, b)
    first = run(lambda t: f.cross_entropy(t.view(-1, V), y.view(-1)), logits, use_reentrant=False)
    return (first + logits.square().mean(),)


@pytest.mark.parity
@pytest.mark.parametrize("program", [recomputed_head, recomputed_loss, recomputed_from_logits])
def test_checkpoints(program: Program) -> None:
    compare(program)


def test_anomaly_mode_names_the_layer() -> None:
    x, w, b, _ = factors()
    with minigrad.no_grad():
        w.mul_(1e200)
        x.mul_(1e200)
    with minigrad.autograd.detect_anomaly(), pytest.raises(RuntimeError, match=r"linear at .*test_deferred"):
        F.linear(x.detach(), w, b)


def test_transforms_of_functions() -> None:
    x, w, b, y = factors()

    def loss(w: Tensor) -> Tensor:
        return F.cross_entropy(F.linear(x.detach(), w, b.detach()).view(-1, V), y.view(-1))

    found = minigrad.func.grad(loss)(w)
    loss(w).backward()
    assert_close(found, w.grad)
    slopes = minigrad.func.vmap(minigrad.func.grad(lambda h: F.linear(h, w, b).logsumexp(-1)))(x[0].detach())
    expected = F.linear(x[0].detach(), w, b).softmax(-1) @ w
    assert_close(slopes, expected)


def test_module_hooks_see_the_gradient() -> None:
    head, seen = nn.Linear(D, V), []
    head.register_full_backward_hook(lambda module, inputs, outputs: seen.append(outputs[0]))
    x = minigrad.tensor(STATES, dtype=minigrad.float32)
    F.cross_entropy(head(x).view(-1, V), minigrad.tensor(TARGET).view(-1)).backward()
    assert seen[0].shape == (B, T, V)
    assert_close(host(seen[0]).sum(-1), np.zeros((B, T)), 1e-4)


# Memory ---------------------------------------------------------------------------------------------------


def test_a_training_step_never_holds_the_logits() -> None:
    rows, classes = 4096, 4096
    head = nn.Linear(16, classes)
    optimizer = optim.Adam(head.parameters())
    x, y = minigrad.randn(4, rows // 4, 16), minigrad.randint(0, classes, (4, rows // 4))
    tracemalloc.start()
    logits = head(x)
    loss = F.cross_entropy(logits.view(-1, logits.size(-1)), y.view(-1), label_smoothing=0.1)
    loss.backward()
    optimizer.step()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < rows * classes * 4 // 2


def test_nothing_is_left_behind() -> None:
    """Without the garbage collector: no cycle holds logits, looked at or not, or what they come from."""

    def run(*, look: bool, hook: bool) -> None:
        x, w, b, y = factors()
        logits = F.linear(x * 2, w, b)
        loss = F.cross_entropy(logits[:, 1:].reshape(-1, V), y[:, 1:].reshape(-1))
        if look:
            logits.argmax(-1)
        if hook:
            logits.retain_grad()
        loss.backward()

    def alive() -> int:
        kinds = [type(each) for each in gc.get_objects()]
        return sum(issubclass(kind, (Tensor, tape.Node, Pending)) for kind in kinds)

    gc.collect()
    gc.disable()
    try:
        before = alive()
        for look in (False, True):
            for hook in (False, True):
                run(look=look, hook=hook)
        assert alive() == before
        assert not tape._readers
    finally:
        gc.enable()
