"""a causal language model whose reversible layers attend by hashing: losses, gradients, logits"""

import torch
from reformer_pytorch import LSHSelfAttention, ReformerLM
from torch.nn import functional as F


def run() -> dict[str, object]:
    model = ReformerLM(
        num_tokens=40, dim=32, depth=2, max_seq_len=32, heads=4, dim_head=8, bucket_size=8, n_hashes=2, causal=True
    )
    optimizer, losses = torch.optim.Adam(model.parameters(), lr=1e-3), []
    tokens = torch.randint(0, 40, (2, 32))
    for _ in range(4):
        loss = F.cross_entropy(model(tokens)[:, :-1].transpose(1, 2), tokens[:, 1:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    attention = LSHSelfAttention(dim=32, heads=4, bucket_size=8, n_hashes=4, dim_head=8)
    return {
        "losses": losses,
        "gradients": {name: p.grad for name, p in model.named_parameters()},
        "logits": model.eval()(tokens),
        "attention": attention(torch.randn(2, 32, 32)),
    }
