"""A stub for type checkers; ``compat`` provides this module."""

from minigrad.compat.nn.utils.parametrizations import (
    orthogonal as orthogonal,
    spectral_norm as spectral_norm,
    weight_norm as weight_norm,
)
