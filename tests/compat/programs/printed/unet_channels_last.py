"""A U-Net for masks, with channels-last memory and dropout of elements and channels."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class DoubleConv(nn.Module):
    def __init__(self, in_ch, out_ch, p):
        super().__init__()
        self.block = nn.Sequential(
            nn.Conv2d(in_ch, out_ch, 3, padding=1, bias=False),
            nn.BatchNorm2d(out_ch),
            nn.ReLU(inplace=True),
            nn.Dropout(p),
            nn.Conv2d(out_ch, out_ch, 3, padding=1, bias=False),
            nn.GroupNorm(2, out_ch),
            nn.SiLU(),
        )

    def forward(self, x):
        return self.block(x)


class Up(nn.Module):
    def __init__(self, in_ch, out_ch, bilinear):
        super().__init__()
        if bilinear:
            self.up = nn.Sequential(nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True), nn.Dropout(0.1))
            self.reduce = nn.Conv2d(in_ch, in_ch // 2, 1)
        else:
            self.up = nn.ConvTranspose2d(in_ch, in_ch, 2, stride=2)
            self.reduce = nn.Conv2d(in_ch, in_ch // 2, 1)
        self.conv = DoubleConv(in_ch, out_ch, 0.1)

    def forward(self, x, skip):
        x = self.reduce(self.up(x))
        dy, dx = skip.size(2) - x.size(2), skip.size(3) - x.size(3)
        x = F.pad(x, [dx // 2, dx - dx // 2, dy // 2, dy - dy // 2])
        return self.conv(torch.cat([skip, x], dim=1))


class UNet(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.inc = DoubleConv(3, width, 0.1)
        self.down1 = nn.Sequential(nn.MaxPool2d(2), DoubleConv(width, 2 * width, 0.1))
        self.down2 = nn.Sequential(nn.AvgPool2d(2), DoubleConv(2 * width, 4 * width, 0.2), nn.Dropout2d(0.2))
        self.up1 = Up(4 * width, 2 * width, bilinear=True)
        self.up2 = Up(2 * width, width, bilinear=False)
        self.out = nn.Sequential(nn.Dropout(0.1), nn.Conv2d(width, 1, 1))

    def forward(self, x):
        x1 = self.inc(x)
        x2 = self.down1(x1)
        x3 = self.down2(x2)
        return self.out(F.dropout(self.up2(self.up1(x3, x2), x1) * 2 + x1, 0.1, self.training))


def dice_loss(logits, target, eps=1.0):
    p = logits.sigmoid()
    inter = (p * target).sum(dim=(1, 2, 3))
    return (1 - (2 * inter + eps) / (p.sum(dim=(1, 2, 3)) + target.sum(dim=(1, 2, 3)) + eps)).mean()


torch.manual_seed(0)
model = UNet().to(memory_format=torch.channels_last)
optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3, weight_decay=1e-8, momentum=0.9)
scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, "min", patience=1, factor=0.5)
for step in range(6):
    images = torch.rand(2, 3, 18, 22).to(memory_format=torch.channels_last)
    masks = (images.mean(1, keepdim=True) > 0.5).float()
    logits = model(images)
    loss = F.binary_cross_entropy_with_logits(logits, masks) + dice_loss(logits, masks)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    nn.utils.clip_grad_value_(model.parameters(), 1.0)
    optimizer.step()
    scheduler.step(loss)
    print(f"step {step}: {loss.item():.7f}")
features = model.inc(images)
print(images.is_contiguous(memory_format=torch.channels_last), images.is_contiguous(), features.stride())
print("weight", model.inc.block[0].weight.stride(), f"{model.inc.block[0].weight.abs().sum().item():.5f}")
print("left of the stream:", torch.rand(2).tolist())
