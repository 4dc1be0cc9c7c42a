"""All distributions against PyTorch: the same samples from a seed, probabilities, gradients, errors."""

import copy
import pickle
import re
from typing import Any

import numpy as np

import minigrad
from minigrad import distributions
from tests.support.both import agree, outcome, same
from tests.support.cases import cases, programs, raises
from tests.support.parity import assert_close, host, in_torch_words, ours, theirs, torch

_RNG = np.random.default_rng(0)
_A = _RNG.standard_normal((2, 3, 3))
UNIT, LOGITS = _RNG.random((4, 5)) * 0.9 + 0.05, _RNG.standard_normal((4, 5))
MEAN, MATRIX = _RNG.standard_normal((4, 1, 3)), _A @ _A.swapaxes(-1, -2) + np.eye(3)
ARRAYS: dict[str, Any] = {
    "P": _RNG.random((4, 5)) + 0.1,
    "LOGITS": LOGITS,
    "UNIT": UNIT,
    "LOC": _RNG.standard_normal((4, 5)),
    "SCALE": _RNG.random(5) + 0.5,
    "MEAN": MEAN,
    "MATRIX": MATRIX,
    "LOWER": np.linalg.cholesky(MATRIX),
    "HEAT": np.array(0.7),
}
KINDS = programs("""
Categorical(P); Categorical(logits=LOGITS); Categorical(probs=P[0]); OneHotCategorical(P);
OneHotCategorical(logits=LOGITS); OneHotCategoricalStraightThrough(P); Bernoulli(UNIT); Bernoulli(logits=LOGITS);
Normal(LOC, SCALE); Normal(LOC, 2); Uniform(LOC, LOC + SCALE); Exponential(SCALE); Multinomial(6, P);
Multinomial(3, logits=LOGITS); Independent(Normal(LOC, SCALE), 1); Independent(Categorical(P[:, None]), 2);
Gumbel(LOC, SCALE); Laplace(LOC, SCALE); Cauchy(LOC, SCALE); LogNormal(LOC, SCALE); HalfNormal(SCALE); Geometric(UNIT);
Geometric(logits=LOGITS); MultivariateNormal(MEAN, MATRIX); MultivariateNormal(MEAN, precision_matrix=MATRIX);
MultivariateNormal(MEAN[0, 0], scale_tril=LOWER); Poisson(SCALE * 3); Gamma(UNIT * 3, SCALE); Chi2(SCALE * 3);
StudentT(UNIT * 3 + 5, LOC, SCALE); StudentT(UNIT * 3); Dirichlet(P * 3); Dirichlet(P / 2); Beta(UNIT * 3, SCALE);
HalfCauchy(SCALE); InverseGamma(UNIT * 3 + 5, SCALE); Pareto(SCALE, UNIT + 3); Weibull(SCALE, UNIT + 1);
Kumaraswamy(UNIT + 1, SCALE + 1); LogisticNormal(LOC, SCALE);
TransformedDistribution(Normal(LOC, SCALE), [AffineTransform(1.0, -2.0), TanhTransform()]); Binomial(5, UNIT);
Binomial(5, logits=LOGITS); NegativeBinomial(3.5, UNIT * 0.9); NegativeBinomial(3.5, logits=LOGITS);
MixtureSameFamily(Categorical(P), Normal(LOC, SCALE));
MixtureSameFamily(Categorical(P[:, :3]), Independent(Normal(MEAN.repeat_interleave(3, 1), SCALE[:3]), 1));
FisherSnedecor(UNIT * 3 + 3, SCALE + 9); ContinuousBernoulli(UNIT); ContinuousBernoulli(UNIT / 1000 + 0.4995);
ContinuousBernoulli(logits=LOGITS); Wishart(SCALE[:2] + 4, MATRIX); LKJCholesky(3, SCALE);
LowRankMultivariateNormal(MEAN[:, 0], LOWER[0][:, :2], SCALE[:3]); RelaxedBernoulli(HEAT, UNIT);
RelaxedBernoulli(HEAT, logits=LOGITS); RelaxedOneHotCategorical(HEAT, P); RelaxedOneHotCategorical(HEAT, logits=LOGITS)
""")
OF_TWO = "Independent(Categorical(P[:, None]), 2)"
NO_ENTROPY = (OF_TWO, "Poisson", "LogisticNormal", "TransformedDistribution", "LKJCholesky", "FisherSnedecor")
NO_ENTROPY += ("Relaxed", "NegativeBinomial", "MixtureSameFamily")
FROM_GAMMA = ("Poisson", "Gamma", "Chi2", "StudentT", "Dirichlet", "Beta", "InverseGamma", "LKJCholesky", "Wishart")
OF_CATEGORIES = ("Categorical", OF_TWO, "MixtureSameFamily", "OneHotCategorical")
OWN_DRAWS = [row for row in KINDS if row.startswith((*FROM_GAMMA, "FisherSnedecor", "Bino", "NegativeBino", "Multino"))]


def arrays(name: str, dtype: Any = np.float64) -> list[Any]:
    """The parameters that a row mentions."""
    return [array.astype(dtype) for key, array in ARRAYS.items() if re.search(rf"\b{key}\b", name)]


def of(t: Any, name: str, parameters: Any) -> Any:
    keys = [key for key in ARRAYS if re.search(rf"\b{key}\b", name)]
    return eval(name, {**vars(t.distributions), **dict(zip(keys, parameters, strict=True))})


def pair(name: str, dtype: Any = np.float64, device: str = "cpu") -> tuple[Any, Any]:
    """The distribution in both libraries."""
    mine, other = ([ours(a, device=device) for a in arrays(name, dtype)], [theirs(a) for a in arrays(name, dtype)])
    return of(minigrad, name, mine), of(torch, name, other)


def draw(name: str) -> Any:
    """Values that the distribution can take."""
    torch.manual_seed(1)
    return host(pair(name)[1].sample((3,)))


@cases("name", [n for n in KINDS if n not in OWN_DRAWS])
@cases("dtype, shape", [(np.float64, ()), (np.float32, (2, 7))])
def test_a_seed_gives_the_same_samples(name: str, dtype: Any, shape: tuple[int, ...], device: str) -> None:
    if device != "cpu" and name.startswith(OF_CATEGORIES):
        return  # a GPU samples categories with its own algorithm: tests/functions/test_creation_devices.py
    mine, other = pair(name, dtype, device)
    minigrad.manual_seed(5)
    torch.manual_seed(5)
    rtol = 1e-12 if dtype is np.float64 else 1e-6
    if name.startswith("ContinuousBernoulli") and dtype is np.float32:
        rtol = 1e-4  # close to a probability of 1/2 its quantiles are quotients of differences
    for _ in range(2):
        actual, expected = mine.sample(shape), other.sample(shape)
        assert host(actual).dtype == host(expected).dtype and not actual.requires_grad
        assert_close(actual, expected, rtol)
    if mine.has_rsample:
        assert_close(mine.rsample(shape), other.rsample(shape), rtol)


@cases("name", [n for n in OWN_DRAWS if n not in ("StudentT(UNIT * 3)", "LKJCholesky(3, SCALE)")])
def test_samples_have_the_right_distribution(name: str, device: str) -> None:
    mine, other = pair(name, np.float32, device)
    minigrad.manual_seed(0)
    samples = mine.sample((20000,))
    assert host(samples).dtype == np.float32 and bool(mine.support.check(samples).all())
    spread = host(other.stddev)
    far = np.abs(host(samples).mean(0, np.float64) - host(other.mean)) / spread
    assert far.max() < 5 / np.sqrt(20000)
    np.testing.assert_allclose(host(samples).std(0, dtype=np.float64), spread, rtol=0.1)
    minigrad.manual_seed(0)
    np.testing.assert_array_equal(host(mine.sample((20000,))), host(samples))
    if not mine.has_rsample:
        raises(NotImplementedError, None, mine.rsample)


def test_one_sample() -> None:
    D = distributions
    for d in (D.Poisson(2.0), D.Gamma(2.0, 1.0), D.Chi2(3), D.StudentT(3.0), D.Beta(1.0, 2.0)):
        assert d.sample().shape == () and d.sample((2,)).dtype is minigrad.float32


@cases("name", KINDS)
def test_log_prob_and_its_gradients(name: str, device: str) -> None:
    value = draw(name)
    log_prob = lambda t, *p: of(t, name, p).log_prob(t.from_numpy(value).to(p[0].device))
    agree(log_prob, *arrays(name), device=device)


@cases("name", [n for n in KINDS if not n.startswith(NO_ENTROPY)])
def test_entropy_and_its_gradients(name: str) -> None:
    def program(t: Any, *p: Any) -> list[Any]:
        d = of(t, name, p)
        d.sample()  # it may compute the probabilities, without history
        return [d.entropy(), d.perplexity().detach()]

    agree(program, *arrays(name), near=1e-6 if name.startswith("Multinomial") else 1e-7)  # PyTorch's log n! is float32


@cases("name", [n for n in KINDS if n not in OWN_DRAWS])
def test_rsample_has_gradients(name: str) -> None:
    def program(t: Any, *p: Any) -> Any:
        t.manual_seed(0)
        d = of(t, name, p)
        return d.rsample((3,)) ** 2 if d.has_rsample else []

    agree(program, *arrays(name))


FACTS = "mean variance stddev mode probs logits param_shape covariance_matrix loc precision_matrix scale_tril"
FACTS += " concentration1 concentration0 scale has_rsample"


@cases("name", KINDS)
def test_properties(name: str) -> None:
    mine, other = pair(name)
    assert in_torch_words(repr(mine)) == repr(other)
    if not name.startswith("Uniform"):  # its bounds are tensors
        assert in_torch_words(repr(mine.support)) == repr(other.support)
    assert tuple(mine.batch_shape) == tuple(other.batch_shape) and tuple(mine.event_shape) == tuple(other.event_shape)
    assert mine.has_enumerate_support == other.has_enumerate_support or name.startswith("Independent")
    for fact in FACTS.split():
        actual, expected = attribute(mine, fact), attribute(other, fact)
        assert (actual is None) == (expected is None), fact
        if hasattr(expected, "detach"):
            assert_close(actual, expected, 1e-12, fact)
        else:
            assert actual == expected, fact
    if not name.startswith("Independent") and other.has_enumerate_support:
        for expand in (True, False):
            same(mine.enumerate_support(expand), other.enumerate_support(expand), "support")


def attribute(of: Any, what: str) -> Any:
    try:
        value = getattr(of, what)
    except (AttributeError, NotImplementedError):
        return None
    return tuple(value) if isinstance(value, tuple) else value


@cases("name", KINDS)
def test_expand_and_copies(name: str) -> None:
    mine, other = pair(name)
    shape = (2, *mine.batch_shape)
    actual, expected = mine.expand(shape), other.expand(shape)
    assert type(actual) is type(mine) and tuple(actual.batch_shape) == shape
    value = draw(name)[:2]
    assert_close(actual.log_prob(ours(value)), expected.log_prob(torch.from_numpy(value)), 1e-12)
    minigrad.manual_seed(2)
    torch.manual_seed(2)
    if name in OWN_DRAWS:
        assert actual.sample((3,)).shape == expected.sample((3,)).shape
    else:
        assert_close(actual.sample((3,)), expected.sample((3,)), 1e-11)
    for again in (copy.deepcopy(mine), pickle.loads(pickle.dumps(mine))) if name != OF_TWO else ():
        np.testing.assert_array_equal(host(again.log_prob(ours(value))), host(mine.log_prob(ours(value))))


INVERTIBLE = ("Normal(LOC, S", "Uniform", "Exponential", "Gumbel", "Laplace", "Cauchy", "LogNormal", "HalfNormal")


@cases("name", [row for row in KINDS if row.startswith((*INVERTIBLE, "Gamma", "Chi2"))])
def test_cdf_and_its_inverse(name: str) -> None:
    value, (mine, other) = draw(name), pair(name)
    actual = mine.cdf(ours(value))
    assert_close(actual, other.cdf(torch.from_numpy(value)), 1e-12)
    if name.startswith(INVERTIBLE):
        assert_close(mine.icdf(actual), value, 1e-8)
        assert_close(mine.icdf(ours(UNIT)), other.icdf(torch.from_numpy(UNIT)), 1e-8)


WRONG = programs("""
D.Categorical(); D.Categorical(m.ones(2), m.ones(2)); D.Categorical(m.tensor(1.0));
D.Categorical(m.tensor([-1.0, 2.0])); D.Categorical(logits=m.tensor([float("nan"), 1.0]));
D.Categorical(m.ones(2)).log_prob(m.tensor(3)); D.Categorical(m.ones(2)).log_prob(m.tensor(0.5));
D.Categorical(m.ones(2)).log_prob(1); D.Categorical(m.ones(3, 2)).log_prob(m.zeros(2));
D.OneHotCategorical(m.ones(2)).log_prob(m.ones(2)); D.OneHotCategorical(m.ones(2)).log_prob(m.ones(3));
D.Bernoulli(2.0); D.Bernoulli(0.25).log_prob(m.tensor(0.5)); D.Normal(0, -1.0); D.Normal("a", 1.0);
D.Normal(m.zeros(2), 1.0).log_prob(m.zeros(3)); D.Uniform(1.0, 0.0); D.Uniform(0.0, 1.0).log_prob(m.tensor(2.0));
D.Exponential(2.0).log_prob(m.tensor(-1.0)); D.Independent(D.Normal(m.zeros(2, 3), 1.0), 3); D.Gumbel(0.0, -1.0);
D.Gumbel(0.0, 1.0).log_prob(m.tensor(float("nan"))); D.Laplace(0.0, m.tensor([1.0, 0.0])); D.Cauchy(0.0, -1.0);
D.LogNormal(0.0, -1.0); D.LogNormal(0.0, 1.0).log_prob(m.tensor(-1.0)); D.HalfNormal(-1.0);
D.HalfNormal(1.0).log_prob(m.tensor(-1.0)); D.Geometric(); D.Geometric(2.0); D.Geometric(0.0);
D.Geometric(m.tensor([0.5, 0.0])); D.Geometric(0.5).log_prob(m.tensor(-1.0)); D.Poisson(-1.0);
D.Poisson(1.0).log_prob(m.tensor(0.5)); D.Gamma(-1.0, 1.0); D.Gamma(1.0, 1.0).log_prob(m.tensor(-1.0));
D.Chi2(4.0).log_prob(-0.5); D.StudentT(1.0, scale=-1.0); D.Dirichlet(m.tensor(1.0)); D.Dirichlet(-m.ones(2));
D.Dirichlet(m.ones(2)).log_prob(m.ones(2)); D.Beta(-1.0, 1.0); D.Beta(1.0, 1.0).log_prob(m.tensor(2.0));
D.MultivariateNormal(m.tensor(0.0), m.eye(2)); D.MultivariateNormal(m.zeros(2));
D.MultivariateNormal(m.zeros(2), m.eye(2), m.eye(2)); D.MultivariateNormal(m.zeros(2), m.ones(2));
D.MultivariateNormal(m.zeros(2), precision_matrix=m.ones(2)); D.MultivariateNormal(m.zeros(2), scale_tril=m.ones(2));
D.MultivariateNormal(m.zeros(2), m.tensor([[1.0, 2.0], [2.0, 1.0]]));
D.MultivariateNormal(m.zeros(2), m.tensor([[1.0, 0.5], [0.25, 1.0]]));
D.MultivariateNormal(m.zeros(2), scale_tril=m.ones(2, 2));
D.MultivariateNormal(m.zeros(2), m.eye(2)).log_prob(m.zeros(3))
""")


@cases("program", WRONG)
def test_errors_are_pytorchs(program: str) -> None:
    names = ({"D": t.distributions, "m": t} for t in (minigrad, torch))
    actual, expected = (outcome(lambda n=n: eval(program, n)) for n in names)  # type: ignore[misc]
    assert actual == expected and expected.startswith("ValueError: ")


@cases("library, D", [(minigrad, distributions), (torch, torch.distributions)])
def test_without_checks(library: Any, D: Any) -> None:
    far = D.Uniform(0.0, 1.0, validate_args=False).log_prob(library.tensor(2.0))
    assert far.item() == -float("inf")
    try:
        D.Distribution.set_default_validate_args(False)
        D.Normal(0.0, -1.0)
    finally:
        D.Distribution.set_default_validate_args(True)
    raises(ValueError, "GreaterThan", lambda: D.Normal(0.0, -1.0))
    raises(NotImplementedError, None, lambda: D.Categorical(library.ones(2)).rsample())
    raises(NotImplementedError, None, lambda: D.Multinomial(library.ones(2), library.ones(2)))


def test_extreme_probabilities() -> None:
    def program(t: Any, p: Any, logits: Any) -> list[Any]:
        d = t.distributions.Categorical(p)
        many = t.distributions.Categorical(logits=logits)
        return [d.entropy(), d.logits, d.log_prob(t.arange(3)), many.entropy()]

    for p in ([0.0, 1.0, 0.0], [1e-300, 1.0, 1e-300]):
        agree(program, np.array(p), np.array([-np.inf, 0.0, 800.0]), gradient=False)


EXTREME = programs("""
D.Geometric(m.tensor([1.0, 1.0, 0.5])).log_prob(m.tensor([0.0, 2.0, 3.0]));
D.Poisson(m.tensor([0.0, 0.0, 2.0])).log_prob(m.tensor([0.0, 1.0, 40.0]));
D.HalfNormal(1.0, validate_args=False).log_prob(m.tensor([-1.0, 0.0, 1e3]));
D.Gumbel(0.0, 1.0).log_prob(m.tensor([-50.0, 0.0, 1e3])); D.Beta(1.0, 1.0).log_prob(m.tensor([0.0, 0.5, 1.0]));
D.Gamma(1.0, 2.0).log_prob(m.tensor([0.0, 0.5, 1e3])); D.Chi2(3).log_prob(m.tensor([0.5, 1e3]));
D.StudentT(m.tensor([0.5, 1.5, 2.0, 3.0])).mean; D.StudentT(m.tensor([0.5, 1.0, 1.5, 2.0, 3.0])).variance;
D.Gamma(2.0, 3.0).log_prob(0.5); D.Gamma(m.tensor([0.5, 1.0, 2.0]), 1.0).log_prob(0); D.Chi2(4.0).log_prob(0.5);
D.StudentT(3.0).log_prob(m.tensor([0.0, -1e3])); D.Laplace(m.zeros(0), 1.0).sample((2,));
D.MultivariateNormal(m.zeros(0, 2), m.eye(2), validate_args=False).sample((3,))
""")


@cases("program", EXTREME)
def test_extreme_and_empty_values(program: str) -> None:
    actual, expected = (eval(program, {"D": t.distributions, "m": t}) for t in (minigrad, torch))
    assert_close(actual, expected, 1e-6)


def test_second_order_gradients_through_the_covariance() -> None:
    """log_prob uses the triangle of the covariance matrix; the triangle's gradient has its own gradient."""
    program = lambda t, mean, matrix: t.distributions.MultivariateNormal(mean * 0, matrix).log_prob(mean.detach())
    agree(program, MEAN, MATRIX, orders=2)


def test_a_custom_distribution() -> None:
    class Always(distributions.Distribution):
        arg_constraints = {"value": distributions.constraints.positive}

        def __init__(self, value: Any) -> None:
            self.value = value
            super().__init__(value.shape)

        def rsample(self, sample_shape: Any = ()) -> Any:
            return self.value.expand(self._extended_shape(sample_shape))

    assert Always(minigrad.ones(2)).sample((3,)).shape == (3, 2)
    assert distributions.MultivariateNormal(minigrad.zeros(0, 2), minigrad.eye(2)).sample().shape == (0, 2)
    raises(ValueError, "GreaterThan", lambda: Always(minigrad.zeros(2)))


def test_von_mises() -> None:
    """PyTorch's Bessel functions are accurate to seven digits."""
    mine = distributions.VonMises(ours(ARRAYS["LOC"]), ours(ARRAYS["SCALE"]))
    other = torch.distributions.VonMises(theirs(ARRAYS["LOC"]), theirs(ARRAYS["SCALE"]))
    torch.manual_seed(0)
    actual, expected = mine.sample((3,)), other.sample((3,))
    assert_close(actual, expected, 1e-10)
    assert_close(mine.log_prob(actual), other.log_prob(expected), 1e-6)
    assert_close(mine.variance, other.variance, 1e-6)
    assert_close(mine.mean, other.mean)
