"""Settings of updates become parameter groups and learning rates."""

import pytest

import minigrad as mg
from minigrad_models.gpt.gpt2 import GPT2, Config
from minigrad_models.programs.settings import Updates


def groups(s: Updates, decay_vectors: bool) -> list[tuple[set[str], float]]:
    """The kinds of parameters in each group of an optimiser, and the group's weight decay."""
    model = GPT2(Config(9, 8, 8, 2, 2))
    names = {id(p): name for name, p in model.named_parameters()}
    optimizer = s.make_optimizer(model, (0.9, 0.99), 1e-8, decay_vectors)
    assert sorted(id(p) for group in optimizer.param_groups for p in group["params"]) == sorted(names)

    def kind(p: mg.Tensor) -> str:
        return "table" if "embedding" in names[id(p)] else "matrix" if p.ndim == 2 else "vector"

    return [({kind(p) for p in group["params"]}, float(group["weight_decay"])) for group in optimizer.param_groups]


def test_parameters_with_weight_decay() -> None:
    adam, muon = (Updates(optimizer=name, weight_decay=0.5) for name in ("adamw", "muon"))
    assert groups(adam, True) == [({"table", "matrix", "vector"}, 0.5)]
    assert groups(adam, False) == [({"table", "matrix"}, 0.5), ({"vector"}, 0.0)]
    assert groups(muon, True) == [({"matrix"}, 0.5), ({"table", "vector"}, 0.5)]
    assert groups(muon, False) == [({"matrix"}, 0.5), ({"table"}, 0.5), ({"vector"}, 0.0)]


def test_cosine_ends_at_the_final_rate_and_warm_up_must_end() -> None:
    s = Updates(steps=24, warm_up=4, schedule="cosine")
    assert [s.rate(0.1)(e) for e in (3, 14, 24)] == pytest.approx([1.0, 0.55, 0.1])
    assert s.rate()(24) == pytest.approx(0.0)
    for name in ("cosine", "linear", "inverse_sqrt_with_decay"):
        with pytest.raises(ValueError, match=r"--warm-up \(50\) must be less than --steps \(50\)"):
            Updates(schedule=name, warm_up=50, steps=50).rate()
    Updates(schedule="inverse_sqrt", warm_up=50, steps=50).rate()


def test_zeros_mean_no_limit() -> None:
    loop = Updates(clip=0.0, save_seconds=0.0, patience=0).loop_settings(True, unit="bytes")
    limits = (loop.clip, loop.save_seconds, loop.patience, loop.minutes, loop.ema_decay)
    assert limits == (None,) * 5 and loop.unit == "bytes"
    assert Updates(patience=3).loop_settings(False).patience is None  # without evaluations there is no patience


def test_an_update_changes_every_weight() -> None:
    model = GPT2(Config(9, 8, 8, 2, 1))
    optimizer = Updates(optimizer="muon").make_optimizer(model, (0.9, 0.99), 1e-8, decay_vectors=False)
    model.loss(mg.tensor([[1, 2, 3]]), mg.tensor([[2, 3, 4]])).backward()
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    optimizer.step()
    assert all(not mg.equal(p, before[name]) for name, p in model.named_parameters() if p.grad.abs().max() > 0)
