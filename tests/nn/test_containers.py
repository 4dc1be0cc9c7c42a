"""Sequential, ModuleList, ModuleDict, ParameterList, ParameterDict, Identity."""

from collections import OrderedDict
from typing import Any

import minigrad
from minigrad import nn
from tests.support.both import outcome
from tests.support.cases import cases, programs, raises
from tests.support.parity import torch


def test_sequential() -> None:
    first, second = nn.Linear(2, 3), nn.Linear(3, 1)
    net = nn.Sequential(first, nn.ReLU(), second)
    x = minigrad.randn(4, 2)
    assert net(x).tolist() == second(first(x).relu()).tolist()
    assert len(net) == 3 and net[0] is first and net[-1] is second
    assert isinstance(net[:2], nn.Sequential) and len(net[:2]) == 2 and net[:2][0] is first
    assert [type(m).__name__ for m in net] == ["Linear", "ReLU", "Linear"]
    net.append(nn.Identity())
    assert list(dict(net.named_children())) == ["0", "1", "2", "3"]
    del net[1]
    assert list(dict(net.named_children())) == ["0", "1", "2"] and net[1] is second
    net[0] = nn.Identity(3, unused=True)
    assert isinstance(net[0], nn.Identity) and net[0](x) is x
    net.insert(0, nn.Tanh())
    assert isinstance(net[0], nn.Tanh) and len(net) == 4
    assert isinstance(net.pop(0), nn.Tanh)
    raises(IndexError, "out of range: Sequential has 3 entries", lambda: net[3])


def test_module_list() -> None:
    layers = nn.ModuleList([nn.Linear(2, 2) for _ in range(3)])
    assert len(list(layers.parameters())) == 6
    assert isinstance(layers[1:], nn.ModuleList) and layers[1:][0] is layers[1]
    layers.extend([nn.Identity()])
    layers += [nn.Tanh()]
    layers.insert(1, nn.ReLU())
    assert [type(m).__name__ for m in layers] == ["Linear", "ReLU", "Linear", "Linear", "Identity", "Tanh"]
    assert layers[2] in layers
    raises(NotImplementedError, None, lambda: layers(minigrad.ones(1)))
    raises(TypeError, "not a Module subclass", lambda: layers.append(3))


def test_module_dict() -> None:
    net = nn.ModuleDict({"a": nn.Linear(1, 1), "b": nn.ReLU()})
    net["c"] = nn.Identity()
    assert list(net) == list(net.keys()) == ["a", "b", "c"] and "a" in net and net.a is net["a"]
    assert len(net) == len(list(net.values())) == len(list(net.items())) == 3
    net.update({"a": nn.Tanh()})
    assert isinstance(net["a"], nn.Tanh) and isinstance(net.pop("b"), nn.ReLU)
    del net["c"]
    assert list(net) == ["a"]


def of_own_update(t: Any) -> Any:
    """Dicts with a custom ``update``, as in metrics: the constructor does not call it without modules."""

    class Metrics(t.nn.ModuleDict):  # type: ignore[misc, name-defined]
        def update(self, *values: Any) -> None:
            raise AssertionError("nothing to update with")

    class Numbers(t.nn.ParameterDict):  # type: ignore[misc, name-defined]
        update = Metrics.update

    return [len(Metrics()), len(Numbers())]


def sequential(library: Any) -> Any:
    n = library.nn
    return n.Sequential(OrderedDict(a=n.ReLU(), b=n.Tanh(), c=n.Linear(1, 1)))


def changed(library: Any) -> Any:
    net = sequential(library)
    del net[0]
    net.append(library.nn.ReLU()).insert(1, library.nn.Identity())
    net.extend([library.nn.GELU()])
    net += library.nn.Sequential(library.nn.Tanh())
    return net, net.pop(-1), net.pop(slice(0, 2)), net


def multiplied(library: Any) -> Any:
    net = library.nn.Sequential(library.nn.ReLU(), library.nn.Tanh())
    net *= 2
    return net, net * 2, 2 * net, net + net


def parameter_list(library: Any) -> Any:
    values = library.nn.ParameterList([library.ones(1)] * 2)
    values += [library.zeros(2)]
    values.append(library.ones(3)).append("text").extend([4])
    shapes = [tuple(v.shape) for v in values[1:4]]
    actual = [values, len(values), list(values.state_dict()), shapes]
    return [*actual, values[-1], list(values)[4], "0" in dir(values)]


def parameter_dict(library: Any) -> Any:
    n = library.nn
    values = n.ParameterDict([("a", library.ones(1)), ("b", library.zeros(2))])
    joined = values | n.ParameterDict({"c": library.ones(3)})
    values |= {"d": library.ones(4)}
    actual = [list(joined.keys()), list(values.state_dict()), values.setdefault("z", 3), values.get("nope")]
    actual += [values, list(reversed(values)), values.popitem(), len(values)]
    actual += [values.pop("a").tolist(), [k for k, _ in values.items()], "b" in values]
    values.clear()
    return [*actual, len(values), list(values.state_dict()), list(values.values())]


def popped(library: Any) -> Any:
    modules = library.nn.ModuleList([library.nn.ReLU(), library.nn.Tanh()])
    return modules.pop(0), modules


RUNS = programs("""
changed(t); multiplied(t); parameter_list(t); parameter_dict(t); of_own_update(t);
[t.nn.ParameterList(), t.nn.ParameterDict(), t.nn.ModuleDict(), t.nn.ModuleList()]; t.nn.ParameterList([t.ones(2, 3)]);
t.nn.ModuleList([t.nn.ModuleList([t.nn.ReLU()] * 2)] * 2);
t.nn.ModuleList([t.nn.ReLU()]) + t.nn.ModuleList([t.nn.GELU()]); popped(t); t.nn.Sequential(t.nn.ReLU()) + 3;
t.nn.Sequential(t.nn.ReLU()) * 0; t.nn.Sequential(t.nn.ReLU()) * "a"; t.nn.Sequential(t.nn.ReLU())[4];
t.nn.Sequential(t.nn.ReLU()).insert(4, t.nn.ReLU()); t.nn.Sequential(t.nn.ReLU()).insert(0, 4); t.nn.ModuleList(3);
t.nn.ModuleList([3]); t.nn.ModuleDict(3); t.nn.ModuleDict({"a.b": t.nn.ReLU()});
t.nn.ModuleDict({"keys": t.nn.ReLU()}); t.nn.ParameterDict({"keys": t.ones(1)}); t.nn.ModuleDict({3: t.nn.ReLU()});
t.nn.ParameterDict({3: t.ones(1)}); t.nn.ParameterDict({"a": t.ones(1)})["b"]; t.nn.ParameterList([t.ones(1)])(3);
t.nn.ParameterDict()(3); t.nn.ModuleList([t.nn.ReLU()])(3)
""")


@cases("program", RUNS)
def test_as_pytorch_does(program: str) -> None:
    texts = [outcome(lambda t=t: eval(program, {**globals(), "t": t})) for t in (minigrad, torch)]  # type: ignore[misc]
    mine, other = (text.replace("torch.FloatTensor", "torch.float32") for text in texts)
    assert mine == other or (mine.partition(":")[0] == other.partition(":")[0] and "Error: " in other)
