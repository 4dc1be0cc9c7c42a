"""Checks of ZeroRedundancyOptimizer on each rank: weights and states equal those of a single optimiser."""

import copy
from typing import Any

import numpy as np

import minigrad
from minigrad import Tensor, nn, optim
from minigrad.distributed import ProcessGroup, broadcast_object_list
from minigrad.optim.zero_redundancy import ZeroRedundancyOptimizer
from tests.support.ranks import at_least, raised

draw = np.random.default_rng(0)
X, Y = minigrad.tensor(draw.normal(size=(8, 6))).float(), minigrad.tensor(draw.normal(size=(8, 3))).float()
OPTIMIZERS: list[tuple[type[optim.Optimizer], dict[str, Any]]] = [
    (optim.Adam, {"lr": 0.01, "amsgrad": True}),
    (optim.AdamW, {"lr": 0.01, "weight_decay": 0.1}),
    (optim.Adamax, {"lr": 0.01}),
    (optim.NAdam, {"lr": 0.01}),
    (optim.RAdam, {"lr": 0.01}),
    (optim.Adagrad, {"lr": 0.01}),
    (optim.Adadelta, {"lr": 0.5}),
    (optim.RMSprop, {"lr": 0.01, "momentum": 0.5, "centered": True}),
    (optim.SGD, {"lr": 0.01, "momentum": 0.9, "nesterov": True}),
    (optim.ASGD, {"lr": 0.01}),
    (optim.Rprop, {"lr": 0.01}),
    (optim.Adafactor, {"lr": 0.01}),
    (optim.MuonWithAdamW, {"lr": 0.01}),
]


def model_of(dtype: Any = minigrad.float32) -> nn.Module:
    minigrad.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 40), nn.ReLU(), nn.Linear(40, 3)).to(dtype)


def groups(model: nn.Module, kind: type[optim.Optimizer]) -> list[dict[str, Any]]:
    a, b, c, d = model.parameters()
    if kind is optim.MuonWithAdamW:
        return [{"params": [a, c], "muon": True}, {"params": [b, d]}]
    return [{"params": [a, b]}, {"params": [c, d], "lr": 0.02}]


def step(model: nn.Module, optimizer: optim.Optimizer) -> None:
    optimizer.zero_grad()
    dtype = next(model.parameters()).dtype
    ((model(X.to(dtype)) - Y.to(dtype)) ** 2).mean().backward()
    optimizer.step()


def same_weights(one: nn.Module, other: nn.Module) -> None:
    for a, b in zip(one.parameters(), other.parameters(), strict=True):
        assert minigrad.equal(a, b), (a, b)


def same_state(mine: dict[str, Any], whole: dict[str, Any]) -> None:
    assert mine["param_groups"] == whole["param_groups"] and mine["state"].keys() == whole["state"].keys()
    for number, values in whole["state"].items():
        assert mine["state"][number].keys() == values.keys()
        for name, value in values.items():
            actual = mine["state"][number][name]
            if isinstance(value, Tensor):
                assert (actual.shape, actual.dtype) == (value.shape, value.dtype), name
                assert minigrad.equal(actual, value), name
            else:
                assert actual == value


def check_steps_and_state_equal_a_single_optimiser(group: ProcessGroup) -> None:
    for kind, options in OPTIMIZERS:
        model = model_of()
        alone = copy.deepcopy(model)
        shared = ZeroRedundancyOptimizer(groups(model, kind), kind, group, **options)
        whole = kind(groups(alone, kind), **options)
        for _ in range(4):
            step(model, shared)
            step(alone, whole)
        shared.param_groups[0]["lr"] = whole.param_groups[0]["lr"] = 0.001  # a schedule
        step(model, shared)
        step(alone, whole)
        same_weights(model, alone)
        shared.consolidate_state_dict()
        box: list[Any] = [shared.state_dict() if group.rank() == 0 else None]
        broadcast_object_list(box, group=group, group_src=0)
        same_state(box[0], whole.state_dict())
        again = ZeroRedundancyOptimizer(groups(model, kind), kind, group, **options)
        again.load_state_dict(box[0])
        step(model, again)
        step(alone, whole)
        same_weights(model, alone)


def check_memory_falls_with_the_ranks(group: ProcessGroup) -> None:
    model = model_of()
    layer, *rest = model.parameters()
    shared = ZeroRedundancyOptimizer(model.parameters(), optim.AdamW, group, lr=0.01)
    step(model, shared)
    own = sum(v.numel() for s in shared.state.values() for name, v in s.items() if name != "step")
    largest, others = layer.numel(), sum(p.numel() for p in rest)
    expected = [largest + others] if group.size() == 1 else [largest] if group.rank() == 0 else range(1, others + 1)
    assert own / 2 in expected


def check_a_parameter_that_is_not_contiguous(group: ProcessGroup) -> None:
    weight = minigrad.ones(4, 6).t().requires_grad_(True)
    assert not weight.is_contiguous()
    twin = weight.detach().clone().requires_grad_(True)
    shared = ZeroRedundancyOptimizer([weight], optim.Adam, group, lr=0.1)
    whole = optim.Adam([twin], lr=0.1)
    for p, optimizer in ((weight, shared), (twin, whole)):
        (p * minigrad.arange(24.0).reshape(6, 4)).sum().backward()
        optimizer.step()
    assert minigrad.allclose(weight, twin) and not minigrad.equal(weight, minigrad.ones(6, 4))


def check_parameters_without_gradients_and_new_groups(group: ProcessGroup) -> None:
    a, b, c = (minigrad.ones(5, requires_grad=True) for _ in range(3))
    shared = ZeroRedundancyOptimizer([a, b], optim.SGD, group, lr=0.5)
    a.sum().backward()
    shared.step()
    assert a.tolist() == [0.5] * 5 and b.tolist() == [1.0] * 5
    shared.add_param_group({"params": [c], "lr": 0.25})
    shared.zero_grad()
    assert a.grad is None

    def closure() -> Tensor:
        loss = (a + c).sum()
        loss.backward()
        return loss

    assert shared.step(closure).item() == 7.5
    assert a.tolist() == [0.0] * 5 and c.tolist() == [0.75] * 5


def check_refusals(group: ProcessGroup) -> None:
    model = model_of()
    shared = ZeroRedundancyOptimizer(model.parameters(), optim.AdamW, group, lr=0.01)
    assert "has not been consolidated" in raised(RuntimeError, shared.state_dict)
    raised(TypeError, lambda: ZeroRedundancyOptimizer(model.parameters(), 3, group))  # type: ignore[arg-type]
    overlapping = lambda: ZeroRedundancyOptimizer(model.parameters(), optim.SGD, group, overlap_with_ddp=True, lr=0.1)
    raised(NotImplementedError, overlapping)
    other = {"state": {}, "param_groups": [{"params": [0]}]}
    assert "doesn't match" in raised(ValueError, lambda: shared.load_state_dict(other))


@at_least(2)
def check_state_on_another_rank(group: ProcessGroup) -> None:
    model = model_of()
    shared = ZeroRedundancyOptimizer(model.parameters(), optim.AdamW, group, lr=0.01)
    step(model, shared)
    shared.consolidate_state_dict(to=group.size() - 1)
    if group.rank() == group.size() - 1:
        assert len(shared.state_dict()["state"]) == 4
    else:
        raised(RuntimeError, shared.state_dict)
