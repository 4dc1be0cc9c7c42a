"""A character model on packed sequences; it samples with Categorical, and learns a little by REINFORCE."""

import string
import sys

import numpy as np
import torch
from torch import nn, optim
from torch.distributions import Categorical
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

NAMES = "anna bruno carla dario elena fabio giada ivo luca marta nina olga paolo rita sara tino ugo vera".split()
ALPHABET = "." + string.ascii_lowercase


def encode(name):
    return torch.tensor([ALPHABET.index(c) for c in "." + name + "."])


class CharModel(nn.Module):
    def __init__(self, n_chars, hidden_size=32, n_layers=2, model="gru", dropout=0.0):
        super(CharModel, self).__init__()
        self.model = model.lower()
        self.hidden_size, self.n_layers = hidden_size, n_layers
        self.encoder = nn.Embedding(n_chars, hidden_size)
        kind = {"gru": nn.GRU, "lstm": nn.LSTM, "rnn": nn.RNN}[self.model]
        self.rnn = kind(hidden_size, hidden_size, n_layers, batch_first=True, dropout=dropout)
        self.decoder = nn.Sequential(nn.LayerNorm(hidden_size), nn.Linear(hidden_size, n_chars))
        self.cell = nn.GRUCell(n_chars, n_chars)

    def forward(self, x, lengths):
        packed = pack_padded_sequence(self.encoder(x), lengths, batch_first=True, enforce_sorted=False)
        packed, hidden = self.rnn(packed)
        out, out_lengths = pad_packed_sequence(packed, batch_first=True)
        assert out_lengths.tolist() == lengths.tolist()
        return self.decoder(out), hidden

    def step(self, char, hidden):
        out, hidden = self.rnn(self.encoder(char.view(-1, 1)), hidden)
        return self.decoder(out[:, -1]), hidden

    def init_hidden(self, batch_size):
        return torch.zeros(self.n_layers, batch_size, self.hidden_size)


torch.manual_seed(12)
model = CharModel(len(ALPHABET))
optimizer = optim.RMSprop(model.parameters(), lr=0.005)
scheduler = optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.98)
criterion = nn.CrossEntropyLoss(ignore_index=-1, reduction="none")

losses, gradients = [], {}
for epoch in range(20):
    order = torch.randperm(len(NAMES))[:8]
    batch = [encode(NAMES[i]) for i in order]
    lengths = torch.tensor([len(b) - 1 for b in batch])
    x = pad_sequence([b[:-1] for b in batch], batch_first=True)
    y = pad_sequence([b[1:] for b in batch], batch_first=True, padding_value=-1)
    optimizer.zero_grad()
    logits, _ = model(x, lengths)
    loss = criterion(logits.transpose(1, 2), y)
    loss = loss.sum(1).div(lengths).mean()
    once = nn.functional.one_hot(x[:, 0], len(ALPHABET)).float()
    loss = loss + 0.01 * model.cell(once, torch.zeros_like(once)).pow(2).mean()
    loss.backward()
    if epoch == 0:
        first_logits = logits.detach().numpy()
        gradients = {n: p.grad.numpy().copy() for n, p in model.named_parameters()}
    torch.nn.utils.clip_grad_value_(model.parameters(), 0.5)
    optimizer.step()
    scheduler.step()
    losses.append(loss.item())

# policy gradient on the length of names
rewards = []
for episode in range(3):
    hidden, char, log_probs = model.init_hidden(4), torch.zeros(4, dtype=torch.long), []
    for t in range(5):
        logits, hidden = model.step(char, hidden)
        policy = Categorical(logits=logits)
        char = policy.sample()
        log_probs.append(policy.log_prob(char))
    reward = (char != 0).float()
    loss = -(torch.stack(log_probs).sum(0) * (reward - reward.mean())).mean() - 0.01 * policy.entropy().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    rewards.append(loss.item())

model.eval()
sampled, greedy = [], []
with torch.no_grad():
    hidden, char = model.init_hidden(1), torch.tensor([0])
    for _ in range(10):
        logits, hidden = model.step(char, hidden)
        char = Categorical(nn.functional.softmax(logits / 0.7, dim=-1)).sample()
        sampled.append(char.item())
    hidden, char = model.init_hidden(1), torch.tensor([0])
    for _ in range(10):
        logits, hidden = model.step(char, hidden)
        char = logits.max(1).indices
        greedy.append(char.item())
print("".join(ALPHABET[i] for i in greedy))
np.savez(
    sys.argv[1], keys=list(model.state_dict()), logits=first_logits, losses=losses, rewards=rewards, greedy=greedy,
    sampled=sampled, **{f"grad/{name}": g for name, g in gradients.items()},
)
