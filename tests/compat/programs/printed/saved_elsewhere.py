"""Saves tensors for the backward pass elsewhere: packed to 16 bits, counted, in files, on the CPU, or recomputed."""

import tempfile
from pathlib import Path

import torch
from torch import nn
from torch.autograd.graph import save_on_cpu, saved_tensors_hooks
from torch.utils.checkpoint import checkpoint


class Kept:
    """A file that stores a tensor until it is no longer needed."""

    def __init__(self, folder, number):
        self.path = Path(folder) / f"{number}.pt"

    def __del__(self):
        self.path.unlink(missing_ok=True)


class Disk:
    def __init__(self, folder):
        self.folder, self.files = folder, []

    def pack(self, tensor):
        file = Kept(self.folder, len(self.files))
        self.files.append(file.path)
        torch.save(tensor, file.path)
        return file


torch.manual_seed(0)
block = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.1, activation="gelu", batch_first=True)
model = nn.Sequential(nn.Linear(6, 16), block, nn.Tanh(), nn.Linear(16, 6))
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
bytes_kept = []


def halve(x):
    bytes_kept.append(x.numel() * x.element_size())
    return (x.dtype, x.half()) if x.dtype == torch.float32 and x.numel() > 64 else (x.dtype, x)


def widen(packed):
    dtype, x = packed
    return x.to(dtype)


def loss_of(x):
    return (model(x) - x.roll(1, 1)).pow(2).mean()


def update(name, loss):
    optimizer.zero_grad()
    loss.backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    print(f"{name}: loss {loss.item():.7f} norm {norm.item():.6f}")


for step in range(2):
    x = torch.randn(5, 8, 6)
    update("plain", loss_of(x))
    with save_on_cpu():
        loss = loss_of(x)
    update("on the CPU", loss)
    with saved_tensors_hooks(halve, widen):
        loss = loss_of(x)
    print("something was packed:", len(bytes_kept) > 5)
    update("halved", loss)
    with tempfile.TemporaryDirectory() as folder:
        disk = Disk(folder)
        with saved_tensors_hooks(disk.pack, lambda file: torch.load(file.path)):
            loss = loss_of(x)
        print("files while they are needed:", all(path.exists() for path in disk.files))
        update("in files", loss)
    hidden = checkpoint(model[:2], x, use_reentrant=False)
    update("computed again", (model[2:](hidden) - x).pow(2).mean())
a = torch.ones(3, requires_grad=True)
with saved_tensors_hooks(lambda t: t * 4, lambda t: t):
    y = a**2
y.sum().backward()
print("a wrong packer shows:", a.grad.tolist())
