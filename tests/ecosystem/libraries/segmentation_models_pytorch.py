"""segmentation-models-pytorch: a U-Net on ResNet-18 and an FPN, trained with its losses; its metrics."""

from __future__ import annotations

import segmentation_models_pytorch as smp
import torch


def run() -> dict[str, object]:
    torch.manual_seed(0)
    images = torch.randn(2, 3, 64, 64)
    masks = (torch.randn(2, 1, 64, 64) > 0).float()
    model = smp.Unet("resnet18", encoder_weights=None, decoder_channels=(32, 16, 16, 8, 8), classes=1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    dice, focal, losses = smp.losses.DiceLoss("binary"), smp.losses.FocalLoss("binary"), []
    for _ in range(3):
        logits = model(images)
        loss = dice(logits, masks) + focal(logits, masks)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    counts = smp.metrics.get_stats(logits.sigmoid(), masks.long(), mode="binary", threshold=0.5)
    results: dict[str, object] = {"losses": losses, "iou": smp.metrics.iou_score(*counts, reduction="micro")}
    with torch.no_grad():
        torch.manual_seed(0)
        pyramid = smp.FPN("resnet18", encoder_weights=None, classes=3, decoder_dropout=0.0).eval()
        results["fpn"] = pyramid(images).mean((2, 3))
    return results
