"""codebooks learned by averages or gradients, residual, finite-scalar and lookup-free: codes, losses, codebooks"""

import torch
from vector_quantize_pytorch import FSQ, LFQ, ResidualVQ, SimVQ, VectorQuantize


def run() -> dict[str, object]:
    results: dict[str, object] = {}
    quantisers = {
        "averages": VectorQuantize(
            dim=16, codebook_size=32, decay=0.8, commitment_weight=1.0, threshold_ema_dead_code=1
        ),
        "k-means": VectorQuantize(dim=16, codebook_size=24, kmeans_init=True, kmeans_iters=5, use_cosine_sim=True),
        "learned": VectorQuantize(
            dim=16, codebook_size=24, codebook_dim=8, learnable_codebook=True, ema_update=False, rotation_trick=False
        ),
        "heads": VectorQuantize(dim=16, codebook_dim=4, heads=4, separate_codebook_per_head=True, codebook_size=12),
        "residual": ResidualVQ(dim=16, num_quantizers=3, codebook_size=16, shared_codebook=True),
        "transformed": SimVQ(dim=16, codebook_size=24, rotation_trick=True),
    }
    for name, quantiser in quantisers.items():
        x = torch.randn(2, 20, 16, requires_grad=True)
        for _ in range(3):
            out, codes, loss = quantiser(x)
        (out.square().mean() + loss.sum()).backward()
        state = {key: value for key, value in quantiser.state_dict().items() if value.is_floating_point()}
        results[name] = {"out": out, "codes": codes, "loss": loss, "gradient": x.grad, "state": state}
    x = torch.randn(2, 20, 4, requires_grad=True)
    out, codes = FSQ(levels=[8, 5, 5, 5])(x)
    out.square().mean().backward()
    results["scalars"] = [out, codes, x.grad]
    lookup_free = LFQ(codebook_size=64, dim=6, entropy_loss_weight=0.1, diversity_gamma=1.0)
    signs, codes, loss = lookup_free(torch.randn(2, 20, 6))
    results["lookup-free"] = [signs, codes, loss]
    return results
