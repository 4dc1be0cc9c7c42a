"""Multiplications and parameters of a model"""

import torch
from thop import clever_format, profile
from torch import nn


def run() -> dict[str, object]:
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.AvgPool2d(2), nn.Flatten(), nn.Linear(128, 10)
    )
    macs, parameters = profile(model, inputs=(torch.randn(1, 3, 8, 8),), verbose=False)
    return {
        "macs": float(macs),
        "parameters": float(parameters),
        "text": " ".join(clever_format([macs, parameters], "%.3f")),
        "output": model(torch.ones(1, 3, 8, 8)),
    }
