"""a language model with attention of linear cost, local heads and blind spots: losses, gradients, logits"""

import torch
from linear_attention_transformer import LinearAttentionTransformerLM
from torch.nn import functional as F


def run() -> dict[str, object]:
    results: dict[str, object] = {}
    tokens = torch.randint(0, 40, (2, 32))
    for name, options in {"causal": {"causal": True, "blindspot_size": 4}, "reversible": {"reversible": True}}.items():
        model = LinearAttentionTransformerLM(
            num_tokens=40,
            dim=32,
            heads=4,
            depth=2,
            max_seq_len=32,
            n_local_attn_heads=2,
            local_attn_window_size=8,
            **options,
        )
        optimizer, losses = torch.optim.Adam(model.parameters(), lr=1e-3), []
        for _ in range(4):
            loss = F.cross_entropy(model(tokens).transpose(1, 2), tokens)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        results[name] = {
            "losses": losses,
            "gradients": {key: p.grad for key, p in model.named_parameters() if p.grad is not None},
            "logits": model.eval()(tokens),
        }
    return results
