"""attention through landmarks, whose pseudo-inverse is iterated: outputs, gradients, three Adam steps"""

import torch
from nystrom_attention import NystromAttention, Nystromformer


def run() -> dict[str, object]:
    attention = NystromAttention(dim=32, dim_head=8, heads=4, num_landmarks=8, pinv_iterations=6, residual=True)
    x, mask = torch.randn(2, 40, 32, requires_grad=True), torch.arange(40) < torch.tensor([[40], [30]])
    out, weights = attention(x, mask=mask, return_attn=True)
    out.square().mean().backward()
    model = Nystromformer(dim=32, dim_head=8, heads=4, depth=2, num_landmarks=8)
    optimizer, losses = torch.optim.Adam(model.parameters(), lr=1e-3), []
    for _ in range(3):
        loss = (model(x.detach()) - 1).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return {
        "out": out,
        "weights": weights,
        "gradients": [x.grad, *(p.grad for p in attention.parameters())],
        "losses": losses,
        "parameters": list(model.parameters()),
    }
