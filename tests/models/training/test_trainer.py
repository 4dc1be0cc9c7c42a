"""The training loop: when it acts, and the state that it must not change."""

import ast
import math
import os
import random
import signal
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minigrad
from minigrad.optim.lr_scheduler import ReduceLROnPlateau
from minigrad_models.training import Settings, Trainer, averaged_state, read_checkpoint, read_log
from tests.models.training import program
from tests.models.training.program import contents, differences, everything, trainer
from tests.support.cases import raises


def numbers(state: dict[str, Any]) -> dict[str, bytes]:
    return {name: value.numpy(force=True).tobytes() for name, value in state.items()}


def steps_of(folder: Path, kind: str) -> list[int]:
    return [line["step"] for line in read_log(folder) if kind in line]


def test_a_run(tmp_path: Path, device: str) -> None:
    run = trainer(tmp_path, device)
    outcome = run.fit()
    assert (outcome.reason, outcome.step, outcome.finished) == ("steps", 30, True)
    log = read_log(tmp_path)
    assert steps_of(tmp_path, "loss") == list(range(2, 31, 2))
    evaluated = [line for line in log if "evaluation" in line]
    assert [line["step"] for line in evaluated] == [6, 12, 18, 24, 30]
    losses = [line["evaluation"]["loss"] for line in evaluated]
    assert min(losses) < 0.9 * losses[0]
    assert outcome.best == min(losses) and outcome.best_step == 6 * (1 + losses.index(min(losses)))
    assert evaluated[0]["evaluation"]["nan"] is None
    assert log[-2].keys() == {"step", "epoch", "loss", "grad_norm", "lr", "tokens", "seconds"}
    best = read_checkpoint(tmp_path / "best.safetensors")
    assert best["step"] == outcome.best_step and best["metrics"]["loss"] == outcome.best
    last = read_checkpoint(tmp_path / "last.safetensors")
    assert numbers(last["model"]) == numbers(run.model.state_dict())
    assert last["extra"] == best["extra"] == {"config": {"width": 8}}
    assert {p.device.type for p in run.model.parameters()} == {device}


def test_a_run_resumes_on_its_device_and_on_others(tmp_path: Path, device: str) -> None:
    whole = trainer(tmp_path / "whole", device)
    whole.fit()
    for steps in (12, 12, 24):  # a finished run, and one that ends with an evaluation of the longer run
        trainer(tmp_path / "run", device, steps=steps).fit()
    again = trainer(tmp_path / "run", device)
    again.fit()
    assert differences(contents(tmp_path / "run"), contents(tmp_path / "whole")) == []
    assert numbers(again.model.state_dict()) == numbers(whole.model.state_dict())
    here = trainer(tmp_path / "run", "cpu", steps=33)
    assert here.fit().step == 33
    assert here.model.state_dict().keys() == averaged_state(tmp_path / "run").keys()
    here.model.load_state_dict(averaged_state(tmp_path / "run"))


def test_the_log_is_correct(tmp_path: Path) -> None:
    """Each line has the mean loss per token of its updates, the last update's rate, and the tokens so far."""
    losses: list[tuple[float, int]] = []

    def loss(model: Any, batch: Any) -> Any:
        value, weight = program.loss(model, batch)
        losses.append((float(value), weight))
        return value, weight

    run = trainer(tmp_path, loss=loss, steps=4, accumulate=2)
    run.fit()
    lines = [line for line in read_log(tmp_path) if "loss" in line]
    for line, part in zip(lines, (losses[:4], losses[4:]), strict=True):
        assert line["loss"] == pytest.approx(np.average([a for a, _ in part], weights=[w for _, w in part]))
    assert [line["tokens"] for line in lines] == [sum(w for _, w in losses[:4]), sum(w for _, w in losses)]
    assert [line["lr"] for line in lines] == pytest.approx([0.02 * 2 / 5, 0.02 * 4 / 5])


def test_patience(tmp_path: Path) -> None:
    values = iter([5.0, 4.0, 4.0, math.nan, 3.0, 3.0, 3.5, 3.0, 1.0])
    evaluate = lambda model: {"loss": next(values)}
    run = trainer(tmp_path, evaluate=evaluate, steps=100, patience=3)
    outcome = run.fit()
    assert (outcome.reason, outcome.step, outcome.best, outcome.best_step) == ("patience", 48, 3.0, 30)
    again = trainer(tmp_path, evaluate=evaluate, steps=100, patience=3).fit()
    assert (again.reason, again.step) == ("patience", 48), "it is over, and stays so"
    more = trainer(tmp_path, evaluate=evaluate, steps=54, patience=4).fit()
    assert (more.reason, more.best) == ("steps", 1.0)


def test_a_metric_to_maximize_and_a_missing_one(tmp_path: Path) -> None:
    values = iter([1.0, 3.0, 2.0])
    evaluate = lambda model: {"bleu": next(values)}
    run = trainer(tmp_path / "run", evaluate=evaluate, metric="bleu", mode="max", steps=18)
    assert run.fit().best_step == 12
    raises(ValueError, r"returned loss, nan, but not 'bleu'", lambda: trainer(tmp_path, metric="bleu", steps=6).fit())


def test_minutes_and_save_seconds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now, saved = [0.0], []
    monkeypatch.setattr("time.monotonic", lambda: now[0])

    def loss(model: Any, batch: Any) -> Any:
        now[0] += 10
        return program.loss(model, batch)

    def watched(model: Any, batch: Any) -> Any:
        saved.append(read_checkpoint(tmp_path / "saves" / "last.safetensors")["step"])
        return loss(model, batch)

    outcome = trainer(tmp_path, loss=loss, minutes=2, accumulate=1).fit()
    assert (outcome.reason, outcome.step, outcome.seconds) == ("minutes", 12, 120)
    now[0] += 1000  # the time between two runs does not count
    assert trainer(tmp_path, loss=loss, minutes=3, accumulate=1).fit().step == 18
    assert steps_of(tmp_path, "evaluation") == [6, 12, 18]
    saves: dict[str, Any] = {"save_every": None, "save_seconds": 30, "keep_snapshots": 0}
    trainer(tmp_path / "saves", loss=watched, accumulate=1, steps=10, evaluate=None, **saves).fit()
    assert saved == [0, 0, 0, 3, 3, 3, 6, 6, 6, 9]


def test_a_finished_run_is_unchanged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = trainer(tmp_path)
    first.fit()
    before = everything(tmp_path)
    again = trainer(tmp_path)
    outcome = again.fit()
    assert outcome.finished and outcome.step == 30 and outcome.best == first.state.best
    message = f"{tmp_path} holds a finished run of 30 steps; to start another, use a different folder\n"
    assert capsys.readouterr().err == message
    assert everything(tmp_path) == before
    assert numbers(again.model.state_dict()) == numbers(first.model.state_dict())
    assert again.averaged is not None and first.averaged is not None
    assert numbers(again.averaged.state_dict()) == numbers(first.averaged.state_dict())


@pytest.mark.parametrize("fails", [False, True])
def test_an_evaluation_keeps_modes_gradients_and_random_states(tmp_path: Path, fails: bool) -> None:
    """A submodule that the program put into eval mode stays in eval mode."""
    run = trainer(tmp_path, ema_decay=None, steps=6)
    model: Any = run.model
    before: list[Any] = []

    def look() -> list[Any]:
        states = [minigrad.default_generator.clone_state().random64(), np.random.get_state()[2]]
        return [[m.training for m in model.modules()], *states, random.getstate(), minigrad.is_grad_enabled()]

    def loss(model: Any, batch: Any) -> Any:
        model.normed.eval()
        value = program.loss(model, batch)
        before[:] = look()
        return value

    def evaluate(model: Any) -> dict[str, float]:
        assert not any(m.training for m in model.modules()) and not minigrad.is_grad_enabled()
        program.evaluate(model)
        model.train()
        if fails:
            raise KeyError("in the evaluation")
        return {"loss": 1.0}

    run.loss, run.evaluate = loss, evaluate
    with pytest.raises(KeyError, match="in the evaluation") if fails else nullcontext():
        run.fit()
    assert look() == before


def test_the_moving_average_is_evaluated(tmp_path: Path) -> None:
    weights: list[Any] = []

    def evaluate(model: Any) -> dict[str, float]:
        weights.append(numbers(model.state_dict()))
        return {"loss": -float(len(weights))}

    run = trainer(tmp_path, evaluate=evaluate)
    run.fit()
    assert run.averaged is not None
    assert weights[-1] == numbers(run.averaged.module.state_dict()) != numbers(run.model.state_dict())
    assert weights[-1] == numbers(read_checkpoint(tmp_path / "best.safetensors")["model"])


def stopping(at: int, number: int) -> Callable[[Any, Any], Any]:
    """The loss; call number ``at`` sends this process a signal."""
    calls = [0]

    def loss(model: Any, batch: Any) -> Any:
        calls[0] += 1
        if calls[0] == at:
            os.kill(os.getpid(), number)
        return program.loss(model, batch)

    return loss


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The contents of a run of 20 steps that was not stopped."""
    folder = tmp_path_factory.mktemp("whole")
    assert trainer(folder, steps=20).fit().finished
    return contents(folder)


@pytest.mark.skipif(os.name != "posix", reason="no such signals")
@pytest.mark.parametrize(("number", "at"), [(signal.SIGINT, 1), (signal.SIGTERM, 18), (signal.SIGINT, 50)])
def test_stopped_between_updates(tmp_path: Path, number: int, at: int, whole: dict[str, Any], capsys: Any) -> None:
    before = signal.getsignal(number)  # an evaluation is due at the 18th batch
    outcome = trainer(tmp_path, loss=stopping(at, number), steps=20).fit()
    assert signal.getsignal(number) is before
    assert (outcome.reason, outcome.finished, outcome.step) == ("interrupted", False, -(-at // 3))
    assert read_checkpoint(tmp_path / "last.safetensors")["step"] == outcome.step
    assert "stopping as soon as" in capsys.readouterr().err
    assert trainer(tmp_path, steps=20).fit().finished
    assert differences(contents(tmp_path), whole) == []


@pytest.mark.skipif(os.name != "posix", reason="no such signals")
def test_a_run_that_was_stopped_at_its_end_is_evaluated_later(tmp_path: Path) -> None:
    """The checkpoint on disk is from the same step, before its evaluation."""
    stopped = trainer(tmp_path / "run", loss=stopping(18, signal.SIGINT), steps=6).fit()
    assert (stopped.reason, stopped.step, stopped.best) == ("interrupted", 6, None)
    trainer(tmp_path / "run", steps=6).fit()
    trainer(tmp_path / "whole", steps=6).fit()
    assert differences(contents(tmp_path / "run"), contents(tmp_path / "whole")) == []


@pytest.mark.skipif(os.name != "posix", reason="no such signals")
def test_a_second_signal_stops_at_once(tmp_path: Path) -> None:
    def loss(model: Any, batch: Any) -> Any:
        os.kill(os.getpid(), signal.SIGINT)
        return program.loss(model, batch)

    raises(KeyboardInterrupt, None, lambda: trainer(tmp_path, loss=loss).fit())
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert trainer(tmp_path).fit().finished


@pytest.mark.parametrize("name", ["loss", "gradient norm"])
def test_numbers_that_are_not_finite(tmp_path: Path, name: str) -> None:
    run = trainer(tmp_path, steps=30, accumulate=1)
    weights: list[Any] = []

    def loss(model: Any, batch: Any) -> Any:
        value, weight = program.loss(model, batch)
        if run.state.step == 12:
            weights.append(numbers(dict(model.named_parameters())))
            value = value * math.inf if name == "loss" else value + (value * 0).sqrt()
        return value, weight

    run.loss = loss
    raises(RuntimeError, rf"the {name} is (inf|nan) in step 13; .* lower learning rate", run.fit)
    assert numbers(dict(run.model.named_parameters())) == weights[0]
    assert read_checkpoint(tmp_path / "last.safetensors")["step"] == 12


class Carried:
    """A number that each update changes, and on which the losses depend."""

    def __init__(self) -> None:
        self.last = 0.0

    def __call__(self, model: Any, batch: Any) -> tuple[Any, float]:
        mean, weight = program.loss(model, batch)
        mean = mean * (1 + self.last)
        self.last = 1 / (1 + abs(float(mean)))
        return mean, weight

    def state_dict(self) -> dict[str, Any]:
        return {"last": self.last}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.last = state["last"]


def carrying(folder: Path, steps: int, **changed: Any) -> Trainer:
    run = trainer(folder, steps=steps, **changed)
    run.loss = run.carried = Carried()
    return run


def test_carried_state_is_resumed(tmp_path: Path) -> None:
    carrying(tmp_path / "whole", 14).fit()
    for steps in (5, 9, 14):
        carrying(tmp_path / "parts", steps).fit()
    whole, parts = (read_checkpoint(tmp_path / name / "last.safetensors") for name in ("whole", "parts"))
    assert whole["carried"] == parts["carried"] != {"last": 0.0}
    assert numbers(whole["model"]) == numbers(parts["model"])
    raises(ValueError, r"carried \('given' there, None now\)", lambda: trainer(tmp_path / "parts", steps=20).fit())
    trainer(tmp_path / "none", steps=3).fit()
    assert "carried" not in read_checkpoint(tmp_path / "none" / "last.safetensors")
    raises(ValueError, r"carried \(None there, 'given' now\)", lambda: carrying(tmp_path / "none", 20).fit())


@pytest.mark.parametrize("whole", [False, True])
def test_the_programs_modes_are_kept(tmp_path: Path, whole: bool) -> None:
    """A submodule in eval mode stays so from the first update on; a model in eval mode is trained."""
    modes: list[tuple[bool, bool, bool]] = []

    def loss(model: Any, batch: Any) -> Any:
        modes.append((model.training, model.dropout.training, model.normed.training))
        return program.loss(model, batch)

    for steps in (3, 8):
        run = trainer(tmp_path, loss=loss, steps=steps, accumulate=1)
        (run.model if whole else run.model.normed).eval()
        run.fit()
    assert modes == [(True, True, whole)] * 8


def test_without_evaluation(tmp_path: Path) -> None:
    assert trainer(tmp_path, evaluate=None, keep_snapshots=0, ema_decay=None).fit().best is None
    assert contents(tmp_path)["files"] == ["last.safetensors", "log.jsonl"]


WRONG = "steps=0 steps=1.5 accumulate=0 clip=0.0 minutes=-1 patience=0 patience=True ema_decay=1.0 mode='least' "
WRONG += "keep_snapshots=-1 keep_snapshots=True keep_snapshots=1.5 save_seconds=0 snapshot_every=0 log_every=True"


def test_invalid_settings(tmp_path: Path) -> None:
    for words in WRONG.split():
        name, _, value = words.partition("=")
        with pytest.raises(ValueError, match=name):
            program.settings(**{name: ast.literal_eval(value)})
    unused = "patience counts evaluations, so it needs evaluate"
    raises(ValueError, unused, lambda: trainer(tmp_path, evaluate=None, patience=3))
    model = minigrad.nn.Linear(2, 2)
    optimizer = minigrad.optim.SGD(model.parameters(), lr=0.1)
    rows: list[tuple[Any, str]] = [
        (lambda e: 1.0, r"LambdaLR\(optimizer, function\)"),
        (ReduceLROnPlateau(optimizer), "the schedule cannot be a ReduceLROnPlateau"),
    ]
    for schedule, message in rows:
        with pytest.raises(TypeError, match=message):
            Trainer(model, optimizer, None, None, folder=tmp_path, settings=Settings(1), schedule=schedule)
