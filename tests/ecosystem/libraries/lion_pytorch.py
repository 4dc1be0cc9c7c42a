"""Lion with weight decay, coupled and decoupled: losses and parameters of a small network"""

import torch
from lion_pytorch import Lion
from torch import nn


def run() -> dict[str, object]:
    results: dict[str, object] = {}
    x, target = torch.randn(16, 8), torch.randn(16, 3)
    for name, options in {
        "plain": {"weight_decay": 1e-2},
        "decoupled": {"weight_decay": 1e-2, "decoupled_weight_decay": True},
        "slower": {"betas": (0.95, 0.98)},
    }.items():
        model = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 3))
        optimizer, losses = Lion(model.parameters(), lr=1e-3, **options), []
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 8)
        for _ in range(8):
            loss = (model(x) - target).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            losses.append(loss.item())
        averages = [state["exp_avg"] for state in optimizer.state_dict()["state"].values()]
        results[name] = {"losses": losses, "parameters": list(model.parameters()), "averages": averages}
    return results
