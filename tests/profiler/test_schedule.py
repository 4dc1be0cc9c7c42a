"""When a profile records: schedules, steps, the handler of a finished trace, and misuse."""

import gzip
import json
import re
from pathlib import Path

import pytest

import minigrad as mg
from minigrad import cuda
from minigrad.profiler import (
    ProfilerAction,
    ProfilerActivity,
    kineto_available,
    profile,
    schedule,
    supported_activities,
    tensorboard_trace_handler,
)
from tests.support.cases import raises

NONE, WARMUP, RECORD, SAVE = ProfilerAction


def test_a_schedule_gives_the_action_of_each_step() -> None:
    letters = {NONE: "N", WARMUP: "W", RECORD: "R", SAVE: "S"}
    for options, expected in [
        ({"wait": 1, "warmup": 1, "active": 2}, "NWRS" * 3),
        ({"wait": 1, "warmup": 1, "active": 1, "repeat": 2}, "NWS" * 2 + "N" * 6),
        ({"wait": 0, "warmup": 1, "active": 1, "skip_first": 3}, "NNN" + "WS" * 4),
        ({"wait": 2, "warmup": 1, "active": 1, "skip_first_wait": 1}, "WS" + "NNWS" * 2),
    ]:
        action = schedule(**options)
        assert "".join(letters[action(step)] for step in range(len(expected))) == expected


def test_a_schedule_that_makes_no_sense_is_refused() -> None:
    for options in ({"wait": -1, "warmup": 1, "active": 1}, {"wait": 1, "warmup": 1, "active": 0}):
        with pytest.raises(ValueError, match="active of at least 1; got wait="):
            schedule(**options)
    with pytest.warns(UserWarning, match="won't be using warmup"):
        schedule(wait=1, warmup=0, active=1)
    raises(ValueError, "step must be at least 0", lambda: schedule(wait=1, warmup=1, active=1)(-1))
    with pytest.warns(UserWarning, match="RECORD followed by NONE"):  # it never saves
        assert run(1, schedule=[RECORD, NONE, NONE].__getitem__)[1] == []


def run(steps: int, **options: object) -> tuple[profile, list[list[str]]]:
    """Profile a program whose step i runs i additions; returns the names in each finished trace."""
    traces: list[list[str]] = []

    def ready(p: profile) -> None:
        traces.append([event.name for event in p.events()])

    x = mg.ones(3)
    with profile(on_trace_ready=ready, **options) as p:  # type: ignore[arg-type]
        for step in range(steps):
            for _ in range(step):
                x + 1
            p.step()
    return p, traces


@pytest.mark.filterwarnings("error")
def test_a_schedule_is_followed() -> None:
    p, traces = run(8, schedule=schedule(wait=1, warmup=1, active=2))
    assert traces == [[f"ProfilerStep#{i}", *["add"] * i, f"ProfilerStep#{i + 1}", *["add"] * (i + 1)] for i in (2, 6)]
    assert {average.key: average.count for average in p.key_averages()} == {"ProfilerStep*": 2, "add": 13}
    p, traces = run(3)  # without a schedule there is one trace, and steps are counted
    assert (traces, p.step_num) == ([["add"] * 3], 3)


def test_rounds_that_end_early_follow_without_a_gap_or_are_kept() -> None:
    p, traces = run(3, schedule=schedule(wait=0, warmup=2, active=5))
    assert traces == [["ProfilerStep#2", "add", "add", "ProfilerStep#3"]] and p.step_num == 3
    assert run(1, schedule=schedule(wait=0, warmup=5, active=5))[1] == []  # a warm-up is not reported
    _, traces = run(3, schedule=lambda step: SAVE)
    assert traces == [[f"ProfilerStep#{i}", *["add"] * (i % 3)] for i in range(4)]
    p, traces = run(3, schedule=schedule(wait=0, warmup=1, active=1), acc_events=True)
    assert traces[-1] == ["ProfilerStep#1", "add", "ProfilerStep#3"] and [event.id for event in p.events()] == [0, 1, 2]


def test_a_handler_that_fails_ends_the_profile_in_order() -> None:
    def ready(p: profile) -> None:
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"), profile(on_trace_ready=ready) as p:
        mg.ones(2) + 1
    assert [average.key for average in p.key_averages()] == ["ones", "add"]
    with profile():
        pass


def test_misuse_and_questions_before_there_is_an_answer() -> None:
    p = profile()
    for ask in (p.events, p.key_averages, p.by_module, p.total_average):
        raises(RuntimeError, "the profile has recorded nothing yet", ask)
    raises(RuntimeError, "nothing yet", lambda: p.export_chrome_trace("trace.json"))
    with p, pytest.raises(RuntimeError, match=r"is still running: .*after the with block"):
        p.key_averages()
    raises(RuntimeError, r"this profile is not running: start\(\) it", p.stop)
    raises(RuntimeError, r"call step\(\) between start\(\) and stop\(\)", p.step)
    with p, pytest.raises(RuntimeError, match="already been started"):
        p.start()
    raises(ValueError, "activities is empty", lambda: profile(activities=[]))
    p.start()  # manually, and again
    mg.ones(2) + 1
    p.stop()
    assert [event.name for event in p.events()] == ["ones", "add"]


def test_activities() -> None:
    expected = {ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if cuda.is_available() else [])}
    assert profile().activities == supported_activities() == expected and not kineto_available()
    if not cuda.is_available():
        for options in ({"activities": [ProfilerActivity.CPU, ProfilerActivity.CUDA]}, {"use_cuda": True}):
            with pytest.warns(UserWarning, match="CUDA is not available, disabling CUDA profiling"):
                assert profile(**options).activities == {ProfilerActivity.CPU}  # type: ignore[arg-type]


def test_each_event_waits_for_the_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[int] = []
    monkeypatch.setattr(cuda, "is_available", lambda: True)
    monkeypatch.setattr(cuda, "synchronize", lambda: waits.append(1))
    monkeypatch.setattr(cuda, "memory_allocated", lambda: 100 * len(waits))
    x = mg.ones(2)
    with profile(activities=[ProfilerActivity.CUDA], profile_memory=True) as p:
        x + 1
    assert len(waits) == 3 and p.events()[0].cpu_memory_usage == 200  # around the op, and at the end
    with profile(activities=[ProfilerActivity.CPU]) as p:
        x + 1
    assert len(waits) == 3


@pytest.mark.parametrize("zipped", [False, True])
def test_traces_for_tensorboard(tmp_path: Path, zipped: bool) -> None:
    folder = tmp_path / "runs" / "one"
    handler = tensorboard_trace_handler(str(folder), "worker", use_gzip=zipped)
    with profile(schedule=schedule(wait=0, warmup=1, active=1), on_trace_ready=handler) as p:
        for _ in range(4):
            mg.ones(2) + 1
            p.step()
    files = sorted(folder.iterdir())
    pattern = rf"worker\.\d+\.pt\.trace\.json{re.escape('.gz') if zipped else ''}"
    assert len(files) == 2 and all(re.fullmatch(pattern, file.name) for file in files)
    data = gzip.decompress(files[0].read_bytes()) if zipped else files[0].read_bytes()
    assert {event["name"] for event in json.loads(data)["traceEvents"]} >= {"add", "ProfilerStep#1"}
    within = tensorboard_trace_handler(str(files[0] / "below"))
    with pytest.raises(RuntimeError, match=r"Can't create directory: .*below"), profile(on_trace_ready=within):
        pass
