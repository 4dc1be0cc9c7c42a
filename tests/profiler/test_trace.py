"""The files: a Chrome trace, and stacks for flame graphs."""

import gzip
import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest

import minigrad as mg
from minigrad import nn
from minigrad.profiler import profile, record_function
from tests.support.cases import raises


@pytest.fixture(scope="module")
def finished() -> profile:
    """A profile of a step, and of an op in another thread."""
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU())
    x = mg.ones(3, 4)
    with profile(record_shapes=True, with_stack=True, profile_memory=True, with_flops=True) as p:
        with record_function("step"):
            net(x).sum().backward()
        thread = threading.Thread(target=lambda: x * 2)
        thread.start()
        thread.join()
    return p


def read(p: profile, path: Path) -> dict[str, Any]:
    """The trace, written and read again by a strict JSON reader, which rejects NaN."""
    p.export_chrome_trace(path)

    def refuse(constant: str) -> None:
        raise ValueError(constant)

    trace: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"), parse_constant=refuse)
    return trace


def test_each_event_is_a_slice(finished: profile, tmp_path: Path) -> None:
    trace = read(finished, tmp_path / "trace.json")
    slices = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    assert len(slices) == len(finished.events())
    for event, item in zip(finished.events(), slices, strict=True):
        assert (item["name"], item["tid"], item["pid"]) == (event.name, event.thread, os.getpid())
        assert item["ts"] == pytest.approx(event.start / 1000, abs=1e-3)
        assert item["dur"] == pytest.approx(event.duration / 1000, abs=1e-3)
        assert item["args"]["External id"] == event.id
    kinds = {event["name"]: event["cat"] for event in slices}
    assert kinds["linear"] == kinds["LinearBackward0"] == "cpu_op"
    assert (kinds["step"], kinds["Sequential.0"]) == ("user_annotation", "python_function")
    assert trace["displayTimeUnit"] == "ms" and trace["schemaVersion"] == 1

    slices = {event["name"]: event for event in slices}
    linear, backward = slices["linear"]["args"], slices["LinearBackward0"]["args"]
    assert linear["Input Dims"] == [[3, 4], [8, 4], [8]]
    assert linear["Bytes"] == 3 * 8 * 4 and linear["FLOPs"] == 2 * 3 * 4 * 8
    assert slices["Sequential.0"]["args"]["Class"] == "Linear"
    assert linear["Module"] == backward["Module"] == "Sequential.0"
    assert (linear["Phase"], backward["Phase"]) == ("forward", "backward")
    assert linear["Sequence number"] == backward["Sequence number"]
    assert backward["Fwd thread id"] == threading.get_native_id()
    assert __file__ in linear["Call stack"]


def test_arrows_point_from_ops_to_their_backward_and_every_thread_has_a_name(finished: profile, tmp_path: Path) -> None:
    events = read(finished, tmp_path / "trace.json")["traceEvents"]
    arrows = [event for event in events if event.get("cat") == "fwdbwd"]
    begins, ends = ({event["id"]: event for event in arrows if event["ph"] == end} for end in "sf")
    assert begins.keys() == ends.keys() and len(arrows) == 2 * len(begins)
    at = {(event["tid"], event["ts"]): event["name"] for event in events if event["ph"] == "X"}
    pairs = {(at[b["tid"], b["ts"]], at[ends[i]["tid"], ends[i]["ts"]]) for i, b in begins.items()}
    assert pairs == {("linear", "LinearBackward0"), ("relu", "ReluBackward0"), ("sum", "SumBackward0")}
    assert all(event["bp"] == "e" for event in ends.values())
    threads = {event["tid"] for event in events if event["ph"] == "X"}
    assert len(threads) == 2 and threads == {event["tid"] for event in events if event["name"] == "thread_name"}


def test_a_compressed_trace_and_metadata(finished: profile, tmp_path: Path) -> None:
    finished.add_metadata("model", "small")
    finished.add_metadata_json("sizes", "[1, 2]")
    finished.export_chrome_trace(str(tmp_path / "trace.json.gz"))
    trace = json.loads(gzip.decompress((tmp_path / "trace.json.gz").read_bytes()))
    assert trace["model"] == "small" and trace["sizes"] == [1, 2]
    raises(ValueError, "Expecting value", lambda: finished.add_metadata_json("sizes", "one"))
    finished.events().export_chrome_trace(tmp_path / "other.json")
    assert len(json.loads((tmp_path / "other.json").read_text())["traceEvents"]) == len(trace["traceEvents"])


def test_stacks_hold_the_self_times(tmp_path: Path) -> None:
    path = tmp_path / "stacks.txt"
    x = mg.ones(400, 400)
    with profile(with_stack=True) as p:
        for _ in range(20):
            x @ x
    p.export_stacks(path)
    ((stack, time),) = (line.rsplit(" ", 1) for line in path.read_text(encoding="utf-8").splitlines())
    assert stack.split(";")[-1].startswith(__file__.replace(" ", "_"))
    assert int(time) == sum(event.self_duration for event in p.events()) // 1000


def test_files_that_cannot_be_written(finished: profile, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"cannot write the trace: .*nowhere"):
        finished.export_chrome_trace(tmp_path / "nowhere" / "trace.json")
    with pytest.raises(IsADirectoryError, match="cannot write the stacks"):
        finished.export_stacks(tmp_path, "self_cpu_time_total")
    with profile() as p:
        mg.ones(2)
    with pytest.raises(ValueError, match=r"no stacks were recorded: pass with_stack=True to profile\(\)"):
        p.export_stacks(tmp_path / "stacks.txt")
    with pytest.raises(ValueError, match="metric must be one of self_cpu_time_total"):
        p.export_stacks(tmp_path / "stacks.txt", "speed")
