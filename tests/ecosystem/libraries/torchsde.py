"""a neural SDE by Euler, Milstein, Heun and SRK, gradients through and by the adjoint, a latent SDE's KL"""

import torch
import torchsde
from torch import nn


class SDE(nn.Module):
    def __init__(self, sde_type: str) -> None:
        super().__init__()
        self.noise_type, self.sde_type = "diagonal", sde_type
        self.drift = nn.Sequential(nn.Linear(3, 8), nn.Softplus(), nn.Linear(8, 3))
        self.spread = nn.Parameter(torch.tensor([0.1, 0.2, 0.3]))

    def f(self, t: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return self.drift(y)

    def g(self, t: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return self.spread * torch.sigmoid(y)

    def h(self, t: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return -0.5 * y


def run() -> dict[str, object]:
    ito, stratonovich = SDE("ito"), SDE("stratonovich")
    start, times = torch.randn(4, 3), torch.linspace(0.0, 1.0, 5)

    def noise(width: int = 3) -> torchsde.BrownianInterval:
        return torchsde.BrownianInterval(
            0.0, 1.0, size=(4, width), entropy=7, levy_area_approximation="space-time", tol=1e-3
        )

    results: dict[str, object] = {}
    for sde, method in ((ito, "euler"), (ito, "milstein"), (ito, "srk"), (stratonovich, "heun")):
        path = torchsde.sdeint(sde, start, times, bm=noise(), method=method, dt=0.1)
        sde.zero_grad()
        path.square().mean().backward()
        results[method] = path
        results[f"{method}: gradients"] = [p.grad.clone() for p in sde.parameters()]
    stratonovich.zero_grad()
    torchsde.sdeint_adjoint(stratonovich, start, times, bm=noise(), method="midpoint", dt=0.1).mean().backward()
    results["adjoint"] = [p.grad for p in stratonovich.parameters()]
    path, divergence = torchsde.sdeint(ito, start, times, bm=noise(4), method="euler", dt=0.1, logqp=True)
    return {**results, "path": path, "KL": divergence}
