"""a conditional random field: likelihood in every reduction, gradients, the best tags, an LSTM tagger trained"""

import torch
from torch import nn
from torchcrf import CRF
from training import train


def run() -> dict[str, object]:
    crf = CRF(5, batch_first=True)
    emissions = torch.randn(3, 7, 5, requires_grad=True)
    tags = torch.randint(0, 5, (3, 7))
    mask = torch.arange(7)[None] < torch.tensor([[7], [5], [2]])
    likelihoods = [crf(emissions, tags, mask, reduction=how) for how in ("none", "sum", "mean", "token_mean")]
    likelihoods[1].neg().backward()
    gradients = [emissions.grad, *(p.grad.clone() for p in crf.parameters())]
    embedding, lstm, linear = nn.Embedding(20, 8), nn.LSTM(8, 6, bidirectional=True, batch_first=True), nn.Linear(12, 5)
    parts = nn.ModuleList([embedding, lstm, linear, crf])
    words = torch.randint(0, 20, (3, 7))
    loss = lambda: -crf(linear(lstm(embedding(words))[0]), tags, mask, reduction="token_mean")
    losses = train(torch.optim.Adam(parts.parameters(), lr=0.01), loss, 5)
    best = crf.decode(linear(lstm(embedding(words))[0]), mask)
    return {"likelihoods": likelihoods, "gradients": gradients, "losses": losses, "best": best}
