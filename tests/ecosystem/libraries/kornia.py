"""Filters, colours, warps with gradients, and a homography found by its loss"""

import kornia
import torch
from training import train


def run() -> dict[str, object]:
    torch.manual_seed(0)
    image = torch.rand(1, 3, 16, 16, requires_grad=True)
    grey = kornia.color.rgb_to_grayscale(image)
    blurred = kornia.filters.gaussian_blur2d(image, (3, 3), (1.0, 1.0))
    edges = kornia.filters.sobel(grey)
    turned = kornia.geometry.rotate(image, torch.tensor([30.0]))
    hsv = kornia.color.rgb_to_hsv(image.detach())
    (blurred.sum() + edges.square().sum() + turned.mean()).backward()
    shift = torch.full((1, 2), 0.3, requires_grad=True)  # between pixels, where the loss has a derivative
    target = kornia.geometry.translate(grey.detach(), torch.tensor([[1.5, -0.5]]))
    distance = lambda: torch.nn.functional.mse_loss(kornia.geometry.translate(grey.detach(), shift), target)
    losses = train(torch.optim.Adam([shift], lr=0.05), distance, 10)
    results = {"edges": edges, "blurred": blurred, "turned": turned, "gradient": image.grad, "hsv": hsv}
    results["boxes"] = kornia.geometry.bbox.bbox_to_mask(torch.tensor([[[1.0, 1], [4, 1], [4, 3], [1, 3]]]), 6, 6)
    results["ssim"] = kornia.losses.ssim_loss(image, blurred, 5)
    return {**results, "losses": losses, "dilated": kornia.morphology.dilation(grey.detach(), torch.ones(3, 3))}
