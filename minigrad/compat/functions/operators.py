"""Methods whose arguments stand in another order than their function's."""

from __future__ import annotations

from ...functions.define import method
from ...tensor import Tensor
from . import special


@method(free=False, in_place=True)
def polygamma(input: Tensor, n: int) -> Tensor:
    """The n-th derivative of ``digamma``."""
    return special.polygamma(n, input)
