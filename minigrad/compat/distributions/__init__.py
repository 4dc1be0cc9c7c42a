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
)
from .constraint_registry import biject_to, transform_to
from .counts import Binomial, NegativeBinomial
from .distribution import Distribution, ExponentialFamily, kl_divergence, register_kl
from .gamma import Beta, Chi2, Dirichlet, Exponential, FisherSnedecor, Gamma, Poisson, StudentT
from .independent import Independent
from .lkj_cholesky import LKJCholesky
from .location_scale import Cauchy, Gumbel, Laplace, Normal, Uniform
from .mixture import MixtureSameFamily
from .multivariate_normal import LowRankMultivariateNormal, MultivariateNormal
from .relaxed import RelaxedBernoulli, RelaxedOneHotCategorical
from .transformed_distribution import (
    HalfCauchy,
    HalfNormal,
    InverseGamma,
    Kumaraswamy,
    LogisticNormal,
    LogNormal,
    Pareto,
    TransformedDistribution,
    Weibull,
)
from .transforms import *
from .transforms import __all__ as _transforms
from .von_mises import VonMises
from .wishart import Wishart

__all__ = ["Bernoulli", "Beta", "Categorical", "Cauchy", "Chi2", "Dirichlet", "Distribution", "Exponential", "Gamma"]
__all__ += ["Geometric", "Gumbel", "HalfNormal", "Independent", "Laplace", "LogNormal", "Multinomial"]
__all__ += ["MultivariateNormal", "Normal", "OneHotCategorical", "OneHotCategoricalStraightThrough", "Poisson"]
__all__ += ["RelaxedBernoulli", "RelaxedOneHotCategorical", "StudentT", "Uniform", "constraints", "kl_divergence"]
__all__ += ["Binomial", "HalfCauchy", "InverseGamma", "Kumaraswamy", "LKJCholesky", "LogisticNormal", "Pareto"]
__all__ += ["LowRankMultivariateNormal", "MixtureSameFamily", "NegativeBinomial", "TransformedDistribution", "Weibull"]
__all__ += ["ContinuousBernoulli", "ExponentialFamily", "FisherSnedecor", "VonMises", "Wishart"]
__all__ += ["biject_to", "register_kl", "transform_to", "transforms", "utils"]
__all__.extend(_transforms)
