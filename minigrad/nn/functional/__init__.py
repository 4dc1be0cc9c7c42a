"""The functions behind the layers, under PyTorch's names: ``import minigrad.nn.functional as F``."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from ...autograd.tracebacks import border_functions as _border_functions
from .activation import *
from .attention import *
from .classification import *
from .embedding import *
from .linear import *
from .normalization import *
from .padding import *
from .pooling import *
from .regression import *

if _TYPE_CHECKING:  # PyTorch's other names are in ``compat``
    from ...compat.nn.functional import *

_border_functions(globals())
