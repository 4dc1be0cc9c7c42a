"""Layer functions outside the core. ``minigrad.nn.functional`` exports all layer functions."""

from ....autograd.tracebacks import border_functions as _border_functions
from .losses import *
from .spatial import *

_border_functions(globals(), "minigrad.nn.functional")
