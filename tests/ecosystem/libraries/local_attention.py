"""a transformer whose attention sees windows: losses, gradients, generated ids, attention alone"""

import torch
from local_attention import LocalAttention, LocalTransformer


def run() -> dict[str, object]:
    model = LocalTransformer(
        num_tokens=48, dim=32, depth=2, max_seq_len=32, heads=4, dim_head=8, causal=True, local_attn_window_size=8
    )
    optimizer, losses = torch.optim.Adam(model.parameters(), lr=1e-3), []
    tokens = torch.randint(0, 48, (2, 32))
    for _ in range(4):
        loss = model(tokens, return_loss=True)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    attention = LocalAttention(dim=8, window_size=8, causal=True, look_backward=1, look_forward=0, autopad=True)
    q, k, v = (torch.randn(2, 4, 28, 8, requires_grad=True) for _ in range(3))
    out = attention(q, k, v, mask=torch.arange(28) < torch.tensor([[28], [20]]))
    out.square().sum().backward()
    return {
        "losses": losses,
        "gradients": {name: p.grad for name, p in model.named_parameters()},
        "ids": model.eval().generate(tokens[:, :5], 8, temperature=0.7),
        "attention": out,
        "its gradients": [q.grad, k.grad, v.grad],
    }
