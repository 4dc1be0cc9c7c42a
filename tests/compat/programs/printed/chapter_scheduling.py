"""A chapter of a book: a multilayer perceptron with dropout, an accumulator, an animator, and learning rate schedules."""

import math

import torch
from torch import nn
from torch.optim import lr_scheduler


class Accumulator:
    """Sums of n numbers."""

    def __init__(self, n):
        self.data = [0.0] * n

    def add(self, *args):
        self.data = [a + float(b) for a, b in zip(self.data, args)]

    def __getitem__(self, i):
        return self.data[i]


class Animator:
    """Growing curves, shown as text."""

    def __init__(self, legend):
        self.legend, self.X, self.Y = legend, [], []

    def add(self, x, y):
        y = y if hasattr(y, "__len__") else [y]
        self.X.append(x)
        self.Y.append([float(v) for v in y])
        print(f"epoch {x}:", ", ".join(f"{name} {v:.7f}" for name, v in zip(self.legend, self.Y[-1])))


class SquareRootScheduler:
    def __init__(self, lr=0.1):
        self.lr = lr

    def __call__(self, num_update):
        return self.lr * pow(num_update + 1.0, -0.5)


class CosineScheduler:
    def __init__(self, max_update, base_lr=0.01, final_lr=0.0, warmup_steps=0):
        self.base_lr, self.final_lr = base_lr, final_lr
        self.max_update, self.warmup_steps = max_update, warmup_steps

    def __call__(self, epoch):
        if epoch < self.warmup_steps:
            return self.base_lr * (epoch + 1) / self.warmup_steps
        share = (epoch - self.warmup_steps) / (self.max_update - self.warmup_steps)
        return self.final_lr + (self.base_lr - self.final_lr) * (1 + math.cos(math.pi * share)) / 2


def synthetic(n, classes=4):
    centres = torch.randn(classes, 10)
    y = torch.randint(0, classes, (n,))
    return centres[y] + 0.8 * torch.randn(n, 10), y


def init_weights(m):
    if type(m) is nn.Linear:
        nn.init.normal_(m.weight, std=0.1)


def dropout_layer(X, dropout):
    mask = (torch.rand(X.shape) > dropout).float()
    return mask * X / (1.0 - dropout)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin1, self.lin2, self.lin3 = nn.Linear(10, 64), nn.Linear(64, 64), nn.Linear(64, 4)
        self.drop = nn.Dropout(0.5)

    def forward(self, X):
        H1 = torch.relu(self.lin1(X))
        if self.training:
            H1 = dropout_layer(H1, 0.2)
        return self.lin3(self.drop(torch.relu(self.lin2(H1))))


def accuracy(y_hat, y):
    return float((y_hat.argmax(axis=1).type(y.dtype) == y).type(y.dtype).sum())


def train(net, train_iter, test_X, test_y, num_epochs, trainer, scheduler=None):
    loss = nn.CrossEntropyLoss()
    animator = Animator(["train loss", "train acc", "test acc", "rate"])
    for epoch in range(num_epochs):
        metric = Accumulator(3)
        net.train()
        for X, y in train_iter:
            trainer.zero_grad()
            y_hat = net(X)
            l = loss(y_hat, y)
            l.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            trainer.step()
            with torch.no_grad():
                metric.add(l * X.shape[0], accuracy(y_hat, y), X.shape[0])
        net.eval()
        with torch.no_grad():
            test_acc = accuracy(net(test_X), test_y) / len(test_y)
        rate = trainer.param_groups[0]["lr"]
        animator.add(epoch + 1, (metric[0] / metric[2], metric[1] / metric[2], test_acc, rate))
        if scheduler:
            if scheduler.__module__ == lr_scheduler.__name__:
                scheduler.step()
            else:
                for group in trainer.param_groups:
                    group["lr"] = scheduler(epoch)


torch.manual_seed(42)
X, y = synthetic(256)
dataset = torch.utils.data.TensorDataset(X[:192], y[:192])
loader = torch.utils.data.DataLoader(dataset, 32, shuffle=True)
for name, make in {
    "square root": lambda t: SquareRootScheduler(0.1),
    "cosine": lambda t: CosineScheduler(4, 0.3, 0.01, warmup_steps=2),
    "multi-step": lambda t: lr_scheduler.MultiStepLR(t, milestones=[2, 3], gamma=0.5),
    "one cycle by torch": lambda t: lr_scheduler.CosineAnnealingLR(t, 5),
}.items():
    print(name)
    net = Net()
    net.apply(init_weights)
    trainer = torch.optim.SGD(net.parameters(), lr=0.3, momentum=0.9, weight_decay=1e-3)
    train(net, loader, X[192:], y[192:], 4, trainer, make(trainer))
print("left of the stream:", torch.rand(3).tolist())
