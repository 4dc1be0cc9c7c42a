"""Names, letter by letter: bigrams counted, a perceptron with batch norm by hand, and a WaveNet-like stack."""

import random

import torch
import torch.nn.functional as F

words = "emma olivia ava isabella sophia charlotte mia amelia harper evelyn abigail emily ella scarlett grace".split()
chars = sorted(set("".join(words)))
stoi = {s: i + 1 for i, s in enumerate(chars)}
stoi["."] = 0
itos = {i: s for s, i in stoi.items()}
V, block_size = len(itos), 4

N = torch.zeros((V, V), dtype=torch.int32)
for w in words:
    chs = ["."] + list(w) + ["."]
    for ch1, ch2 in zip(chs, chs[1:]):
        N[stoi[ch1], stoi[ch2]] += 1
P = (N + 1).float()
P /= P.sum(1, keepdim=True)
g = torch.Generator().manual_seed(2147483647)
for _ in range(3):
    out, ix = [], 0
    while True:
        ix = torch.multinomial(P[ix], num_samples=1, replacement=True, generator=g).item()
        out.append(itos[ix])
        if ix == 0:
            break
    print("".join(out))

random.seed(42)
random.shuffle(words)
X, Y = [], []
for w in words:
    context = [0] * block_size
    for ch in w + ".":
        X.append(context)
        Y.append(stoi[ch])
        context = context[1:] + [stoi[ch]]
X, Y = torch.tensor(X), torch.tensor(Y)
print(X.shape, Y.shape, X.dtype)

g = torch.Generator().manual_seed(2147483647)
C = torch.randn((V, 6), generator=g)
W1 = torch.randn((24, 30), generator=g) * (5 / 3) / (24**0.5)
W2, b2 = torch.randn((30, V), generator=g) * 0.01, torch.randn(V, generator=g) * 0
bngain, bnbias = torch.ones((1, 30)), torch.zeros((1, 30))
bnmean_running, bnstd_running = torch.zeros((1, 30)), torch.ones((1, 30))
parameters = [C, W1, W2, b2, bngain, bnbias]
for p in parameters:
    p.requires_grad = True
for i in range(20):
    ix = torch.randint(0, X.shape[0], (16,), generator=g)
    emb = C[X[ix]]
    hpreact = emb.view(emb.shape[0], -1) @ W1
    bnmeani, bnstdi = hpreact.mean(0, keepdim=True), hpreact.std(0, keepdim=True)
    hpreact = bngain * (hpreact - bnmeani) / bnstdi + bnbias
    with torch.no_grad():
        bnmean_running = 0.9 * bnmean_running + 0.1 * bnmeani
        bnstd_running = 0.9 * bnstd_running + 0.1 * bnstdi
    logits = torch.tanh(hpreact) @ W2 + b2
    loss = F.cross_entropy(logits, Y[ix])
    for p in parameters:
        p.grad = None
    loss.backward()
    for p in parameters:
        p.data += -0.2 * p.grad
    if i % 5 == 0:
        print(f"{i:7d}: {loss.item():.6f} {(p.grad.std() / p.data.std()).item():.6f}")
print(f"running {bnmean_running.norm().item():.6f} {bnstd_running.norm().item():.6f}")


class FlattenConsecutive:
    def __init__(self, n):
        self.n = n

    def __call__(self, x):
        B, T, C = x.shape
        x = x.view(B, T // self.n, C * self.n)
        return x.squeeze(1) if x.shape[1] == 1 else x


torch.manual_seed(42)
net = torch.nn.Sequential(torch.nn.Embedding(V, 8))
stages = [(16, 24), (48, 24)]
layers = [net]
for i, (fan_in, width) in enumerate(stages):
    layers += [FlattenConsecutive(2), torch.nn.Linear(fan_in, width, bias=False), torch.nn.LayerNorm(width),
               torch.nn.Tanh(), torch.nn.Dropout(0.1)]
layers += [torch.nn.Linear(24, V)]
parameters = [p for layer in layers if isinstance(layer, torch.nn.Module) for p in layer.parameters()]
losses = []
for i in range(20):
    ix = torch.randint(0, X.shape[0], (16,))
    x = X[ix]
    for layer in layers:
        x = layer(x)
    loss = F.cross_entropy(x, Y[ix])
    for p in parameters:
        p.grad = None
    loss.backward()
    for p in parameters:
        p.data += -0.1 * p.grad
    losses.append(loss.log10().item())
print([f"{v:.6f}" for v in torch.tensor(losses).view(-1, 5).mean(1).tolist()])
