"""What PyTorch has and minigrad has not: one table of names, each with a reason.

Programs import such names, write them in annotations, ask ``isinstance`` of them and derive classes from them, and need
not use them. So each is there, with all that is below it, says what it is, and raises NotImplementedError when it is
called. A name is written without "torch."; names with one reason stand in one row; "*" stands for anything. What is there
and does nothing stands in ``no_ops.py``.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from functools import cache
from itertools import accumulate
from typing import Any, NoReturn

from ..extension import PACKAGE, ModuleWithoutFile


def _by_name(rows: dict[str, str]) -> dict[str, str]:
    """The reason for each name."""
    return {name: reason for names, reason in rows.items() for name in names.split()}


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
        "cuda.CUDAGraph cuda.graph cuda.graphs cuda.make_graphed_callables cuda.graph_pool_handle": "there are no CUDA graphs; call the function itself",
        "cuda.ExternalStream cuda.StreamContext cuda.stream": "there are no further streams; CuPy's current stream is used",
        "cuda.nccl": "there is one device; see torch.distributed",
        "cuda.nvtx": "use cupyx.profiler.time_range",
        "distributed.algorithms": "there is one process; use the module itself",
        "distributed.elastic distributed.launch distributed.run": "there is one process; start the program with python",
        "distributed.fsdp distributed.tensor": "there is one device; use the module itself",
        "distributed.optim": "there is one process; use the optimiser itself",
        "distributed.pipeline": "there is one device; use nn.Sequential",
        "distributed.rpc": "there is one process; call the function itself",
        "_scaled_mm": "8-bit floats are stored, not multiplied; use float16 or float32",
        "from_file": "use from_numpy(numpy.memmap(...))",
        "futures": "use concurrent.futures",
        "gru* lstm* rnn_relu* rnn_tanh*": "use the layer: nn.LSTM, nn.GRU, nn.RNN or their cells",
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
        "compiler._* _functorch* _higher_order_ops* _inductor* _subclasses* _prims* _refs* fx.*": (
            "nothing is recorded or compiled; the function itself is called"
        ),
        "utils.mobile_optimizer": "there is no mobile runtime",
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
        "hub.*": "it runs code from the network; copy the model's code and load its weights",
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


class _Absent(type):
    """The class of classes that refuse to be called, as their subclasses do. Nothing is an instance of one."""

    _path: str

    def __call__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(refusal(cls._path))

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return absent(f"{cls._path}.{name}")

    def __getitem__(cls, parameters: Any) -> _Absent:
        return cls

    def __repr__(cls) -> str:
        return f"<{refusal(cls._path)}>"


class AbsentModule(ModuleWithoutFile):
    """A module, or a function, that is absent: all that is asked of it is absent, too."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return absent(f"{self.__name__.removeprefix(PACKAGE).removeprefix('.')}.{name}")

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(refusal(self.__name__.removeprefix(PACKAGE).removeprefix(".")))

    def __repr__(self) -> str:
        return f"<{self.__doc__}>"


@cache
def absent(path: str) -> Any:
    """What stands for a path: a class where its name has a capital, and else a module, which may be a function, too."""
    name = path.rpartition(".")[2]
    if name.lower() == name:
        return AbsentModule(f"{PACKAGE}.{path}", refusal(path))
    return _Absent(name, (), {"__doc__": refusal(path), "_path": path, "__module__": PACKAGE})


def is_absent(value: Any) -> bool:
    """Whether a value only stands for something that is absent."""
    return isinstance(value, (_Absent, AbsentModule))


def refusal(path: str) -> str:
    """The error's text."""
    return f"minigrad has no torch.{path}: {instead(path)}"


def names_in(place: str) -> list[str]:
    """The names of the table in a module, by PyTorch's path for it."""
    parts = (path.rpartition(".") for path in ABSENT if "*" not in path)
    return [name for module, _, name in parts if module == place]
