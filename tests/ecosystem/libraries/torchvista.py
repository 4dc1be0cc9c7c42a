"""The graph of a forward pass: its operations and modules, by their names"""

import torch
import torch.nn.functional as F
from torch import nn
from torchvista import tracer


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(4, 8), nn.Linear(8, 2)

    def forward(self, x):
        hidden = F.relu(self.first(x))
        return torch.softmax(self.second(hidden) * 2 + 1, dim=-1).sum()


def run() -> dict[str, object]:
    torch.manual_seed(0)
    calls = []
    tracer.plot_graph = lambda *args, **kwargs: calls.append(args)
    model, x = Net(), torch.randn(3, 4)
    tracer.trace_model(model, x)
    nodes, modules, operations = calls[-1][:3]
    # An operator is Tensor.__mul__ or Tensor.mul, depending on the order in which the library wraps them.
    plain = {name.replace("__", ""): node for name, node in nodes.items()}
    edges = {name: [(e["target"].replace("__", ""), e["dims"]) for e in node["edges"]] for name, node in plain.items()}
    return {
        "output": model(x),
        "nodes": str([(name, node["node_type"], node["failed"]) for name, node in plain.items()]),
        "edges": str(edges),
        "modules": str([(name, m["type"], m["parameters"], m["extra_repr"]) for name, m in modules.items()]),
        "arguments": str(list(operations.values())),
    }
