"""The functions behind the layers, by PyTorch's names: ``import minigrad.nn.functional as F``."""

from ...autograd.tracebacks import border_functions as _border_functions
from .activation import *
from .attention import *
from .classification import *
from .convolution import *
from .ctc import *
from .dropout import *
from .embedding import *
from .grid import *
from .interpolation import *
from .linear import *
from .margin import *
from .multihead import *
from .normalization import *
from .padding import *
from .pooling import *
from .regression import *

_border_functions(globals())
