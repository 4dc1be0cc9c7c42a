"""The same program under ``torch.profiler`` and under ours."""

import inspect
import re
from collections import Counter
from operator import attrgetter
from typing import Any

import pytest

import minigrad
from minigrad import profiler as ours
from tests.support.parity import torch

pytestmark = pytest.mark.filterwarnings("ignore:Warning. Profiler clears events")
STEPS = 3
# Ops that PyTorch's gradient rules also call (mul, pow) are counted by their backward nodes.
COUNTED = [
    *("randn", "relu", "linear", "add", "mean", "layer_norm", "stack", "scaled_dot_product_attention"),
    *("AddBackward0", "MulBackward0", "PowBackward0", "MeanBackward0", "ReluBackward0", "AccumulateGrad"),
    *("step", "Optimizer.step#Adam.step", "Optimizer.zero_grad#Adam.zero_grad"),
    "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
]


def program(lib: Any, **options: Any) -> Any:
    """A few steps of training with PyTorch's names, under the library's profile."""
    nn, data = lib.nn, lib.utils.data
    net = nn.Sequential(nn.Linear(4, 8), nn.LayerNorm(8), nn.ReLU(), nn.Linear(8, 3))
    optimizer = lib.optim.Adam(net.parameters())
    loader = data.DataLoader(data.TensorDataset(lib.zeros(2 * STEPS, 4)), batch_size=2)
    with lib.profiler.profile(activities=[lib.profiler.ProfilerActivity.CPU], **options) as p:
        for (x,) in loader:
            with lib.profiler.record_function("step"):
                optimizer.zero_grad()
                logits = net(x + lib.randn(2, 4))
                loss = nn.functional.cross_entropy(logits, lib.tensor([0, 1])) + (logits * logits).pow(2).mean()
                q = logits.reshape(1, 1, 2, 3)
                nn.functional.scaled_dot_product_attention(q, q, q)
                loss.backward()
                optimizer.step()
    return p


def counts(p: Any) -> Counter[str]:
    """The number of calls of each op; PyTorch's names without the namespace."""
    return Counter({average.key.rpartition("::")[2]: average.count for average in p.key_averages()})


@pytest.mark.nightly  # PyTorch takes ten seconds to start
def test_as_many_calls_and_the_same_columns_as_in_pytorch() -> None:
    ours, theirs = (program(lib, profile_memory=True, record_shapes=True, with_flops=True) for lib in (minigrad, torch))
    actual, expected = counts(ours), counts(theirs)
    assert min(expected[name] for name in COUNTED) > 0
    assert {name: actual[name] for name in COUNTED} == {name: expected[name] for name in COUNTED}
    lines = [p.key_averages(group_by_input_shape=True).table().splitlines()[1] for p in (ours, theirs)]
    own, others = ({text for text in re.split(r"\s{2,}", line.strip()) if text} for line in lines)
    assert own == others | {"Bytes"} and {"Self CPU %", "CPU Mem", "Total FLOPs", "Input Shapes"} <= others


def test_signatures_have_pytorchs_keywords() -> None:
    functions = ["profiler.profile", "profiler.schedule", "profiler.tensorboard_trace_handler"]
    functions += ["profiler.profile.key_averages", "autograd.profiler.profile"]
    pairs = [[attrgetter(name)(library) for library in (minigrad, torch)] for name in functions]
    for mine, theirs in [*pairs, (ours.averages.EventList.table, torch.autograd.profiler_util.EventList.table)]:
        missing = set(inspect.signature(theirs).parameters) - set(inspect.signature(mine).parameters)
        assert not missing, f"{theirs.__qualname__} takes {missing}"
    assert {a.name for a in ours.ProfilerAction} <= {a.name for a in torch.profiler.ProfilerAction}
    assert {a.name for a in ours.ProfilerActivity} <= set(dir(torch.profiler.ProfilerActivity))
