"""Checks of DistributedDataParallel that each rank runs: gradients equal those of one process with the whole batch."""

import copy
from collections.abc import Iterable
from typing import Any

import numpy as np

import minigrad
from minigrad import Tensor, nn
from minigrad.distributed import ProcessGroup, ReduceOp, all_reduce
from minigrad.nn import functional as F
from minigrad.nn.parallel import DistributedDataParallel
from minigrad.utils.checkpoint import checkpoint
from tests.support.ranks import at_least, raised

BATCH = 12
draw = np.random.default_rng(0)
X, Y = minigrad.tensor(draw.normal(size=(BATCH, 6))), minigrad.tensor(draw.normal(size=(BATCH, 3)))


class Tied(nn.Module):
    """A weight used twice, a buffer, and normalisation."""

    def __init__(self) -> None:
        super().__init__()
        self.tied, self.norm, self.last = nn.Linear(6, 6), nn.LayerNorm(6), nn.Linear(6, 3)
        self.register_buffer("scale", minigrad.ones(1))

    def forward(self, x: Tensor) -> Tensor:
        x = self.norm(F.gelu(self.tied(x))) * self.scale
        return self.last(self.tied(x))


def model_of(group: ProcessGroup, kind: type[nn.Module] = Tied) -> nn.Module:
    """A model with different weights on each rank: rank 0's must win."""
    minigrad.manual_seed(group.rank())
    return kind().double()


def part(group: ProcessGroup) -> slice:
    size = BATCH // group.size()
    return slice(group.rank() * size, (group.rank() + 1) * size)


def loss_of(model: nn.Module, rows: slice = slice(None)) -> Tensor:
    return ((model(X[rows]) - Y[rows]) ** 2).mean()


def gradients(model: nn.Module) -> list[Any]:
    return [None if p.grad is None else p.grad.numpy() for p in model.parameters()]


def near(one: Iterable[Any], other: Iterable[Any]) -> None:
    for a, b in zip(one, other, strict=True):
        assert (a is None) == (b is None), (a, b)
        assert a is None or np.allclose(a, b, rtol=1e-10, atol=1e-12), np.abs(a - b).max()


def walk(model: nn.Module, alone: nn.Module, group: ProcessGroup) -> None:
    """A backward pass of the model on each rank's part, and of a copy on the whole batch: the gradients are equal."""
    loss_of(model, part(group)).backward()
    loss_of(alone).backward()
    near(gradients(model), gradients(alone))


def wrapped(group: ProcessGroup, **options: Any) -> tuple[DistributedDataParallel, nn.Module]:
    """A distributed model, and a plain copy."""
    wrapper = DistributedDataParallel(model_of(group), process_group=group, **options)
    return wrapper, copy.deepcopy(wrapper.module)


def check_steps_are_those_of_the_whole_batch(group: ProcessGroup) -> None:
    for cap in (25, 1e-6):  # one bucket, and one for each parameter
        model, alone = wrapped(group, bucket_cap_mb=cap)
        optimizers = [minigrad.optim.AdamW(m.parameters(), lr=0.01) for m in (model, alone)]
        for _ in range(10):
            for optimizer in optimizers:
                optimizer.zero_grad()
            mine, whole = loss_of(model, part(group)), loss_of(alone)
            mine.backward()
            whole.backward()
            near(gradients(model), gradients(alone))
            mean = mine.detach().clone()
            all_reduce(mean, ReduceOp.AVG, group)
            assert abs(mean.item() - whole.item()) < 1e-6 * abs(whole.item())
            for optimizer in optimizers:
                optimizer.step()


def check_accumulation_without_sync(group: ProcessGroup) -> None:
    model, alone = wrapped(group)
    with model.no_sync():
        loss_of(model, part(group)).backward()
    if group.size() > 1:
        own = gradients(model)
        loss_of(alone, part(group)).backward()
        near(own, gradients(alone))  # nothing was sent
        alone.zero_grad()
    loss_of(model, part(group)).backward()
    (2 * loss_of(alone)).backward()
    near(gradients(model), gradients(alone))
    loss_of(model, part(group)).backward()  # added to the existing gradients
    loss_of(alone).backward()
    near(gradients(model), gradients(alone))


class Branches(nn.Module):
    """Three layers; a call uses some of them."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(6, 3) for _ in range(3))

    def forward(self, x: Tensor, layers: list[int]) -> Tensor:
        return sum((self.layers[i](x) for i in layers), minigrad.zeros(3, dtype=x.dtype))


def check_unused_parameters(group: ProcessGroup) -> None:
    model = DistributedDataParallel(model_of(group, Branches), process_group=group, find_unused_parameters=True)
    alone: Any = copy.deepcopy(model.module)
    layers = [0, 1] if group.rank() == 0 else [0]
    model(X, layers).sum().backward()
    ((alone(X, [0, 1]).sum() + (group.size() - 1) * alone(X, [0]).sum()) / group.size()).backward()
    near(gradients(model), gradients(alone))
    assert gradients(model)[-1] is None  # no rank has used it
    strict = DistributedDataParallel(model_of(group, Branches), process_group=group)
    text = raised(RuntimeError, lambda: strict(X, [0, 1]).sum().backward())
    assert "layers.2.weight, layers.2.bias" in text and "find_unused_parameters=True" in text
    strict(X, [0, 1, 2]).sum().backward()  # it still works
    assert all(g is not None for g in gradients(strict))


def check_hooks_see_a_ranks_own_gradient(group: ProcessGroup) -> None:
    model, alone = wrapped(group)
    calls: list[Any] = []
    model.module.last.weight.register_hook(lambda g: calls.append(g.numpy().copy()) or 2 * g)  # type: ignore[func-returns-value]
    alone.last.weight.register_hook(lambda g: 2 * g)
    walk(model, alone, group)
    own = copy.deepcopy(alone)
    own.zero_grad()
    loss_of(own, part(group)).backward()
    assert np.allclose(calls[0], own.last.weight.grad.numpy())  # type: ignore[union-attr]


def check_checkpointing_and_two_passes(group: ProcessGroup) -> None:
    model, alone = wrapped(group)

    class Again(nn.Module):
        def __init__(self, inner: nn.Module) -> None:
            super().__init__()
            self.inner = inner

        def forward(self, x: Tensor) -> Tensor:
            return checkpoint(self.inner, x, use_reentrant=False)

    through = DistributedDataParallel(Again(copy.deepcopy(alone)), process_group=group)
    walk(through, alone, group)
    alone.zero_grad()
    first, second = loss_of(model, part(group)), loss_of(model, part(group))
    (first + second).backward()
    (2 * loss_of(alone)).backward()
    near(gradients(model), gradients(alone))


def reductions(model: DistributedDataParallel) -> list[int]:
    """Record the numbers of the buckets that are reduced from now on."""
    calls: list[int] = []

    def hook(state: Any, bucket: Any) -> Tensor:
        calls.append(bucket.index())
        return bucket.buffer()

    model.register_comm_hook(None, hook)
    return calls


def check_a_forward_pass_is_reduced_once(group: ProcessGroup) -> None:
    """As in PyTorch, whatever runs in between."""
    model, _ = wrapped(group)
    calls = reductions(model)
    loss = loss_of(model, part(group))
    with minigrad.no_grad():
        model(X)
    with minigrad.autograd.detect_anomaly():
        pass
    loss.backward(retain_graph=True)
    assert calls == [0]
    loss.backward()
    loss_of(model.module).backward()  # type: ignore[arg-type]
    assert calls == [0]
    with minigrad.autograd.detect_anomaly():
        loss = loss_of(model, part(group))
    loss.backward()
    assert calls == [0, 0]
    minigrad.autograd.grad(loss_of(model), list(model.parameters()))
    assert calls == [0, 0]


def check_a_walk_within_the_walk(group: ProcessGroup) -> None:
    model, alone = wrapped(group)

    class Inner(minigrad.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            return x.clone()

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            with minigrad.enable_grad():
                minigrad.autograd.grad(loss_of(alone), list(alone.parameters()))
            return grads[0]

    Inner.apply(loss_of(model, part(group))).backward()
    loss_of(alone).backward()
    near(gradients(model), gradients(alone))


def check_an_error_in_the_walk_leaves_the_next_as_it_is(group: ProcessGroup) -> None:
    model, alone = wrapped(group)
    loss = loss_of(model, part(group))
    loss.register_hook(lambda g: 1 / 0)
    raised(ZeroDivisionError, loss.backward)
    walk(model, alone, group)


def check_buffers_are_those_of_the_first(group: ProcessGroup) -> None:
    model, _ = wrapped(group)
    model.module.scale.fill_(group.rank() + 1.0)
    model(X)
    assert model.module.scale.item() == 1
    model.module.scale.fill_(group.rank() + 1.0)
    model.eval()
    model(X)
    assert model.module.scale.item() == group.rank() + 1
    free, _ = wrapped(group, broadcast_buffers=False)
    free.module.scale.fill_(group.rank() + 1.0)
    free(X)
    assert free.module.scale.item() == group.rank() + 1


def check_parameters_to_ignore(group: ProcessGroup) -> None:
    inner: Any = model_of(group)
    inner._ddp_params_and_buffers_to_ignore = ["last.weight", "scale"]
    inner.scale.fill_(group.rank() + 1.0)
    model = DistributedDataParallel(inner, process_group=group)
    own = copy.deepcopy(inner)
    loss_of(model, part(group)).backward()
    loss_of(own, part(group)).backward()
    near([inner.last.weight.grad.numpy()], [own.last.weight.grad.numpy()])
    assert inner.scale.item() == group.rank() + 1


def check_state_dict_and_copies(group: ProcessGroup) -> None:
    model, alone = wrapped(group)
    assert list(model.state_dict()) == [f"module.{name}" for name in alone.state_dict()]
    other, _ = wrapped(group)
    other.load_state_dict(model.state_dict())
    near([p.detach().numpy() for p in other.parameters()], [p.detach().numpy() for p in alone.parameters()])
    if group.size() == minigrad.distributed.get_world_size():  # a copy belongs to the default group
        twin = copy.deepcopy(model)
        walk(twin, alone, group)
        assert gradients(model) == [None] * len(gradients(model))


def check_a_communication_hook(group: ProcessGroup) -> None:
    model, alone = wrapped(group, bucket_cap_mb=1e-6)
    calls: list[tuple[int, bool, int]] = []

    def hook(state: Any, bucket: Any) -> Tensor:
        assert state == "state"
        calls.append((bucket.index(), bucket.is_last(), len(bucket.parameters())))
        assert sum(g.numel() for g in bucket.gradients()) == bucket.buffer().numel()
        total = bucket.buffer().clone()
        all_reduce(total, group=group)
        return total / (2 * group.size())

    model.register_comm_hook("state", hook)
    loss_of(model, part(group)).backward()
    (loss_of(alone) / 2).backward()
    near(gradients(model), gradients(alone))
    assert [number for number, _, _ in calls] == list(range(len(calls))) and calls[-1][1]
    assert "only be called once" in raised(RuntimeError, lambda: model.register_comm_hook(None, hook))
    assert "callable" in raised(TypeError, lambda: model.register_comm_hook(None, 3))  # type: ignore[arg-type]


@at_least(2)
def check_models_that_differ(group: ProcessGroup) -> None:
    last = group.rank() == group.size() - 1
    text = raised(RuntimeError, lambda: DistributedDataParallel(nn.Linear(3, 4 if last else 2), process_group=group))
    assert f"rank {group.size() - 1}'s model differs from rank 0's: parameter weight of shape (4, 3)" in text
    frozen = nn.Linear(2, 2).requires_grad_(False)
    assert "require a gradient" in raised(RuntimeError, lambda: DistributedDataParallel(frozen, process_group=group))


@at_least(2)
def check_uneven_batches(group: ProcessGroup) -> None:
    for divides_by_all in (True, False):
        model, alone = wrapped(group)
        optimizers = [minigrad.optim.SGD(m.parameters(), lr=0.1) for m in (model, alone)]
        batches = group.rank() + 1
        with model.join(divide_by_initial_world_size=divides_by_all):
            for _ in range(batches):
                optimizers[0].zero_grad()
                loss_of(model, part(group)).backward()
                optimizers[0].step()
        size = BATCH // group.size()
        for step in range(group.size()):
            optimizers[1].zero_grad()
            active = range(step, group.size())
            parts = [loss_of(alone, slice(rank * size, (rank + 1) * size)) for rank in active]
            (sum(parts) / (group.size() if divides_by_all else len(parts))).backward()  # type: ignore[union-attr]
            optimizers[1].step()
        near([p.detach().numpy() for p in model.parameters()], [p.detach().numpy() for p in alone.parameters()])
    model, _ = wrapped(group)

    def loop() -> None:
        with model.join(throw_on_early_termination=True):
            for _ in range(group.rank() + 1):
                loss_of(model, part(group)).backward()

    assert "exhausted inputs" in raised(RuntimeError, loop)


def check_sync_batch_norm(group: ProcessGroup) -> None:
    weights = minigrad.tensor(draw.normal(size=(BATCH, 3, 5)))
    whole = minigrad.tensor(np.random.default_rng(1).normal(size=(BATCH, 3, 5)), requires_grad=True)
    rows = slice(0, BATCH) if group.size() == 1 else slice(0, 5) if group.rank() == 0 else part(group)
    if group.size() > 1 and group.rank() > 0:
        size = (BATCH - 5) // (group.size() - 1)
        end = 5 + group.rank() * size if group.rank() < group.size() - 1 else BATCH
        rows = slice(5 + (group.rank() - 1) * size, end)
    one = nn.BatchNorm1d(3, momentum=0.3).double()
    inner = nn.SyncBatchNorm.convert_sync_batchnorm(nn.Sequential(copy.deepcopy(one)), group)
    own = whole.detach()[rows].clone().requires_grad_(True)
    mine, all_of_it = inner(own), one(whole)
    (mine * weights[rows]).sum().backward()
    (all_of_it * weights).sum().backward()
    near([mine.detach().numpy(), own.grad.numpy()], [all_of_it.detach().numpy()[rows], whole.grad.numpy()[rows]])  # type: ignore[union-attr]
    sync: Any = inner[0]
    near([sync.running_mean.numpy(), sync.running_var.numpy()], [one.running_mean.numpy(), one.running_var.numpy()])  # type: ignore[union-attr]
    grad = sync.weight.grad.clone()
    all_reduce(grad, group=group)
    near([grad.numpy()], [one.weight.grad.numpy()])  # type: ignore[union-attr]
    assert mine.dtype == minigrad.float64 and sync.num_batches_tracked == 1


def check_a_model_that_is_converted_later(group: ProcessGroup) -> None:
    minigrad.manual_seed(0)
    model = DistributedDataParallel(Tied(), process_group=group).double()
    alone = copy.deepcopy(model.module)
    walk(model, alone, group)
    assert model.module.last.weight.grad.dtype == minigrad.float64
