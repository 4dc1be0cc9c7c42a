"""vit-pytorch: a ViT, a SimpleViT, a CaiT and others trained; attention extracted."""

from __future__ import annotations

import torch
from torch import nn
from vit_pytorch import SimpleViT, ViT
from vit_pytorch.cait import CaiT
from vit_pytorch.cct import CCT
from vit_pytorch.deepvit import DeepViT
from vit_pytorch.recorder import Recorder

SMALL = {"image_size": 32, "patch_size": 8, "num_classes": 4, "dim": 16, "heads": 2, "mlp_dim": 32}
COMPACT = {
    "img_size": 32,
    "embedding_dim": 16,
    "num_layers": 2,
    "num_heads": 2,
    "mlp_ratio": 2.0,
    "num_classes": 4,
    "n_conv_layers": 1,
    "positional_embedding": "sine",
}


def train(model: nn.Module, images: torch.Tensor, labels: torch.Tensor) -> list[float]:
    """The losses of three steps of Adam."""
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    losses = []
    for _ in range(3):
        loss = nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def run() -> dict[str, object]:
    results: dict[str, object] = {}
    images, labels = torch.randn(4, 3, 32, 32, generator=torch.Generator().manual_seed(0)), torch.arange(4)
    kinds = {
        "vit": lambda: ViT(**SMALL, depth=2),
        "simple": lambda: SimpleViT(**SMALL, depth=2),
        "deep": lambda: DeepViT(**SMALL, depth=2),
        "cait": lambda: CaiT(**SMALL, depth=2, cls_depth=1),
        "cct": lambda: CCT(**COMPACT, dropout_rate=0.0, attention_dropout=0.0, stochastic_depth_rate=0.0),
    }
    for name, make in kinds.items():
        torch.manual_seed(0)
        results[name] = train(make(), images, labels)
    torch.manual_seed(0)
    vit = ViT(**SMALL, depth=2)
    logits, attention = Recorder(vit)(images)
    results["logits"], results["attention"] = logits, attention
    return results
