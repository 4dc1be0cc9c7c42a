"""splines through series with gaps, log-signatures' windows aside, and a neural CDE's gradients, trained"""

import torch
import torchcde
from torch import nn


class Field(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 12), nn.Tanh())

    def forward(self, t: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
        return self.net(z).view(*z.shape[:-1], 4, 3)


def run() -> dict[str, object]:
    times = torch.linspace(0.0, 1.0, 8)
    x = torch.cat([times.expand(5, 8)[..., None], torch.randn(5, 8, 2)], -1)
    gaps = x.clone()
    gaps[:, 3, 1] = gaps[1:3, 5:, 2] = float("nan")
    hermite = torchcde.hermite_cubic_coefficients_with_backward_differences(gaps)
    splines = {
        "hermite": torchcde.CubicSpline(hermite),
        "natural": torchcde.CubicSpline(torchcde.natural_cubic_coeffs(gaps)),
        "linear": torchcde.LinearInterpolation(torchcde.linear_interpolation_coeffs(gaps)),
        "rectilinear": torchcde.LinearInterpolation(torchcde.linear_interpolation_coeffs(gaps, rectilinear=0)),
    }
    results: dict[str, object] = {}
    for name, spline in splines.items():
        at = torch.linspace(float(spline.interval[0]), float(spline.interval[-1]), 11)
        results[name] = [torch.stack([f(t) for t in at]) for f in (spline.evaluate, spline.derivative)]
    field, encoder, readout = Field(), nn.Linear(3, 4), nn.Linear(4, 1)
    parameters = [*field.parameters(), *encoder.parameters(), *readout.parameters()]
    optimizer, losses, target = torch.optim.Adam(parameters, lr=0.01), [], torch.randn(5, 1)
    spline = splines["hermite"]
    for step in range(4):
        start = encoder(spline.evaluate(spline.interval[0]))
        options = {"adjoint": step % 2 == 1, "method": "rk4", "options": {"step_size": 0.5}}
        z = torchcde.cdeint(X=spline, func=field, z0=start, t=spline.interval, **options)
        loss = (readout(z[:, -1]) - target).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return {**results, "losses": losses, "gradients": [p.grad for p in parameters]}
