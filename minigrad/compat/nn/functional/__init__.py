"""Layer functions outside the core; ``minigrad.nn.functional`` has them all."""

from ....autograd.tracebacks import border_functions as _border_functions
from .losses import *
from .spatial import *

_border_functions(globals(), "minigrad.nn.functional")
