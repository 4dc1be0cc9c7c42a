"""The graph of a forward pass as Graphviz text"""

import torch
from torch import nn
from torchview import draw_graph


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(4, 8), nn.Linear(8, 4)

    def forward(self, x):
        return torch.cat([self.second(torch.relu(self.first(x))), x], dim=1) * 2


def run() -> dict[str, object]:
    torch.manual_seed(0)
    graph = draw_graph(Net(), input_size=(2, 4), device="cpu", expand_nested=True)
    deep = draw_graph(nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten()), input_data=torch.randn(1, 1, 5, 5))
    return {
        "edges": len(graph.edge_list),
        "text": str(graph.visual_graph.source),
        "deep": str(deep.visual_graph.source),
    }
