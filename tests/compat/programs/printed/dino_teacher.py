"""A student that follows a teacher, its own moving average, on several views; stochastic depth and cosine schedules."""

import copy
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


def drop_path(x, drop_prob=0.0, training=False):
    if drop_prob == 0.0 or not training:
        return x
    keep_prob = 1 - drop_prob
    shape = (x.shape[0],) + (1,) * (x.ndim - 1)
    random_tensor = keep_prob + torch.rand(shape, dtype=x.dtype, device=x.device)
    random_tensor.floor_()
    return x.div(keep_prob) * random_tensor


class Attention(nn.Module):
    def __init__(self, dim, heads, drop):
        super().__init__()
        self.heads, self.scale = heads, (dim // heads) ** -0.5
        self.qkv, self.proj = nn.Linear(dim, dim * 3), nn.Linear(dim, dim)
        self.attn_drop, self.proj_drop = nn.Dropout(drop), nn.Dropout(drop)

    def forward(self, x):
        B, N, C = x.shape
        qkv = self.qkv(x).reshape(B, N, 3, self.heads, C // self.heads).permute(2, 0, 3, 1, 4)
        q, k, v = qkv[0], qkv[1], qkv[2]
        attn = self.attn_drop(((q @ k.transpose(-2, -1)) * self.scale).softmax(dim=-1))
        x = (attn @ v).transpose(1, 2).reshape(B, N, C)
        return self.proj_drop(self.proj(x))


class Block(nn.Module):
    def __init__(self, dim, drop, path):
        super().__init__()
        self.norm1, self.norm2, self.path = nn.LayerNorm(dim, eps=1e-6), nn.LayerNorm(dim, eps=1e-6), path
        self.attn = Attention(dim, 2, drop)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Dropout(drop), nn.Linear(2 * dim, dim))

    def forward(self, x):
        x = x + drop_path(self.attn(self.norm1(x)), self.path, self.training)
        return x + drop_path(self.mlp(self.norm2(x)), self.path, self.training)


class ViT(nn.Module):
    def __init__(self, size=8, patch=4, dim=16, depth=2, drop=0.1):
        super().__init__()
        self.patch_embed = nn.Conv2d(1, dim, patch, patch)
        self.pos_embed = nn.Parameter(torch.zeros(1, (size // patch) ** 2, dim))
        nn.init.trunc_normal_(self.pos_embed, std=0.02)
        self.pos_drop = nn.Dropout(drop)
        rates = [r.item() for r in torch.linspace(0, 0.2, depth)]
        self.blocks = nn.ModuleList([Block(dim, drop, r) for r in rates])
        self.norm = nn.LayerNorm(dim)
        head = [nn.Linear(dim, 24), nn.GELU(), nn.Linear(24, 12)]
        self.head = nn.Sequential(*head)
        self.last = nn.utils.weight_norm(nn.Linear(12, 32, bias=False))
        self.last.weight_g.data.fill_(1)
        self.last.weight_g.requires_grad = False

    def positions(self, h, w):
        if h * w == self.pos_embed.shape[1]:
            return self.pos_embed
        side = int(math.sqrt(self.pos_embed.shape[1]))
        table = self.pos_embed.reshape(1, side, side, -1).permute(0, 3, 1, 2)
        table = F.interpolate(table, size=(h, w), mode="bicubic")
        return table.permute(0, 2, 3, 1).reshape(1, h * w, -1)

    def forward(self, x):
        x = self.patch_embed(x)
        h, w = x.shape[-2:]
        x = x.flatten(2).transpose(1, 2)
        x = self.pos_drop(x + self.positions(h, w))
        for block in self.blocks:
            x = block(x)
        x = self.head(self.norm(x).mean(1))
        return self.last(F.normalize(x, dim=-1, p=2))


class DINOLoss(nn.Module):
    def __init__(self, out_dim, momentum=0.9):
        super().__init__()
        self.momentum = momentum
        self.register_buffer("center", torch.zeros(1, out_dim))

    def forward(self, student, teacher, temp):
        student_out = [s / 0.1 for s in student]
        teacher_out = [F.softmax((t - self.center) / temp, dim=-1).detach() for t in teacher]
        total, n = 0, 0
        for i, q in enumerate(teacher_out):
            for v, s in enumerate(student_out):
                if v != i:
                    total, n = total + torch.sum(-q * F.log_softmax(s, dim=-1), dim=-1).mean(), n + 1
        self.update(torch.cat(teacher))
        return total / n

    @torch.no_grad()
    def update(self, out):
        self.center = self.center * self.momentum + out.mean(0, keepdim=True) * (1 - self.momentum)


torch.manual_seed(0)
student = ViT()
teacher = ViT()
teacher.load_state_dict(student.state_dict())
backbone = copy.deepcopy(student.blocks)
for p in teacher.parameters():
    p.requires_grad = False
criterion = DINOLoss(32)
decay = [p for p in student.parameters() if p.requires_grad and p.ndim > 1]
rest = [p for p in student.parameters() if p.requires_grad and p.ndim <= 1]
optimizer = torch.optim.AdamW([{"params": decay}, {"params": rest, "weight_decay": 0.0}], lr=2e-3, weight_decay=0.04)
for step in range(8):
    for i, group in enumerate(optimizer.param_groups):
        group["lr"] = 2e-3 * 0.5 * (1 + math.cos(math.pi * step / 8))
    base = torch.rand(4, 1, 8, 8)
    views = [base + 0.1 * torch.randn_like(base), base.flip(-1) * 0.9, base[:, :, :4, 4:], base[:, :, 2:6, 2:6]]
    with torch.no_grad():
        targets = [teacher(v) for v in views[:2]]
    loss = criterion([student(v) for v in views], targets, temp=0.04 + 0.005 * step)
    optimizer.zero_grad()
    loss.backward()
    norm = nn.utils.clip_grad_norm_(student.parameters(), 3.0)
    optimizer.step()
    with torch.no_grad():
        m = 1 - (1 - 0.9) * (math.cos(math.pi * step / 8) + 1) / 2
        for q, k in zip(student.parameters(), teacher.parameters()):
            k.data.mul_(m).add_((1 - m) * q.detach().data)
        for q, k in zip(student.blocks.parameters(), backbone.parameters()):
            k.lerp_(q, 0.1)
    print(f"step {step}: loss {loss.item():.6f} norm {norm.item():.5f} centre {criterion.center.norm().item():.6f}")
print("a slower copy", f"{sum(p.norm() for p in backbone.parameters()).item():.5f}")
