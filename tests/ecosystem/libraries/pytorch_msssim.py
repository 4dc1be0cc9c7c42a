"""SSIM and MS-SSIM of pictures and of a volume, and a picture that is changed to raise it"""

import torch
from pytorch_msssim import MS_SSIM, SSIM, ms_ssim, ssim


def run() -> dict[str, object]:
    a = torch.rand(2, 3, 176, 176) * 255
    b = (a + 20 * torch.randn_like(a)).clamp(0, 255)
    picture = torch.rand(1, 1, 32, 32, requires_grad=True)
    goal = torch.rand(1, 1, 32, 32)
    optimizer, losses = torch.optim.Adam([picture], lr=0.05), []
    measure = SSIM(data_range=1, channel=1, nonnegative_ssim=True)
    for _ in range(5):
        loss = 1 - measure(picture, goal)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return {
        "ssim": ssim(a, b, data_range=255, size_average=False),
        "ms-ssim": ms_ssim(a, b, data_range=255, size_average=False),
        "module": MS_SSIM(data_range=255, channel=3, win_size=7)(a, b),
        "volume": ssim(a[:, :, None, :24, :24].repeat(1, 1, 12, 1, 1), b[:, :, None, :24, :24].repeat(1, 1, 12, 1, 1)),
        "losses": losses,
        "picture": picture,
        "gradient": picture.grad,
    }
