"""AdamW, RAdam and SGD without a schedule, and a wrapped optimiser: trained, evaluated, resumed"""

import schedulefree
import torch
from torch import nn


def run() -> dict[str, object]:
    x, y = torch.randn(32, 4), torch.randn(32, 2)
    makers = {
        "AdamW": lambda ps: schedulefree.AdamWScheduleFree(ps, lr=0.02, warmup_steps=3, weight_decay=0.01),
        "AdamW, plain": lambda ps: schedulefree.AdamWScheduleFree(ps, lr=0.02, foreach=False),
        "RAdam": lambda ps: schedulefree.RAdamScheduleFree(ps, lr=0.02),
        "SGD": lambda ps: schedulefree.SGDScheduleFree(ps, lr=0.1, warmup_steps=2),
        "wrapped": lambda ps: schedulefree.ScheduleFreeWrapper(torch.optim.SGD(ps, lr=0.1), momentum=0.9),
    }
    results: dict[str, object] = {}
    for name, make in makers.items():
        torch.manual_seed(1)
        model = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 2))
        optimizer, losses = make(model.parameters()), []
        for step in range(10):
            optimizer.train()
            loss = (model(x) - y).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            if step == 5 and name != "wrapped":
                state = optimizer.state_dict()
                optimizer = make(model.parameters())
                optimizer.load_state_dict(state)
        optimizer.eval()
        results[name] = {"losses": losses, "averaged": model(x), "weights": [*model.parameters()]}
    return results
