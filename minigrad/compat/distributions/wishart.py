"""Wishart: positive-definite matrices, sums of squares of normal vectors."""

from __future__ import annotations

import math
from typing import Any

from ...functions.creation import arange
from ...functions.pointwise import where
from ...functions.random import randn
from ...tensor import Tensor
from .. import linalg
from ..functions.special import mvlgamma
from . import constraints
from .distribution import Distribution
from .gamma import FromGamma
from .multivariate_normal import MultivariateNormal
from .utils import broadcast_all, formula


class Wishart(FromGamma):
    """Z Zᵀ, the columns of Z being ``df`` normal vectors of length n with the mean 0.

    Args:
        df: how many, above n - 1, not always a whole number. Others: the vectors' matrix, as MultivariateNormal's.
    """

    arg_constraints = {
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
        "df": constraints.greater_than(0),
    }
    support = constraints.positive_definite
    covariance_matrix, precision_matrix = MultivariateNormal.covariance_matrix, MultivariateNormal.precision_matrix
    scale_tril = MultivariateNormal.scale_tril
    _half_log_det: Any = MultivariateNormal._half_log_det
    _whitening: Any = MultivariateNormal._whitening

    def __init__(
        self,
        df: Any,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        given = {"covariance_matrix": covariance_matrix, "precision_matrix": precision_matrix, "scale_tril": scale_tril}
        if sum(matrix is not None for matrix in given.values()) != 1:
            raise ValueError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        ((name, matrix),) = ((name, matrix) for name, matrix in given.items() if matrix is not None)
        (self.df, like) = broadcast_all(df, matrix[..., 0, 0])
        n = matrix.shape[-1]
        if bool((self.df <= n - 1).any()):
            raise ValueError(f"Value of df={df} expected to be greater than ndim - 1 = {n - 1}.")
        vars(self)[name] = matrix.expand((*like.shape, n, n))
        super().__init__(like.shape, (n, n), validate_args)

    _df = formula(lambda d: d.df[..., None, None], doc="``df`` of each matrix.")
    mean = formula(lambda d: d._df * d.covariance_matrix)

    @property
    def mode(self) -> Tensor:
        """(df - n - 1) V, NaN where that is none."""
        factor = self._df - self._event_shape[-1] - 1
        return where(factor > 0, factor, math.nan) * self.covariance_matrix

    @property
    def variance(self) -> Tensor:
        """df (V² + v vᵀ), v the diagonal of V."""
        diagonal = self.covariance_matrix.diagonal(dim1=-2, dim2=-1)
        return self._df * (self.covariance_matrix**2 + diagonal[..., None] * diagonal[..., None, :])

    def rsample(self, sample_shape: Any = ()) -> Tensor:  # Bartlett's decomposition
        n = self._event_shape[-1]
        shape = self._extended_shape(sample_shape)
        halves = (self.df[..., None] - arange(n, dtype=self.df.dtype, device=self.df.device)) / 2
        wide = Distribution(self._batch_shape, (n,), False)
        squares = FromGamma._standard_gamma(wide, halves, sample_shape)  # type: ignore[arg-type]
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
