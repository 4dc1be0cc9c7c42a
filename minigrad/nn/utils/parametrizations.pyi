"""For type checkers: ``compat`` supplies this module."""

from minigrad.compat.nn.utils.parametrizations import orthogonal as orthogonal
from minigrad.compat.nn.utils.parametrizations import spectral_norm as spectral_norm
from minigrad.compat.nn.utils.parametrizations import weight_norm as weight_norm
