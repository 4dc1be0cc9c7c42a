"""pictures read through latents, and Perceiver IO decoding queries: losses, gradients, logits"""

import torch
from perceiver_pytorch import Perceiver, PerceiverIO
from torch.nn import functional as F


def run() -> dict[str, object]:
    model = Perceiver(
        input_channels=3,
        input_axis=2,
        num_freq_bands=3,
        max_freq=10.0,
        depth=2,
        num_latents=8,
        latent_dim=24,
        cross_dim_head=8,
        latent_heads=2,
        latent_dim_head=8,
        num_classes=5,
        self_per_cross_attn=2,
        weight_tie_layers=True,
    )
    optimizer, losses = torch.optim.AdamW(model.parameters(), lr=1e-3), []
    pictures, classes = torch.randn(2, 12, 12, 3), torch.tensor([1, 4])
    for _ in range(4):
        loss = F.cross_entropy(model(pictures), classes)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    decoder = PerceiverIO(
        dim=16, queries_dim=12, logits_dim=7, depth=2, num_latents=8, latent_dim=24, latent_heads=2, latent_dim_head=8
    )
    out = decoder(
        torch.randn(2, 20, 16), mask=torch.arange(20) < torch.tensor([[20], [11]]), queries=torch.randn(5, 12)
    )
    out.square().mean().backward()
    return {
        "losses": losses,
        "gradients": {name: p.grad for name, p in model.named_parameters()},
        "decoded": out,
        "decoder's gradients": {name: p.grad for name, p in decoder.named_parameters() if p.grad is not None},
    }
