"""All ops by name, in the core and in this folder."""

from ...ops.registry import REGISTRY as REGISTRY
from . import decompositions, fourier, indefinite, special  # noqa: F401 (each registers its ops)
