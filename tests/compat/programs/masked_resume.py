"""A masked language model on nn.TransformerEncoder that is pickled in the middle, loaded, and goes on."""

import copy
import io
import os
import pickle
import random
import sys
import tempfile
from collections import OrderedDict

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.optim.lr_scheduler import StepLR
from torch.utils.data import DataLoader, Dataset

MASK, CLS, VOCAB = 1, 2, 30


class Sentences(Dataset):
    def __init__(self, n, length=10):
        random.seed(3)
        self.rows = []
        for _ in range(n):
            start, stride = random.randrange(20), random.choice([1, 2, 3])
            self.rows.append([CLS] + [3 + (start + stride * i) % 26 for i in range(length)])

    def __getitem__(self, item):
        return {"input_ids": torch.tensor(self.rows[item]), "name": f"row {item}", "length": len(self.rows[item])}

    def __len__(self):
        return len(self.rows)


class BERT(nn.Module):
    def __init__(self, hidden=32, n_layers=2, heads=4):
        super().__init__()
        self.token = nn.Embedding(VOCAB, hidden, padding_idx=0)
        self.register_buffer("position_ids", torch.arange(64).expand((1, -1)))
        self.position = nn.Embedding(64, hidden)
        layer = nn.TransformerEncoderLayer(hidden, heads, hidden * 2, dropout=0.0, activation="gelu", batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, num_layers=n_layers, enable_nested_tensor=False)
        self.head = nn.Sequential(OrderedDict([
            ("dense", nn.Linear(hidden, hidden)), ("act", nn.Tanh()), ("norm", nn.LayerNorm(hidden)),
            ("decoder", nn.Linear(hidden, VOCAB)),
        ]))
        self.head.decoder.weight = self.token.weight
        self.pooler = None

    def forward(self, ids, labels=None):
        x = self.token(ids) + self.position(self.position_ids[:, : ids.size(1)])
        x = self.encoder(x, src_key_padding_mask=ids.eq(0))
        scores = self.head(x)
        if labels is None:
            return scores
        return F.cross_entropy(scores.view(-1, VOCAB), labels.view(-1)), scores


def mask_tokens(inputs, probability=0.15):
    labels = inputs.clone()
    matrix = torch.full(labels.shape, probability)
    special = labels.eq(CLS) | (labels == 0)
    matrix.masked_fill_(special, value=0.0)
    masked = torch.bernoulli(matrix).bool()
    masked[:, 3] = True
    labels[~masked] = -100
    replaced = torch.bernoulli(torch.full(labels.shape, 0.8)).bool() & masked
    inputs[replaced] = MASK
    randomised = torch.bernoulli(torch.full(labels.shape, 0.5)).bool() & masked & ~replaced
    words = torch.randint(3, VOCAB, labels.shape, dtype=torch.long)
    inputs[randomised] = words[randomised]
    return inputs, labels


def make():
    model = BERT()
    decay = [p for n, p in model.named_parameters() if not any(nd in n for nd in ("bias", "norm"))]
    rest = [p for n, p in model.named_parameters() if any(nd in n for nd in ("bias", "norm"))]
    optimizer = optim.SGD(
        [{"params": decay, "weight_decay": 1e-3}, {"params": rest, "lr": 0.05}], lr=0.1, momentum=0.9, nesterov=True
    )
    return model, optimizer, StepLR(optimizer, step_size=6, gamma=0.5)


def train(model, optimizer, scheduler, loader, steps):
    losses = []
    model.train()
    while len(losses) < steps:
        for batch in loader:
            inputs, labels = mask_tokens(batch["input_ids"].clone())
            loss, scores = model(inputs, labels)
            optimizer.zero_grad()
            loss.backward()
            if not first:
                first["logits"] = scores.detach().numpy()
                first["grads"] = {n: p.grad.numpy().copy() for n, p in model.named_parameters()}
            optimizer.step()
            scheduler.step()
            losses.append(loss.item())
            if len(losses) == steps:
                break
    return losses


first = {}
torch.manual_seed(0)
loader = DataLoader(Sentences(40), batch_size=8, shuffle=True)
model, optimizer, scheduler = make()
losses = train(model, optimizer, scheduler, loader, 10)

path = os.path.join(tempfile.mkdtemp(), "checkpoint.pt")
torch.save({
    "epoch": 1, "model": model.state_dict(), "optimizer": optimizer.state_dict(), "scheduler": scheduler.state_dict(),
    "rng": torch.get_rng_state(), "losses": losses, "note": ("tuple", None, True), "best": min(losses),
}, path)
torch.manual_seed(999)
again, optimizer2, scheduler2 = make()
checkpoint = torch.load(path, map_location="cpu")
assert checkpoint["note"] == ("tuple", None, True) and checkpoint["losses"] == losses
result = again.load_state_dict(checkpoint["model"])
assert not result.missing_keys and not result.unexpected_keys, result
optimizer2.load_state_dict(checkpoint["optimizer"])
scheduler2.load_state_dict(checkpoint["scheduler"])
torch.set_rng_state(checkpoint["rng"])
resumed = train(again, optimizer2, scheduler2, loader, 10)
torch.set_rng_state(checkpoint["rng"])
straight = train(model, optimizer, scheduler, loader, 10)
assert resumed == straight, (resumed, straight)
for (name, a), (_, b) in zip(again.state_dict().items(), model.state_dict().items()):
    assert torch.equal(a, b), name

buffer = io.BytesIO()
torch.save(model, buffer)
buffer.seek(0)
whole = torch.load(buffer, weights_only=False)
pickled = pickle.loads(pickle.dumps(model))
copied = copy.deepcopy(model)
probe = torch.tensor([[CLS, 3, 4, MASK, 6, 7]])
with torch.no_grad():
    expected = model.eval()(probe)
    for other in (whole, pickled, copied):
        assert torch.equal(other.eval()(probe), expected)
        assert other.head.decoder.weight is other.token.weight
greedy = expected.argmax(-1)
print(greedy, scheduler.get_last_lr())
np.savez(
    sys.argv[1], keys=list(model.state_dict()), logits=first["logits"], losses=losses + straight,
    greedy=greedy.numpy(), **{f"grad/{name}": g for name, g in first["grads"].items()},
)
