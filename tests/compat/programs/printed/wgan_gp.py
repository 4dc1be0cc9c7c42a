"""A Wasserstein GAN with a gradient penalty: a gradient of a gradient's norm, through dropout and norms."""

import torch
import torch.autograd as autograd
import torch.nn as nn


class Generator(nn.Module):
    def __init__(self, latent=6):
        super().__init__()

        def block(i, o, normalize=True):
            layers = [nn.Linear(i, o)]
            if normalize:
                layers.append(nn.BatchNorm1d(o, 0.8))
            layers.append(nn.LeakyReLU(0.2, inplace=True))
            return layers

        self.model = nn.Sequential(*block(latent, 16, normalize=False), *block(16, 32), nn.Linear(32, 16), nn.Tanh())

    def forward(self, z):
        return self.model(z).view(z.size(0), 1, 4, 4)


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1), nn.LeakyReLU(0.2), nn.Dropout2d(0.25), nn.InstanceNorm2d(8, affine=True)
        )
        self.score = nn.Sequential(nn.Linear(128, 32), nn.ELU(), nn.Dropout(0.3), nn.LayerNorm(32), nn.Linear(32, 1))

    def forward(self, img):
        return self.score(self.features(img).flatten(1))


def compute_gradient_penalty(D, real, fake):
    alpha = torch.rand(real.size(0), 1, 1, 1)
    interpolates = (alpha * real + (1 - alpha) * fake).requires_grad_(True)
    d_interpolates = D(interpolates)
    gradients = autograd.grad(
        outputs=d_interpolates, inputs=interpolates, grad_outputs=torch.ones_like(d_interpolates),
        create_graph=True, retain_graph=True, only_inputs=True,
    )[0]
    return ((gradients.view(gradients.size(0), -1).norm(2, dim=1) - 1) ** 2).mean()


torch.manual_seed(0)
G, D = Generator(), Critic()
opt_G = torch.optim.Adam(G.parameters(), lr=2e-3, betas=(0.5, 0.9))
opt_D = torch.optim.Adam(D.parameters(), lr=2e-3, betas=(0.5, 0.9))
for step in range(8):
    for _ in range(2):
        real = torch.sin(torch.randn(12, 1, 4, 4).cumsum(-1))
        fake = G(torch.randn(12, 6)).detach()
        opt_D.zero_grad()
        penalty = compute_gradient_penalty(D, real.data, fake.data)
        d_loss = -torch.mean(D(real)) + torch.mean(D(fake)) + 10 * penalty
        d_loss.backward()
        opt_D.step()
    for p in D.parameters():
        p.requires_grad_(False)
    opt_G.zero_grad()
    g_loss = -D(G(torch.randn(12, 6))).mean()
    g_loss.backward()
    opt_G.step()
    for p in D.parameters():
        p.requires_grad_(True)
    print(f"step {step}: D {d_loss.item():.6f} penalty {penalty.item():.6f} G {g_loss.item():.6f}")
