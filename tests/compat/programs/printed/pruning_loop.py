"""Pruning in rounds: train, remove the smallest weights of the whole network, rewind the others, train again."""

import copy

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.nn.utils.prune as prune


class LeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 4, 3), nn.Conv2d(4, 8, 3)
        self.fc1, self.fc2 = nn.Linear(32, 24), nn.Linear(24, 3)
        self.drop = nn.Dropout(0.2)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.relu(self.conv2(x)).flatten(1)
        return self.fc2(self.drop(F.relu(self.fc1(x))))


class Threshold(prune.BasePruningMethod):
    PRUNING_TYPE = "unstructured"

    def __init__(self, threshold):
        self.threshold = threshold

    def compute_mask(self, tensor, default_mask):
        return default_mask * (tensor.abs() > self.threshold)


def batch(n=16):
    y = torch.randint(0, 3, (n,))
    x = 0.3 * torch.randn(n, 1, 10, 10)
    for i, label in enumerate(y.tolist()):
        x[i, 0, 3 * label : 3 * label + 3] += 1
    return x, y


def train(net, steps):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    for _ in range(steps):
        x, y = batch()
        loss = F.cross_entropy(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


torch.manual_seed(0)
net = LeNet()
start = copy.deepcopy(net.state_dict())
parts = [(m, "weight") for m in net.modules() if isinstance(m, (nn.Conv2d, nn.Linear))]
for round in range(3):
    loss = train(net, 4)
    prune.global_unstructured(parts, pruning_method=prune.L1Unstructured, amount=0.3)
    zeros = sum((m.weight == 0).sum().item() for m, _ in parts)
    print(f"round {round}: loss {loss:.7f}, zeros {zeros} of {sum(m.weight.numel() for m, _ in parts)}")
    with torch.no_grad():
        for name, module in net.named_children():
            if hasattr(module, "weight_orig"):
                module.weight_orig.copy_(start[f"{name}.weight"])
                module.bias.copy_(start[f"{name}.bias"])
print(sorted(net.state_dict())[:4], prune.is_pruned(net), len(net.conv1._forward_pre_hooks))
prune.ln_structured(net.conv2, name="weight", amount=2, n=2, dim=0)
prune.random_unstructured(net.fc1, name="bias", amount=0.25)
Threshold.apply(net.fc2, "weight", threshold=0.05)
print("channels", net.conv2.weight_mask.flatten(1).any(1).tolist(), "bias", net.fc1.bias_mask.int().tolist())
print(f"after all: loss {train(net, 4):.7f}, weights {net.fc2.weight.abs().sum().item():.6f}")
for module, name in parts:
    prune.remove(module, name)
prune.remove(net.fc1, "bias")
net.eval()
x, y = batch(8)
print(sorted(net.state_dict())[:4], [f"{v:.6f}" for v in net(x)[0].tolist()])
