"""timm: ResNet, ViT and ConvNeXt trained with timm's optimisers, schedules, averages and mixup; other families run."""

import random

import numpy as np
import timm
import torch
from timm.data import Mixup
from timm.loss import SoftTargetCrossEntropy
from timm.optim import create_optimizer_v2
from timm.scheduler import CosineLRScheduler
from timm.utils import ModelEmaV3, accuracy
from torch import nn

SMALL: dict[str, dict[str, object]] = {
    "resnet10t": {"channels": (8, 16, 24, 32)},
    "vit_tiny_patch16_224": {"img_size": 64, "patch_size": 16, "embed_dim": 16, "depth": 2, "num_heads": 2},
    "convnext_atto": {"depths": (1, 1, 1, 1), "dims": (8, 16, 24, 32)},
}
OTHERS = ("mobilenetv3_small_050", "efficientnet_lite0", "regnetx_002", "mixer_s32_224")


def train(model: nn.Module, optimizer: str, images: torch.Tensor, labels: torch.Tensor) -> dict[str, object]:
    """Five steps: losses, rates, the averaged weights' output."""
    random.seed(0)
    np.random.seed(0)
    mixup = Mixup(mixup_alpha=0.8, label_smoothing=0.1, num_classes=4)
    algorithm = create_optimizer_v2(model, opt=optimizer, lr=3e-4, weight_decay=0.05)
    schedule = CosineLRScheduler(algorithm, t_initial=5, warmup_t=2, warmup_lr_init=1e-4)
    average = ModelEmaV3(model, decay=0.9)
    losses, rates = [], []
    for step in range(5):
        mixed, targets = mixup(images, labels)
        loss = SoftTargetCrossEntropy()(model(mixed), targets)
        algorithm.zero_grad()
        loss.backward()
        algorithm.step()
        schedule.step(step + 1)
        average.update(model, step=step)
        losses.append(loss.item())
        rates.append(algorithm.param_groups[0]["lr"])
    with torch.no_grad():
        logits = average.eval()(images)
    return {"losses": losses, "rates": rates, "logits": logits, "top": accuracy(logits, labels)[0]}


def run() -> dict[str, object]:
    torch.manual_seed(0)
    images, labels = torch.randn(8, 3, 64, 64), torch.arange(8) % 4
    results: dict[str, object] = {}
    for name, options in SMALL.items():
        for optimizer in ("adamw", "lamb", "lion", "sgd") if name == "resnet10t" else ("adamw",):
            torch.manual_seed(0)
            model = timm.create_model(name, num_classes=4, **options)
            results[f"{name} {optimizer}"] = train(model, optimizer, images, labels)
    features = timm.create_model("resnet10t", features_only=True, **SMALL["resnet10t"])(images)
    results["features"] = [list(feature.shape) for feature in features]
    for name in OTHERS:
        torch.manual_seed(0)
        size = {"img_size": 64} if name.startswith("mixer") else {}
        model = timm.create_model(name, num_classes=4, **size).eval()
        with torch.no_grad():
            results[name] = model(torch.ones(1, 3, 64, 64))
    return results
