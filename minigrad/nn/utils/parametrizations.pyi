"""For type checkers: ``compat`` supplies this module."""

from minigrad.compat.nn.utils.parametrizations import (
    orthogonal as orthogonal,
    spectral_norm as spectral_norm,
    weight_norm as weight_norm,
)
