"""Stochastic variational inference of a linear regression with a normal guide"""

import pyro
import pyro.distributions as dist
import torch
from pyro.infer import SVI, Trace_ELBO
from pyro.optim import Adam
from torch.distributions import constraints


def model(x, y):
    slope = pyro.sample("slope", dist.Normal(0.0, 2.0))
    bias = pyro.sample("bias", dist.Normal(0.0, 2.0))
    noise = pyro.sample("noise", dist.LogNormal(-1.0, 0.5))
    with pyro.plate("data", len(x)):
        pyro.sample("y", dist.Normal(slope * x + bias, noise), obs=y)


def guide(x, y):
    for name in ("slope", "bias"):
        loc = pyro.param(f"{name}_loc", torch.tensor(0.1))
        scale = pyro.param(f"{name}_scale", torch.tensor(0.1), constraint=constraints.positive)
        pyro.sample(name, dist.Normal(loc, scale))
    loc = pyro.param("noise_loc", torch.tensor(-1.0))
    pyro.sample("noise", dist.LogNormal(loc, pyro.param("noise_scale", torch.tensor(0.1), constraints.positive)))


def run() -> dict[str, object]:
    pyro.clear_param_store()
    pyro.set_rng_seed(0)
    torch.manual_seed(0)
    x = torch.linspace(-1, 1, 20)
    y = 1.5 * x - 0.5 + 0.1 * torch.randn(20)
    svi = SVI(model, guide, Adam({"lr": 0.05}), loss=Trace_ELBO())
    losses = [svi.step(x, y) for _ in range(30)]
    store = pyro.get_param_store()
    trace = pyro.poutine.trace(model).get_trace(x, y)
    trace.compute_log_prob()
    parameters = {name: store[name].detach() for name in sorted(store.keys())}
    return {"losses": losses, **parameters, "log prob": trace.log_prob_sum()}
