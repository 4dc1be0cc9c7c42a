"""A user's program without errors in mypy --strict and pyright: data, a model, training, saving, a picture.

``test_user_types.py`` runs the program and the checkers.
"""

import math
import sys
from pathlib import Path
from typing import Any, NamedTuple, assert_type

import numpy as np

import minigrad
import minigrad.nn.functional as F
from minigrad import Tensor, nn, optim, viz
from minigrad.optim.lr_scheduler import LambdaLR
from minigrad.utils.data import DataLoader, Dataset, TensorDataset, random_split

Example = tuple[Tensor, Tensor]


class Batch(NamedTuple):
    """Sentences (B, T) and their labels (B,)."""

    tokens: Tensor
    labels: Tensor


class Sentences(Dataset[Example]):
    """Random token ids; the label is whether their mean is above the middle."""

    def __init__(self, count: int, length: int, words: int) -> None:
        generator = np.random.default_rng(0)
        self.tokens = minigrad.from_numpy(generator.integers(0, words, (count, length)))
        self.labels = (self.tokens.float().mean(1) > words / 2).long()

    def __len__(self) -> int:
        return len(self.tokens)

    def __getitem__(self, index: int) -> Example:
        return self.tokens[index], self.labels[index]


def collate(examples: list[Example]) -> Batch:
    """A batch of examples."""
    return Batch(minigrad.stack([x for x, _ in examples]), minigrad.stack([y for _, y in examples]))


class Attention(nn.Module):
    """Self-attention with one head, written out."""

    scale: Tensor

    def __init__(self, width: int, dropout: float = 0.1) -> None:
        super().__init__()
        self.qkv, self.dropout = nn.Linear(width, 3 * width), nn.Dropout(dropout)
        self.register_buffer("scale", minigrad.tensor(1 / math.sqrt(width)))

    def forward(self, x: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        scores = q @ k.transpose(-2, -1) * self.scale
        if mask is not None:
            scores = scores.masked_fill(mask[:, None, :], -math.inf)
        weights = self.dropout(scores.softmax(-1))
        return weights @ v, weights


class Classifier(nn.Module):
    """Tokens (B, T) -> class scores (B, C)."""

    def __init__(self, words: int, width: int = 32, classes: int = 2) -> None:
        super().__init__()
        self.embedding = nn.Embedding(words, width, padding_idx=0)
        self.attention = Attention(width)
        self.norm = nn.LayerNorm(width)
        self.blocks = nn.ModuleList([nn.Linear(width, width) for _ in range(2)])
        self.lstm = nn.LSTM(width, width, batch_first=True)
        self.head = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Dropout(0.1), nn.Linear(width, classes))
        self.start = nn.Parameter(minigrad.zeros(1, 1, width))

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.embedding(tokens) + self.start
        attended, weights = self.attention(x, mask=tokens == 0)
        assert_type(weights, Tensor)
        x = self.norm(x + attended)
        for block in self.blocks:
            x = F.gelu(block(x))
        out, (h, c) = self.lstm(x)
        assert_type(c, Tensor)
        return self.head(0.5 * out.mean(dim=1) + h[-1])


@minigrad.no_grad()
def accuracy(model: Classifier, loader: DataLoader[Example, Batch]) -> float:
    """The share of correct predictions."""
    model.eval()
    right, total = 0, 0
    for tokens, labels in loader:
        best = model(tokens).max(1)
        right += int((best.indices == labels).sum().item())
        total += labels.numel()
    model.train()
    return right / total


def train(model: Classifier, loader: DataLoader[Example, Batch], device: minigrad.device) -> list[float]:
    """The losses of the updates."""
    optimizer = optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01)
    schedule = LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / 10))
    losses: list[float] = []
    for batch in loader:
        loss = F.cross_entropy(model(batch.tokens.to(device)), batch.labels.to(device), label_smoothing=0.1)
        penalty = sum((p.square().sum() for p in model.parameters()), start=minigrad.zeros(()))
        loss = loss + 1e-4 * penalty
        optimizer.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
        if loss < 1e-3 or not math.isfinite(float(norm)):
            break
    return losses


def main(folder: Path) -> None:
    """Train on some of the sentences, and test on the rest."""
    minigrad.manual_seed(0)
    device = minigrad.device("cuda" if minigrad.cuda.is_available() else "cpu")
    data = Sentences(100, 8, 50)
    train_part, test_part = random_split(data, [80, 20])
    loader = DataLoader(train_part, batch_size=16, shuffle=True, collate_fn=collate)
    model = Classifier(50).to(device)
    losses = train(model, loader, device)
    share = accuracy(model, DataLoader(test_part, batch_size=20, collate_fn=collate))
    print(f"loss {losses[-1]:.3f}, right {share:.1%}, {sum(p.numel() for p in model.parameters())} parameters")
    model.head[0].weight.requires_grad_(False)
    optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    minigrad.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, folder / "classifier.pt")
    state: dict[str, Any] = minigrad.load(folder / "classifier.pt", map_location="cpu")
    result = model.load_state_dict(state["model"], strict=False)
    print(result.missing_keys, result.unexpected_keys)
    optimizer.load_state_dict(state["optimizer"])
    model.eval()
    words = [f"word{i}" for i in range(8)]
    _, weights = model.attention(model.embedding(data.tokens[:1]))
    viz.attention(weights[0], words, words).save(folder / "attention.html")
    viz.graph(model(data.tokens[:2])).save(folder / "graph.html")
    for x, y in DataLoader(TensorDataset(minigrad.randn(8, 2), minigrad.randn(8)), batch_size=4):
        print(x.shape[0], y.dtype, np.asarray(x).mean())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
