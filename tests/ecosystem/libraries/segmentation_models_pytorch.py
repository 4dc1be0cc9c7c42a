"""segmentation-models-pytorch: a U-Net on ResNet-18 and an FPN, trained with its losses; its metrics."""

import segmentation_models_pytorch as smp
import torch
from training import train


def run() -> dict[str, object]:
    torch.manual_seed(0)
    images = torch.randn(2, 3, 64, 64)
    masks = (torch.randn(2, 1, 64, 64) > 0).float()
    model = smp.Unet("resnet18", encoder_weights=None, decoder_channels=(32, 16, 16, 8, 8), classes=1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    parts = smp.losses.DiceLoss("binary"), smp.losses.FocalLoss("binary")
    losses = train(optimizer, lambda: sum(part(model(images), masks) for part in parts), 3)
    counts = smp.metrics.get_stats(model(images).sigmoid(), masks.long(), mode="binary", threshold=0.5)
    results: dict[str, object] = {"losses": losses, "iou": smp.metrics.iou_score(*counts, reduction="micro")}
    with torch.no_grad():
        torch.manual_seed(0)
        pyramid = smp.FPN("resnet18", encoder_weights=None, classes=3, decoder_dropout=0.0).eval()
        results["fpn"] = pyramid(images).mean((2, 3))
    return results
