"""Probability distributions, by PyTorch's names: samples, logarithms of probabilities, entropies, KL."""

from . import constraints, utils
from .bernoulli import Bernoulli
from .beta import Beta
from .categorical import Categorical
from .cauchy import Cauchy
from .dirichlet import Dirichlet
from .distribution import Distribution
from .exponential import Exponential
from .gamma import Gamma
from .geometric import Geometric
from .gumbel import Gumbel
from .half_normal import HalfNormal
from .independent import Independent
from .kl import kl_divergence, register_kl
from .laplace import Laplace
from .log_normal import LogNormal
from .multinomial import Multinomial
from .multivariate_normal import MultivariateNormal
from .normal import Normal
from .one_hot_categorical import OneHotCategorical, OneHotCategoricalStraightThrough
from .poisson import Poisson
from .relaxed_bernoulli import RelaxedBernoulli
from .relaxed_categorical import RelaxedOneHotCategorical
from .uniform import Uniform

__all__ = ["Bernoulli", "Beta", "Categorical", "Cauchy", "Dirichlet", "Distribution", "Exponential", "Gamma"]
__all__ += ["Geometric", "Gumbel", "HalfNormal", "Independent", "Laplace", "LogNormal", "Multinomial"]
__all__ += ["MultivariateNormal", "Normal", "OneHotCategorical", "OneHotCategoricalStraightThrough", "Poisson"]
__all__ += ["RelaxedBernoulli", "RelaxedOneHotCategorical", "Uniform", "constraints", "kl_divergence"]
__all__ += ["register_kl", "utils"]
