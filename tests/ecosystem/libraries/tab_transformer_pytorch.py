"""tables with categories and numbers, in TabTransformer and FT-Transformer: losses, gradients, logits"""

import torch
from tab_transformer_pytorch import FTTransformer, TabTransformer
from torch.nn import functional as F


def run() -> dict[str, object]:
    results: dict[str, object] = {}
    categories, numbers = torch.randint(0, 4, (16, 3)), torch.randn(16, 5)
    target = torch.randn(16, 1)
    models = {
        "tab": TabTransformer(
            categories=(4, 6, 5),
            num_continuous=5,
            dim=16,
            dim_out=1,
            depth=2,
            heads=4,
            attn_dropout=0.1,
            ff_dropout=0.1,
            mlp_act=torch.nn.ReLU(),
            continuous_mean_std=torch.tensor([[0.0, 1.0]] * 5),
        ),
        "ft": FTTransformer(
            categories=(4, 6, 5),
            num_continuous=5,
            dim=16,
            dim_out=1,
            depth=2,
            heads=4,
            attn_dropout=0.1,
            ff_dropout=0.1,
        ),
    }
    for name, model in models.items():
        optimizer, losses = torch.optim.AdamW(model.parameters(), lr=1e-3), []
        for _ in range(4):
            loss = F.mse_loss(model(categories, numbers), target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        results[name] = {
            "losses": losses,
            "gradients": {key: p.grad for key, p in model.named_parameters() if p.grad is not None},
            "logits": model.eval()(categories, numbers),
        }
    return results
