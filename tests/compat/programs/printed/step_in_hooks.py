"""Training with optimiser steps during the backward pass: one per parameter, as soon as its gradient is ready."""

import torch
from torch import nn

torch.manual_seed(5)
layer = nn.TransformerEncoderLayer(16, 4, 32, dropout=0.1, batch_first=True)
model = nn.Sequential(nn.Linear(5, 16), nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), nn.Linear(16, 5))
optimizers = {p: torch.optim.Adam([p], lr=3e-3, foreach=False) for p in model.parameters()}
order, norms = [], {}
names = {p: n for n, p in model.named_parameters()}


def hook(parameter):
    order.append(names[parameter])
    norms[names[parameter]] = parameter.grad.norm().item()
    optimizers[parameter].step()
    optimizers[parameter].zero_grad()


handles = [p.register_post_accumulate_grad_hook(hook) for p in model.parameters()]
scaled = []
model[0].weight.register_hook(lambda g: scaled.append(g.abs().max().item()) or g * 0.5)
norms = {}
model[1].layers[0].register_full_backward_hook(
    lambda m, gi, go: norms.update(into=gi[0].norm().item(), out=go[0].norm().item())
)
for step in range(8):
    x = torch.randn(6, 7, 5)
    loss = nn.functional.smooth_l1_loss(model(x), x.cumsum(1) / 3)
    loss.backward()
    print(f"step {step}: loss {loss.item():.7f}, layer {norms['into']:.6f} {norms['out']:.6f}, first {scaled[-1]:.7f}")
print("steps:", len(order), "of", sorted(set(order[:2])), "first,", sorted(order[-2:]), "last")
print("gradients left:", sum(p.grad is not None for p in model.parameters()))
for handle in handles:
    handle.remove()
model(x).pow(2).mean().backward()
print("with no hooks:", sum(p.grad is not None for p in model.parameters()), f"{norms['2.bias']:.6f}")
