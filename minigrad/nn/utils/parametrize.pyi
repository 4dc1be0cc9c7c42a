"""A stub for type checkers; ``compat`` provides this module."""

from minigrad.compat.nn.utils.parametrize import (
    ParametrizationList as ParametrizationList,
    cached as cached,
    is_parametrized as is_parametrized,
    register_parametrization as register_parametrization,
    remove_parametrizations as remove_parametrizations,
)
