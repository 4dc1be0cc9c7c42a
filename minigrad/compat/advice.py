"""The text for a name that is not here: what to use instead, or the nearest that there is."""

from __future__ import annotations

import difflib
from fnmatch import fnmatchcase

from ..tensor import Tensor
from . import names

_COMPLEX = "NumPy has no such numbers; use complex64"
_SPARSE = "there are no sparse tensors; use dense ones"
_FLOAT8 = "NumPy has no 8-bit floats; use float16 or float32"
_QUANTIZED = "nothing is quantised; use float16 or float32"
_FFT = "use numpy.fft on x.numpy()"
_LAZY = "give the sizes, and use the layer of the same name without Lazy"

_RNN = "use the layer: nn.LSTM, nn.GRU, nn.RNN or their cells"
_STORAGE = "tensors share NumPy's memory; use x.numpy() or x.data_ptr()"

# PyTorch has these (and all below them; "*" stands for anything), and minigrad has not.
ABSENT: dict[str, str] = {
    "_C.*": "there is no C++ library behind minigrad; use the public functions",
    "*Storage": _STORAGE,
    "ao": _QUANTIZED,
    "autograd.forward_ad": "use func.jvp",
    "autograd.graph": "use utils.checkpoint to save memory, Tensor.register_hook to see gradients",
    "chalf": _COMPLEX,
    "classes": "there is no C++ library behind minigrad",
    "complex32": _COMPLEX,
    "cond": "write if",
    "cuda.CUDAGraph": "there are no CUDA graphs; call the function itself",
    "cuda.ExternalStream": "there are no streams of one's own; CuPy's current stream is used",
    "cuda.graph": "there are no CUDA graphs; call the function itself",
    "cuda.nccl": "there is one device; see torch.distributed",
    "cuda.nvtx": "use cupyx.profiler.time_range",
    "cuda.stream": "there are no streams of one's own; CuPy's current stream is used",
    "distributed.algorithms": "there is one process; use the module itself",
    "distributed.elastic": "there is one process; start the program with python",
    "distributed.fsdp": "there is one device; use the module itself",
    "distributed.launch": "there is one process; start the program with python",
    "distributed.optim": "there is one process; use the optimiser itself",
    "distributed.pipeline": "there is one device; use nn.Sequential",
    "distributed.rpc": "there is one process; call the function itself",
    "distributed.run": "there is one process; start the program with python",
    "distributed.tensor": "there is one device; use the module itself",
    "float4*": _FLOAT8,
    "float8*": _FLOAT8,
    "from_file": "use from_numpy(numpy.memmap(...))",
    "futures": "use concurrent.futures",
    "gru*": _RNN,
    "igamma*": "use scipy.special on x.numpy()",
    "istft": _FFT,
    "library": "write an autograd.Function",
    "lobpcg": "use linalg.eigh",
    "lstm*": _RNN,
    "monitor": "use utils.tensorboard",
    "nested": "pad the sequences: nn.utils.rnn.pad_sequence",
    "nn.Lazy*": _LAZY,
    "nn.attention.bias": "give scaled_dot_product_attention a mask, or is_causal=True",
    "nn.attention.flex_attention": "use scaled_dot_product_attention with a mask",
    "nn.intrinsic": _QUANTIZED,
    "nn.qat": _QUANTIZED,
    "nn.quantizable": _QUANTIZED,
    "nn.quantized": _QUANTIZED,
    "nn.utils.fusion": "nothing is fused; use the layers themselves",
    "nn.utils.prune": "multiply the weight with a mask",
    "overrides": "there is no __torch_function__; write a function of your own",
    "package": "use save and load",
    "pca_lowrank": "use linalg.svd of the centred data",
    "profiler.ExecutionTraceObserver": "use profile().export_chrome_trace",
    "profiler.itt": "use profile and record_function",
    "qint*": _QUANTIZED,
    "quint*": _QUANTIZED,
    "quantization": _QUANTIZED,
    "quantize*": _QUANTIZED,
    "quasirandom": "use scipy.stats.qmc",
    "rnn_relu*": _RNN,
    "rnn_tanh*": _RNN,
    "_scaled_mm": _FLOAT8,
    "segment_reduce": "use scatter_reduce",
    "signal": "use the windows of torch itself, hann_window and its like, or scipy.signal",
    "sparse*": _SPARSE,
    "stft": _FFT,
    "svd_lowrank": "use linalg.svd",
    "Tensor.coalesce": _SPARSE,
    "Tensor.sparse*": _SPARSE,
    "Tensor.to_dense": _SPARSE,
    "Tensor.to_sparse*": _SPARSE,
    "utils.bottleneck": "use profiler.profile",
    "utils.cpp_extension": "write an autograd.Function; a CUDA kernel by cupy.RawKernel",
    "utils.dlpack": "use numpy.from_dlpack",
    "while_loop": "write while",
    "utils.mobile_optimizer": "there is no mobile runtime",
}
_SEARCHED = (
    "",
    "nn",
    "nn.functional",
    "nn.init",
    "nn.utils",
    "nn.utils.rnn",
    "optim",
    "optim.lr_scheduler",
    "utils.data",
    "Tensor",
)


def missing(place: str, name: str) -> str:
    """What the error says: PyTorch's full name, and what to use instead or the nearest that there is.

    Args:
        place: where it was looked for: "minigrad.nn", "minigrad.Tensor".
        name: what was looked for.
    """
    wanted = names.public(place, name)
    text = f"minigrad has no {wanted}"
    if reason := absent(wanted.removeprefix("torch.")):
        return f"{text}: {reason}"
    near = nearest(place, name)
    return f"{text}; nearest: {near}" if near else text


def absent(path: str) -> str:
    """What to use instead of something that PyTorch has and minigrad has not; "" for other names."""
    parts = path.split(".")
    for count in range(1, len(parts) + 1):
        beginning = ".".join(parts[:count])
        for pattern, reason in ABSENT.items():
            if fnmatchcase(beginning, pattern):
                return reason
    return ""


def nearest(place: str, name: str) -> str:
    """The full name of what is spelt most like ``name``: in the same place, or just so in another; or ""."""
    found = difflib.get_close_matches(name, _public_names(place), n=1)
    if not found or found[0].lower() != name.lower():
        for path in _SEARCHED:
            if name in _public_names(f"minigrad.{path}".rstrip(".")):
                return names.public(f"minigrad.{path}".rstrip("."), name)
    return names.public(place, found[0]) if found else ""


def _public_names(place: str) -> list[str]:
    try:
        holder = Tensor if place == "minigrad.Tensor" else names.module_of(place)
    except ImportError:
        return []
    every = [*dir(holder), *names.others(place)]
    return [name for name in dict.fromkeys(every) if not name.startswith("_")]
