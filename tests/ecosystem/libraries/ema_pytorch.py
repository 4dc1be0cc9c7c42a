"""running averages of a model's weights, one alone and two with other time constants, put together afterwards"""

import torch
from ema_pytorch import EMA, PostHocEMA
from torch import nn


def run() -> dict[str, object]:
    model = nn.Sequential(nn.Linear(6, 12), nn.BatchNorm1d(12), nn.Tanh(), nn.Linear(12, 2))
    average = EMA(model, beta=0.99, update_after_step=2, update_every=2)
    several = PostHocEMA(
        model, sigma_rels=(0.05, 0.28), update_every=1, checkpoint_every_num_steps=4, checkpoint_folder="averages"
    )
    optimizer, x, target = torch.optim.SGD(model.parameters(), lr=0.1), torch.randn(32, 6), torch.randn(32, 2)
    for _ in range(12):
        loss = (model(x) - target).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        average.update()
        several.update()
    synthesised = several.synthesize_ema_model(sigma_rel=0.15)
    copy = EMA(model, beta=0.99)
    copy.load_state_dict(average.state_dict())
    return {
        "model": model(x),
        "average": average.eval()(x),
        "its parameters": list(average.ema_model.parameters()),
        "its buffers": list(average.ema_model.buffers()),
        "copy": copy.eval()(x),
        "decay": average.get_current_decay(),
        "synthesised": synthesised.eval()(x),
    }
