"""Multivariate normal distributions, and distributions of covariance and correlation matrices."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from ...backend import dtype as dt
from ...functions.names import arange, cat, randn, where
from ...functions.random import normal_
from ...tensor import Size, Tensor
from .. import linalg
from ..functions.special import mvlgamma
from . import constraints
from .distribution import Distribution
from .gamma import Beta, standard_gamma
from .utils import Value, broadcast_all, formula, lazy_property, method


class _OfMatrix(Distribution):
    """The base class of MultivariateNormal and Wishart. Takes one of three matrices and computes the others lazily."""

    _MATRICES: ClassVar[dict[str, constraints.Constraint]] = {
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    has_rsample = True

    def _only(self, *matrices: Tensor | None) -> tuple[str, Tensor]:
        arguments = [(name, x) for name, x in zip(self._MATRICES, matrices, strict=True) if x is not None]
        if len(arguments) != 1:
            raise ValueError(f"Exactly one of {' or '.join(self._MATRICES)} may be specified.")
        return arguments[0]

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The Cholesky factor L of the covariance matrix L Lᵀ."""
        return linalg.cholesky(self.covariance_matrix)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The expected value of (x - loc) (x - loc)ᵀ."""
        if "scale_tril" in self.__dict__:
            return self.scale_tril @ self.scale_tril.mT
        return linalg.inv(self.precision_matrix)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance matrix."""
        return linalg.inv(self.covariance_matrix)

    def _whitening(self) -> Tensor:
        """L⁻¹, with a gradient for the lower triangle only."""
        return linalg.inv(self.scale_tril.tril())

    def _half_log_det(self) -> Tensor:
        """log det L, which is half the log-determinant of the covariance matrix."""
        return self.scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)


class MultivariateNormal(_OfMatrix):
    """Gaussian vectors of length n with mean ``loc``, (..., n). Pass one of three matrices, (..., n, n): the covariance
    matrix, which is positive definite; its inverse; or its Cholesky factor, which is lower triangular with a positive
    diagonal. Raises ValueError unless exactly one matrix is passed, or if an argument has too few axes."""

    arg_constraints = {"loc": constraints.real_vector, **_OfMatrix._MATRICES}
    support = constraints.real_vector

    def __init__(
        self,
        loc: Tensor,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        name, matrix = self._only(covariance_matrix, precision_matrix, scale_tril)
        if matrix.dim() < 2:
            what = "scale_tril matrix" if name == "scale_tril" else name
            raise ValueError(f"{what} must be at least two-dimensional, with optional leading batch dimensions")
        batch_shape = np.broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        self.loc = loc.expand((*batch_shape, -1))
        self.__dict__[name] = matrix.expand((*batch_shape, -1, -1))
        super().__init__(batch_shape, loc.shape[-1:], validate_args=validate_args)

    mean = mode = formula(lambda d: d.loc)
    variance = formula(lambda d: d.scale_tril.pow(2).sum(-1))
    entropy = method(lambda d: 0.5 * d._event_shape[0] * (1 + math.log(2 * math.pi)) + d._half_log_det())

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        noise = normal_(self._empty(sample_shape, self.loc))
        return self.loc + (self.scale_tril @ noise.unsqueeze(-1)).squeeze(-1)

    def _log_prob(self, value: Tensor) -> Tensor:
        distance = self._whitening() @ (value - self.loc).unsqueeze(-1)
        squared = distance.squeeze(-1).pow(2).sum(-1)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + squared) - self._half_log_det()

    def _kl(self, q: MultivariateNormal) -> Tensor:
        if self.event_shape != q.event_shape:
            raise ValueError("the KL divergence between Multivariate Normals of different event shapes is undefined")
        inverse = q._whitening()
        trace = (inverse @ self.scale_tril).pow(2).sum((-2, -1))
        distance = (inverse @ (q.loc - self.loc).unsqueeze(-1)).squeeze(-1).pow(2).sum(-1)
        return q._half_log_det() - self._half_log_det() + 0.5 * (trace + distance - self.event_shape[0])


class LowRankMultivariateNormal(MultivariateNormal):
    """Gaussian vectors of length n with mean ``loc``, (..., n), and covariance W Wᵀ + D. W is ``cov_factor``, (..., n,
    m), and D has the positive diagonal ``cov_diag``, (..., n). Raises ValueError if the shapes do not match."""

    arg_constraints = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }

    def __init__(self, loc: Tensor, cov_factor: Tensor, cov_diag: Tensor, validate_args: bool | None = None) -> None:
        if loc.dim() < 1 or cov_factor.dim() < 2 or not cov_factor.shape[-2] == cov_diag.shape[-1] == loc.shape[-1]:
            raise ValueError(
                f"Incompatible shapes: loc {loc.shape}, cov_factor {cov_factor.shape}, cov_diag {cov_diag.shape}"
            )
        batch_shape = np.broadcast_shapes(loc.shape[:-1], cov_factor.shape[:-2], cov_diag.shape[:-1])
        self.loc, self.cov_diag = loc.expand((*batch_shape, -1)), cov_diag.expand((*batch_shape, -1))
        self.cov_factor = cov_factor.expand((*batch_shape, -1, -1))
        Distribution.__init__(self, batch_shape, loc.shape[-1:], validate_args)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """W Wᵀ plus the diagonal."""
        return self.cov_factor @ self.cov_factor.mT + self.cov_diag.diag_embed()

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        factors = self.loc.new_empty((*shape[:-1], self.cov_factor.shape[-1]))
        offset = (self.cov_factor @ normal_(factors).unsqueeze(-1)).squeeze(-1)
        return self.loc + offset + self.cov_diag.sqrt() * normal_(self._empty(sample_shape, self.loc))


class Wishart(_OfMatrix):
    """Z Zᵀ, where the ``df`` columns of Z are normal with length n and mean 0. Their covariance is specified as for
    MultivariateNormal. ``df`` exceeds n - 1 and may be fractional. Samples differ from PyTorch's for the same seed."""

    arg_constraints = {**_OfMatrix._MATRICES, "df": constraints.greater_than(0)}
    support = constraints.positive_definite

    def __init__(
        self,
        df: Any,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        name, matrix = self._only(covariance_matrix, precision_matrix, scale_tril)
        self.df, like = broadcast_all(df, matrix[..., 0, 0])
        n = matrix.shape[-1]
        if bool((self.df <= n - 1).any()):
            raise ValueError(f"Value of df={df} expected to be greater than ndim - 1 = {n - 1}.")
        vars(self)[name] = matrix.expand((*like.shape, n, n))
        super().__init__(like.shape, (n, n), validate_args)

    _df = formula(lambda d: d.df[..., None, None], doc="``df`` with two new trailing axes.")
    mean = formula(lambda d: d._df * d.covariance_matrix)
    mode = formula(lambda d: where((k := d._df - d._event_shape[-1] - 1) > 0, k, math.nan) * d.covariance_matrix)

    @property
    def variance(self) -> Tensor:
        """df (V ⊙ V + v vᵀ), where v is the diagonal of the covariance matrix V."""
        diagonal = self.covariance_matrix.diagonal(dim1=-2, dim2=-1)
        return self._df * (self.covariance_matrix**2 + diagonal[..., None] * diagonal[..., None, :])

    def rsample(self, sample_shape: Any = ()) -> Tensor:  # Bartlett's decomposition
        n = self._event_shape[-1]
        shape = self._extended_shape(sample_shape)
        halves = (self.df[..., None] - arange(n, dtype=self.df.dtype, device=self.df.device)) / 2
        squares = standard_gamma(halves.expand(shape[:-1]))
        lower = randn(shape, dtype=self.df.dtype, device=self.df.device).tril(-1) + (2 * squares).sqrt().diag_embed()
        factor = self.scale_tril @ lower
        return factor @ factor.mT

    def _log_prob(self, value: Tensor) -> Tensor:
        n, nu = self._event_shape[-1], self.df
        constant = nu * (n * math.log(2) / 2 + self._half_log_det()) + mvlgamma(nu / 2, n)
        inverse = self._whitening()
        trace = (inverse @ value @ inverse.mT).diagonal(dim1=-2, dim2=-1).sum(-1)
        return (nu - n - 1) / 2 * linalg.slogdet(value)[1] - constant - trace / 2

    def entropy(self) -> Tensor:
        n, nu = self._event_shape[-1], self.df
        steps = arange(n, dtype=nu.dtype, device=nu.device) / 2
        derivative = (nu[..., None] / 2 - steps).digamma().sum(-1)
        constant = (n + 1) * (n * math.log(2) / 2 + self._half_log_det()) + mvlgamma(nu / 2, n)
        return constant - (nu - n - 1) / 2 * derivative + nu * n / 2


class LKJCholesky(Distribution):
    """The Cholesky factor of a (``dim``, ``dim``) correlation matrix C. The density of C is proportional to (det C)ᵅ⁻¹.
    If α, the ``concentration``, is 1, all matrices are equally likely; a larger α favours the identity."""

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky

    def __init__(self, dim: int, concentration: Value = 1.0, validate_args: bool | None = None) -> None:
        if dim < 2:
            raise ValueError(f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}.")
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        steps = arange(dim - 1, dtype=self.concentration.dtype, device=self.concentration.device)
        offset = cat([steps.new_zeros(1), steps])
        self._beta = Beta(offset + 0.5, (self.concentration + 0.5 * (dim - 2)).unsqueeze(-1) - 0.5 * offset)
        super().__init__(self.concentration.shape, (dim, dim), validate_args)

    def _sample(self, sample_shape: Size) -> Tensor:  # the onion method (Lewandowski et al. 2009, section 3.2)
        y = self._beta.sample(sample_shape).unsqueeze(-1)
        normal = randn(self._extended_shape(sample_shape), dtype=y.dtype, device=y.device).tril(-1)
        direction = normal / normal.norm(dim=-1, keepdim=True)
        direction[..., 0, :] = 0
        w = y.sqrt() * direction
        return w + (1 - (w**2).sum(-1)).clamp(min=dt.finfo(w.dtype).tiny).sqrt().diag_embed()

    def _log_prob(self, value: Tensor) -> Tensor:
        order = self.dim - arange(2, self.dim + 1, device=self.concentration.device)
        powers = 2 * (self.concentration - 1).unsqueeze(-1) + order
        m = self.dim - 1
        alpha = self.concentration + 0.5 * m
        constant = 0.5 * m * math.log(math.pi) + mvlgamma(alpha - 0.5, m) - alpha.lgamma() * m
        return (powers * value.diagonal(dim1=-2, dim2=-1)[..., 1:].log()).sum(-1) - constant
