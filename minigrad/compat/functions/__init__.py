"""Functions outside the core: free functions in ``minigrad``, and methods added to Tensor by importing this module."""

from ...functions import names
from ...functions.define import collect
from . import copies, decompositions, equations, products, special, spectrum, statistics

_families = [copies, decompositions, equations, products, special, spectrum, statistics]
FREE = collect(_families, beside=names.__all__)
globals().update(FREE)
__all__ = list(FREE)
