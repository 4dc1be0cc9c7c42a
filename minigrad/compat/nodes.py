"""The nodes of a graph as PyTorch's programs see them: their names, what they keep, hooks on them.

``autograd/graph.py`` calls these functions for everything that a node itself does not know.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import EllipsisType
from typing import Any
from weakref import WeakKeyDictionary

from ..autograd import graph
from ..autograd.hooks import AROUND, RemovableHandle, errors
from ..autograd.origin import there
from ..autograd.tape import Lost, Node
from ..autograd.walk import intact, result_of
from .around import Around
from .saved import SavedTensor

# Names ----------------------------------------------------------------------------------------------------


def _others(node: Node) -> dict[int, Any]:
    """The arguments that are no inputs of the graph, by their places: a Tensor, a Faint or any other value."""
    return dict(zip(node.plan.others, node.others, strict=False))


def _argument(node: Node, name: str) -> Any:
    """Such an argument of a node's op by its name; None where it is unknown."""
    params = node.op.params
    return _others(node).get(params.index(name) if name in params else -1)


def _ndim(node: Node, place: int) -> int:
    """The number of axes of an argument that is a tensor."""
    if place in node.plan.inputs:
        return len(node.edges[node.plan.inputs.index(place)][2])
    return len(getattr(_others(node).get(place), "shape", ()))


def _is_tensor(node: Node, place: int) -> bool:
    return place in node.plan.inputs or hasattr(_others(node).get(place), "shape")


def _getitem(node: Node) -> str:
    """The last of the steps that an index is in PyTorch."""
    index = node.others[-1] if node.others else ()
    parts = index if isinstance(index, (tuple, list)) else (index,)
    plain = [p for p in parts if not (isinstance(p, EllipsisType) or (isinstance(p, slice) and p == slice(None)))]
    if any(hasattr(p, "shape") or isinstance(p, list) for p in plain):
        return "Index"
    if not plain:
        return "Slice" if any(isinstance(p, slice) for p in parts) else "Alias"
    last = plain[-1]
    return "Slice" if isinstance(last, slice) else "Unsqueeze" if last is None else "Select"


def _matmul(node: Node) -> str:
    a, b = _ndim(node, 0), _ndim(node, 1)
    names = {(1, 1): "Dot", (2, 1): "Mv", (2, 2): "Mm"}
    return names.get((a, b), "UnsafeView" if a > 2 or b > 2 else "Squeeze")


def _linear(node: Node) -> str:
    has_bias = _is_tensor(node, 2)
    if _ndim(node, 0) == 2:
        return "Addmm" if has_bias else "Mm"
    return "View" if has_bias else "UnsafeView"


def _numbered(name: str, *parameters: str) -> Callable[[Node], str]:
    """A name with 1 where one of these arguments is there, else 0."""
    return lambda node: f"{name}Backward{int(any(_argument(node, p) is not None for p in parameters))}"


def _of_tensor(name: str, place: int) -> Callable[[Node], str]:
    """A name with 1 where an argument is a tensor, else 0."""
    return lambda node: f"{name}Backward{int(_is_tensor(node, place))}"


def _pow(node: Node) -> str:
    return f"PowBackward{0 if not _is_tensor(node, 1) else 1 if _is_tensor(node, 0) else 2}"


def _fourier(node: Node) -> str:
    return "FftC2C" if node.edges[0][3].kind == "c" else "FftR2C"


_PLAIN = """
    assign_view=torch::autograd::CopySlices average=NllLoss broadcast_to=Expand cast=ToCopy
    cholesky=LinalgCholeskyEx concatenate=Cat
    convolve=Convolution convolve_back=Convolution det=LinalgDet dropout=Mul eigh=LinalgEigh entr=SpecialEntr
    group_norm=NativeGroupNorm ifft=FftC2C imag=Select inverse=LinalgInvEx layer_norm=NativeLayerNorm
    least_squares=LinalgLstsq log1p=Log1P logsigmoid=LogSigmoid lstm=Mul matrix_exp=LinalgMatrixExp modulus=Abs
    norm=LinalgVectorNorm outer=Mul overlay=Col2Im pad=ConstantPadNd pinv=LinalgPinv prelu=PreluKernel
    put=torch::autograd::CopySlices qr=LinalgQr real=Select reshape=View
    scaled_dot_product_attention=ScaledDotProductFlashAttentionForCpu scaled_elu=Elu slogdet=LinalgSlogdet
    solve=LinalgSolveEx square=Pow svd=LinalgSvd svdvals=LinalgSvd
"""
_NAMES: dict[str, str | Callable[[Node], str]] = {
    **dict(pair.split("=") for pair in _PLAIN.split()),
    "amax": lambda node: "Amax" if _argument(node, "dim") is not None else "MaxBackward1",
    "amin": lambda node: "Amin" if _argument(node, "dim") is not None else "MinBackward1",
    "clamp": lambda node: f"ClampBackward{int(not (_is_tensor(node, 1) or _is_tensor(node, 2)))}",
    "div": lambda node: "Div" if _is_tensor(node, 0) else "Mul",
    "fft": _fourier,
    "fmod": _of_tensor("Fmod", 1),
    "getitem": _getitem,
    "lerp": _of_tensor("Lerp", 2),
    "linear": _linear,
    "matmul": _matmul,
    "mean": _numbered("Mean", "dim"),
    "pick": lambda node: {4: "MaxPool2DWithIndices", 5: "MaxPool3DWithIndices"}.get(_ndim(node, 0), "Squeeze"),
    "pow": _pow,
    "prod": _numbered("Prod", "dim"),
    "remainder": _of_tensor("Remainder", 1),
    "squeeze": _numbered("Squeeze", "dim"),
    "sub": lambda node: "Sub" if _is_tensor(node, 0) else "RsubBackward1",
    "sum": _numbered("Sum", "dim"),
}


def node_name(node: Node) -> str:
    """PyTorch's name for a node: "MulBackward0"; of a program's Function "CubeBackward"."""
    name = _NAMES.get(node.op.name) if node.op.backward is None and node.op.builtin else None
    if name is None:
        return graph.name_by_op(node.op)
    text = name if isinstance(name, str) else name(node)
    return text if "Backward" in text or "::" in text else f"{text}Backward0"


# Attributes -----------------------------------------------------------------------------------------------

_metadata: WeakKeyDictionary[Any, dict[Any, Any]] = WeakKeyDictionary()
_FIRST = ("self", "input", "mat1", "tensor1")
RESULT = -1  # the place of a node's result, beside those of the arguments that it keeps
_SECOND = ("other", "exponent", "mat2", "tensor2", "vec")


def of_node(node: Any, name: str) -> Any:
    """An attribute of a node, or of a leaf's AccumulateGrad, other than its name and its edges.

    Raises:
        AttributeError: neither the node nor the context of its Function has it.
        RuntimeError: it was kept, and a backward pass has freed it.
    """
    if name in _METHODS:
        return partial(_METHODS[name], node)
    if name == "metadata":
        return _metadata.setdefault(node, {})
    if isinstance(node, Node) and not name.startswith("__"):
        if node.op.backward is not None and node.residual is not None and name != "residual":
            return getattr(node.residual, name)
        if node.op.backward is not None and name in ("saved_tensors", "saved_variables"):
            raise errors.walked_twice(node)
        if name.startswith("_saved_"):
            return _saved(node, name.removeprefix("_saved_"))
        if name.startswith("_raw_saved_"):
            return SavedTensor(node, _place(node, name.removeprefix("_raw_saved_"))[0])
    raise AttributeError(f"{type(node).__name__!r} object has no attribute {name!r}", name=name, obj=node)


def _around(node: Any) -> Around:
    if isinstance(node, graph.AccumulateGrad):
        node.variable._around = node.variable._around or Around()
        return node.variable._around
    node.hooks = {} if node.hooks is None else node.hooks
    return node.hooks.setdefault(AROUND, Around())


def _register_hook(node: Any, fn: Callable[..., Any]) -> RemovableHandle:
    """Call ``fn(grad_inputs, grad_outputs)`` when the node's rules have run; a result replaces ``grad_inputs``."""
    return RemovableHandle(_around(node).last, fn)


def _register_prehook(node: Any, fn: Callable[..., Any]) -> RemovableHandle:
    """Call ``fn(grad_outputs)`` before the node's rules run; a result replaces them."""
    return RemovableHandle(_around(node).first, fn)


_METHODS: dict[str, Callable[..., Any]] = {"register_hook": _register_hook, "register_prehook": _register_prehook}


def _saved(node: Node, name: str) -> Any:
    """A value that a node keeps, by PyTorch's name for it."""
    place, value = _place(node, name)
    if place is None:
        return value
    packed: Any = node.saved
    saved = intact(node)
    kept = _outcome(node) if place == RESULT else saved[place]
    if isinstance(packed, Lost):
        packed.used(node)
    return kept


def _place(node: Node, name: str) -> tuple[int | None, Any]:
    """The place of a tensor among the values that a node keeps, by PyTorch's name; or None and another value.

    Raises:
        AttributeError: nothing has that name.
    """
    op, plan = node.op, node.plan
    if name in ("result", "output", *(f"result{i}" for i in range(3))) and plan.keeps_out:
        return RESULT, None
    params = (*op.params, *[op.variadic] * (len(plan.needs) - op.arity))
    at = 0 if name in _FIRST else 1 if name in _SECOND else params.index(name) if name in params else -1
    if at in plan.keep:
        return plan.keep.index(at), None
    if at in (others := _others(node)):
        return None, there(others[at])
    if name == "self_sym_sizes":
        return None, tuple(node.edges[0][2])
    raise AttributeError(f"{node!r} keeps no {name!r}", name=f"_saved_{name}", obj=node)


def _outcome(node: Node) -> Any:
    """The result of an op, or the first of several, with its history."""
    results = result_of(node)
    return results[0] if isinstance(results, tuple) else results
