"""
Train a small character-level GPT on one process, or on several with DDP.

$ python ddp_nanogpt.py --out_dir=out
$ torchrun --standalone --nproc_per_node=2 ddp_nanogpt.py --out_dir=out
"""

import argparse
import math
import os
from dataclasses import asdict, dataclass

import numpy as np
import torch
import torch.distributed as dist
import torch.nn as nn
from torch.distributed import destroy_process_group, init_process_group
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel as DDP


@dataclass
class GPTConfig:
    block_size: int = 16
    vocab_size: int = 32
    n_layer: int = 2
    n_head: int = 2
    n_embd: int = 32
    dropout: float = 0.0
    bias: bool = False


class CausalSelfAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        assert config.n_embd % config.n_head == 0
        self.n_head, self.n_embd, self.dropout = config.n_head, config.n_embd, config.dropout
        self.c_attn = nn.Linear(config.n_embd, 3 * config.n_embd, bias=config.bias)
        self.c_proj = nn.Linear(config.n_embd, config.n_embd, bias=config.bias)
        self.resid_dropout = nn.Dropout(config.dropout)

    def forward(self, x):
        B, T, C = x.size()
        q, k, v = (t.view(B, T, self.n_head, C // self.n_head).transpose(1, 2) for t in self.c_attn(x).chunk(3, dim=2))
        y = F.scaled_dot_product_attention(q, k, v, dropout_p=self.dropout if self.training else 0.0, is_causal=True)
        y = y.transpose(1, 2).contiguous().view(B, T, C)
        return self.resid_dropout(self.c_proj(y))


class Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.ln_1 = nn.LayerNorm(config.n_embd, bias=config.bias)
        self.attn = CausalSelfAttention(config)
        self.ln_2 = nn.LayerNorm(config.n_embd, bias=config.bias)
        self.mlp = nn.Sequential(
            nn.Linear(config.n_embd, 4 * config.n_embd, bias=config.bias),
            nn.GELU(),
            nn.Linear(4 * config.n_embd, config.n_embd, bias=config.bias),
            nn.Dropout(config.dropout),
        )

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.transformer = nn.ModuleDict(
            dict(
                wte=nn.Embedding(config.vocab_size, config.n_embd),
                wpe=nn.Embedding(config.block_size, config.n_embd),
                drop=nn.Dropout(config.dropout),
                h=nn.ModuleList([Block(config) for _ in range(config.n_layer)]),
                ln_f=nn.LayerNorm(config.n_embd, bias=config.bias),
            )
        )
        self.lm_head = nn.Linear(config.n_embd, config.vocab_size, bias=False)
        self.transformer.wte.weight = self.lm_head.weight
        self.apply(self._init_weights)
        for pn, p in self.named_parameters():
            if pn.endswith("c_proj.weight"):
                torch.nn.init.normal_(p, mean=0.0, std=0.02 / math.sqrt(2 * config.n_layer))

    def _init_weights(self, module):
        if isinstance(module, (nn.Linear, nn.Embedding)):
            torch.nn.init.normal_(module.weight, mean=0.0, std=0.02)
        if isinstance(module, nn.Linear) and module.bias is not None:
            torch.nn.init.zeros_(module.bias)

    def forward(self, idx, targets=None):
        pos = torch.arange(0, idx.size(1), dtype=torch.long, device=idx.device)
        x = self.transformer.drop(self.transformer.wte(idx) + self.transformer.wpe(pos))
        for block in self.transformer.h:
            x = block(x)
        x = self.transformer.ln_f(x)
        if targets is None:
            return self.lm_head(x[:, [-1], :]), None
        logits = self.lm_head(x)
        return logits, F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1), ignore_index=-1)

    def configure_optimizers(self, weight_decay, learning_rate, betas):
        params = [p for p in self.parameters() if p.requires_grad]
        groups = [
            {"params": [p for p in params if p.dim() >= 2], "weight_decay": weight_decay},
            {"params": [p for p in params if p.dim() < 2], "weight_decay": 0.0},
        ]
        return torch.optim.AdamW(groups, lr=learning_rate, betas=betas)


parser = argparse.ArgumentParser()
parser.add_argument("--out_dir", default="out")
numbers = dict(
    max_iters=50, eval_interval=25, eval_iters=4, batch_size=4, gradient_accumulation_steps=4, learning_rate=3e-3,
    min_lr=3e-4, warmup_iters=5, weight_decay=1e-1, grad_clip=1.0,
)
for name, default in numbers.items():
    parser.add_argument(f"--{name}", type=type(default), default=default)
parser.add_argument("--backend", default="gloo", help="'nccl', 'gloo', etc.")
parser.add_argument("--device", default="cpu")
parser.add_argument("--dtype", default="float32", choices=["float32", "float64"])
args = parser.parse_args()

ddp = int(os.environ.get("RANK", -1)) != -1  # is this a ddp run?
gradient_accumulation_steps = args.gradient_accumulation_steps
device = args.device
if ddp:
    init_process_group(backend=args.backend)
    ddp_rank = int(os.environ["RANK"])
    ddp_local_rank = int(os.environ["LOCAL_RANK"])
    ddp_world_size = int(os.environ["WORLD_SIZE"])
    device = f"cuda:{ddp_local_rank}" if device.startswith("cuda") else device
    master_process = ddp_rank == 0  # this process will do logging, checkpointing etc.
    seed_offset = ddp_rank  # each process gets a different seed
    # world_size number of processes will be training simultaneously
    assert gradient_accumulation_steps % ddp_world_size == 0
    gradient_accumulation_steps //= ddp_world_size
else:
    ddp_rank, ddp_world_size, master_process, seed_offset = 0, 1, True, 0

if master_process:
    os.makedirs(args.out_dir, exist_ok=True)
torch.manual_seed(1337 + seed_offset)
torch.set_default_dtype(getattr(torch, args.dtype))


def synthetic_text(length=20000, seed=1):
    """Sentences of made-up words, some of which often follow each other."""
    rng = np.random.RandomState(seed)
    syllables = ["ka", "lo", "mi", "ru", "te", "sa", "no", "vi"]
    words = ["".join(rng.choice(syllables, rng.randint(1, 4))) for _ in range(40)]
    follows = rng.randint(0, len(words), (len(words), 3))
    text, word = [], 0
    while sum(map(len, text)) < length:
        word = follows[word, rng.randint(3)] if rng.rand() < 0.9 else rng.randint(len(words))
        text.append(words[word] + (". " if rng.rand() < 0.1 else " "))
    return "".join(text)[:length]


text = synthetic_text()
chars = sorted(set(text))
stoi = {ch: i for i, ch in enumerate(chars)}
data = torch.tensor([stoi[c] for c in text], dtype=torch.long)
split_at = int(0.9 * len(data))
train_data, val_data = data[:split_at], data[split_at:]


def get_batch(split):
    d = train_data if split == "train" else val_data
    ix = torch.randint(len(d) - block_size, (args.batch_size,))
    x = torch.stack([d[i : i + block_size] for i in ix])
    y = torch.stack([d[i + 1 : i + 1 + block_size] for i in ix])
    return x.to(device), y.to(device)


config = GPTConfig(vocab_size=len(chars))
block_size = config.block_size
model = GPT(config)
model.to(device)
if master_process:
    print(f"number of parameters: {sum(p.numel() for p in model.parameters())}")

optimizer = model.configure_optimizers(args.weight_decay, args.learning_rate, (0.9, 0.95))
if ddp:
    model = DDP(model, device_ids=[ddp_local_rank] if device.startswith("cuda") else None)
raw_model = model.module if ddp else model  # unwrap DDP container if needed


@torch.no_grad()
def estimate_loss():
    out = {}
    model.eval()
    for split in ["train", "val"]:
        losses = torch.zeros(args.eval_iters, device=device)
        for k in range(args.eval_iters):
            X, Y = get_batch(split)
            logits, loss = model(X, Y)
            losses[k] = loss.item()
        out[split] = losses.mean()
        if ddp:
            dist.all_reduce(out[split], op=dist.ReduceOp.SUM)
            out[split] /= ddp_world_size
    model.train()
    return out


def get_lr(it):
    if it < args.warmup_iters:  # linear warmup
        return args.learning_rate * (it + 1) / (args.warmup_iters + 1)
    if it > args.max_iters:
        return args.min_lr
    decay_ratio = (it - args.warmup_iters) / (args.max_iters - args.warmup_iters)
    coeff = 0.5 * (1.0 + math.cos(math.pi * decay_ratio))  # cosine, from 1 to 0
    return args.min_lr + coeff * (args.learning_rate - args.min_lr)


history = {"losses": [], "mean_losses": [], "rates": [], "norms": [], "evals": []}
best_val_loss = 1e9
X, Y = get_batch("train")  # fetch the very first batch
for iter_num in range(args.max_iters + 1):
    lr = get_lr(iter_num)
    for param_group in optimizer.param_groups:
        param_group["lr"] = lr

    if iter_num % args.eval_interval == 0:
        losses = estimate_loss()
        history["evals"].append([losses["train"].item(), losses["val"].item()])
        if master_process:
            print(f"step {iter_num}: train loss {losses['train']:.4f}, val loss {losses['val']:.4f}")
            if losses["val"] < best_val_loss and iter_num > 0:
                best_val_loss = losses["val"].item()
                checkpoint = {"model": raw_model.state_dict(), "optimizer": optimizer.state_dict()}
                checkpoint |= {"iter_num": iter_num, "config": {**asdict(config), **vars(args)}}
                torch.save(checkpoint, os.path.join(args.out_dir, "ckpt.pt"))
    if iter_num == args.max_iters:
        break

    total = torch.zeros((), device=device)
    for micro_step in range(gradient_accumulation_steps):
        if ddp:
            # gradients need only be synchronized at the last micro step
            model.require_backward_grad_sync = micro_step == gradient_accumulation_steps - 1
        logits, loss = model(X, Y)
        loss = loss / gradient_accumulation_steps
        total += loss.detach()
        X, Y = get_batch("train")
        loss.backward()
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), args.grad_clip)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)

    mean = total.clone()
    if ddp:
        dist.all_reduce(mean)
        mean /= ddp_world_size
    history["losses"].append(total.item())
    history["mean_losses"].append(mean.item())
    history["rates"].append(lr)
    history["norms"].append(norm.item())
    if iter_num % 10 == 0 and master_process:
        print(f"iter {iter_num}: loss {mean.item():.4f}")

weights = {f"weights/{name}": value.cpu().numpy() for name, value in raw_model.state_dict().items()}
np.savez(os.path.join(args.out_dir, f"rank{ddp_rank}.npz"), **history, **weights)
if ddp:
    destroy_process_group()
