"""a causal language model with random features, and generalised attention: logits, gradients, five steps"""

import torch
from performer_pytorch import PerformerLM, SelfAttention
from torch.nn import functional as F


def run() -> dict[str, object]:
    model = PerformerLM(
        num_tokens=40,
        max_seq_len=32,
        dim=32,
        depth=2,
        heads=4,
        dim_head=8,
        causal=True,
        nb_features=16,
        feature_redraw_interval=2,
        reversible=False,
        ff_glu=True,
    )
    optimizer, losses = torch.optim.Adam(model.parameters(), lr=1e-3), []
    tokens = torch.randint(0, 40, (2, 32))
    for _ in range(5):
        loss = F.cross_entropy(model(tokens).transpose(1, 2), tokens)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    attention = SelfAttention(dim=32, heads=4, dim_head=8, causal=False, generalized_attention=True)
    x = torch.randn(2, 10, 32, requires_grad=True)
    mixed = attention(x)
    mixed.square().mean().backward()
    return {
        "losses": losses,
        "gradients": {name: p.grad for name, p in model.named_parameters() if p.grad is not None},
        "logits": model.eval()(tokens),
        "mixed": mixed,
        "x's gradient": x.grad,
    }
