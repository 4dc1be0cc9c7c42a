"""An encoder-decoder by hand: label smoothing through KLDivLoss, LambdaLR, masks, greedy decoding."""

import copy
import math
import sys

import numpy as np
import torch
import torch.nn as nn
from torch.autograd import Variable
from torch.nn.functional import log_softmax
from torch.nn.utils.rnn import pad_sequence
from torch.optim.lr_scheduler import LambdaLR
from torch.utils.data import DataLoader, Dataset

PAD, BOS, EOS = 0, 1, 2


def clones(module, N):
    return nn.ModuleList([copy.deepcopy(module) for _ in range(N)])


class LayerNorm(nn.Module):
    def __init__(self, features, eps=1e-6):
        super(LayerNorm, self).__init__()
        self.a_2 = nn.Parameter(torch.ones(features))
        self.b_2 = nn.Parameter(torch.zeros(features))
        self.eps = eps

    def forward(self, x):
        mean = x.mean(-1, keepdim=True)
        std = x.std(-1, keepdim=True)
        return self.a_2 * (x - mean) / (std + self.eps) + self.b_2


class SublayerConnection(nn.Module):
    def __init__(self, size, dropout):
        super().__init__()
        self.norm = LayerNorm(size)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, sublayer):
        return x + self.dropout(sublayer(self.norm(x)))


def attention(query, key, value, mask=None, dropout=None):
    d_k = query.size(-1)
    scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    p_attn = scores.softmax(dim=-1)
    if dropout is not None:
        p_attn = dropout(p_attn)
    return torch.matmul(p_attn, value), p_attn


class MultiHeadedAttention(nn.Module):
    def __init__(self, h, d_model, dropout=0.1):
        super().__init__()
        assert d_model % h == 0
        self.d_k, self.h = d_model // h, h
        self.linears = clones(nn.Linear(d_model, d_model), 4)
        self.attn = None
        self.dropout = nn.Dropout(p=dropout)

    def forward(self, query, key, value, mask=None):
        if mask is not None:
            mask = mask.unsqueeze(1)
        nbatches = query.size(0)
        query, key, value = [
            lin(x).view(nbatches, -1, self.h, self.d_k).transpose(1, 2)
            for lin, x in zip(self.linears, (query, key, value))
        ]
        x, self.attn = attention(query, key, value, mask=mask, dropout=self.dropout)
        x = x.transpose(1, 2).contiguous().view(nbatches, -1, self.h * self.d_k)
        return self.linears[-1](x)


class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.1):
        super().__init__()
        self.w_1, self.w_2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        return self.w_2(self.dropout(self.w_1(x).relu()))


class Layer(nn.Module):
    def __init__(self, size, self_attn, src_attn, feed_forward, dropout):
        super().__init__()
        self.size = size
        self.self_attn, self.src_attn, self.feed_forward = self_attn, src_attn, feed_forward
        self.sublayer = clones(SublayerConnection(size, dropout), 3 if src_attn is not None else 2)

    def forward(self, x, own_mask, memory=None, memory_mask=None):
        x = self.sublayer[0](x, lambda x: self.self_attn(x, x, x, own_mask))
        if self.src_attn is not None:
            x = self.sublayer[1](x, lambda x: self.src_attn(x, memory, memory, memory_mask))
        return self.sublayer[-1](x, self.feed_forward)


class Stack(nn.Module):
    def __init__(self, layer, N):
        super().__init__()
        self.layers = clones(layer, N)
        self.norm = LayerNorm(layer.size)

    def forward(self, x, *rest):
        for layer in self.layers:
            x = layer(x, *rest)
        return self.norm(x)


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, dropout, max_len=100):
        super().__init__()
        self.dropout = nn.Dropout(p=dropout)
        pe = torch.zeros(max_len, d_model)
        position = torch.arange(0, max_len).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2) * -(math.log(10000.0) / d_model))
        pe[:, 0::2] = torch.sin(position * div_term)
        pe[:, 1::2] = torch.cos(position * div_term)
        self.register_buffer("pe", pe.unsqueeze(0))

    def forward(self, x):
        return self.dropout(x + Variable(self.pe[:, : x.size(1)], requires_grad=False))


class Translator(nn.Module):
    def __init__(self, src_vocab, tgt_vocab, N=2, d_model=32, d_ff=64, h=4, dropout=0.1):
        super().__init__()
        c = copy.deepcopy
        attn, ff = MultiHeadedAttention(h, d_model), FeedForward(d_model, d_ff, dropout)
        position = PositionalEncoding(d_model, dropout)
        self.encoder = Stack(Layer(d_model, c(attn), None, c(ff), dropout), N)
        self.decoder = Stack(Layer(d_model, c(attn), c(attn), c(ff), dropout), N)
        self.src_embed = nn.Sequential(nn.Embedding(src_vocab, d_model, padding_idx=PAD), c(position))
        self.tgt_embed = nn.Sequential(nn.Embedding(tgt_vocab, d_model), c(position))
        self.generator = nn.Linear(d_model, tgt_vocab)
        self.scale = math.sqrt(d_model)
        for p in self.parameters():
            if p.dim() > 1:
                nn.init.xavier_uniform_(p)

    def encode(self, src, src_mask):
        return self.encoder(self.src_embed[1](self.src_embed[0](src) * self.scale), src_mask)

    def decode(self, memory, src_mask, tgt, tgt_mask):
        return self.decoder(self.tgt_embed[1](self.tgt_embed[0](tgt) * self.scale), tgt_mask, memory, src_mask)

    def forward(self, src, tgt, src_mask, tgt_mask):
        out = self.decode(self.encode(src, src_mask), src_mask, tgt, tgt_mask)
        return log_softmax(self.generator(out), dim=-1)


def subsequent_mask(size):
    return torch.triu(torch.ones((1, size, size)), diagonal=1).type(torch.uint8) == 0


class LabelSmoothing(nn.Module):
    def __init__(self, size, padding_idx, smoothing=0.0):
        super().__init__()
        self.criterion = nn.KLDivLoss(reduction="sum")
        self.padding_idx, self.confidence, self.smoothing, self.size = padding_idx, 1.0 - smoothing, smoothing, size
        self.true_dist = None

    def forward(self, x, target):
        assert x.size(1) == self.size
        true_dist = x.data.clone()
        true_dist.fill_(self.smoothing / (self.size - 2))
        true_dist.scatter_(1, target.data.unsqueeze(1), self.confidence)
        true_dist[:, self.padding_idx] = 0
        mask = torch.nonzero(target.data == self.padding_idx)
        if mask.dim() > 0:
            true_dist.index_fill_(0, mask.squeeze(), 0.0)
        self.true_dist = true_dist
        return self.criterion(x, true_dist.clone().detach())


class Reversals(Dataset):
    """Numbers, to be read backwards with 1 added."""

    def __init__(self, n):
        rng = np.random.RandomState(5)
        self.pairs = []
        for _ in range(n):
            src = rng.randint(3, 14, rng.randint(3, 8)).tolist()
            self.pairs.append((src, [BOS, *(t + 1 for t in reversed(src)), EOS]))

    def __len__(self):
        return len(self.pairs)

    def __getitem__(self, i):
        src, tgt = self.pairs[i]
        return torch.LongTensor(src), torch.LongTensor(tgt)


def collate(batch):
    src, tgt = zip(*batch)
    return pad_sequence(src, batch_first=True, padding_value=PAD), pad_sequence(tgt, True, PAD)


def rate(step, model_size, factor, warmup):
    step = max(step, 1)
    return factor * (model_size ** (-0.5) * min(step ** (-0.5), step * warmup ** (-1.5)))


def greedy_decode(model, src, src_mask, max_len):
    memory = model.encode(src, src_mask)
    ys = torch.zeros(1, 1).fill_(BOS).type_as(src.data)
    for _ in range(max_len - 1):
        out = model.decode(memory, src_mask, ys, subsequent_mask(ys.size(1)).type_as(src.data))
        prob = model.generator(out[:, -1])
        _, next_word = torch.max(prob, dim=1)
        next_word = next_word.data[0]
        ys = torch.cat([ys, torch.zeros(1, 1).type_as(src.data).fill_(next_word)], dim=1)
    return ys


torch.manual_seed(7)
model = Translator(16, 16)
criterion = LabelSmoothing(16, PAD, 0.1)
optimizer = torch.optim.Adam(model.parameters(), lr=1.0, betas=(0.9, 0.98), eps=1e-9)
scheduler = LambdaLR(optimizer=optimizer, lr_lambda=lambda step: rate(step, 32, factor=0.5, warmup=20))
loader = DataLoader(Reversals(64), batch_size=8, shuffle=True, collate_fn=collate, drop_last=True)

losses, gradients, rates = [], {}, []
model.train()
while len(losses) < 20:
    for src, tgt in loader:
        tgt_in, tgt_out = tgt[:, :-1], tgt[:, 1:]
        src_mask = (src != PAD).unsqueeze(-2)
        tgt_mask = (tgt_in != PAD).unsqueeze(-2)
        tgt_mask = tgt_mask & subsequent_mask(tgt_in.size(-1)).type_as(tgt_mask.data)
        out = model(src, tgt_in, src_mask, tgt_mask)
        ntokens = (tgt_out != PAD).data.sum()
        loss = criterion(out.contiguous().view(-1, out.size(-1)), tgt_out.contiguous().view(-1)) / ntokens
        loss.backward()
        if not losses:
            first_logits = out.detach().numpy()
            gradients = {name: p.grad.data.clone().numpy() for name, p in model.named_parameters()}
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        scheduler.step()
        losses.append(float(loss))
        rates.append(scheduler.get_last_lr()[0])

model.eval()
with torch.no_grad():
    src = torch.LongTensor([[3, 5, 7, 9]])
    greedy = greedy_decode(model, src, torch.ones(1, 1, 4), max_len=8)
print(greedy, f"{losses[-1]:.4f}")
np.savez(
    sys.argv[1], keys=list(model.state_dict().keys()), logits=first_logits, losses=losses[:20], rates=rates[:20],
    greedy=greedy.numpy(), **{f"grad/{name}": g for name, g in gradients.items()},
)
