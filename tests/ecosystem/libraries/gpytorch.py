"""Exact Gaussian-process regression, 20 steps of Adam, and its predictions; a variational one, 10 steps"""

import gpytorch
import torch
from training import train


class Normal:
    def forward(self, x):
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


class Exact(Normal, gpytorch.models.ExactGP):
    def __init__(self, x, y, likelihood):
        super().__init__(x, y, likelihood)
        self.mean_module = gpytorch.means.ConstantMean()
        self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())


class Variational(Normal, gpytorch.models.ApproximateGP):
    def __init__(self, points):
        distribution = gpytorch.variational.CholeskyVariationalDistribution(points.size(0), mean_init_std=0)
        super().__init__(gpytorch.variational.VariationalStrategy(self, points, distribution))
        self.mean_module = gpytorch.means.ZeroMean()
        self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.MaternKernel(nu=2.5))


def trained(model, likelihood, mll, x, y, steps):
    model.train()
    likelihood.train()
    losses = train(torch.optim.Adam(model.parameters(), lr=0.1), lambda: -mll(model(x), y), steps)
    model.eval()
    likelihood.eval()
    return losses


def run() -> dict[str, object]:
    torch.manual_seed(0)
    x = torch.linspace(0, 1, 30)
    y = torch.sin(x * 6) + torch.cos(x * 20) * 0.2
    likelihood = gpytorch.likelihoods.GaussianLikelihood()
    model = Exact(x, y, likelihood)
    losses = trained(model, likelihood, gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model), x, y, 20)
    with torch.no_grad():
        predicted = likelihood(model(torch.linspace(0, 1, 7)))
        lower, upper = predicted.confidence_region()
    other = gpytorch.likelihoods.GaussianLikelihood()
    sparse = Variational(x[::5, None].clone())
    mll = gpytorch.mlls.VariationalELBO(other, sparse, num_data=30)
    results = {"losses": losses, "mean": predicted.mean, "lower": lower, "upper": upper}
    results["lengthscale"] = model.covar_module.base_kernel.lengthscale
    results["sparse"] = trained(sparse, other, mll, x[:, None], y, 10)
    return {**results, "sparse mean": sparse(x[:5, None]).mean}
