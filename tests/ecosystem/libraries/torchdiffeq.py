"""a neural ODE: three solvers, gradients through dopri5 and by its adjoint, an event, five Adam steps"""

import torch
from torch import nn
from torchdiffeq import odeint, odeint_adjoint, odeint_event
from training import train


class Field(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))

    def forward(self, t: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return self.net(y**3) - 0.1 * y


def run() -> dict[str, object]:
    field, start, times = Field(), torch.tensor([[2.0, 0.0], [0.5, -1.0]]), torch.linspace(0.0, 1.0, 6)
    paths = {method: odeint(field, start, times, method=method) for method in ("dopri5", "rk4", "midpoint")}
    odeint(field, start, times).square().sum().backward()
    through = [p.grad.clone() for p in field.parameters()]
    field.zero_grad()
    odeint_adjoint(field, start, times, rtol=1e-6, atol=1e-6).square().sum().backward()
    adjoint = [p.grad.clone() for p in field.parameters()]
    fall = lambda t, y: torch.stack([y[1], torch.tensor(-9.8)])
    moment, _ = odeint_event(fall, torch.tensor([1.0, 0.0]), torch.tensor(0.0), event_fn=lambda t, y: y[0], atol=1e-6)
    target = torch.randn(6, 2, 2)
    distance = lambda: (odeint(field, start, times, method="rk4") - target).abs().mean()
    losses = train(torch.optim.Adam(field.parameters(), lr=0.01), distance, 5)
    return {"paths": paths, "through": through, "adjoint": adjoint, "moment": moment, "losses": losses}
