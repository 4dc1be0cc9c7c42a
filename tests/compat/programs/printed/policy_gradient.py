"""Policies learned in small worlds: discrete and continuous actions, returns, entropy, clipped ratios."""

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Categorical, Independent, Normal, TransformedDistribution
from torch.distributions.transforms import AffineTransform, TanhTransform

eps = np.finfo(np.float32).eps.item()


class Corridor:
    """Seven cells; the last one pays, and each step costs."""

    def reset(self):
        self.at, self.time = 3, 0
        return self.state()

    def state(self):
        return np.eye(7, dtype=np.float32)[self.at]

    def step(self, action):
        self.at, self.time = min(6, max(0, self.at + 2 * action - 1)), self.time + 1
        return self.state(), 1.0 if self.at == 6 else -0.1, self.at in (0, 6) or self.time >= 12


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.affine1, self.dropout = nn.Linear(7, 32), nn.Dropout(p=0.4)
        self.action_head, self.value_head = nn.Linear(32, 2), nn.Linear(32, 1)

    def forward(self, x):
        x = F.relu(self.dropout(self.affine1(x)))
        return F.softmax(self.action_head(x), dim=-1), self.value_head(x)


def finish(saved, rewards, optimizer):
    R, returns, policy_losses, value_losses = 0, [], [], []
    for r in rewards[::-1]:
        R = r + 0.99 * R
        returns.insert(0, R)
    returns = torch.tensor(returns)
    returns = (returns - returns.mean()) / (returns.std() + eps)
    for (log_prob, value, entropy), R in zip(saved, returns):
        policy_losses.append(-log_prob * (R - value.item()) - 0.01 * entropy)
        value_losses.append(F.smooth_l1_loss(value, torch.tensor([R])))
    optimizer.zero_grad()
    loss = torch.stack(policy_losses).sum() + torch.stack(value_losses).sum()
    loss.backward()
    optimizer.step()
    return loss.item()


torch.manual_seed(543)
policy, env = Policy(), Corridor()
optimizer = torch.optim.Adam(policy.parameters(), lr=3e-2)
running = 0.0
for episode in range(8):
    state, saved, rewards, done = env.reset(), [], [], False
    while not done or len(rewards) < 2:
        probs, value = policy(torch.from_numpy(state).float())
        m = Categorical(probs)
        action = m.sample()
        saved.append((m.log_prob(action), value, m.entropy()))
        state, reward, done = env.step(action.item())
        rewards.append(reward)
    running = 0.05 * sum(rewards) + 0.95 * running
    print(f"episode {episode}: steps {len(rewards)} running {running:.6f} loss {finish(saved, rewards, optimizer):.6f}")


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 24), nn.Tanh(), nn.Dropout(0.1))
        self.mu, self.log_std = nn.Linear(24, 2), nn.Parameter(torch.full((2,), -0.5))

    def forward(self, s):
        base = Independent(Normal(2 * self.mu(self.body(s)), self.log_std.exp()), 1)
        return TransformedDistribution(base, [TanhTransform(cache_size=1), AffineTransform(0.0, 2.0)])


torch.manual_seed(1)
actor = Actor()
optimizer = torch.optim.RMSprop(actor.parameters(), lr=3e-3)
for update in range(4):
    s = torch.rand(32, 3) * 2 - 1
    with torch.no_grad():
        old = actor(s)
        a = old.sample()
        before = old.log_prob(a)
        advantage = -(a - s[:, :2]).pow(2).sum(-1)
        advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
    for _ in range(2):
        ratio = (actor(s).log_prob(a) - before).exp()
        loss = -torch.min(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"update {update}: loss {loss.item():.7f} ratio {ratio.mean().item():.6f} std {actor.log_std.exp().mean():.6f}")
wins, pulls = torch.zeros(4), torch.zeros(4)
for t in range(20):
    bound = wins / pulls.clamp(min=1) + torch.where(pulls > 0, (2 * np.log(t + 1) / pulls.clamp(min=1)).sqrt(), 1e3)
    arm = int(bound.argmax())
    pulls[arm] += 1
    wins[arm] += torch.bernoulli(torch.tensor(0.2 * (arm + 1)))
print("arms", [f"{v:.4f}" for v in (wins / pulls).tolist()], pulls.long().tolist())
