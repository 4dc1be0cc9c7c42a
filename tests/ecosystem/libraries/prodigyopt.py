"""Prodigy, which finds its own rate: twenty steps, with and without decoupled decay, and its rate"""

import torch
from prodigyopt import Prodigy
from torch import nn


def run() -> dict[str, object]:
    x, y = torch.randn(32, 4), torch.randn(32, 2)
    results: dict[str, object] = {}
    for name, options in {
        "plain": {},
        "decay": {"weight_decay": 0.01, "safeguard_warmup": True, "use_bias_correction": True},
        "sliced": {"slice_p": 3, "d_coef": 2.0, "decouple": False, "weight_decay": 0.01},
    }.items():
        torch.manual_seed(1)
        model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
        optimizer = Prodigy(model.parameters(), lr=1.0, **options)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=20)
        losses, rates = [], []
        for _ in range(20):
            loss = (model(x) - y).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            losses.append(loss.item())
            rates.append(float(optimizer.param_groups[0]["d"]))
        results[name] = {"losses": losses, "rates": rates, "weights": [*model.parameters()]}
    return results
