"""KeyboardInterrupt at many moments: every temporary setting is restored."""

import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

import minigrad as mg
from minigrad import nn
from minigrad.autograd.mode import at_end
from minigrad.autograd.observer import Observer, observed
from minigrad.backend.random import default_generator
from minigrad.func import functional_call
from minigrad.profiler.watched import untouched
from minigrad.viz.attention.attention_record import in_evaluation
from minigrad_models.training.trainer_settings import undisturbed
from tests.support.cases import each
from tests.support.interrupts import Lines, modes

ROOT = Path(__file__).parent.parent


AT_NIGHT = [("mlp", True), ("transformer", False), ("transformer", True)]


@pytest.mark.parametrize(
    ("kind", "compiled"), [("mlp", False), *(pytest.param(*row, marks=pytest.mark.nightly) for row in AT_NIGHT)]
)
def test_a_step_of_training(kind: str, compiled: bool) -> None:
    """In a separate process, whose compiled loops use threads."""
    environment = {name: text for name, text in os.environ.items() if not name.endswith("_NUM_THREADS")}
    environment |= {"MINIGRAD_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2", "PYTHONPATH": str(ROOT)}
    environment["MINIGRAD_FAST"] = str(int(compiled))
    command = [sys.executable, "-m", "tests.support.interrupts", kind]
    ran = subprocess.run(command, check=False, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert ran.returncode == 0, ran.stderr
    (summary,) = ran.stdout.splitlines()  # and no line about a setting that was not restored
    assert summary.endswith(f" moments, threads: {compiled}"), summary


def in_context(context: Callable[[], AbstractContextManager[Any]]) -> Callable[[], object]:
    def call() -> None:
        with context():
            mg.rand(2)

    return call


MODEL = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2), nn.Dropout(0.5))
X = mg.arange(6.0).view(3, 2)


@mg.no_grad()
def without_gradients() -> None:
    MODEL(X)


@mg.inference_mode()
def generator() -> Any:
    yield MODEL(X)


CALLS: dict[str, Callable[[], object]] = {
    "no_grad": without_gradients,
    "a generator": lambda: list(generator()),
    "backward": lambda: MODEL(X).sum().backward(),
    "checkpoint": lambda: mg.utils.checkpoint.checkpoint(MODEL, X, use_reentrant=False).sum().backward(),
    "observed": in_context(lambda: observed(Observer())),
    "fork_rng": in_context(mg.random.fork_rng),
    "untouched": in_context(lambda: untouched(MODEL)),
    "undisturbed": in_context(lambda: undisturbed(MODEL)),
    "cached": in_context(nn.utils.parametrize.cached),
    "functional_call": lambda: functional_call(MODEL, {"0.bias": mg.ones(2), "0.weight": mg.ones(2, 2)}, (X,)),
    "update_bn": lambda: mg.optim.swa_utils.update_bn([X], MODEL),
    "gradcheck": lambda: mg.autograd.gradcheck(mg.sin, mg.ones(2, dtype=mg.float64, requires_grad=True)),
    "flags": in_context(lambda: mg.backends.cudnn.flags(enabled=False)),
    "safe_globals": in_context(lambda: mg.serialization.safe_globals([Observer])),
    "in_evaluation": in_context(lambda: in_evaluation(MODEL)),
}


def everything() -> dict[str, Any]:
    """All settings that any of the calls changes."""
    from minigrad.compat import overrides
    from minigrad.nn.utils import parametrize
    from minigrad.serialization import allowed

    return modes() | {
        "modules": [(m.training, vars(m).get("momentum")) for m in MODEL.modules()],
        "parameters": [(id(p), p.requires_grad) for p in MODEL.parameters()],
        "cache": parametrize._cache.get(),
        "classes": dict(allowed.safe),
        "cudnn": mg.backends.cudnn.enabled,
        "asked": (overrides._state.ask_classes, overrides._state.ask_modes),
    }


def test_calls() -> None:
    """Interrupt before the first run of each library line; if there are many lines, before about 30."""

    def check(name: str) -> None:
        default_generator.manual_seed(0)
        first = Lines()
        first.run(CALLS[name])
        before, places = everything(), dict.fromkeys(first.places)
        for place in list(places)[:: 1 + len(places) // 30]:
            Lines(first.places.index(place) + 1).run(CALLS[name])
            assert everything() == before, place
        assert places

    each(CALLS, check)


def test_random_numbers_are_restored() -> None:
    first = Lines()
    first.run(CALLS["fork_rng"])
    start = default_generator.get_state()
    for at in range(1, len(first.places) + 1):
        default_generator.set_state(start)
        if Lines(at).run(lambda: in_context(mg.random.fork_rng)()):
            assert bool((default_generator.get_state() == start).all()), first.places[at - 1]


def test_at_end_calls_whatever_happens() -> None:
    calls: list[int] = []

    def use() -> None:
        with at_end(calls.append, 1) as end, end:
            calls.append(0)

    first = Lines()
    first.run(use)
    assert calls == [0, 1, 1]
    for at in range(1, len(first.places) + 1):
        calls.clear()
        assert Lines(at).run(use)
        assert not calls or calls[-1] == 1
