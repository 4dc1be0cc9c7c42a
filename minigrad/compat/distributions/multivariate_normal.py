"""MultivariateNormal: vectors of normal numbers that depend on each other."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...functions.random import normal_
from ...tensor import Tensor
from .. import linalg
from . import constraints
from .distribution import Distribution
from .utils import formula, lazy_property


class MultivariateNormal(Distribution):
    """Vectors of length n from their mean and one of three matrices.

    Args:
        loc: the mean, (..., n).
        covariance_matrix: (..., n, n), positive definite.
        precision_matrix: its inverse.
        scale_tril: the lower triangle L with a positive diagonal of which L Lᵀ is the covariance matrix.

    Raises:
        ValueError: not one matrix, or several; too few axes.
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support = constraints.real_vector
    has_rsample = True

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
        names = ["covariance_matrix", "precision_matrix", "scale_tril"]
        matrices = zip(names, (covariance_matrix, precision_matrix, scale_tril), strict=True)
        arguments = [(name, matrix) for name, matrix in matrices if matrix is not None]
        if len(arguments) != 1:
            raise ValueError(f"Exactly one of {' or '.join(names)} may be specified.")
        ((name, matrix),) = arguments
        if matrix.dim() < 2:
            what = "scale_tril matrix" if name == "scale_tril" else name
            raise ValueError(f"{what} must be at least two-dimensional, with optional leading batch dimensions")
        batch_shape = np.broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        self.loc = loc.expand((*batch_shape, -1))
        self.__dict__[name] = matrix.expand((*batch_shape, -1, -1))
        super().__init__(batch_shape, loc.shape[-1:], validate_args=validate_args)

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The lower triangle L of which L Lᵀ is the covariance matrix."""
        return linalg.cholesky(self.covariance_matrix)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The mean of (x - loc) (x - loc)ᵀ."""
        if "scale_tril" in self.__dict__:
            return self.scale_tril @ self.scale_tril.mT
        return linalg.inv(self.precision_matrix)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance matrix."""
        return linalg.inv(self.covariance_matrix)

    mean = mode = formula(lambda d: d.loc)
    variance = formula(lambda d: d.scale_tril.pow(2).sum(-1))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        drawn = normal_(self._empty(sample_shape, self.loc))
        return self.loc + (self.scale_tril @ drawn.unsqueeze(-1)).squeeze(-1)

    def _log_prob(self, value: Tensor) -> Tensor:
        distance = self._whitening() @ (value - self.loc).unsqueeze(-1)
        squared = distance.squeeze(-1).pow(2).sum(-1)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + squared) - self._half_log_det()

    def entropy(self) -> Tensor:
        return 0.5 * self._event_shape[0] * (1 + math.log(2 * math.pi)) + self._half_log_det()

    def _kl(self, q: MultivariateNormal) -> Tensor:
        if self.event_shape != q.event_shape:
            raise ValueError("there is no KL divergence between Multivariate Normals of different event shapes")
        inverse = q._whitening()
        trace = (inverse @ self.scale_tril).pow(2).sum((-2, -1))
        distance = (inverse @ (q.loc - self.loc).unsqueeze(-1)).squeeze(-1).pow(2).sum(-1)
        return q._half_log_det() - self._half_log_det() + 0.5 * (trace + distance - self.event_shape[0])

    def _whitening(self) -> Tensor:
        """L⁻¹, whose gradient reaches the lower triangle alone."""
        return linalg.inv(self.scale_tril.tril())

    def _half_log_det(self) -> Tensor:
        """log det of L, which is half that of the covariance matrix."""
        return self.scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)


class LowRankMultivariateNormal(MultivariateNormal):
    """Vectors of length n whose covariance matrix is W Wᵀ and a diagonal.

    Args:
        loc: the mean, (..., n).
        cov_factor: W, (..., n, m).
        cov_diag: the diagonal, (..., n), positive.

    Raises:
        ValueError: their shapes do not fit together.
    """

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
        """W Wᵀ and the diagonal."""
        return self.cov_factor @ self.cov_factor.mT + self.cov_diag.diag_embed()

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        factors = self.loc.new_empty((*shape[:-1], self.cov_factor.shape[-1]))
        drawn = (self.cov_factor @ normal_(factors).unsqueeze(-1)).squeeze(-1)
        return self.loc + drawn + self.cov_diag.sqrt() * normal_(self._empty(sample_shape, self.loc))
