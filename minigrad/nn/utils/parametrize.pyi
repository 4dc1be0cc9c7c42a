"""For type checkers: ``compat`` supplies this module."""

from minigrad.compat.nn.utils.parametrize import ParametrizationList as ParametrizationList
from minigrad.compat.nn.utils.parametrize import cached as cached
from minigrad.compat.nn.utils.parametrize import is_parametrized as is_parametrized
from minigrad.compat.nn.utils.parametrize import register_parametrization as register_parametrization
from minigrad.compat.nn.utils.parametrize import remove_parametrizations as remove_parametrizations
