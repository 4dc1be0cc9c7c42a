"""diffusers: a small U-Net trained on noise and sampled from, an autoencoder, a U-Net with a condition."""

import tempfile

import torch
from diffusers import AutoencoderKL, DDIMScheduler, DDPMScheduler, UNet2DConditionModel, UNet2DModel
from diffusers.optimization import get_cosine_schedule_with_warmup
from diffusers.training_utils import EMAModel
from torch import nn

SMALL = {"block_out_channels": (8, 16), "norm_num_groups": 4}


def trained(results: dict[str, object]) -> UNet2DModel:
    """A U-Net after five steps of DDPM."""
    torch.manual_seed(0)
    blocks = {"down_block_types": ("DownBlock2D", "AttnDownBlock2D"), "up_block_types": ("AttnUpBlock2D", "UpBlock2D")}
    model = UNet2DModel(sample_size=16, in_channels=1, out_channels=1, layers_per_block=1, **SMALL, **blocks)
    scheduler = DDPMScheduler(num_train_timesteps=100)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    rates = get_cosine_schedule_with_warmup(optimizer, 2, 10)
    average = EMAModel(model.parameters(), decay=0.9)
    images = torch.randn(4, 1, 16, 16).sigmoid()
    losses = []
    for _ in range(5):
        noise = torch.randn(images.shape)
        times = torch.randint(0, 100, (4,))
        loss = nn.functional.mse_loss(model(scheduler.add_noise(images, noise, times), times).sample, noise)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        rates.step()
        average.step(model.parameters())
        losses.append(loss.item())
    results |= {"losses": losses, "rate": rates.get_last_lr(), "average": average.shadow_params[0]}
    return model


def sampled(model: UNet2DModel) -> torch.Tensor:
    """Images by four steps of DDIM."""
    scheduler = DDIMScheduler(num_train_timesteps=100)
    scheduler.set_timesteps(4)
    images = torch.randn(2, 1, 16, 16, generator=torch.Generator().manual_seed(1))
    for time in scheduler.timesteps:
        images = scheduler.step(model(images, time).sample, time, images).prev_sample
    return images


@torch.no_grad()
def run() -> dict[str, object]:
    results: dict[str, object] = {}
    with torch.enable_grad():
        model = trained(results)
    results["sampled"] = sampled(model.eval())
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        results["read"] = sampled(UNet2DModel.from_pretrained(folder).eval())

    torch.manual_seed(0)
    blocks = {"down_block_types": ("DownEncoderBlock2D",) * 2, "up_block_types": ("UpDecoderBlock2D",) * 2}
    autoencoder = AutoencoderKL(in_channels=3, out_channels=3, latent_channels=4, **SMALL, **blocks)
    image = torch.randn(1, 3, 16, 16)
    latent = autoencoder.encode(image).latent_dist
    results["latent"], results["kl"] = latent.mean, latent.kl()
    results["sample"] = latent.sample(generator=torch.Generator().manual_seed(2))
    with torch.enable_grad():
        decoded = autoencoder.decode(latent.mode()).sample
        (decoded - image).pow(2).mean().backward()
    results["decoded"] = decoded
    results["gradient"] = autoencoder.decoder.conv_in.weight.grad

    torch.manual_seed(0)
    blocks = {"down_block_types": ("CrossAttnDownBlock2D", "DownBlock2D")}
    blocks |= {"up_block_types": ("UpBlock2D", "CrossAttnUpBlock2D"), "layers_per_block": 1}
    sizes = {"sample_size": 8, "in_channels": 4, "out_channels": 4, "cross_attention_dim": 12, "attention_head_dim": 4}
    conditional = UNet2DConditionModel(**sizes, **SMALL, **blocks)
    text = torch.randn(2, 5, 12)
    results["conditioned"] = conditional(torch.randn(2, 4, 8, 8), torch.tensor([3, 50]), text).sample
    return results
