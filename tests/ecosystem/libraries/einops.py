"""rearrange, reduce, repeat, einsum and layers, with gradients"""

import torch
from einops import einsum, pack, rearrange, reduce, repeat, unpack
from einops.layers.torch import EinMix, Rearrange, Reduce
from torch import nn


def run() -> dict[str, object]:
    images = torch.randn(2, 3, 8, 8, requires_grad=True)
    patches = rearrange(images, "b c (h p) (w q) -> b (h w) (p q c)", p=4, q=4)
    model = nn.Sequential(
        Rearrange("b c (h p) (w q) -> b (h w) (p q c)", p=4, q=4),
        EinMix("b t c -> b t d", weight_shape="c d", bias_shape="d", c=48, d=6),
        nn.ReLU(),
        Reduce("b t d -> b d", "mean"),
    )
    logits = model(images)
    scores = einsum(patches, patches, "b i d, b j d -> b i j").softmax(-1)
    packed, shapes = pack([images.flatten(2), patches.transpose(1, 2)[:, :3]], "b c *")
    first, second = unpack(packed, shapes, "b c *")
    loss = logits.square().sum() + scores[:, 0].sum() + (first.sum() - second.sum()) / 10
    loss.backward()
    results = {"patches": patches, "logits": logits, "scores": scores, "loss": loss}
    results["pooled"] = reduce(images, "b c (h 2) (w 2) -> b c h w", "max")
    results["repeated"] = repeat(images[0, 0, :2, :2], "h w -> (h 2) (w 3)")
    return {**results, "gradient": images.grad, "weight's gradient": model[1].weight.grad}
