"""queries and keys turned by their positions, with the lengths of xPos, along axes of pictures, with a cache"""

import torch
from rotary_embedding_torch import RotaryEmbedding, apply_rotary_emb


def run() -> dict[str, object]:
    rotary = RotaryEmbedding(dim=8, learned_freq=True)
    queries, keys = (torch.randn(2, 4, 16, 16, requires_grad=True) for _ in range(2))
    q, k = rotary.rotate_queries_or_keys(queries), rotary.rotate_queries_or_keys(keys, offset=3)
    scores = (q @ k.mT).softmax(-1)
    scores.square().sum().backward()
    with_cache = rotary.rotate_queries_with_cached_keys(queries[:, :, -1:], keys)
    lengths = RotaryEmbedding(dim=8, use_xpos=True)
    pictures = RotaryEmbedding(dim=4, freqs_for="pixel", max_freq=16)
    axes = pictures.get_axial_freqs(4, 6)
    return {
        "scores": scores,
        "gradients": [queries.grad, keys.grad, rotary.freqs.grad],
        "cached": with_cache,
        "xpos": lengths.rotate_queries_and_keys(queries, keys),
        "pictures": apply_rotary_emb(axes, torch.randn(1, 4, 6, 16)),
        "interpolated": RotaryEmbedding(dim=8, interpolate_factor=2.0).rotate_queries_or_keys(queries),
    }
