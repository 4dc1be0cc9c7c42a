"""Relative attention (Huang et al. 2018) over note events, with a scheduler that wraps Adam, and dropout."""

import sys
from typing import List, Optional

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor
from torch.nn.modules.normalization import LayerNorm
from torch.nn.modules.transformer import _get_clones
from torch.optim import Adam
from torch.utils.data import DataLoader, TensorDataset, random_split

TOKEN_PAD, VOCAB, MAX_SEQ = 40, 41, 16


class RelativeAttention(nn.Module):
    def __init__(self, d_model: int, num_heads: int, max_len: int = MAX_SEQ, dropout: float = 0.1) -> None:
        super().__init__()
        d_head, remainder = divmod(d_model, num_heads)
        if remainder:
            raise ValueError("incompatible `d_model` and `num_heads`")
        self.max_len, self.num_heads = max_len, num_heads
        self.qkv = nn.Linear(d_model, 3 * d_model)
        self.out = nn.Linear(d_model, d_model)
        self.dropout = nn.Dropout(dropout)
        self.Er = nn.Parameter(torch.randn(max_len, d_head))
        self.register_buffer("mask", torch.tril(torch.ones(max_len, max_len)).unsqueeze(0).unsqueeze(0), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        batch_size, seq_len, _ = x.shape
        assert seq_len <= self.max_len, "sequence length exceeds model capacity"
        q, k, v = self.qkv(x).reshape(batch_size, seq_len, 3, self.num_heads, -1).permute(2, 0, 3, 1, 4)
        start = self.max_len - seq_len
        Er_t = self.Er[start:, :].transpose(0, 1)
        Srel = self.skew(torch.matmul(q, Er_t))
        QK_t = torch.einsum("bhqd,bhkd->bhqk", q, k)
        attn = (QK_t + Srel) / np.sqrt(q.size(-1))
        mask = self.mask[:, :, :seq_len, :seq_len]
        attn = attn.masked_fill(mask == 0, torch.finfo(attn.dtype).min)
        attn = self.dropout(F.softmax(attn, dim=-1))
        out = torch.matmul(attn, v).transpose(1, 2)
        return self.out(out.reshape(batch_size, seq_len, -1))

    @staticmethod
    def skew(QEr: Tensor) -> Tensor:
        padded = F.pad(QEr, (1, 0))
        batch_size, num_heads, num_rows, num_cols = padded.shape
        reshaped = padded.reshape(batch_size, num_heads, num_cols, num_rows)
        return reshaped[:, :, 1:, :]


class RelativeLayer(nn.Module):
    def __init__(self, d_model: int, nhead: int, dim_feedforward: int = 64, dropout: float = 0.1):
        super().__init__()
        self.self_attn = RelativeAttention(d_model, nhead, dropout=dropout)
        self.conv1 = nn.Conv1d(d_model, dim_feedforward, kernel_size=1)
        self.conv2 = nn.Conv1d(dim_feedforward, d_model, 1)
        self.norm1, self.norm2 = LayerNorm(d_model), nn.LayerNorm(d_model, eps=1e-6)
        self.dropout1, self.dropout2 = nn.Dropout(dropout), nn.Dropout(dropout)
        self.gate = nn.Parameter(torch.tensor(0.5))

    def forward(self, src: Tensor, scale: Optional[float] = None) -> Tensor:
        src = self.norm1(src + self.dropout1(self.self_attn(src)))
        ff = self.conv2(F.relu(self.conv1(src.transpose(1, 2)))).transpose(1, 2)
        ff = ff * torch.sigmoid(self.gate)
        ff += src
        return self.norm2(self.dropout2(ff))


class MusicTransformer(nn.Module):
    def __init__(self, n_layers: int = 2, d_model: int = 24, nhead: int = 4) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCAB, d_model, padding_idx=TOKEN_PAD)
        self.layers = _get_clones(RelativeLayer(d_model, nhead), n_layers)
        self.Wout = nn.Linear(d_model, VOCAB)
        self.softmax = nn.Softmax(dim=-1)
        for name, param in self.named_parameters():
            if "conv" in name and param.dim() > 1:
                nn.init.kaiming_normal_(param, nonlinearity="relu")
            elif param.dim() > 1 and "Er" not in name:
                nn.init.xavier_uniform_(param)

    def forward(self, x: Tensor) -> Tensor:
        x = self.embedding(x) * (self.embedding.embedding_dim ** 0.5)
        for layer in self.layers:
            x = layer(x)
        return self.Wout(x)

    def generate(self, primer: Tensor, target_len: int = 14, beam: int = 0) -> Tensor:
        assert not self.training, "Cannot generate while in training mode"
        gen_seq = torch.full((1, target_len), TOKEN_PAD, dtype=torch.long, device=primer.device)
        num_primer = len(primer)
        gen_seq[..., :num_primer] = primer.type(torch.long)
        cur = num_primer
        while cur < target_len:
            y = self.softmax(self.forward(gen_seq[..., :cur]))[..., : VOCAB - 1]
            token_probs = y[:, cur - 1, :]
            if beam == 0:
                next_token = Categorical(probs=token_probs).sample()
            else:
                _, top = torch.topk(token_probs.flatten(), beam)
                next_token = top[0]
            gen_seq[:, cur] = next_token
            cur += 1
        return gen_seq[:, :cur]


class LrStepTracker:
    def __init__(self, model_dim=24, warmup_steps=10, init_steps=0):
        self.warmup_steps, self.model_dim, self.init_steps = warmup_steps, model_dim, init_steps
        self.invsqrt_dim = (1 / np.sqrt(model_dim))
        self.invsqrt_warmup = (1 / (warmup_steps * np.sqrt(warmup_steps)))

    def step(self, step):
        step += self.init_steps
        if step <= self.warmup_steps:
            return self.invsqrt_dim * self.invsqrt_warmup * step
        return self.invsqrt_dim * (1 / np.sqrt(step))


from torch.distributions.categorical import Categorical  # noqa: E402

torch.manual_seed(4)
time = torch.arange(MAX_SEQ + 1).unsqueeze(0)
offsets = torch.randint(0, 40, (48, 1))
events = torch.remainder(offsets + time * torch.randint(1, 4, (48, 1)), 40)
train_set, val_set = random_split(TensorDataset(events[:, :-1], events[:, 1:]), [40, 8])
loader = DataLoader(train_set, batch_size=8, shuffle=True, num_workers=0)
val_loader = DataLoader(val_set, batch_size=8)
model = MusicTransformer()
loss_func = nn.CrossEntropyLoss(ignore_index=TOKEN_PAD, label_smoothing=0.1)
opt = Adam(model.parameters(), lr=1.0, betas=(0.9, 0.98), eps=1e-9)
lr_scheduler = torch.optim.lr_scheduler.LambdaLR(opt, LrStepTracker().step)

losses: List[float] = []
accuracies: List[float] = []
gradients = {}
model.train()
for epoch in range(4):
    for batch_num, batch in enumerate(loader):
        opt.zero_grad()
        x, tgt = batch[0].to("cpu"), batch[1].to("cpu")
        y = model(x)
        loss = loss_func.forward(y.reshape(y.shape[0] * y.shape[1], -1), tgt.flatten())
        loss.backward()
        if not losses:
            logits = y.detach().numpy()
            gradients = {n: p.grad.numpy().copy() for n, p in model.named_parameters()}
        opt.step()
        lr_scheduler.step()
        losses.append(float(loss))
    model.eval()
    with torch.set_grad_enabled(False):
        for x, tgt in val_loader:
            right = torch.argmax(model(x), dim=-1) == tgt
            accuracies.append((torch.sum(right.type(torch.float)) / right.nelement()).item())
    model.train()

model.eval()
with torch.no_grad():
    greedy = model.generate(events[0, :4], beam=1)
    sampled = model.generate(events[0, :4])
print(greedy, accuracies)
np.savez(
    sys.argv[1], keys=list(model.state_dict()), logits=logits, losses=losses[:20], accuracies=accuracies,
    greedy=greedy.numpy(), sampled=sampled.cpu().numpy(), **{f"grad/{name}": g for name, g in gradients.items()},
)
