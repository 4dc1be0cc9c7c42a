"""a decoder with rotary positions, RMSNorm and SwiGLU, and an encoder-decoder: losses, gradients, greedy ids"""

import torch
from training import train
from x_transformers import AutoregressiveWrapper, Decoder, TransformerWrapper, XTransformer


def run() -> dict[str, object]:
    layers = Decoder(
        dim=32, depth=2, heads=4, attn_dim_head=8, rotary_pos_emb=True, use_rmsnorm=True, ff_glu=True, ff_swish=True
    )
    model = AutoregressiveWrapper(TransformerWrapper(num_tokens=64, max_seq_len=32, attn_layers=layers))
    tokens = torch.randint(1, 64, (4, 20))
    losses = train(torch.optim.AdamW(model.parameters(), lr=1e-3), lambda: model(tokens), 5)
    each = {"num_tokens": 64, "depth": 1, "heads": 4, "max_seq_len": 32}
    sizes = {f"{side}_{name}": value for side in ("enc", "dec") for name, value in each.items()}
    both = XTransformer(dim=32, **sizes)
    translation = both(tokens, torch.randint(1, 64, (4, 10)), mask=tokens > 5)
    translation.backward()
    return {
        "losses": losses,
        "gradients": {name: p.grad for name, p in model.named_parameters() if p.grad is not None},
        "ids": model.generate(tokens[:, :5], 10, temperature=0.0),
        "translation": translation,
        "translation's gradients": {name: p.grad for name, p in both.named_parameters() if p.grad is not None},
    }
