"""Probability distributions, by PyTorch's names: samples, logarithms of probabilities, entropies, KL."""

from typing import TYPE_CHECKING

from ..missing import names_of
from . import constraints, utils
from .bernoulli import Bernoulli
from .categorical import Categorical
from .distribution import Distribution
from .exponential import Exponential
from .independent import Independent
from .kl import kl_divergence, register_kl
from .multinomial import Multinomial
from .normal import Normal
from .one_hot_categorical import OneHotCategorical, OneHotCategoricalStraightThrough
from .uniform import Uniform

__all__ = [
    "Bernoulli", "Categorical", "Distribution", "Exponential", "Independent", "Multinomial", "Normal",
    "OneHotCategorical", "OneHotCategoricalStraightThrough", "Uniform", "constraints", "kl_divergence",
    "register_kl", "utils",
]  # fmt: skip

if not TYPE_CHECKING:  # checkers complain of a missing name themselves
    __getattr__ = names_of(__name__)
