"""What PyTorch has and minigrad has not, each with a reason: one table of names.

A name that programs only mention may be absent. One that they import, and need not call, is there and refuses: it
raises NotImplementedError when it is called. A name is written without "torch."; names with one reason stand in one
row. What is there and does nothing stands in ``no_ops.py``.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from functools import cache
from itertools import accumulate
from typing import Any, NoReturn


def _by_name(rows: dict[str, str]) -> dict[str, str]:
    """The reason for each name."""
    return {name: reason for names, reason in rows.items() for name in names.split()}


# Not there (nor is anything below them; "*" stands for anything): asking for one is an error.
ABSENT = _by_name(
    {
        "_C.*": "there is no C++ library behind minigrad; use the public functions",
        "*Storage": "tensors share NumPy's memory; use x.numpy() or x.data_ptr()",
        "ao nn.intrinsic nn.qat nn.quantizable nn.quantized qint* quint* quantization quantize*": (
            "nothing is quantised; use float16 or float32"
        ),
        "autograd.forward_ad": "use func.jvp",
        "autograd.graph.save_on_cpu": "use utils.checkpoint to save memory",
        "autograd.graph.saved_tensors_hooks": (
            "use utils.checkpoint to save memory, Tensor.register_hook to see gradients"
        ),
        "chalf complex32": "NumPy has no such numbers; use complex64",
        "classes": "there is no C++ library behind minigrad",
        "cond": "write if",
        "cuda.CUDAGraph cuda.graph": "there are no CUDA graphs; call the function itself",
        "cuda.ExternalStream cuda.stream": "there are no further streams; CuPy's current stream is used",
        "cuda.nccl": "there is one device; see torch.distributed",
        "cuda.nvtx": "use cupyx.profiler.time_range",
        "distributed.algorithms": "there is one process; use the module itself",
        "distributed.elastic distributed.launch distributed.run": "there is one process; start the program with python",
        "distributed.fsdp distributed.tensor": "there is one device; use the module itself",
        "distributed.optim": "there is one process; use the optimiser itself",
        "distributed.pipeline": "there is one device; use nn.Sequential",
        "distributed.rpc": "there is one process; call the function itself",
        "float4* float8* _scaled_mm": "NumPy has no 8-bit floats; use float16 or float32",
        "from_file": "use from_numpy(numpy.memmap(...))",
        "futures": "use concurrent.futures",
        "gru* lstm* rnn_relu* rnn_tanh*": "use the layer: nn.LSTM, nn.GRU, nn.RNN or their cells",
        "library": "write an autograd.Function",
        "lobpcg": "use linalg.eigh",
        "monitor": "use utils.tensorboard",
        "nested": "pad the sequences: nn.utils.rnn.pad_sequence",
        "nn.attention.bias": "give scaled_dot_product_attention a mask, or is_causal=True",
        "nn.attention.flex_attention": "use scaled_dot_product_attention with a mask",
        "nn.utils.fusion": "nothing is fused; use the layers themselves",
        "nn.utils.prune": "multiply the weight with a mask",
        "overrides": "there is no __torch_function__; write a function of your own",
        "package": "use save and load",
        "profiler.ExecutionTraceObserver": "use profile().export_chrome_trace",
        "profiler.itt": "use profile and record_function",
        "quasirandom": "use scipy.stats.qmc",
        "segment_reduce": "use scatter_reduce",
        "sparse* Tensor.coalesce Tensor.sparse* Tensor.to_dense Tensor.to_sparse*": (
            "there are no sparse tensors; use dense ones"
        ),
        "utils.bottleneck": "use profiler.profile",
        "utils.cpp_extension": "write an autograd.Function; a CUDA kernel by cupy.RawKernel",
        "utils.dlpack": "use numpy.from_dlpack",
        "while_loop": "write while",
        "utils.mobile_optimizer": "there is no mobile runtime",
    }
)

# Functions, and classes for annotations, ``isinstance`` and bases, that can be imported and refuse to be called.
REFUSED = _by_name(
    {
        "_C.Block _C.Graph _C.Node _C.Value": "nothing records a program; use the public functions",
        "autograd.profiler.emit_itt autograd.profiler.emit_nvtx autograd.profiler.load_nvprof": (
            "use profiler.profile; on a GPU cupyx.profiler.time_range"
        ),
        "cuda.Event": "call cuda.synchronize() and time.perf_counter()",
        "cuda.Stream": "there are no further streams; CuPy's current stream is used",
        "export.export export.load export.save": "nothing records a program; save the state dict with minigrad.save",
        "fx.Graph fx.GraphModule fx.Node fx.Proxy fx.Tracer fx.symbolic_trace": (
            "nothing records a program; change the module itself"
        ),
        "hub.download_url_to_file": "use urllib.request.urlretrieve",
        "hub.load": "it runs code from the network; copy the model's code and load its weights",
        "hub.load_state_dict_from_url": "download the file yourself, and give minigrad.load its path",
        "jit.load": "there are no scripts; load a state dict into the module's class",
        "jit.save": "there are no scripts; save the state dict with minigrad.save",
        "onnx.dynamo_export onnx.export": (
            "nothing records a program; save the state dict, which PyTorch loads, and export from there"
        ),
    }
)


def instead(path: str) -> str:
    """What to use instead of a path in ``ABSENT``; "" for other paths."""
    beginnings = accumulate(path.split("."), "{}.{}".format)
    reasons = (why for start in beginnings for pattern, why in ABSENT.items() if fnmatchcase(start, pattern))
    return next(reasons, "")


class _Refusing(type):
    """The class of classes that refuse to be called, as their subclasses do. Nothing is an instance of one."""

    _text: str

    def __call__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(cls._text)

    def __repr__(cls) -> str:
        return f"<{cls._text}>"


@cache
def refusals(place: str) -> dict[str, Any]:
    """What refuses to be called in a module, by PyTorch's path for it."""
    rows = ((*path.rpartition("."), reason) for path, reason in REFUSED.items())
    return {name: _refusing(place, name, reason) for module, _, name, reason in rows if module == place}


def _refusing(place: str, name: str, reason: str) -> type:
    text = f"minigrad has no torch.{place}.{name}: {reason}"
    return _Refusing(name, (), {"__doc__": f"Absent: {reason}.", "_text": text})
