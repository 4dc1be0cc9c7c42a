"""What PyTorch has and minigrad has not, each with a reason: one table of names.

A name that programs only mention may be absent. One that they import, and need not call, is there and refuses: it
raises NotImplementedError when it is called. A name is written without "torch.". What is there and does nothing stands
in ``no_ops.py``.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NoReturn

_COMPLEX = "NumPy has no such numbers; use complex64"
_SPARSE = "there are no sparse tensors; use dense ones"
_FLOAT8 = "NumPy has no 8-bit floats; use float16 or float32"
_QUANTIZED = "nothing is quantised; use float16 or float32"
_FFT = "use numpy.fft on x.numpy()"
_CUDA_GRAPH = "there are no CUDA graphs; call the function itself"
_LAUNCH = "there is one process; start the program with python"
_LAZY = "give the sizes, and use the layer of the same name without Lazy"
_CORE = "nothing records a program; use the public functions"
_EXPORT = "nothing records a program; save the state dict with minigrad.save"
_FX = "nothing records a program; change the module itself"
_ONNX = "nothing records a program; save the state dict, which PyTorch loads, and export from there"
_PROFILE = "use profiler.profile; on a GPU cupyx.profiler.time_range"
_RNN = "use the layer: nn.LSTM, nn.GRU, nn.RNN or their cells"
_STORAGE = "tensors share NumPy's memory; use x.numpy() or x.data_ptr()"
_STREAM = "there are no further streams; CuPy's current stream is used"

# Not there (nor is anything below them; "*" stands for anything): asking for one is an error.
ABSENT: dict[str, str] = {
    "_C.*": "there is no C++ library behind minigrad; use the public functions",
    "*Storage": _STORAGE,
    "ao": _QUANTIZED,
    "autograd.forward_ad": "use func.jvp",
    "autograd.graph.save_on_cpu": "use utils.checkpoint to save memory",
    "autograd.graph.saved_tensors_hooks": "use utils.checkpoint to save memory, Tensor.register_hook to see gradients",
    "chalf": _COMPLEX,
    "classes": "there is no C++ library behind minigrad",
    "complex32": _COMPLEX,
    "cond": "write if",
    "cuda.CUDAGraph": _CUDA_GRAPH,
    "cuda.ExternalStream": _STREAM,
    "cuda.graph": _CUDA_GRAPH,
    "cuda.nccl": "there is one device; see torch.distributed",
    "cuda.nvtx": "use cupyx.profiler.time_range",
    "cuda.stream": _STREAM,
    "distributed.algorithms": "there is one process; use the module itself",
    "distributed.elastic": _LAUNCH,
    "distributed.fsdp": "there is one device; use the module itself",
    "distributed.launch": _LAUNCH,
    "distributed.optim": "there is one process; use the optimiser itself",
    "distributed.pipeline": "there is one device; use nn.Sequential",
    "distributed.rpc": "there is one process; call the function itself",
    "distributed.run": _LAUNCH,
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

# Functions that can be imported, and refuse to be called.
REFUSED: dict[str, str] = {
    "autograd.profiler.emit_itt": _PROFILE,
    "autograd.profiler.emit_nvtx": _PROFILE,
    "autograd.profiler.load_nvprof": _PROFILE,
    "cuda.Event": "call cuda.synchronize() and time.perf_counter()",
    "cuda.Stream": _STREAM,
    "export.export": _EXPORT,
    "export.load": _EXPORT,
    "export.save": _EXPORT,
    "fx.symbolic_trace": _FX,
    "hub.download_url_to_file": "use urllib.request.urlretrieve",
    "hub.load": "it runs code from the network; copy the model's code and load its weights",
    "hub.load_state_dict_from_url": "download the file yourself, and give minigrad.load its path",
    "jit.load": "there are no scripts; load a state dict into the module's class",
    "jit.save": "there are no scripts; save the state dict with minigrad.save",
    "onnx.dynamo_export": _ONNX,
    "onnx.export": _ONNX,
}
# Classes for annotations, ``isinstance`` and bases: nothing is one, and they refuse to be called.
REFUSED_CLASSES: dict[str, str] = {
    "_C.Block": _CORE,
    "_C.Graph": _CORE,
    "_C.Node": _CORE,
    "_C.Value": _CORE,
    "fx.Graph": _FX,
    "fx.GraphModule": _FX,
    "fx.Node": _FX,
    "fx.Proxy": _FX,
    "fx.Tracer": _FX,
}


class Refused:
    """A function that refuses to be called.

    Args:
        path: PyTorch's name, without "torch.".
        reason: why, and what to use instead.
    """

    def __init__(self, path: str, reason: str) -> None:
        self.__name__ = self.__qualname__ = path.rpartition(".")[2]
        self.__doc__ = f"Absent: {reason}."
        self._text = f"minigrad has no torch.{path}: {reason}"

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(self._text)

    def __repr__(self) -> str:
        return f"<{self._text}>"


class _Refusing(type):
    """The class of classes that refuse to be called, as their subclasses do."""

    _text: str

    def __call__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(cls._text)

    def __repr__(cls) -> str:
        return f"<{cls._text}>"


@cache
def refusals(place: str) -> dict[str, Any]:
    """The functions and classes of a module, by PyTorch's path for it, that refuse to be called."""
    return {
        path.rpartition(".")[2]: (_refused_class if path in REFUSED_CLASSES else Refused)(path, reason)
        for path, reason in (REFUSED | REFUSED_CLASSES).items()
        if path.rpartition(".")[0] == place
    }


def _refused_class(path: str, reason: str) -> type:
    function = Refused(path, reason)
    return _Refusing(function.__name__, (), {"__doc__": function.__doc__, "_text": function._text})
