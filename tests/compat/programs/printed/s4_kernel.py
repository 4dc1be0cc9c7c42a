"""A state-space layer: a complex diagonal kernel from a Vandermonde product, an FFT convolution, dropout, GLU."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class DropoutNd(nn.Module):
    """Dropout whose mask is tied along the sequence."""

    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, X):
        if not self.training:
            return X
        mask_shape = X.shape[:2] + (1,) * (X.ndim - 2)
        mask = torch.rand(*mask_shape, device=X.device) < 1.0 - self.p
        return X * mask * (1.0 / (1 - self.p))


class S4DKernel(nn.Module):
    def __init__(self, d_model, N=16, dt_min=0.001, dt_max=0.1, lr=None):
        super().__init__()
        log_dt = torch.rand(d_model) * (math.log(dt_max) - math.log(dt_min)) + math.log(dt_min)
        C = torch.randn(d_model, N // 2, dtype=torch.cfloat)
        self.C = nn.Parameter(torch.view_as_real(C))
        self.log_dt = nn.Parameter(log_dt)
        self.log_A_real = nn.Parameter(torch.log(0.5 * torch.ones(d_model, N // 2)))
        self.A_imag = nn.Parameter(math.pi * torch.arange(N // 2).float().repeat(d_model, 1))

    def forward(self, L):
        dt = torch.exp(self.log_dt)
        C = torch.view_as_complex(self.C)
        A = -torch.exp(self.log_A_real) + 1j * self.A_imag
        dtA = A * dt.unsqueeze(-1)
        K = dtA.unsqueeze(-1) * torch.arange(L, device=A.device)
        C = C * (torch.exp(dtA) - 1.0) / A
        return 2 * torch.einsum("hn, hnl -> hl", C, torch.exp(K)).real


class S4D(nn.Module):
    def __init__(self, d_model, dropout):
        super().__init__()
        self.D = nn.Parameter(torch.randn(d_model))
        self.kernel = S4DKernel(d_model)
        self.dropout = DropoutNd(dropout)
        self.output_linear = nn.Sequential(nn.Conv1d(d_model, 2 * d_model, kernel_size=1), nn.GLU(dim=-2))

    def forward(self, u):
        L = u.size(-1)
        k = self.kernel(L=L)
        k_f = torch.fft.rfft(k, n=2 * L)
        u_f = torch.fft.rfft(u, n=2 * L)
        y = torch.fft.irfft(u_f * k_f, n=2 * L)[..., :L]
        y = y + u * self.D.unsqueeze(-1)
        return self.output_linear(self.dropout(F.gelu(y)))


class Model(nn.Module):
    def __init__(self, d_model=16, n_layers=2, dropout=0.2):
        super().__init__()
        self.encoder = nn.Linear(1, d_model)
        self.layers = nn.ModuleList(S4D(d_model, dropout) for _ in range(n_layers))
        self.norms = nn.ModuleList(nn.LayerNorm(d_model) for _ in range(n_layers))
        self.dropouts = nn.ModuleList(nn.Dropout(dropout) for _ in range(n_layers))
        self.decoder = nn.Linear(d_model, 4)

    def forward(self, x):
        x = self.encoder(x).transpose(-1, -2)  # (B, d_model, L)
        for layer, norm, dropout in zip(self.layers, self.norms, self.dropouts):
            z = dropout(layer(x))
            x = norm((z + x).transpose(-1, -2)).transpose(-1, -2)
        return self.decoder(x.transpose(-1, -2).mean(dim=1))


def nodes(N):
    """The points on the unit circle where a generating function is evaluated, and their images in the half plane."""
    omega = torch.tensor(math.e, dtype=torch.complex64) ** (torch.arange(N) * -2j * math.pi / N)
    return omega, 2 * (1 - omega[: N // 2]) / (1 + omega[: N // 2])


torch.manual_seed(0)
torch.set_printoptions(precision=6)
omega, image = nodes(24)
print("nodes", *[f"{z.real:.6f} {z.imag:.6f}" for z in omega[:4].tolist()])
print("image", *[f"{z.imag:.5f}" for z in image[:6].tolist()])
model = Model()
slow = [p for n, p in model.named_parameters() if "kernel" in n]
rest = [p for n, p in model.named_parameters() if "kernel" not in n]
groups = [{"params": rest}, {"params": slow, "lr": 1e-3, "weight_decay": 0.0}]
optimizer = torch.optim.AdamW(groups, lr=1e-2, weight_decay=0.01)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 12)
t = torch.linspace(0, 1, 48)
for step in range(12):
    labels = torch.randint(0, 4, (8,))
    inputs = torch.sin(2 * math.pi * (labels[:, None] + 1) * t + torch.rand(8, 1)).unsqueeze(-1)
    loss = F.cross_entropy(model(inputs), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
    print(f"step {step}: loss {loss.item():.7f}, lr {scheduler.get_last_lr()[0]:.7f}")
model.eval()
print("evaluation", model(inputs)[0].tolist())
