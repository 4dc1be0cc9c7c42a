"""``torch.autograd.profiler``, and programs that profile themselves with PyTorch's names."""

import subprocess
import sys
from pathlib import Path

import pytest

import minigrad as mg
from tests.support.cases import raises

ROOT = Path(__file__).parents[2]
PROGRAM = """
import torch
import torch.profiler
from torch.autograd.profiler import record_function as older
from torch.autograd.profiler_util import EventList
from torch.profiler import ProfilerActivity, profile, record_function, schedule, tensorboard_trace_handler
from torch.profiler.profiler import supported_activities
from tests.support.cases import raises

net = torch.nn.Linear(3, 3)
with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as prof:
    with record_function("model_inference"), older("inner"):
        net(torch.randn(2, 3)).sum().backward()
averages = prof.key_averages(group_by_input_shape=True)
assert isinstance(averages, EventList)
print(averages.table(sort_by="cuda_time_total", row_limit=10))
prof.export_chrome_trace("trace.json")

with torch.autograd.profiler.profile(use_cuda=False) as prof:
    torch.ones(3) + 1
print(prof.key_averages().table(sort_by="self_cpu_time_total"))

plan = schedule(wait=1, warmup=1, active=1, repeat=1)
with torch.profiler.profile(schedule=plan, on_trace_ready=tensorboard_trace_handler("log")) as prof:
    for _ in range(4):
        torch.ones(3) * 2
        prof.step()
"""


def test_a_program_that_profiles_itself(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    command = [sys.executable, "-m", "minigrad", "compat", "program.py"]
    env = {"PYTHONPATH": str(ROOT)}
    ran = subprocess.run(command, cwd=tmp_path, env=env, check=False, text=True, capture_output=True)
    assert ran.returncode == 0, ran.stderr
    for name in ("model_inference", "inner", "linear", "LinearBackward0", "[[2, 3], [3, 3], [3]]", "add"):
        assert name in ran.stdout
    assert (tmp_path / "trace.json").exists() and len(list((tmp_path / "log").iterdir())) == 1


def test_the_older_profile_is_its_own_list() -> None:
    profile = mg.autograd.profiler.profile
    with profile(profile_memory=True) as p:
        assert str(p) == "<unfinished torch.autograd.profile>"
        mg.ones(3) + 1
        mg.ones(3) + 1
    assert [event.name for event in p.function_events] == ["ones", "add"] * 2
    assert str(p).count("\nadd") == 2 and "CPU Mem" in p.table(row_limit=1)
    total = p.total_average().self_cpu_time_total  # added one by one; Python 3.12's ``sum`` rounds less
    assert p.self_cpu_time_total == pytest.approx(total) and total > 0
    with profile(enabled=False) as off:
        mg.ones(3)
    raises(RuntimeError, "nothing yet", off.key_averages)


def test_names_match_the_profiler() -> None:
    assert mg.autograd.profiler.record_function is mg.profiler.record_function
    assert mg.autograd.profiler_util.EventList is type(mg.autograd.profiler.EventList())
    assert issubclass(mg.autograd.profiler.profile, mg.profiler.profile)
    with pytest.raises(NotImplementedError, match=r"no torch\.profiler\.itt\.range_push: use profile"):
        mg.profiler.itt.range_push("x")
