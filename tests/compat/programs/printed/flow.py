"""A normalising flow: couplings, an invertible mixing, batch norm that is inverted, and torch.distributions."""

import torch
import torch.nn as nn
from torch import distributions as D


class Coupling(nn.Module):
    def __init__(self, dim, hidden, mask):
        super().__init__()
        self.register_buffer("mask", mask)
        self.s = nn.Sequential(nn.Linear(dim, hidden), nn.Tanh(), nn.Dropout(0.05), nn.Linear(hidden, dim))
        self.t = nn.Sequential(nn.Linear(dim, hidden), nn.ReLU(), nn.Linear(hidden, dim))

    def forward(self, x):
        m = x * self.mask
        log_s, t = self.s(m).mul(0.5).tanh() * (1 - self.mask), self.t(m) * (1 - self.mask)
        u = (x - t) * torch.exp(-log_s)
        return m + (1 - self.mask) * u, -log_s.sum(-1)

    def inverse(self, u):
        m = u * self.mask
        log_s, t = self.s(m).mul(0.5).tanh() * (1 - self.mask), self.t(m) * (1 - self.mask)
        return m + (1 - self.mask) * (u * log_s.exp() + t)


class Mixing(nn.Module):
    """A matrix by its PLU decomposition."""

    def __init__(self, dim):
        super().__init__()
        Q = torch.nn.init.orthogonal_(torch.randn(dim, dim))
        P, L, U = torch.linalg.lu(Q)
        self.register_buffer("P", P)
        self.L, self.S, self.U = nn.Parameter(L), nn.Parameter(U.diag()), nn.Parameter(torch.triu(U, diagonal=1))

    def weight(self):
        L = torch.tril(self.L, diagonal=-1) + torch.diag(torch.ones(len(self.S)))
        return self.P @ L @ (torch.triu(self.U, diagonal=1) + torch.diag(self.S))

    def forward(self, x):
        return x @ self.weight(), self.S.abs().log().sum().expand(len(x))

    def inverse(self, u):
        return torch.linalg.solve(self.weight().T, u.T).T


class Flow(nn.Module):
    def __init__(self, layers):
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.base = D.MultivariateNormal(torch.zeros(4), torch.eye(4))

    def log_prob(self, x):
        total = x.new_zeros(len(x))
        for layer in self.layers:
            x, log_det = layer(x)
            total += log_det
        return self.base.log_prob(x) + total

    @torch.no_grad()
    def sample(self, n):
        x = self.base.sample((n,))
        for layer in reversed(self.layers):
            x = layer.inverse(x)
        return x


torch.manual_seed(7)
mask = torch.tensor([1.0, 0.0, 1.0, 0.0])
flow = Flow([module for i in range(3) for module in (Coupling(4, 16, mask if i % 2 else 1 - mask), Mixing(4))])
mix = D.MixtureSameFamily(
    D.Categorical(torch.tensor([0.2, 0.5, 0.3])),
    D.Independent(D.Normal(torch.randn(3, 4) * 2, torch.rand(3, 4) + 0.2), 1),
)
optimizer = torch.optim.Adam(flow.parameters(), lr=5e-3)
for step in range(12):
    x = mix.sample((64,))
    loss = -flow.log_prob(x).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 2 == 0:
        print(f"step {step}: nll {loss.item():.6f}, of the mixture {-mix.log_prob(x).mean().item():.6f}")
flow.eval()
y = flow.sample(3)
print("samples", [[round(v, 4) for v in row] for row in y.tolist()])
kl = D.kl_divergence(D.Normal(y.mean(), y.std()), D.Normal(0.0, 1.0))
print(f"kl {kl.item():.5f}")
