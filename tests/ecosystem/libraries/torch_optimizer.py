"""every optimiser, five steps each, with its state; Lookahead around another; Hessian's diagonal"""

import torch
import torch_optimizer
from torch import nn

NAMES = (
    "A2GradExp A2GradInc A2GradUni AccSGD AdaBelief AdaBound AdaMod Adafactor Adahessian AdamP AggMo DiffGrad LARS "
    "Lamb MADGRAD NovoGrad PID QHAdam QHM RAdam Ranger RangerQH RangerVA SGDP SGDW SWATS Shampoo Yogi"
)
OPTIONS = {"QHM": {"momentum": 0.9}, "Adahessian": {"seed": 0}, "LARS": {"momentum": 0.9}}


def run() -> dict[str, object]:
    x, y = torch.randn(16, 4), torch.randn(16, 3)
    results: dict[str, object] = {}
    for name in [*NAMES.split(), "Lookahead"]:
        torch.manual_seed(1)
        model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))
        options = {} if name.startswith("A2Grad") else {"lr": 0.01, **OPTIONS.get(name, {})}
        if name == "Lookahead":
            optimizer = torch_optimizer.Lookahead(torch_optimizer.Yogi(model.parameters(), **options), k=2)
        else:
            optimizer = getattr(torch_optimizer, name)(model.parameters(), **options)
        losses = []
        for _ in range(5):
            loss = (model(x) - y).square().mean()
            optimizer.zero_grad()
            loss.backward(create_graph=name == "Adahessian")
            optimizer.step()
            losses.append(loss.item())
        results[name] = {"losses": losses, "weights": [p.detach().clone() for p in model.parameters()]}
        model.zero_grad()
    return results
