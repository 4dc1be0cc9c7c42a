"""denoising-diffusion-pytorch: small U-Nets trained by Gaussian diffusion and sampled from, 1d and 2d."""

from __future__ import annotations

import torch
from denoising_diffusion_pytorch import GaussianDiffusion, GaussianDiffusion1D, Unet, Unet1D
from torch import nn


def train(diffusion: nn.Module, data: torch.Tensor) -> list[float]:
    """The losses of three steps of Adam."""
    optimizer = torch.optim.Adam(diffusion.parameters(), lr=1e-3)
    losses = []
    for _ in range(3):
        loss = diffusion(data)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def run() -> dict[str, object]:
    torch.manual_seed(0)
    unet = Unet(dim=8, dim_mults=(1, 2), flash_attn=False, channels=1, attn_heads=2, attn_dim_head=8)
    images = GaussianDiffusion(unet, image_size=16, timesteps=20, sampling_timesteps=4)
    results: dict[str, object] = {"losses": train(images, torch.rand(2, 1, 16, 16))}
    torch.manual_seed(1)
    results["sampled"] = images.sample(batch_size=2)
    torch.manual_seed(0)
    waves = GaussianDiffusion1D(Unet1D(dim=8, dim_mults=(1, 2), channels=2), seq_length=16, timesteps=20)
    results["1d"] = train(waves, torch.rand(2, 2, 16))
    return results
