"""Hand-written optimisers with in-place operations under no_grad."""

import math

import torch
from torch import nn
from torch.optim.optimizer import Optimizer


class Adan(Optimizer):
    def __init__(self, params, lr=1e-3, betas=(0.02, 0.08, 0.01), eps=1e-8, weight_decay=0.0):
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            b1, b2, b3 = group["betas"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                grad, state = p.grad, self.state[p]
                if len(state) == 0:
                    state["step"] = 0
                    state["m"], state["v"], state["n"] = (torch.zeros_like(p) for _ in range(3))
                    state["previous"] = grad.clone()
                state["step"] += 1
                m, v, n, previous = state["m"], state["v"], state["n"], state["previous"]
                diff = grad - previous
                m.mul_(1 - b1).add_(grad, alpha=b1)
                v.mul_(1 - b2).add_(diff, alpha=b2)
                next_n = diff.mul_(1 - b2).add_(grad)
                n.mul_(1 - b3).addcmul_(next_n, next_n, value=b3)
                scale = 1 - (1 - b3) ** state["step"]
                denom = (n / scale).sqrt_().add_(group["eps"])
                update = m.div(1 - (1 - b1) ** state["step"]).add_(v, alpha=(1 - b2) / (1 - (1 - b2) ** state["step"]))
                p.mul_(1 - group["lr"] * group["weight_decay"])
                p.addcdiv_(update, denom, value=-group["lr"])
                previous.copy_(grad)
        return loss


class RAdamLookahead(Optimizer):
    """Rectified Adam, and slow weights that follow it every k steps."""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, k=3, alpha=0.5):
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, k=k, alpha=alpha))

    def step(self, closure=None):
        with torch.no_grad():
            for group in self.param_groups:
                beta1, beta2 = group["betas"]
                for p in group["params"]:
                    state = self.state[p]
                    if not state:
                        state.update(step=0, avg=torch.zeros_like(p), sq=torch.zeros_like(p), slow=p.clone())
                    state["step"] += 1
                    t = state["step"]
                    state["avg"].lerp_(p.grad, 1 - beta1)
                    state["sq"].mul_(beta2).addcmul_(p.grad, p.grad.conj(), value=1 - beta2)
                    rho_inf = 2 / (1 - beta2) - 1
                    rho = rho_inf - 2 * t * beta2**t / (1 - beta2**t)
                    if rho > 4:
                        r = math.sqrt((rho - 4) * (rho - 2) * rho_inf / ((rho_inf - 4) * (rho_inf - 2) * rho))
                        denom = state["sq"].sqrt().div_(math.sqrt(1 - beta2**t)).add_(group["eps"])
                        p.addcdiv_(state["avg"], denom, value=-group["lr"] * r / (1 - beta1**t))
                    else:
                        p.add_(state["avg"], alpha=-group["lr"] / (1 - beta1**t))
                    if t % group["k"] == 0:
                        state["slow"].add_(p - state["slow"], alpha=group["alpha"])
                        p.copy_(state["slow"])


def spiral(n):
    t = torch.rand(n) * 3
    label = torch.randint(0, 2, (n,))
    angle = 2 * t + math.pi * label
    return torch.stack([t * torch.cos(angle), t * torch.sin(angle)], 1) + 0.05 * torch.randn(n, 2), label


for make in (Adan, RAdamLookahead):
    torch.manual_seed(3)
    net = nn.Sequential(nn.Linear(2, 24), nn.Tanh(), nn.Dropout(0.1), nn.Linear(24, 24), nn.Tanh(), nn.Linear(24, 2))
    optimizer = make(net.parameters(), lr=2e-2)
    for step in range(16):
        x, y = spiral(40)
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(x), y, label_smoothing=0.05)
        loss.backward()
        optimizer.step()
        if step % 3 == 0:
            print(f"{make.__name__} {step}: {loss.item():.7f}")
    norm = sum(p.detach().pow(2).sum() for p in net.parameters()).sqrt()
    print(f"norm {norm.item():.6f}, states {len(optimizer.state)}")
