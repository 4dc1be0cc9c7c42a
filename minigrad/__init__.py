"""minigrad: a deep-learning framework in plain Python, on NumPy (CPU) and CuPy (NVIDIA GPU)."""

from __future__ import annotations

import math
from types import ModuleType
from typing import TYPE_CHECKING, Any

from . import (
    autograd as autograd,
    extension as _extension,
    tensor as _tensor_module,  # imported first, so that the function `tensor` then replaces it
)
from .autograd import (
    enable_grad as enable_grad,
    inference_mode as inference_mode,
    is_grad_enabled as is_grad_enabled,
    no_grad as no_grad,
    set_grad_enabled as set_grad_enabled,
)
from .autograd.methods import Methods as _Methods
from .autograd.mode import is_inference_mode_enabled as is_inference_mode_enabled
from .autograd.tracebacks import (
    get_traceback_filtering as get_traceback_filtering,
    set_traceback_filtering as set_traceback_filtering,
)
from .backend import Device as _Device, dtype as _dtypes
from .backend.device import get_default_device as get_default_device, set_default_device as set_default_device
from .backend.dtype import *
from .backend.parallel import get_num_threads as get_num_threads, set_num_threads as set_num_threads
from .backend.random import (
    Generator as Generator,
    default_generator as default_generator,
    get_dropout_stream as get_dropout_stream,
    manual_seed as manual_seed,
    set_dropout_stream as set_dropout_stream,
)
from .backend.version import project as __version__
from .functions import names as _names
from .functions.printing import set_printoptions as set_printoptions
from .tensor import Size as Size, Tensor as Tensor

if TYPE_CHECKING:
    from .functions.names import *
else:  # without the names that are imported on demand
    globals().update(_names.FREE)

if TYPE_CHECKING:  # imported by __getattr__ on first use
    from . import (
        cuda as cuda,
        distributed as distributed,
        nn as nn,
        optim as optim,
        profiler as profiler,
        serialization as serialization,
        utils as utils,
    )
    from .compat import (
        distributions as distributions,
        func as func,
        linalg as linalg,
        masked as masked,
        special as special,
    )
    from .compat.functions import fft as fft
    from .functions.names import tensor as tensor  # the function; pyright would otherwise take the module
    from .profiler.summary import summary as summary
    from .serialization import load as load, save as save

device = _Device
dtype = _dtypes.DType
bool = _dtypes.bool_
half, float, double = _dtypes.float16, _dtypes.float32, _dtypes.float64
short, int, long = _dtypes.int16, _dtypes.int32, _dtypes.int64
inf, nan, pi, e = math.inf, math.nan, math.pi, math.e
newaxis = None

# Modules with PyTorch's names. `compat` adds aliases to them and suggests alternatives for missing names.
_PACKAGES = {"autograd", "compat", "cuda", "distributed", "distributions", "fft", "func", "functions", "linalg", "nn"}
_PACKAGES |= {"masked", "ops", "optim", "profiler", "serialization", "special", "utils", "viz"}
# Tensor methods that `compat` defines when the first of them is looked up.
_METHODS = """
    aminmax bincount cholesky cholesky_inverse cholesky_solve corrcoef cov cross cummax cummin det digamma digamma_
    dist geqrf histc histogram i0 i0_ igamma igamma_ igammac igammac_ inner inverse istft kron kthvalue lgamma lgamma_
    logcumsumexp logdet lu lu_solve matrix_exp matrix_power median mode msort mvlgamma mvlgamma_ nanmean nanmedian
    nanquantile nansum orgqr ormqr pinverse polygamma polygamma_ qr quantile sinc sinc_ slogdet stft svd
    triangular_solve unique_consecutive vdot
"""
_helpers = {"TYPE_CHECKING", "Any", "ModuleType", "annotations"}
if not TYPE_CHECKING:  # type checkers see the names above and in names.pyi
    _extension.later(__name__, {"serialization": "save load", "profiler.summary": "summary"})
    _public = {n for n, v in globals().items() if n[0] != "_" and not isinstance(v, ModuleType)}
    __all__ = list(_public - _helpers | {*_extension.names_later(__name__), "autograd", "cuda", "nn", "optim"})

    def __getattr__(name: str) -> Any:
        """Import optional parts on first use."""
        return _extension.look_up(__package__, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_extension.names_later(__name__), *_extension.layer().others(__package__)})


_extension.install(f"{__name__}.compat", _PACKAGES, [Tensor], {_Methods: _METHODS})
