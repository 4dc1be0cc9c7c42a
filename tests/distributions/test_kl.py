"""The Kullback-Leibler divergence against PyTorch's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from minigrad import distributions
from tests.support.both import agree
from tests.support.cases import cases, raises
from tests.support.parity import ours

_RNG = np.random.default_rng(0)
A, B = _RNG.random((4, 3)) + 0.1, _RNG.random((4, 3)) + 0.1
UNITS = A / 1.2, B / 1.2
PAIRS: dict[str, tuple[tuple[Any, Any], Callable[..., Any]]] = {
    "Categorical": ((A, B), lambda D, a, b: (D.Categorical(a), D.Categorical(logits=b))),
    "OneHotCategorical": ((A, B), lambda D, a, b: (D.OneHotCategorical(a), D.OneHotCategorical(b))),
    "Bernoulli": (UNITS, lambda D, a, b: (D.Bernoulli(a), D.Bernoulli(b))),
    "Normal": ((A, B), lambda D, a, b: (D.Normal(a, b), D.Normal(b, a))),
    "Uniform": ((A, B), lambda D, a, b: (D.Uniform(a, a + b), D.Uniform(a - b, a + 2 * b))),
    "Uniform outside": ((A, B), lambda D, a, b: (D.Uniform(a, a + 2), D.Uniform(b, b + 2))),
    "Exponential": ((A, B), lambda D, a, b: (D.Exponential(a), D.Exponential(b))),
    "Uniform, Normal": ((A, B), lambda D, a, b: (D.Uniform(a, a + b), D.Normal(b, a))),
    "Independent": ((A, B), lambda D, a, b: (D.Independent(D.Normal(a, b), 1), D.Independent(D.Normal(b, a), 1))),
    "Gumbel": ((A, B), lambda D, a, b: (D.Gumbel(a, b), D.Gumbel(b, a))),
    "Laplace": ((A, B), lambda D, a, b: (D.Laplace(a, b), D.Laplace(b, a))),
    "LogNormal": ((A, B), lambda D, a, b: (D.LogNormal(a, b), D.LogNormal(b, a))),
    "HalfNormal": ((A, B), lambda D, a, b: (D.HalfNormal(a), D.HalfNormal(b))),
    "Poisson": ((A, B), lambda D, a, b: (D.Poisson(a), D.Poisson(b))),
    "Geometric": (UNITS, lambda D, a, b: (D.Geometric(a), D.Geometric(b))),
    "Gamma": ((A, B), lambda D, a, b: (D.Gamma(a, b), D.Gamma(b, a))),
    "Dirichlet": ((A, B), lambda D, a, b: (D.Dirichlet(a), D.Dirichlet(b))),
    "Beta": ((A, B), lambda D, a, b: (D.Beta(a, b), D.Beta(b, a))),
    "MultivariateNormal": (
        (A[0], B[:3].T @ B[:3] + np.eye(3)),
        lambda D, a, b: (D.MultivariateNormal(a, b), D.MultivariateNormal(2 * a, precision_matrix=b)),
    ),
}


@cases("name", PAIRS)
def test_values_and_gradients(name: str, device: str) -> None:
    arrays, make = PAIRS[name]
    program = lambda t, *p: t.distributions.kl_divergence(*make(t.distributions, *p))
    agree(program, *arrays, gradient=name != "Uniform outside", device=device)  # there infinities meet


@cases("kind", ["Categorical", "Bernoulli"])
def test_probabilities_of_0_and_1(kind: str) -> None:
    p, q = np.array([[0.0, 1.0], [0.5, 0.5]]), np.array([[0.5, 0.5], [0.0, 1.0]])
    program = lambda t, *v: t.distributions.kl_divergence(*(getattr(t.distributions, kind)(a) for a in v))
    for a, b in ((p, q), (q, p)):
        agree(program, a, b, gradient=False)


def test_pairs_without_a_rule_and_rules_of_ones_own() -> None:
    class Mine(distributions.Normal):
        pass

    normal, categorical = distributions.Normal(0.0, 1.0), distributions.Categorical(ours(A))
    with pytest.raises(NotImplementedError, match="p type Categorical and q type Normal"):
        distributions.kl_divergence(categorical, normal)
    assert distributions.kl_divergence(Mine(0.0, 1.0), normal).item() == 0  # by its parent's

    @distributions.register_kl(Mine, distributions.Normal)
    def _rule(p: Any, q: Any) -> Any:
        return p.loc + 7

    assert distributions.kl_divergence(Mine(0.0, 1.0), normal).item() == 7
    raises(TypeError, "Expected a Distribution subclass", lambda: distributions.register_kl(1, Mine))
    with pytest.raises(NotImplementedError, match="different numbers of axes"):
        wide = distributions.Normal(ours(A), 1.0)
        distributions.kl_divergence(distributions.Independent(wide, 1), distributions.Independent(wide, 2))
