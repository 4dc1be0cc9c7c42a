"""Probability distributions, by PyTorch's names: samples, logarithms of probabilities, entropies, KL."""

from . import constraints, utils
from .choices import Bernoulli, Categorical, Geometric, Multinomial, OneHotCategorical, OneHotCategoricalStraightThrough
from .distribution import Distribution
from .exponential import Exponential
from .gamma import Beta, Dirichlet, Gamma
from .independent import Independent
from .kl import kl_divergence, register_kl
from .location_scale import Cauchy, Gumbel, HalfNormal, Laplace, LogNormal, Normal
from .multivariate_normal import MultivariateNormal
from .poisson import Poisson
from .relaxed import RelaxedBernoulli, RelaxedOneHotCategorical
from .uniform import Uniform

__all__ = ["Bernoulli", "Beta", "Categorical", "Cauchy", "Dirichlet", "Distribution", "Exponential", "Gamma"]
__all__ += ["Geometric", "Gumbel", "HalfNormal", "Independent", "Laplace", "LogNormal", "Multinomial"]
__all__ += ["MultivariateNormal", "Normal", "OneHotCategorical", "OneHotCategoricalStraightThrough", "Poisson"]
__all__ += ["RelaxedBernoulli", "RelaxedOneHotCategorical", "Uniform", "constraints", "kl_divergence"]
__all__ += ["register_kl", "utils"]
