"""
Word-level language model on several processes.

    torchrun --nproc_per_node=2 ddp_word_lm.py
"""

import argparse
import math
import os

import numpy as np
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler


class Corpus(object):
    """A made-up language: sentences of a few patterns over classes of words."""

    def __init__(self, seed=0, sentences=700):
        rng = np.random.RandomState(seed)
        classes = {name: [f"{name}{i}" for i in range(n)] for name, n in [("d", 3), ("n", 20), ("v", 12), ("a", 8)]}
        patterns = ["d n v d n", "d a n v", "d n v d a n", "n v n"]
        self.word2idx = {"<eos>": 0}
        ids = []
        for _ in range(sentences):
            for kind in patterns[rng.randint(len(patterns))].split():
                words = classes[kind]
                word = words[int(len(words) * rng.rand() ** 2)]
                ids.append(self.word2idx.setdefault(word, len(self.word2idx)))
            ids.append(0)
        ids = torch.tensor(ids, dtype=torch.int64)
        self.train, self.valid = ids[: int(len(ids) * 0.8)], ids[int(len(ids) * 0.8) :]
        self.ntoken = len(self.word2idx)


class Windows(Dataset):
    """Every ``bptt`` words, and the words that follow each."""

    def __init__(self, ids, bptt):
        self.ids, self.bptt = ids, bptt

    def __len__(self):
        return (len(self.ids) - 1) // self.bptt

    def __getitem__(self, i):
        start = i * self.bptt
        return self.ids[start : start + self.bptt], self.ids[start + 1 : start + 1 + self.bptt]


class RNNModel(nn.Module):
    """Container module with an encoder, a recurrent module, and a decoder."""

    def __init__(self, rnn_type, ntoken, ninp, nhid, nlayers, dropout=0.0, tie_weights=False):
        super().__init__()
        self.ntoken = ntoken
        self.drop = nn.Dropout(dropout)
        self.encoder = nn.Embedding(ntoken, ninp)
        self.rnn = getattr(nn, rnn_type)(ninp, nhid, nlayers, dropout=dropout, batch_first=True)
        self.decoder = nn.Linear(nhid, ntoken)
        if tie_weights:
            self.decoder.weight = self.encoder.weight
        nn.init.uniform_(self.encoder.weight, -0.1, 0.1)
        nn.init.zeros_(self.decoder.bias)

    def forward(self, input):
        output, _ = self.rnn(self.drop(self.encoder(input)))
        return F.log_softmax(self.decoder(self.drop(output)), dim=-1)


class TransformerModel(nn.Module):
    def __init__(self, ntoken, ninp, nhead, nhid, nlayers, dropout=0.0, max_len=64):
        super().__init__()
        self.ninp, self.ntoken = ninp, ntoken
        position = torch.arange(max_len, dtype=torch.get_default_dtype()).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, ninp, 2).to(position.dtype) * (-math.log(10000.0) / ninp))
        pe = torch.zeros(1, max_len, ninp)
        pe[0, :, 0::2] = torch.sin(position * div_term)
        pe[0, :, 1::2] = torch.cos(position * div_term)
        self.register_buffer("pe", pe)
        self.encoder = nn.Embedding(ntoken, ninp)
        layer = nn.TransformerEncoderLayer(ninp, nhead, nhid, dropout, batch_first=True)
        self.transformer = nn.TransformerEncoder(layer, nlayers, enable_nested_tensor=False)
        self.decoder = nn.Linear(ninp, ntoken)

    def forward(self, input):
        T = input.size(1)
        mask = nn.Transformer.generate_square_subsequent_mask(T)
        x = self.encoder(input) * math.sqrt(self.ninp) + self.pe[:, :T]
        return F.log_softmax(self.decoder(self.transformer(x, mask=mask)), dim=-1)


def build_model(args, ntoken):
    if args.model == "Transformer":
        return TransformerModel(ntoken, args.emsize, args.nhead, args.nhid, args.nlayers, args.dropout)
    return RNNModel(args.model, ntoken, args.emsize, args.nhid, args.nlayers, args.dropout, args.tied)


@torch.no_grad()
def evaluate(model, loader, ntoken):
    """The mean loss over all words that any process has seen."""
    model.eval()
    sums = torch.zeros(2, dtype=torch.float64)
    for data, targets in loader:
        output = model(data)
        sums[0] += F.nll_loss(output.view(-1, ntoken), targets.view(-1), reduction="sum").item()
        sums[1] += targets.numel()
    dist.all_reduce(sums, op=dist.ReduceOp.SUM)
    model.train()
    return (sums[0] / sums[1]).item()


def train_epoch(model, loader, optimizer, args, ntoken, rank, epoch, history):
    for i, (data, targets) in enumerate(loader):
        optimizer.zero_grad()
        loss = F.nll_loss(model(data).view(-1, ntoken), targets.reshape(-1))
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), args.clip)
        optimizer.step()
        history["losses"].append(loss.item())
        history["norms"].append(norm.item())
        if rank == 0 and i % args.log_interval == 0:
            print(f"| epoch {epoch:3d} | {i:5d}/{len(loader):5d} batches | loss {loss.item():5.2f}")


def train(args):
    dist.init_process_group(args.backend)
    rank, world_size = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(args.seed + rank)  # DDP sends the weights of rank 0
    torch.set_default_dtype(getattr(torch, args.dtype))

    corpus = Corpus()
    train_set, valid_set = Windows(corpus.train, args.bptt), Windows(corpus.valid, args.bptt)
    train_sampler = DistributedSampler(train_set, shuffle=True, seed=args.seed, drop_last=True)
    valid_sampler = DistributedSampler(valid_set, num_replicas=world_size, rank=rank, shuffle=False)
    train_loader = DataLoader(train_set, args.batch_size, sampler=train_sampler, drop_last=True)
    valid_loader = DataLoader(valid_set, args.batch_size, sampler=valid_sampler)

    model = DistributedDataParallel(build_model(args, corpus.ntoken))
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=args.momentum)
    path = os.path.join(args.save, "model.pt")
    if rank == 0:
        os.makedirs(args.save, exist_ok=True)
    history = {"losses": [], "norms": [], "valid": [], "rates": []}
    best_val_loss = None

    for epoch in range(1, args.epochs + 1):
        train_sampler.set_epoch(epoch)
        train_epoch(model, train_loader, optimizer, args, corpus.ntoken, rank, epoch, history)
        val_loss = evaluate(model, valid_loader, corpus.ntoken)
        history["valid"].append(val_loss)
        history["rates"].append(optimizer.param_groups[0]["lr"])
        if rank == 0:
            print(f"| end of epoch {epoch:3d} | valid loss {val_loss:5.2f} | valid ppl {math.exp(val_loss):8.2f}")
        if best_val_loss is None or val_loss < best_val_loss:
            best_val_loss = val_loss
            if rank == 0:
                torch.save(model.state_dict(), path)
        else:  # anneal the learning rate
            for group in optimizer.param_groups:
                group["lr"] /= 4.0

    # All ranks read the best model once rank 0 has written it.
    dist.barrier()
    model.load_state_dict(torch.load(path, map_location="cpu", weights_only=True))
    best = evaluate(model, valid_loader, corpus.ntoken)
    results = [None for _ in range(world_size)]
    dist.all_gather_object(results, {"rank": rank, "batches": len(history["losses"]), "last": history["losses"][-1]})
    assert [result["rank"] for result in results] == list(range(world_size))
    history["last"] = [result["last"] for result in results]
    if rank == 0:
        print(f"| End of training | best valid loss {best:5.2f} | of {sum(r['batches'] for r in results)} batches")
    weights = {f"weights/{name}": value.numpy() for name, value in model.module.state_dict().items()}
    np.savez(os.path.join(args.save, f"rank{rank}.npz"), best=[best], **history, **weights)
    dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser(description="Distributed word language model")
    parser.add_argument("--model", default="LSTM", help="LSTM, GRU, RNN or Transformer")
    parser.add_argument("--tied", action="store_true")
    numbers = dict(
        emsize=24, nhid=24, nhead=2, nlayers=2, lr=10.0, momentum=0.0, clip=0.25, epochs=5, batch_size=12, bptt=12,
        dropout=0.0, seed=1111,
    )
    for name, default in numbers.items():
        parser.add_argument(f"--{name}", type=type(default), default=default)
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--log-interval", type=int, default=5)
    parser.add_argument("--save", default="out")
    parser.add_argument("--backend", default="gloo")
    train(parser.parse_args())


if __name__ == "__main__":
    main()
