"""Probability distributions, by PyTorch's names: samples, logarithms of probabilities, entropies, KL."""

from . import constraints, transforms, utils
from .choices import (
    Bernoulli,
    Categorical,
    ContinuousBernoulli,
    Geometric,
    Multinomial,
    OneHotCategorical,
    OneHotCategoricalStraightThrough,
    RelaxedBernoulli,
    RelaxedOneHotCategorical,
)
from .constraint_registry import biject_to, transform_to
from .counts import Binomial, NegativeBinomial
from .derived import (
    HalfCauchy,
    HalfNormal,
    Independent,
    InverseGamma,
    Kumaraswamy,
    LogisticNormal,
    LogNormal,
    MixtureSameFamily,
    Pareto,
    TransformedDistribution,
    Weibull,
)
from .distribution import Distribution, ExponentialFamily, kl_divergence, register_kl
from .gamma import Beta, Chi2, Dirichlet, Exponential, FisherSnedecor, Gamma, Poisson, StudentT
from .location_scale import Cauchy, Gumbel, Laplace, Normal, Uniform, VonMises
from .multivariate import LKJCholesky, LowRankMultivariateNormal, MultivariateNormal, Wishart
from .transforms import *
from .transforms import __all__ as _transforms

__all__ = ["Bernoulli", "Beta", "Categorical", "Cauchy", "Chi2", "Dirichlet", "Distribution", "Exponential", "Gamma"]
__all__ += ["Geometric", "Gumbel", "HalfNormal", "Independent", "Laplace", "LogNormal", "Multinomial"]
__all__ += ["MultivariateNormal", "Normal", "OneHotCategorical", "OneHotCategoricalStraightThrough", "Poisson"]
__all__ += ["RelaxedBernoulli", "RelaxedOneHotCategorical", "StudentT", "Uniform", "constraints", "kl_divergence"]
__all__ += ["Binomial", "HalfCauchy", "InverseGamma", "Kumaraswamy", "LKJCholesky", "LogisticNormal", "Pareto"]
__all__ += ["LowRankMultivariateNormal", "MixtureSameFamily", "NegativeBinomial", "TransformedDistribution", "Weibull"]
__all__ += ["ContinuousBernoulli", "ExponentialFamily", "FisherSnedecor", "VonMises", "Wishart"]
__all__ += ["biject_to", "register_kl", "transform_to", "transforms", "utils"]
__all__.extend(_transforms)
