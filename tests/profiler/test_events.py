"""The events of a profile, their nesting, and their data."""

import threading
from collections import Counter, OrderedDict
from typing import Any

import pytest

import minigrad as mg
from minigrad import nn
from minigrad.nn import functional as F
from minigrad.profiler import profile, record_function, watch
from minigrad.utils.checkpoint import checkpoint
from minigrad.utils.data import DataLoader, TensorDataset
from tests.support.functions import Cube


class Net(nn.Sequential):
    """Two layers, the second within a block."""

    def __init__(self) -> None:
        super().__init__(OrderedDict(first=nn.Linear(4, 8), block=nn.Sequential(nn.ReLU(), nn.Linear(8, 2))))


def train(net: nn.Module, optimizer: Any, x: mg.Tensor) -> None:
    """One step."""
    optimizer.zero_grad()
    with record_function("loss"):
        loss = (net(x) * 2).sum()
    loss.backward()
    optimizer.step()


def profiled(device: str = "cpu", **options: Any) -> profile:
    """A profile of two steps."""
    net = Net().to(device)
    optimizer = mg.optim.Adam(net.parameters())
    x = mg.randn(3, 4, device=device)
    train(net, optimizer, x)
    with profile(**options) as p:
        for _ in range(2):
            with record_function("step"):
                train(net, optimizer, x)
    return p


def named(p: profile, name: str) -> list[Any]:
    """The events with one name."""
    return [event for event in p.events() if event.name == name]


def path(event: Any) -> list[str]:
    """The names of the events around one, the innermost first."""
    return [event.cpu_parent.name, *path(event.cpu_parent)] if event.cpu_parent else []


def below(event: Any) -> list[Any]:
    """An event and all events within it."""
    return [event, *(inner for child in event.cpu_children for inner in below(child))]


def test_steps_modules_ops_and_their_backward_are_there(device: str) -> None:
    counts = Counter(event.name for event in profiled(device).events())
    twice = ["step", "loss", "Net", "Net.first", "Net.block", "Net.block.1", "relu", "ReluBackward0", "SumBackward0"]
    twice += ["MulBackward0", "backward", "Optimizer.step#Adam.step", "Optimizer.zero_grad#Adam.zero_grad"]
    expected = {**dict.fromkeys(twice, 2), "linear": 4, "AccumulateGrad": 8}
    assert {name: counts[name] for name in expected} == expected
    # if a device has no kernel for it, a linear layer is recorded as the ops of its definition
    assert counts["LinearBackward0"] + counts["MatmulBackward0"] == 4


def test_events_are_nested_and_self_times_add_up_to_the_step() -> None:
    """To the nanosecond. The profile's total, from another clock reading, is at least as long."""
    p = profiled()
    assert path(named(p, "relu")[0]) == ["Net.block.0", "Net.block", "Net", "loss", "step"]
    assert path(named(p, "ReluBackward0")[0])[-2:] == ["backward", "step"]
    assert path(named(p, "Optimizer.step#Adam.step")[1]) == ["step"]
    for event in p.events():
        for child in event.cpu_children:
            assert child.cpu_parent is event and event.start <= child.start <= child.end <= event.end
    for step in named(p, "step"):
        assert sum(event.self_duration for event in below(step)) == step.duration
    whole = sum(event.self_duration for event in p.events())
    assert whole == sum(event.duration for event in p.events() if event.cpu_parent is None)
    assert p.key_averages().self_cpu_time_total == pytest.approx(p.events().total, rel=1e-12)
    assert p.events().total <= p.by_module().profiled


def test_backward_time_belongs_to_the_module_that_made_the_node() -> None:
    before = (mg.ones(3, requires_grad=True) * 2).sum()
    p = profiled()
    nodes = [event for event in p.events() if event.kind == "node"]
    places = {("ReluBackward0", "Net.block.0"), ("LinearBackward0", "Net.first"), ("MulBackward0", "[loss]")}
    assert places <= {(event.name, event.place) for event in nodes}
    phases = [{event.phase for event in events} for events in (nodes, named(p, "Optimizer.step#Adam.step"))]
    assert phases == [{"backward"}, {"other"}]
    for event in nodes:
        assert event.forward.phase == "forward" and event.forward.end <= event.start
        assert event.sequence_nr == event.forward.sequence_nr >= 0
    assert len({event.sequence_nr for event in nodes}) == len(nodes)
    with profile() as p:
        before.backward()  # the graph is from before the profile
    (event,) = named(p, "MulBackward0")
    assert (event.forward, event.place) == (None, "")
    bare = profiled(with_modules=False)
    assert "module" not in {event.kind for event in bare.events()} and named(bare, "relu")[0].place == "[loss]"


def test_bytes_count_results_that_are_no_views() -> None:
    x = mg.ones(5, 4, requires_grad=True)
    with profile() as p:
        y = x.t().reshape(2, 10)[0] * 2
        y.sum().backward()
    sizes = {"transpose": 0, "reshape": 80, "mul": 40, "MulBackward0": 40, "TransposeBackward0": 80}  # reshape copies
    assert {name: named(p, name)[0].bytes for name in sizes} == sizes


@pytest.mark.parametrize("reader", ["malloc", "tracemalloc"])
def test_memory_that_arrays_allocate_and_free(reader: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if reader == "tracemalloc":
        monkeypatch.setattr(watch, "malloc_reader", lambda: None)
    size = 1 << 23
    with profile(profile_memory=True) as p:
        x = mg.zeros(size // 4)
        with record_function("kept"):
            y = x + 1
        with record_function("given back"):
            x + 1
        with record_function("freed"):
            del y
    usage = [named(p, name)[0].cpu_memory_usage for name in ("kept", "given back", "freed")]
    own = [named(p, name)[0].self_cpu_memory_usage for name in ("kept", "add")]
    assert usage + own == pytest.approx([size, 0, -size, 0, size], abs=size // 8)
    assert all(event.cpu_memory_usage == 0 for event in profiled().events())


def test_shapes_and_stacks_are_recorded_on_request() -> None:
    p = profiled(with_stack=True, record_shapes=True)
    assert named(p, "mul")[0].input_shapes == [[3, 2], []] and named(p, "MulBackward0")[0].input_shapes == [[3, 2]]
    assert all(event.input_shapes == event.stack == [] for event in profiled().events())
    relu = named(p, "relu")[0]
    assert relu.stack[0].startswith(__file__) and relu.stack[0].endswith("train")
    assert not any("minigrad/nn" in line for line in relu.stack)
    assert named(p, "ReluBackward0")[0].stack == relu.stack


def test_flops_of_products() -> None:
    with profile(with_flops=True) as p:
        F.linear(mg.ones(5, 4), mg.ones(3, 4))
        mg.ones(2, 3, 4) @ mg.ones(2, 4, 6)
        F.conv1d(mg.ones(1, 2, 9), mg.ones(5, 2, 3))
        mg.ones(7) * mg.ones(7)
        mg.ones(7).exp()
    flops = {"linear": 2 * 5 * 4 * 3, "matmul": 2 * 2 * 3 * 4 * 6, "convolve": 2 * 35 * 2 * 3, "mul": 7, "exp": 0}
    assert {name: named(p, name)[0].flops for name in flops} == flops


def test_modules_are_named_by_the_outermost_that_is_called() -> None:
    net, other, loose = Net(), Net(), nn.ReLU()

    class Holder(nn.Module):
        """Calls a layer that is not registered, and one that is registered twice."""

        def __init__(self) -> None:
            super().__init__()
            self.one = self.two = nn.Tanh()

        def forward(self, x: mg.Tensor) -> mg.Tensor:
            return loose(self.two(self.one(x)))

    with profile() as p:
        net(mg.ones(1, 4))
        net.block(mg.ones(1, 8))
        other(mg.ones(1, 4))
        Holder()(mg.ones(1))
    counts = Counter(event.name for event in p.events() if event.kind == "module")
    assert counts["Net.block"] == 2 and counts["Net#2.block"] == 1
    assert counts["Holder.one"] == 2 and counts["Holder.ReLU"] == 1


def test_second_order_and_recomputation_are_in_their_modules() -> None:
    net = Net()
    x = mg.ones(3, 4, requires_grad=True)
    with profile() as p:
        (g,) = mg.autograd.grad(net(x).pow(2).sum(), x, create_graph=True)
        g.sum().backward()
        checkpoint(net.first, x, use_reentrant=False).sum().backward()
    first = [event for event in p.events() if event.place == "Net.first"]
    assert {event.phase for event in first} == {"forward", "backward"}
    (again,) = (event for event in first if event.kind == "module" and event.phase == "backward")
    assert path(again)[-1] == "backward" and named(p, "grad")
    for root in (event for event in p.events() if event.cpu_parent is None):
        assert sum(event.self_duration for event in below(root)) == root.duration


def test_changes_in_place_and_custom_functions() -> None:
    x = mg.ones(3, requires_grad=True)
    with profile() as p:
        y = Cube.apply(x)
        y.add_(1)
        y[0] = 5.0
        y.sum().backward()
    counts = Counter(event.name for event in p.events())
    assert counts["Cube"] == counts["CubeBackward"] == counts["add_"] == counts["copy_"] == 1
    assert named(p, "CubeBackward")[0].forward is named(p, "Cube")[0]
    assert named(p, "add_")[0].cpu_children[0].name == "add"


def test_batches_of_a_loader_are_timed_with_and_without_workers() -> None:
    data = TensorDataset(mg.arange(6.0))
    with profile() as p:
        batches = [batch[0].tolist() for batch in DataLoader(data, batch_size=3)]
        batches += [batch[0].tolist() for batch in DataLoader(data, batch_size=3, num_workers=1)]
    assert batches == [[0, 1, 2], [3, 4, 5]] * 2
    counts = Counter(event.name for event in p.events())
    for kind in ("SingleProcess", "MultiProcessing"):  # plus the call that reaches the end
        assert counts[f"enumerate(DataLoader)#_{kind}DataLoaderIter.__next__"] == 3


def test_each_thread_has_its_own_events() -> None:
    x = mg.ones(3)
    begin, go = threading.Event(), threading.Event()

    def work() -> None:
        with record_function("in a thread"):
            x + 1
            begin.set()
            go.wait(10)
            x - 1

    thread = threading.Thread(target=work)
    with profile() as p, record_function("in the program"):
        thread.start()
        begin.wait(10)
        x * 2
    go.set()
    thread.join()
    (mine,), (other,) = named(p, "in the program"), named(p, "in a thread")
    assert mine.thread == threading.get_native_id() != other.thread and other.cpu_parent is None
    assert [child.name for event in (mine, other) for child in event.cpu_children] == ["mul", "add"]
    assert not named(p, "sub") and other.end >= other.start  # the profile had ended


def test_an_error_closes_the_events_it_leaves() -> None:
    before, late = record_function("before"), record_function("late")
    before.__enter__()
    with profile() as p:
        before.__exit__()
        with pytest.raises(RuntimeError, match="matmul"), record_function("bad"):
            mg.ones(2, 3) @ mg.ones(2, 3)
        mg.ones(2) + 1
        late.__enter__()  # marks may stay open, and be closed late
        mg.ones(2) - 1
    late.__exit__()
    assert path(named(p, "matmul")[0]) == ["bad"] and named(p, "matmul")[0].cpu_children == []
    assert named(p, "add")[0].cpu_parent is None and path(named(p, "sub")[0]) == ["late"]
    assert not named(p, "before") and named(p, "late")[0].end > 0


def test_a_mark_on_a_function_that_calls_itself() -> None:
    @record_function("down")
    def down(n: int) -> int:
        return n and down(n - 1)

    with profile() as p:
        down(2)
    assert [path(event) for event in named(p, "down")] == [[], ["down"], ["down", "down"]]
    (average,) = p.key_averages()  # the inner ones are within
    assert (average.count, average.cpu_time_total) == (3, named(p, "down")[0].cpu_time_total)
