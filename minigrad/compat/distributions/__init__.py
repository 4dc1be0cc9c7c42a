"""Probability distributions under PyTorch's names, with samples, log-probabilities, entropies and KL divergences."""

from . import choices, constraints, derived, transforms, utils
from .choices import *
from .constraint_registry import biject_to, transform_to
from .derived import *
from .distribution import Distribution, ExponentialFamily, kl_divergence, register_kl
from .gamma import Beta, Chi2, Dirichlet, Exponential, FisherSnedecor, Gamma, Poisson, StudentT
from .location_scale import Cauchy, Gumbel, Laplace, Normal, Uniform, VonMises
from .multivariate import LKJCholesky, LowRankMultivariateNormal, MultivariateNormal, Wishart
from .transforms import *

__all__ = ["Beta", "Cauchy", "Chi2", "Dirichlet", "Distribution", "Exponential", "ExponentialFamily", "FisherSnedecor"]
__all__ += ["Gamma", "Gumbel", "LKJCholesky", "Laplace", "LowRankMultivariateNormal", "MultivariateNormal", "Normal"]
__all__ += ["Poisson", "StudentT", "Uniform", "VonMises", "Wishart", "biject_to", "constraints", "kl_divergence"]
__all__ += ["register_kl", "transform_to", "transforms", "utils"]
__all__ += choices.__all__
__all__ += derived.__all__
__all__ += transforms.__all__
