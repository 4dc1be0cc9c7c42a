"""Gradients through steps of an optimiser: MAML in small"""

import higher
import torch
from torch import nn


def run() -> dict[str, object]:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
    inner, outer = (
        torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9),
        torch.optim.Adam(model.parameters(), lr=0.01),
    )
    x = torch.linspace(-2, 2, 10)[:, None]
    losses = []
    for step in range(4):
        outer.zero_grad()
        for phase in (0.0, 1.0 + step):
            y = torch.sin(x + phase)
            with higher.innerloop_ctx(model, inner, copy_initial_weights=False) as (fast, steps):
                for _ in range(3):
                    steps.step((fast(x) - y).square().mean())
                loss = (fast(x) - y).square().mean()
                loss.backward()
            losses.append(loss.item())
        outer.step()
    with higher.innerloop_ctx(model, outer, copy_initial_weights=True) as (fast, steps):
        steps.step((fast(x) - x).square().mean())
        adam = fast(x).detach()
    return {"losses": losses, "weight": model[0].weight.detach(), "adam": adam}
