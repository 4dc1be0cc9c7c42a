"""Layers, parameters and initial values, under PyTorch's names."""

from typing import TYPE_CHECKING

from . import functional as functional, init as init, utils as utils
from .activation import *
from .attention import *
from .containers import *
from .embedding import *
from .linear import *
from .loss import *
from .module import Module as Module
from .normalization import *
from .parameter import *
from .recurrent import *
from .shaping import *
from .transformer import *

if TYPE_CHECKING:  # PyTorch's other names are in ``compat``
    from ..compat.adaptive import *
    from ..compat.lazy import *
    from ..compat.nn.containers import *
    from ..compat.nn.loss import *
    from ..compat.nn.recurrent import *
    from ..compat.nn.spatial import *
