"""A translator of digits: bidirectional GRU, additive attention, packed sequences, random teacher forcing."""

import random

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

PAD, SOS, EOS = 0, 1, 2


class Encoder(nn.Module):
    def __init__(self, vocabulary, emb, hid, dropout):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, emb, padding_idx=PAD)
        self.rnn = nn.GRU(emb, hid, num_layers=2, bidirectional=True, dropout=dropout)
        self.fc = nn.Linear(2 * hid, hid)
        self.dropout = nn.Dropout(dropout)

    def forward(self, src, lengths):
        embedded = self.dropout(self.embedding(src))
        packed = pack_padded_sequence(embedded, lengths, enforce_sorted=False)
        outputs, hidden = self.rnn(packed)
        outputs, _ = pad_packed_sequence(outputs)
        return outputs, torch.tanh(self.fc(torch.cat((hidden[-2], hidden[-1]), dim=1)))


class Attention(nn.Module):
    def __init__(self, hid):
        super().__init__()
        self.attn = nn.Linear(3 * hid, hid)
        self.v = nn.Parameter(torch.rand(hid))

    def forward(self, hidden, encoded, mask):
        hidden = hidden.unsqueeze(1).repeat(1, encoded.shape[0], 1)
        energy = torch.tanh(self.attn(torch.cat((hidden, encoded.permute(1, 0, 2)), dim=2)))
        scores = torch.einsum("bsh,h->bs", energy, self.v)
        return F.softmax(scores.masked_fill(mask, -1e10), dim=1)


class Decoder(nn.Module):
    def __init__(self, vocabulary, emb, hid, dropout):
        super().__init__()
        self.attention = Attention(hid)
        self.embedding = nn.Embedding(vocabulary, emb)
        self.rnn = nn.GRUCell(2 * hid + emb, hid)
        self.out = nn.Linear(3 * hid + emb, vocabulary)
        self.dropout = nn.Dropout(dropout)

    def forward(self, token, hidden, encoded, mask):
        embedded = self.dropout(self.embedding(token))
        a = self.attention(hidden, encoded, mask).unsqueeze(1)
        weighted = torch.bmm(a, encoded.transpose(0, 1)).squeeze(1)
        hidden = self.rnn(torch.cat((embedded, weighted), dim=1), hidden)
        return self.out(torch.cat((hidden, weighted, embedded), dim=1)), hidden


class Seq2Seq(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.decoder = Encoder(13, 10, 12, 0.3), Decoder(13, 10, 12, 0.3)

    def forward(self, src, lengths, trg, teacher_forcing_ratio=0.5):
        encoded, hidden = self.encoder(src, lengths)
        outputs = torch.zeros(trg.shape[0], trg.shape[1], 13)
        token, mask = trg[0, :], (src == PAD).t()
        for t in range(1, trg.shape[0]):
            output, hidden = self.decoder(token, hidden, encoded, mask)
            outputs[t] = output
            token = trg[t] if random.random() < teacher_forcing_ratio else output.argmax(1)
        return outputs


def init_weights(m):
    for name, param in m.named_parameters(recurse=False):
        if "weight" in name:
            nn.init.normal_(param.data, mean=0, std=0.1)
        else:
            nn.init.constant_(param.data, 0)


def batch(n=10):
    rows = [torch.randint(3, 13, (int(torch.randint(3, 8, ())),)) for _ in range(n)]
    src = pad_sequence(rows, padding_value=PAD)
    trg = pad_sequence([torch.cat([torch.tensor([SOS]), r.flip(0), torch.tensor([EOS])]) for r in rows])
    return src, torch.tensor([len(r) for r in rows]), trg


torch.manual_seed(2)
random.seed(2)
model = Seq2Seq()
model.apply(init_weights)
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
criterion = nn.CrossEntropyLoss(ignore_index=PAD)
print("parameters", sum(p.numel() for p in model.parameters() if p.requires_grad))
for step in range(8):
    src, lengths, trg = batch()
    model.train()
    optimizer.zero_grad()
    output = model(src, lengths, trg)
    loss = criterion(output[1:].view(-1, 13), trg[1:].view(-1))
    loss.backward()
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1)
    optimizer.step()
    print(f"step {step}: loss {loss.item():.7f} norm {norm:.6f}")
model.eval()
with torch.no_grad():
    print(model(src, lengths, trg, 0).argmax(-1)[1:].t()[0].tolist())
