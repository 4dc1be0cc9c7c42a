"""The Kullback-Leibler divergence against PyTorch's."""

from typing import Any

import numpy as np

from minigrad import distributions
from tests.support.both import agree
from tests.support.cases import cases, programs, raises
from tests.support.parity import ours

_RNG = np.random.default_rng(0)
A, B = _RNG.random((4, 3)) + 0.1, _RNG.random((4, 3)) + 0.1
PAIRS = programs("""
D.Categorical(a), D.Categorical(logits=b); D.OneHotCategorical(a), D.OneHotCategorical(b);
D.Bernoulli(a / 1.2), D.Bernoulli(b / 1.2); D.Normal(a, b), D.Normal(b, a);
D.Uniform(a, a + b), D.Uniform(a - b, a + 2 * b); D.Uniform(a, a + 2), D.Uniform(b, b + 2);
D.Exponential(a), D.Exponential(b); D.Uniform(a, a + b), D.Normal(b, a);
D.Independent(D.Normal(a, b), 1), D.Independent(D.Normal(b, a), 1); D.Gumbel(a, b), D.Gumbel(b, a);
D.Laplace(a, b), D.Laplace(b, a); D.LogNormal(a, b), D.LogNormal(b, a); D.HalfNormal(a), D.HalfNormal(b);
D.Poisson(a), D.Poisson(b); D.Geometric(a / 1.2), D.Geometric(b / 1.2); D.Gamma(a, b), D.Gamma(b, a);
D.Dirichlet(a), D.Dirichlet(b); D.Beta(a, b), D.Beta(b, a);
D.MultivariateNormal(a[0], b.mT @ b), D.MultivariateNormal(2 * a[0], precision_matrix=b.mT @ b)
""")
INFINITE = "D.Uniform(a, a + 2), D.Uniform(b, b + 2)"


@cases("pair", PAIRS)
def test_values_and_gradients(pair: str, device: str) -> None:
    def program(t: Any, a: Any, b: Any) -> Any:
        return t.distributions.kl_divergence(*eval(pair, {"D": t.distributions, "a": a, "b": b}))

    agree(program, A, B, gradient=pair != INFINITE, device=device)


@cases("kind", ["Categorical", "Bernoulli"])
def test_probabilities_of_0_and_1(kind: str) -> None:
    p, q = np.array([[0.0, 1.0], [0.5, 0.5]]), np.array([[0.5, 0.5], [0.0, 1.0]])
    program = lambda t, *v: t.distributions.kl_divergence(*(getattr(t.distributions, kind)(a) for a in v))
    for a, b in ((p, q), (q, p)):
        agree(program, a, b, gradient=False)


def test_pairs_without_a_rule_and_custom_rules() -> None:
    class Mine(distributions.Normal):
        pass

    normal, categorical = distributions.Normal(0.0, 1.0), distributions.Categorical(ours(A))
    kl = distributions.kl_divergence
    raises(NotImplementedError, "p type Categorical and q type Normal", lambda: kl(categorical, normal))
    assert kl(Mine(0.0, 1.0), normal).item() == 0  # by its base class's rule

    @distributions.register_kl(Mine, distributions.Normal)
    def _rule(p: Any, q: Any) -> Any:
        return p.loc + 7

    assert kl(Mine(0.0, 1.0), normal).item() == 7
    raises(TypeError, "Expected a Distribution subclass", lambda: distributions.register_kl(1, Mine))
    wide = [distributions.Independent(distributions.Normal(ours(A), 1.0), axes) for axes in (1, 2)]
    raises(NotImplementedError, "different numbers of axes", lambda: kl(*wide))
