"""torchvision: ResNet-18 and a small ViT trained, transforms of pictures (both versions), boxes."""

import torch
import torchvision
from torch import nn
from torchvision import ops, transforms
from torchvision.models import resnet18
from torchvision.models.vision_transformer import VisionTransformer
from torchvision.transforms import v2
from training import train


def trained(model: nn.Module, images: torch.Tensor, labels: torch.Tensor) -> list[float]:
    """The losses of three steps of SGD."""
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9, weight_decay=1e-4)
    return train(optimizer, lambda: nn.functional.cross_entropy(model(images), labels), 3)


def run() -> dict[str, object]:
    torch.manual_seed(0)
    images, labels = torch.randn(8, 3, 64, 64), torch.arange(8) % 4
    resnet = resnet18(num_classes=4)
    vit = VisionTransformer(
        image_size=64, patch_size=16, num_layers=2, num_heads=2, hidden_dim=16, mlp_dim=32, num_classes=4
    )
    with torch.no_grad():
        results: dict[str, object] = {"logits": resnet.eval()(images)}
    results["resnet"], results["vit"] = trained(resnet.train(), images, labels), trained(vit, images, labels)

    picture = torch.randint(0, 256, (3, 40, 48), dtype=torch.uint8)
    first = [transforms.ToPILImage(), transforms.Resize(36), transforms.CenterCrop(32), transforms.ToTensor()]
    first.append(transforms.Normalize([0.5, 0.4, 0.3], [0.2, 0.2, 0.2]))
    second = [v2.ToDtype(torch.float32, scale=True)]  # PyTorch resizes bytes differently on processors with AVX2
    second += [v2.Resize((36, 36), antialias=True), v2.RandomHorizontalFlip(p=1.0), v2.CenterCrop(32)]
    second.append(v2.Normalize([0.5] * 3, [0.25] * 3))
    results["transformed"] = transforms.Compose(first)(picture)
    results["transformed v2"] = v2.Compose(second)(picture)
    results["gray"] = transforms.functional.rgb_to_grayscale(picture)
    results["blurred"] = v2.functional.gaussian_blur(picture.float(), [5, 5], [1.0, 1.0])
    results["brighter"] = transforms.functional.adjust_brightness(picture, 1.5)
    results["rotated"] = transforms.functional.rotate(picture.float(), 30.0)

    boxes = torch.tensor([[0.0, 0, 10, 10], [5, 5, 15, 15], [20, 20, 30, 30]])
    results["iou"] = ops.box_iou(boxes, boxes)
    results["giou"] = ops.generalized_box_iou_loss(boxes[:1], boxes[1:2])
    results["focal"] = ops.sigmoid_focal_loss(torch.randn(4, 3), torch.eye(4, 3), reduction="mean")
    results["grid"] = torchvision.utils.make_grid(images, nrow=2, normalize=True)
    return results
