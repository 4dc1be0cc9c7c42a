"""The PyTorch names that minigrad lacks, in one table with reasons.

Programs import such names, annotate with them, pass them to ``isinstance`` and derive classes from them, without ever
calling them. So each name, and everything below it, exists and raises NotImplementedError when called. Each row
contains a reason, which suggests a replacement, and names without "torch."; "*" matches anything.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from functools import cache
from itertools import accumulate
from typing import Any, NoReturn

from ..extension import PACKAGE, ModuleWithoutFile

# Each row contains a reason and names. Continuation lines are indented.
_TABLE = """
8-bit floats can be stored but not multiplied; use float16 or float32 | _scaled_mm nn.functional.ScalingType
    nn.functional.scaled_mm
NumPy has no such dtype; use complex64 | chalf complex32
use scipy.signal.windows | signal
use scipy.special on x.numpy() | special.airy_ai special.*bessel_j* special.*bessel_k* special.*bessel_y*
    special.*polynomial*
use cuda.synchronize() and time.perf_counter() | cuda.Event
pass scaled_dot_product_attention a mask or is_causal=True | nn.attention.bias
it runs code from the network; copy the model's code and load its weights | hub.help hub.list hub.load
sizes are always ints, never symbolic | SymBool SymFloat SymInt sym_ite sym_sum
only weights can be quantized, by nn.quantized.quantize_dynamic | _make_per_tensor_quantized_tensor ao.*
    backends.quantized nn.intrinsic nn.qat nn.quantizable nn.quantized.* qint32 quantize* quint* uint1
    uint2 uint3 uint4 uint5 uint6 uint7
functions are called directly, not recorded or compiled | _custom_ops _dynamo.* _functorch* _higher_order_ops*
    _inductor* _prims* _refs* _subclasses* _guards _ops compiler.OptimizedModule compiler._* compiler.eval_frame
    compiler.load_compiled_function fx.* utils._sympy
programs are not recorded; change the module itself | fx.Graph fx.GraphModule fx.Node fx.Proxy fx.Tracer
    fx.symbolic_trace
programs are not recorded; save the state dict with minigrad.save | export.Dim export.ExportedProgram export._*
    export.decomp_utils export.export export.load export.save
programs are not recorded; save the state dict, load it in PyTorch, and export from there | onnx.*
programs are not recorded; use the public functions | _C.Block _C.Graph _C.Node _C.Value
pad the sequences with nn.utils.rnn.pad_sequence | _nested_* jagged nested
tensors share NumPy's memory; use x.numpy() or x.data_ptr() | *Storage StorageBase
there are no CUDA graphs; call the function itself | cuda.CUDAGraph cuda.graph cuda.graph_pool_handle cuda.graphs
    cuda.make_graphed_callables
streams cannot be chosen; CuPy's current stream is used | cuda.ExternalStream cuda.Stream cuda.StreamContext
    cuda.current_stream cuda.default_stream cuda.stream
there is no TorchScript; functions and modules stay Python | ScriptFunction jit.ScriptFunction jit.annotations jit._*
there is no TorchScript; load a state dict into the module's class | jit.load
there is no TorchScript; save the state dict with minigrad.save | jit.save
there are no sparse tensors; use dense ones | Tensor.coalesce Tensor.sparse* Tensor.to_sparse* _convert_indices_*
    _segment_reduce cuda.sparse dsmm sparse*
there is no C++ library behind minigrad | classes
there is no C++ library behind minigrad; use the public functions | _C.* PyTorchFile* TensorType
these devices are not supported; use cpu or cuda | mps.get_rng_state mps.recommended_max_memory mps.set_rng_state
    xpu.*_rng_state* xpu.Stream xpu.current_device xpu.current_stream xpu.device xpu.get_device_*
    xpu.is_current_stream_capturing xpu.max_memory_allocated xpu.mem_get_info xpu.reset_peak_memory_stats xpu.set_device
each rank has all parameters; use nn.parallel.DistributedDataParallel, and shard the optimiser's state with
    distributed.optim.ZeroRedundancyOptimizer | distributed._composable distributed.fsdp
each rank has whole tensors; use nn.parallel.DistributedDataParallel, or distributed.all_gather |
    distributed._tensor distributed.tensor.*
each rank has all layers; use nn.parallel.DistributedDataParallel, or distributed.send and recv | distributed.pipeline
    distributed.pipelining
there are no device meshes; create groups with distributed.new_group | distributed.DeviceMesh distributed.device_mesh
    distributed.init_device_mesh
MPI connects the ranks without a store; send objects with distributed.broadcast_object_list or similar |
    distributed.*Store distributed.*rendezvous*
a job ends when the first rank fails; start it with python -m minigrad.run | distributed.elastic.*
    distributed.launcher
all ranks have the same state; save it on one rank with minigrad.save, and load it on all | distributed.checkpoint
ranks cannot call each other's functions; use distributed.send and recv, or all_gather_object | distributed.rpc.RRef
    distributed.rpc.init_rpc distributed.rpc.remote distributed.rpc.rpc_async distributed.rpc.rpc_sync
    distributed.rpc.shutdown
use DistributedDataParallel.register_comm_hook with your own hook or one from default_hooks | distributed.algorithms.*
use distributed.optim.ZeroRedundancyOptimizer, or the optimiser itself | distributed.optim.*
use distributed with the nccl backend | cuda.nccl
use nn.parallel.DistributedDataParallel | distributed.Logger distributed.Reducer
use the public functions of distributed | distributed.ProcessGroup* distributed._*
use cupyx.profiler.time_range | cuda.nvtx
there is no dispatcher; intercept functions with overrides.TorchFunctionMode, ops with autograd.observer.Observer |
    utils._python_dispatch.TorchDispatchMode utils._python_dispatch._*
use func.functional_call | functorch.Functional* functorch.make_functional*
use func.jvp | autograd.forward_ad.*
use linalg.eigh | lobpcg
use profile and record_function | profiler.itt
use profile().export_chrome_trace | profiler.ExecutionTraceObserver
use profiler.profile | autograd.profiler_legacy cuda.profiler utils.benchmark utils.bottleneck utils.flop_counter
use profiler.profile, or cupyx.profiler.time_range on a GPU | autograd.profiler.emit_itt autograd.profiler.emit_nvtx
    autograd.profiler.load_nvprof
use save and load | package
use utils.data.Dataset or IterableDataset | utils.data.*DataPipe utils.data.datapipes utils.data.graph_settings
use scatter_reduce | segment_reduce
use scipy.stats.qmc | quasirandom
use the layer: nn.LSTM, nn.GRU, nn.RNN or their cells | gru* lstm* rnn_relu* rnn_tanh*
use utils.tensorboard | monitor
write an autograd.Function, or a CUDA kernel with cupy.RawKernel | utils.cpp_extension
use an if statement | cond
use a while loop | while_loop
"""


def rows(table: str) -> list[list[str]]:
    """The rows of a table, split into columns at "|". Continuation lines are indented."""
    whole = table.strip().replace("\n    ", " ")
    return [[column.strip() for column in row.split("|")] for row in whole.splitlines()]


ABSENT = {name: reason for reason, names in rows(_TABLE) for name in names.split()}


@cache
def instead(path: str) -> str:
    """The replacement for a path in ``ABSENT``, from the longest pattern that matches; "" for other paths."""
    beginnings = list(accumulate(path.split("."), "{}.{}".format))
    fitting = (pattern for pattern in ABSENT if any(fnmatchcase(start, pattern) for start in beginnings))
    return ABSENT.get(max(fitting, key=len, default=""), "")


class _Refusing:
    """The base class of placeholders, which raise an error when called. Their attributes are placeholders as well."""

    _path: str

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(refusal(self._path))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return absent(f"{self._path}.{name}")

    def __repr__(self) -> str:
        return f"<{refusal(self._path)}>"


class _Absent(_Refusing, type):
    """The metaclass of absent classes and their subclasses. Nothing is an instance of an absent class."""

    def __getitem__(cls, parameters: Any) -> _Absent:
        return cls


class AbsentModule(_Refusing, ModuleWithoutFile):
    """An absent module or function at its PyTorch path."""

    def __init__(self, path: str) -> None:
        super().__init__(f"{PACKAGE}.{path}", refusal(path))
        self._path = path


@cache
def absent(path: str) -> Any:
    """A placeholder for a path: a class if its name contains a capital letter, otherwise a module or function."""
    name = path.rpartition(".")[2]
    if name.lower() == name:
        return AbsentModule(path)
    return _Absent(name, (), {"__doc__": refusal(path), "_path": path, "__module__": PACKAGE})


def is_absent(value: Any) -> bool:
    """Whether a value is a placeholder for something absent."""
    return isinstance(value, _Refusing)


def refusal(path: str) -> str:
    """The error message for a path."""
    return f"minigrad has no torch.{path}: {instead(path)}"
