"""Conversion of all parameters to one vector and back."""

from __future__ import annotations

from collections.abc import Iterable

from ....autograd import no_grad
from ....autograd.tracebacks import border_functions
from ....functions.shaping import cat
from ....tensor import Tensor


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """Flatten and concatenate the parameters, with a gradient. Raises TypeError if they are on different devices."""
    parameters = list(parameters)
    if len({p.device for p in parameters}) > 1:
        raise TypeError("Found two parameters on different devices, this is currently not supported.")
    return cat([p.reshape(-1) for p in parameters])


@no_grad()
def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Copy the parts of a vector to the parameters, in order. Raises TypeError if ``vec`` is not a tensor, and
    RuntimeError if its length does not match the parameters."""
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected a Tensor, but got: {type(vec).__name__}")
    listed = list(parameters)
    count = sum(p.numel() for p in listed)
    if tuple(vec.shape) != (count,):
        raise RuntimeError(f"the parameters have {count} elements, but the vector has shape {tuple(vec.shape)}")
    for parameter, part in zip(listed, vec.split([p.numel() for p in listed]), strict=True):
        parameter.copy_(part.reshape(parameter.shape))


border_functions(globals())
