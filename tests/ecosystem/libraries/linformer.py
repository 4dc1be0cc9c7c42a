"""a language model with attention of linear cost: logits, gradients, five Adam steps"""

import torch
from linformer import LinformerLM
from torch.nn import functional as F


def run() -> dict[str, object]:
    model = LinformerLM(num_tokens=40, dim=32, seq_len=24, depth=2, heads=4, k=8, one_kv_head=True, dropout=0.1)
    optimizer, losses = torch.optim.Adam(model.parameters(), lr=1e-3), []
    tokens = torch.randint(0, 40, (3, 24))
    for _ in range(5):
        loss = F.cross_entropy(model(tokens).transpose(1, 2), tokens)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    gradients = {name: p.grad for name, p in model.named_parameters()}
    return {"losses": losses, "gradients": gradients, "logits": model.eval()(tokens)}
