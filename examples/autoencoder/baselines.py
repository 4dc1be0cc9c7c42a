"""Linear baselines for the autoencoders. Each is the best of its kind on the training digits."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from minigrad_models.viz.blocks import Array


class Principal(NamedTuple):
    """Principal components (Pearson 1901): the linear code of K numbers with the least squared error."""

    mean: Array  # (P,)
    axes: Array  # (K, P), orthonormal

    def encode(self, x: Array) -> Array:
        """Pictures (N, P) -> codes (N, K)."""
        codes: Array = (x - self.mean) @ self.axes.T
        return codes

    def back(self, x: Array) -> Array:
        """Pictures -> reconstructions (N, P)."""
        back: Array = self.encode(x) @ self.axes + self.mean
        return back


def principal(x: Array, count: int) -> Principal:
    """The first principal components of pictures (N, P), by singular value decomposition."""
    mean = x.mean(0)
    return Principal(mean, np.linalg.svd(x - mean, full_matrices=False)[2][:count])


def least_squares(noisy: Array, clean: Array) -> Callable[[Array], Array]:
    """The linear map y = W x + b that best maps noisy pictures (N, P) to clean pictures, by least squares."""
    ones = np.ones((len(noisy), 1), noisy.dtype)
    solution = np.linalg.lstsq(np.concatenate([noisy, ones], 1), clean, rcond=None)[0]  # (P + 1, P)
    return lambda x: x @ solution[:-1] + solution[-1]


def squared_error(y: Array, x: Array) -> float:
    """The sum of (y − x)² over pixels, averaged over pictures (N, P)."""
    return float(((y - x) ** 2).sum(1).mean())


def agreement(codes: Array, labels: Array, train_codes: Array, train_labels: Array, count: int = 5) -> float:
    """The share of codes (N, K) whose label is the majority label of the ``count`` nearest training codes (M, K)."""
    distances = ((codes[:, None] - train_codes) ** 2).sum(-1)  # (N, M)
    near = train_labels[np.argsort(distances, 1, kind="stable")[:, :count]]  # (N, 5)
    votes = [int(np.bincount(row).argmax()) for row in near]
    return float((np.array(votes) == labels).mean())
