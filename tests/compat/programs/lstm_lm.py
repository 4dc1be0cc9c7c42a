"""An LSTM language model whose SGD is written by hand on ``.data``, with tied weights and carried state."""

import math
import sys

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

TEXT = "the cat and the dog and the bird and the cow and the end <eos> " * 20


class Dictionary(object):
    def __init__(self):
        self.word2idx, self.idx2word = {}, []

    def add_word(self, word):
        if word not in self.word2idx:
            self.idx2word.append(word)
            self.word2idx[word] = len(self.idx2word) - 1
        return self.word2idx[word]

    def __len__(self):
        return len(self.idx2word)


class RNNModel(nn.Module):
    """Container module with an encoder, a recurrent module, and a decoder."""

    def __init__(self, rnn_type, ntoken, ninp, nhid, nlayers, dropout=0.5, tie_weights=False):
        super(RNNModel, self).__init__()
        self.ntoken = ntoken
        self.drop = nn.Dropout(dropout)
        self.encoder = nn.Embedding(ntoken, ninp)
        self.rnn = getattr(nn, rnn_type)(ninp, nhid, nlayers, dropout=dropout)
        self.decoder = nn.Linear(nhid, ntoken)
        if tie_weights:
            if nhid != ninp:
                raise ValueError("When using the tied flag, nhid must be equal to emsize")
            self.decoder.weight = self.encoder.weight
        self.init_weights()
        self.rnn_type, self.nhid, self.nlayers = rnn_type, nhid, nlayers

    def init_weights(self):
        initrange = 0.1
        self.encoder.weight.data.uniform_(-initrange, initrange)
        self.decoder.bias.data.zero_()
        self.decoder.weight.data.uniform_(-initrange, initrange)

    def forward(self, input, hidden):
        emb = self.drop(self.encoder(input))
        output, hidden = self.rnn(emb, hidden)
        decoded = self.decoder(self.drop(output))
        decoded = decoded.view(-1, self.ntoken)
        return F.log_softmax(decoded, dim=1), hidden

    def init_hidden(self, bsz):
        weight = next(self.parameters())
        if self.rnn_type == "LSTM":
            return (weight.new_zeros(self.nlayers, bsz, self.nhid), weight.new_zeros(self.nlayers, bsz, self.nhid))
        return weight.new_zeros(self.nlayers, bsz, self.nhid)


def repackage_hidden(h):
    """Wraps hidden states in new Tensors, to detach them from their history."""
    if isinstance(h, torch.Tensor):
        return h.detach()
    return tuple(repackage_hidden(v) for v in h)


def batchify(data, bsz):
    nbatch = data.size(0) // bsz
    data = data.narrow(0, 0, nbatch * bsz)
    return data.view(bsz, -1).t().contiguous()


def get_batch(source, i, bptt=6):
    seq_len = min(bptt, len(source) - 1 - i)
    return source[i : i + seq_len], source[i + 1 : i + 1 + seq_len].view(-1)


torch.manual_seed(1111)
dictionary = Dictionary()
ids = torch.tensor([dictionary.add_word(w) for w in TEXT.split()]).type(torch.int64)
train_data = batchify(ids, 4)
ntokens = len(dictionary)
model = RNNModel("LSTM", ntokens, 24, 24, 2, dropout=0.2, tie_weights=True)
criterion = nn.NLLLoss()
lr, best = 5.0, None

losses, gradients = [], {}
while len(losses) < 20:
    model.train()
    hidden = model.init_hidden(4)
    for i in range(0, train_data.size(0) - 1, 6):
        data, targets = get_batch(train_data, i)
        model.zero_grad()
        hidden = repackage_hidden(hidden)
        output, hidden = model(data, hidden)
        loss = criterion(output, targets)
        loss.backward()
        if not losses:
            logits = output.detach().numpy()
            gradients = {name: p.grad.numpy().copy() for name, p in model.named_parameters()}
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 0.25)
        for p in model.parameters():
            p.data.add_(p.grad.data, alpha=-lr)
        losses.append(loss.item())
    if not best or losses[-1] < best:
        best = losses[-1]
    else:
        lr /= 4.0

model.eval()
hidden = model.init_hidden(1)
input = torch.zeros(1, 1, dtype=torch.long)
greedy, sampled = [], []
with torch.no_grad():
    for i in range(15):
        output, hidden = model(input, hidden)
        input.fill_(torch.argmax(output.squeeze()))
        greedy.append(int(input))
    for i in range(15):
        output, hidden = model(input, hidden)
        word_weights = output.squeeze().div(0.8).exp().cpu()
        word_idx = torch.multinomial(word_weights, 1)[0]
        input.fill_(word_idx)
        sampled.append(word_idx.item())
print(" ".join(dictionary.idx2word[i] for i in greedy), "| ppl {:8.2f}".format(math.exp(losses[-1])))
np.savez(
    sys.argv[1], keys=list(model.state_dict()), logits=logits, losses=losses[:20], greedy=greedy, sampled=sampled,
    norm=norm.item(), **{f"grad/{name}": g for name, g in gradients.items()},
)
