"""Distributions at the edges of their parameters: samples stay in the support; values equal PyTorch's or are better."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minigrad
from minigrad import distributions as D
from tests.support.cases import cases
from tests.support.parity import torch

PROBS = [0.0, 1e-30, 1e-8, 1e-3, 0.25, 0.5, 0.75, 0.999, 1 - 1e-7, 1.0]
LOGITS = [-300.0, -90.0, -20.0, -1.0, 0.0, 1.0, 20.0, 90.0, 300.0]
POSITIVE = [1e-30, 1e-10, 1e-4, 0.1, 1.0, 2.0, 10.0, 1e3]
SCALES = [*POSITIVE, 1e6, 1e10, 1e30]
UNIT, REAL = [0.0, 1e-10, 0.3, 0.5, 1 - 1e-6, 1.0], [-1e30, -1e4, -20.0, -1.0, 0.0, 1.0, 20.0, 1e4, 1e30]
Row = tuple[Callable[[Any, Any], Any], list[float], list[float]]  # a distribution with a parameter; both values
EDGES: dict[str, Row] = {
    "Bernoulli": (lambda d, p: d.Bernoulli(p), PROBS, [0.0, 1.0]),
    "Bernoulli of logits": (lambda d, p: d.Bernoulli(logits=p), LOGITS, [0.0, 1.0]),
    "Beta": (lambda d, p: d.Beta(p, p), POSITIVE, UNIT),
    "Binomial": (lambda d, p: d.Binomial(5, p), PROBS, [0.0, 2.0, 5.0]),
    "Cauchy": (lambda d, p: d.Cauchy(0 * p, p), SCALES, REAL),
    "Chi2": (lambda d, p: d.Chi2(p), POSITIVE, [0.0, 1e-30, 1.0, 1e4]),
    "ContinuousBernoulli": (lambda d, p: d.ContinuousBernoulli(p), PROBS, UNIT),
    "ContinuousBernoulli of logits": (lambda d, p: d.ContinuousBernoulli(logits=p), LOGITS, UNIT),
    "Exponential": (lambda d, p: d.Exponential(p), SCALES, [0.0, 1e-30, 1.0, 1e4]),
    "FisherSnedecor": (lambda d, p: d.FisherSnedecor(p, p), POSITIVE, [1e-30, 1e-3, 1.0, 1e4]),
    "Gamma": (lambda d, p: d.Gamma(p, p), POSITIVE, [0.0, 1e-30, 0.1, 1.0, 1e4]),
    "Geometric": (lambda d, p: d.Geometric(p), PROBS[1:], [0.0, 1.0, 5.0, 1e6]),
    "HalfCauchy": (lambda d, p: d.HalfCauchy(p), SCALES, [0.0, 1e-20, 1.0, 1e20]),
    "HalfNormal": (lambda d, p: d.HalfNormal(p), SCALES, [0.0, 1e-20, 1.0, 1e20]),
    "Laplace": (lambda d, p: d.Laplace(0 * p, p), SCALES, REAL),
    "LogitRelaxedBernoulli": (
        lambda d, p: d.relaxed_bernoulli.LogitRelaxedBernoulli(p.new_tensor(0.5), logits=p),
        LOGITS,
        [-300.0, -20.0, 0.0, 1.0, 20.0],
    ),
    "LogNormal": (lambda d, p: d.LogNormal(0 * p, p), SCALES, [1e-30, 0.1, 1.0, 1e20]),
    "NegativeBinomial": (lambda d, p: d.NegativeBinomial(5, p), PROBS[:-1], [0.0, 2.0, 5.0, 1e5]),
    "Normal": (lambda d, p: d.Normal(0 * p, p), SCALES, REAL),
    "Poisson": (lambda d, p: d.Poisson(p), [0.0, *POSITIVE], [0.0, 1.0, 50.0, 1e6]),
    "RelaxedBernoulli": (lambda d, p: d.RelaxedBernoulli(p.new_tensor(0.5), p), PROBS, [1e-30, 1e-3, 0.5]),
    "StudentT": (lambda d, p: d.StudentT(p), SCALES, REAL),
    "Uniform": (lambda d, p: d.Uniform(0 * p, p), SCALES, [0.0, 1e-31, 0.5, 1e10]),
    "VonMises": (lambda d, p: d.VonMises(0 * p, p), SCALES[:-1], [-3.14, -1e-3, 0.0, 1.0, 3.14]),
}


def moments(t: Any, name: str) -> dict[str, Any]:
    """A distribution's properties in float64, by name, as far as it has them."""
    make, parameters, values = EDGES[name]
    d = make(t.distributions, t.tensor(parameters, dtype=t.float64))
    d._validate_args = False  # values at, and beyond, the ends of the support
    actual: dict[str, Any] = {}
    for attribute in ("mean", "variance"):
        if name not in ("VonMises", "RelaxedBernoulli", "LogitRelaxedBernoulli"):  # rounded or missing there
            actual[attribute] = getattr(d, attribute)
    for function in ("log_prob", "cdf"):
        for value in values:
            try:
                point = t.full((len(parameters),), value, dtype=t.float64)
                actual[f"{function}({value})"] = getattr(d, function)(point)
            except NotImplementedError:
                break
    return {name: np.asarray(value) for name, value in actual.items()}


@pytest.mark.filterwarnings("ignore")
@cases("name", EDGES)
def test_values_are_pytorchs(name: str) -> None:
    """Densities, distribution functions, means and variances, including infinite and NaN ones."""
    mine, other = moments(minigrad, name), moments(torch, name)
    assert mine.keys() == other.keys()
    for what in mine:
        near = 1e-6 if name == "VonMises" else 1e-8  # PyTorch's Bessel function is a polynomial
        np.testing.assert_allclose(mine[what], other[what], rtol=near, atol=1e-10, err_msg=what)


@cases("dtype", [minigrad.float32, minigrad.float64])
def test_samples_are_strictly_within_the_support(dtype: Any) -> None:
    """Even for tiny concentrations, where most samples underflow; half of Beta's are close to 0, half close to 1."""
    for small in (1e-30, 1e-4, 1e-2, 0.1, 1e3):
        a = minigrad.tensor(small, dtype=dtype)
        beta = D.Beta(a, a).sample((2000,))
        assert beta.dtype == dtype and beta.min() > 0 and beta.max() < 1
        assert abs((beta < 0.5).double().mean().item() - 0.5) < 0.06
        shares = D.Dirichlet(a.expand(3)).sample((2000,))
        assert shares.min() > 0 and shares.max() < 1 and (shares.double().sum(-1) - 1).abs().max() < 1e-6
        for d in (D.Gamma(a, 1e6 + 0 * a), D.Chi2(a), D.FisherSnedecor(a, a), D.FisherSnedecor(a, 1e3 + 0 * a)):
            samples = d.sample((2000,))
            assert samples.min() > 0 and not samples.isnan().any()
    calls = D.Beta(minigrad.tensor(2.0), minigrad.tensor(3.0)).sample((20000,))
    assert abs(calls.mean().item() - 0.4) < 0.01 and abs(calls.var().item() - 0.04) < 0.002


@cases("alpha", [1e-3, 0.1, 0.7, 2.0, 30.0, 1e4])
def test_the_derivative_of_gamma_samples_is_pytorchs(alpha: float) -> None:
    """dz/dα, which PyTorch approximates to about 1e-3."""
    minigrad.manual_seed(0)
    a = minigrad.full((2000,), alpha, dtype=minigrad.float64, requires_grad=True)
    z = D.Gamma(a, 1.0).rsample()
    z.sum().backward()
    other = torch._standard_gamma_grad(torch.from_numpy(a.detach().numpy()), torch.from_numpy(z.detach().numpy()))
    assert a.grad is not None
    np.testing.assert_allclose(a.grad.numpy(), other.numpy(), rtol=1e-2, atol=1e-12)


MEANS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "Beta": (lambda c: D.Beta(c[0], c[1]).rsample((20000,)), lambda c: c[0] / (c[0] + c[1])),
    "Chi2": (lambda c: D.Chi2(c).rsample((20000,)), lambda c: c),
    "Dirichlet": (lambda c: D.Dirichlet(c).rsample((20000,))[:, 0], lambda c: c[0] / c.sum()),
    "FisherSnedecor": (lambda c: D.FisherSnedecor(c[1], 9 + c[0]).rsample((20000,)), lambda c: (9 + c[0]) / (7 + c[0])),
    "InverseGamma": (lambda c: D.InverseGamma(4 + c, c).rsample((20000,)), lambda c: c / (3 + c)),
    "StudentT": (lambda c: D.StudentT(9 + c).rsample((20000,)) ** 2, lambda c: (9 + c) / (7 + c)),
    "Wishart": (
        lambda c: D.Wishart(3 + c[0], minigrad.eye(2, device=c.device)).rsample((20000,))[:, 0, 0],
        lambda c: 3 + c[0],
    ),
}


@cases("name", MEANS)
def test_samples_have_gradients(name: str, device: str) -> None:
    """The gradient of a mean of samples is close to the gradient of the mean, even for small concentrations."""
    draws, mean = MEANS[name]
    minigrad.manual_seed(0)
    c = minigrad.tensor([0.2, 1.5], device=device, requires_grad=True)
    actual, expected = (minigrad.autograd.grad(v.mean(0).sum(), c)[0] for v in (draws(c), mean(c)[None]))
    assert (actual - expected).abs().max() < 0.06 * (1 + expected.abs().max())


def test_a_continuous_bernoulli_with_extreme_logits() -> None:
    """p is a rounding error away from 0, as in PyTorch: the constant is ln(2 artanh(1 - 2p) / (1 - 2p))."""
    for dtype in (minigrad.float32, minigrad.float64):
        p = minigrad.finfo(dtype).eps
        expected = math.log(2 * math.atanh(1 - 2 * p) / (1 - 2 * p))
        d = D.ContinuousBernoulli(logits=minigrad.tensor([-300.0, 300.0], dtype=dtype))
        assert d.log_prob(minigrad.tensor([0.0, 1.0], dtype=dtype)).tolist() == pytest.approx([expected] * 2, rel=1e-5)
        inverse = d.icdf(minigrad.tensor([0.5, 1.0], dtype=dtype))
        assert ((inverse > 0) & (inverse <= 1)).all() and d.entropy().isfinite().all() and (d.variance > 0).all()


def test_the_entropy_of_rare_successes() -> None:
    """1 - ln p for a small p; 0 if success is certain."""
    entropy = D.Geometric(minigrad.tensor([1e-30, 1e-8, 0.5, 1.0])).entropy().tolist()
    assert entropy == pytest.approx([1 + 30 * math.log(10), 1 + 8 * math.log(10), 2 * math.log(2), 0], rel=1e-6)
