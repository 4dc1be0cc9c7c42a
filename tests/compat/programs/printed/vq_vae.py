"""A VQ-VAE: a straight-through estimator, and codes that are moving averages of the vectors assigned to them."""

import torch
from torch import nn
from torch.nn import functional as F


class Quantize(nn.Module):
    def __init__(self, dim, n_embed, decay=0.9, eps=1e-5):
        super().__init__()
        self.dim, self.n_embed, self.decay, self.eps = dim, n_embed, decay, eps
        embed = torch.randn(dim, n_embed)
        self.register_buffer("embed", embed)
        self.register_buffer("cluster_size", torch.zeros(n_embed))
        self.register_buffer("embed_avg", embed.clone())

    def forward(self, input):
        flatten = input.reshape(-1, self.dim)
        dist = flatten.pow(2).sum(1, keepdim=True) - 2 * flatten @ self.embed + self.embed.pow(2).sum(0, keepdim=True)
        _, embed_ind = (-dist).max(1)
        embed_onehot = F.one_hot(embed_ind, self.n_embed).type(flatten.dtype)
        embed_ind = embed_ind.view(*input.shape[:-1])
        quantize = F.embedding(embed_ind, self.embed.transpose(0, 1))
        if self.training:
            self.cluster_size.data.mul_(self.decay).add_(embed_onehot.sum(0), alpha=1 - self.decay)
            self.embed_avg.data.mul_(self.decay).add_(flatten.transpose(0, 1) @ embed_onehot, alpha=1 - self.decay)
            n = self.cluster_size.sum()
            cluster_size = (self.cluster_size + self.eps) / (n + self.n_embed * self.eps) * n
            self.embed.data.copy_(self.embed_avg / cluster_size.unsqueeze(0))
        diff = (quantize.detach() - input).pow(2).mean()
        quantize = input + (quantize - input).detach()
        return quantize, diff, embed_ind


class ResBlock(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv = nn.Sequential(
            nn.ReLU(), nn.Conv2d(channels, channels, 3, padding=1), nn.ReLU(inplace=True), nn.Dropout2d(0.1),
            nn.Conv2d(channels, channels, 1),
        )

    def forward(self, input):
        out = self.conv(input)
        out += input
        return out


class VQVAE(nn.Module):
    def __init__(self, channels=16, dim=8, n_embed=24):
        super().__init__()
        self.enc = nn.Sequential(nn.Conv2d(1, channels, 4, 2, 1), ResBlock(channels), nn.Conv2d(channels, dim, 1))
        self.quantize = Quantize(dim, n_embed)
        self.drop = nn.Dropout(0.1)
        self.dec = nn.Sequential(
            nn.Conv2d(dim, channels, 3, padding=1), ResBlock(channels), nn.ConvTranspose2d(channels, 1, 4, 2, 1)
        )

    def forward(self, x):
        z = self.enc(x).permute(0, 2, 3, 1)
        quant, diff, ind = self.quantize(z)
        quant = self.drop(quant.permute(0, 3, 1, 2))
        return self.dec(quant), diff, ind


torch.manual_seed(1)
model = VQVAE()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
grid = torch.linspace(-1, 1, 12)
for step in range(10):
    centre = torch.rand(6, 2) - 0.5
    x = torch.exp(-4 * ((grid - centre[:, :1])[:, None, :] ** 2 + (grid - centre[:, 1:])[:, :, None] ** 2)).unsqueeze(1)
    out, latent, ind = model(x)
    recon = F.mse_loss(out, x)
    loss = recon + 0.25 * latent
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    usage = torch.bincount(ind.flatten(), minlength=24)
    print(f"step {step}: recon {recon.item():.7f} latent {latent.item():.7f} codes {(usage > 0).sum().item()}")
print("usage", usage.tolist())
print("codes", [f"{v:.5f}" for v in model.quantize.embed.norm(dim=0)[:6].tolist()])
