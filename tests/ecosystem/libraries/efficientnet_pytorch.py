"""efficientnet-pytorch: EfficientNet-B0 without dropout, two steps."""

from __future__ import annotations

import torch
from efficientnet_pytorch import EfficientNet
from torch import nn


def run() -> dict[str, object]:
    torch.manual_seed(0)
    model = EfficientNet.from_name(
        "efficientnet-b0", num_classes=4, image_size=64, dropout_rate=0.0, drop_connect_rate=0.0
    )
    images, labels = torch.randn(2, 3, 64, 64), torch.tensor([1, 3])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    losses = []
    for _ in range(2):
        loss = nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    with torch.no_grad():
        features = model.eval().extract_features(images)
    return {"losses": losses, "features": features.mean((2, 3)), "size": EfficientNet.get_image_size("efficientnet-b3")}
