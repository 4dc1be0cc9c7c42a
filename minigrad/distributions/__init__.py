"""Probability distributions, by PyTorch's names: samples, logarithms of probabilities, entropies, KL."""

from . import constraints, utils
from .choices import Bernoulli, Categorical, Geometric, Multinomial, OneHotCategorical, OneHotCategoricalStraightThrough
from .distribution import Distribution, kl_divergence, register_kl
from .gamma import Beta, Chi2, Dirichlet, Exponential, Gamma, Poisson, StudentT
from .independent import Independent
from .location_scale import Cauchy, Gumbel, HalfNormal, Laplace, LogNormal, Normal, Uniform
from .multivariate_normal import MultivariateNormal
from .relaxed import RelaxedBernoulli, RelaxedOneHotCategorical

__all__ = ["Bernoulli", "Beta", "Categorical", "Cauchy", "Chi2", "Dirichlet", "Distribution", "Exponential", "Gamma"]
__all__ += ["Geometric", "Gumbel", "HalfNormal", "Independent", "Laplace", "LogNormal", "Multinomial"]
__all__ += ["MultivariateNormal", "Normal", "OneHotCategorical", "OneHotCategoricalStraightThrough", "Poisson"]
__all__ += ["RelaxedBernoulli", "RelaxedOneHotCategorical", "StudentT", "Uniform", "constraints", "kl_divergence"]
__all__ += ["register_kl", "utils"]
