"""Training with per-example gradient clipping (no noise, so that both draw alike), and the privacy it costs"""

import torch
from opacus import PrivacyEngine
from opacus.accountants import RDPAccountant
from opacus.grad_sample import GradSampleModule
from torch import nn
from training import train


def run() -> dict[str, object]:
    torch.manual_seed(0)
    x, y = torch.randn(16, 5), torch.randint(0, 2, (16,))
    model = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.LayerNorm(8), nn.Linear(8, 2))
    sampled = GradSampleModule(model)
    nn.functional.cross_entropy(sampled(x), y, reduction="sum").backward()
    each = {name: p.grad_sample.clone() for name, p in sampled.named_parameters()}
    sampled.to_standard_module()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=4)
    model.zero_grad()
    parts = {"module": model, "optimizer": optimizer, "data_loader": loader}
    options = {"noise_multiplier": 0.0, "max_grad_norm": 1.0, "poisson_sampling": False}
    private, optimizer, loader = PrivacyEngine().make_private(**parts, **options)
    losses = []
    for a, b in loader:
        losses += train(optimizer, lambda a=a, b=b: nn.functional.cross_entropy(private(a), b), 1)
    accountant = RDPAccountant()
    for _ in range(10):
        accountant.step(noise_multiplier=1.1, sample_rate=0.1)
    results = {"losses": losses, "epsilon": accountant.get_epsilon(delta=1e-5)}
    return {**results, **{f"each {name}": grad for name, grad in each.items()}}
