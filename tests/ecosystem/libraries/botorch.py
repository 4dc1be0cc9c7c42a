"""A Gaussian process fitted to a function, and where Expected Improvement says to look next"""

import torch
from botorch.acquisition import LogExpectedImprovement, UpperConfidenceBound
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.models.transforms import Normalize, Standardize
from botorch.optim import optimize_acqf
from gpytorch.mlls import ExactMarginalLogLikelihood


def run() -> dict[str, object]:
    torch.manual_seed(0)
    x = torch.linspace(0, 1, 12, dtype=torch.double).repeat(2, 1).T * torch.tensor([1.0, 0.7], dtype=torch.double)
    y = 1 - (x - 0.4).square().sum(-1, keepdim=True)
    model = SingleTaskGP(x, y, input_transform=Normalize(d=2), outcome_transform=Standardize(m=1))
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    with torch.no_grad():
        posterior = model.posterior(x[:4] + 0.01)
    bounds = torch.stack([torch.zeros(2), torch.ones(2)]).to(torch.double)
    start = torch.tensor([[[0.3, 0.3]], [[0.6, 0.6]]], dtype=torch.double)
    acquisition = LogExpectedImprovement(model, best_f=y.max())
    candidate, _ = optimize_acqf(
        UpperConfidenceBound(model, beta=0.1), bounds, q=1, num_restarts=2, batch_initial_conditions=start
    )
    return {
        "mean": posterior.mean,
        "improvement": acquisition(start).detach().exp(),
        "candidate": candidate.float().mul(100).round(),
    }
