"""Graph nodes as seen by PyTorch programs: their names, saved tensors and hooks. ``autograd/graph.py`` calls these
functions for everything that a node itself lacks."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import EllipsisType
from typing import Any
from weakref import WeakKeyDictionary

from ..autograd import graph
from ..autograd.hooks import AROUND, RemovableHandle, check_like, errors, shown
from ..autograd.origin import there
from ..autograd.tape import Lost, Node, Variable
from ..autograd.walk import intact, result_of
from ..functions.creation import zeros_like
from .graph import SavedTensor


def _others(node: Node) -> dict[int, Any]:
    """The arguments that are not inputs of the graph, by position: a Tensor, a WeakValue or any other value."""
    return dict(zip(node.plan.others, node.others, strict=False))


def _has_dim(node: Node) -> bool:
    params = node.op.params
    return "dim" in params and _others(node).get(params.index("dim")) is not None


def _ndim(node: Node, place: int) -> int:
    if place in node.plan.inputs:
        return len(node.edges[node.plan.inputs.index(place)][2])
    return len(getattr(_others(node).get(place), "shape", ()))


def _is_tensor(node: Node, place: int) -> bool:
    return place in node.plan.inputs or hasattr(_others(node).get(place), "shape")


def _getitem(node: Node) -> str:
    """PyTorch's name for the last step of indexing."""
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
    axes = _ndim(node, 0), _ndim(node, 1)
    names = {(1, 1): "Dot", (2, 1): "Mv", (2, 2): "Mm"}
    return names.get(axes, "UnsafeView" if max(axes) > 2 else "Squeeze")


def _linear(node: Node) -> str:
    plain, with_bias = ("Mm", "Addmm") if _ndim(node, 0) == 2 else ("UnsafeView", "View")
    return with_bias if _is_tensor(node, 2) else plain


_PLAIN = """
    assign_view=torch::autograd::CopySlices average=NllLoss broadcast_to=Expand cast=ToCopy
    cholesky=LinalgCholeskyEx concatenate=Cat
    convolve=Convolution convolve_back=Convolution det=LinalgDet dropout=Mul eigh=LinalgEigh entr=SpecialEntr
    group_norm=NativeGroupNorm ifft=FftC2C imag=Select inverse=LinalgInvEx layer_norm=NativeLayerNorm
    log1p=Log1P logsigmoid=LogSigmoid lstm=Mul matrix_exp=LinalgMatrixExp modulus=Abs
    norm=LinalgVectorNorm outer=Mul overlay=Col2Im pad=ConstantPadNd pinv=LinalgPinv prelu=PreluKernel
    put=torch::autograd::CopySlices qr=LinalgQr real=Select reshape=View
    scaled_dot_product_attention=ScaledDotProductFlashAttentionForCpu scaled_elu=Elu slogdet=LinalgSlogdet
    solve=LinalgSolveEx square=Pow svd=LinalgSvd
"""
_NAMES: dict[str, str | Callable[[Node], str]] = {
    **dict(pair.split("=") for pair in _PLAIN.split()),
    "amax": lambda node: "Amax" if _has_dim(node) else "MaxBackward1",
    "amin": lambda node: "Amin" if _has_dim(node) else "MinBackward1",
    "clamp": lambda node: f"ClampBackward{int(not (_is_tensor(node, 1) or _is_tensor(node, 2)))}",
    "div": lambda node: "Div" if _is_tensor(node, 0) else "Mul",
    "fft": lambda node: "FftC2C" if node.edges[0][3].kind == "c" else "FftR2C",
    "getitem": _getitem,
    "fmod": lambda node: f"FmodBackward{int(_is_tensor(node, 1))}",
    "lerp": lambda node: f"LerpBackward{int(_is_tensor(node, 2))}",
    "remainder": lambda node: f"RemainderBackward{int(_is_tensor(node, 1))}",
    "linear": _linear,
    "matmul": _matmul,
    "pick": lambda node: {4: "MaxPool2DWithIndices", 5: "MaxPool3DWithIndices"}.get(_ndim(node, 0), "Squeeze"),
    "pow": lambda node: f"PowBackward{0 if not _is_tensor(node, 1) else 1 if _is_tensor(node, 0) else 2}",
    "sub": lambda node: "Sub" if _is_tensor(node, 0) else "RsubBackward1",
    **dict.fromkeys(
        ("mean", "prod", "squeeze", "sum"), lambda node: f"{node.op.name.capitalize()}Backward{int(_has_dim(node))}"
    ),
}


def node_name(node: Node) -> str:
    """PyTorch's name for a node: "MulBackward0", or "CubeBackward" for a user-defined Function."""
    name = _NAMES.get(node.op.name) if node.op.backward is None and node.op.builtin else None
    if name is None:
        return graph.name_by_op(node.op)
    text = name if isinstance(name, str) else name(node)
    return text if "Backward" in text or "::" in text else f"{text}Backward0"


_metadata: WeakKeyDictionary[Any, dict[Any, Any]] = WeakKeyDictionary()
_FIRST = ("self", "input", "mat1", "tensor1")
_SECOND = ("other", "exponent", "mat2", "tensor2", "vec")
_RESULTS = ("result", "output", "result0", "result1", "result2")


def of_node(node: Any, name: str) -> Any:
    """An attribute of a node, or of a leaf's AccumulateGrad, except its name and edges. Raises AttributeError if the
    node and its Function's context lack it, and RuntimeError if a backward pass has freed it."""
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


def _saved(node: Node, name: str) -> Any:
    place, value = _place(node, name)
    if place is None:
        return value
    packed: Any = node.saved
    saved = intact(node)
    value = result_of(node) if place == -1 else saved[place]
    if isinstance(packed, Lost):
        packed.used(node)
    return value[0] if place == -1 and isinstance(value, tuple) else value


def _place(node: Node, name: str) -> tuple[int | None, Any]:
    """Find the saved tensor with a PyTorch name. Returns its position among a node's values (-1 for the result) and
    None, or None and the value itself. Raises AttributeError for an unknown name."""
    op, plan = node.op, node.plan
    if name in _RESULTS and plan.keeps_out:
        return -1, None
    params = (*op.params, *[op.variadic] * (len(plan.needs) - op.arity))
    at = 0 if name in _FIRST else 1 if name in _SECOND else params.index(name) if name in params else -1
    if at in plan.keep:
        return plan.keep.index(at), None
    if at in (others := _others(node)):
        return None, there(others[at])
    if name == "self_sym_sizes":
        return None, tuple(node.edges[0][2])
    raise AttributeError(f"{node!r} does not save {name!r}", name=f"_saved_{name}", obj=node)


_OF_NUMBERS = ("add", "div", "mul", "sub", "where")


class Around:
    """Hooks on a node or on the accumulation of a leaf's gradient; see ``_register``."""

    def __init__(self) -> None:
        self.first: dict[int, Callable[..., Any]] = {}
        self.last: dict[int, Callable[..., Any]] = {}

    def before(self, node: Node, sums: dict[int, list[Any]]) -> None:
        arrived = _arrived(node, sums)
        for slot, gradient in enumerate(self.run_first(arrived)):
            if gradient is not arrived[slot]:
                gradient = zeros_like(arrived[slot]) if gradient is None else gradient
                sums[slot] = [_like(gradient, next(iter(sums.values()))[0]), False]

    def run_first(self, arrived: tuple[Any, ...]) -> tuple[Any, ...]:
        for hook in list(self.first.values()):
            arrived = _replaced(hook(arrived), arrived)
        return arrived

    def after(self, node: Node, sums: dict[int, list[Any]], gradients: Any) -> list[Any]:
        places = inputs_of(node)
        arrived, like = _arrived(node, sums), next(iter(sums.values()))[0]
        passed = tuple(None if i is None or gradients[i] is None else shown(gradients[i]) for i in places)
        for hook in list(self.last.values()):
            passed = _replaced(hook(passed, arrived), passed)
        by_edge = {i: g for i, g in zip(places, passed, strict=True) if i is not None}
        return [None if g is None else _like(g, like) for _, g in sorted(by_edge.items())]


def inputs_of(node: Node) -> list[int | None]:
    """For each input that may have a gradient, the index of its edge, or None if it does not need a gradient. (PyTorch
    converts numbers to tensors for some ops, and otherwise has a separate op for numbers.)"""
    op, edges, others = node.op, iter(range(len(node.edges))), _others(node)
    kinds = (int, float, complex) if op.name in _OF_NUMBERS else ()
    places = [
        next(edges) if needs else None
        for i, needs in enumerate(node.plan.needs)
        if needs or (op.differentiable >> i & 1 and (hasattr(x := others.get(i), "shape") or isinstance(x, kinds)))
    ]
    if op.name in _OF_NUMBERS[:4] and isinstance(others.get(0), kinds):  # 2 * x is x * 2; 1 - x has only the input x
        return [0] if op.name == "sub" else [0, None]
    return places


def _arrived(node: Node, sums: dict[int, list[Any]]) -> tuple[Any, ...]:
    return tuple(shown(sums[i][0]) if i in sums else None for i in range(len(node.results or (0,))))


def _like(gradient: Any, other: Any) -> Any:
    """A gradient in the form used by the backward pass: an array, or a tensor if the pass is recorded."""
    return gradient if gradient is None or isinstance(other, Variable) else gradient.array


def _replaced(result: Any, before: tuple[Any, ...]) -> tuple[Any, ...]:
    """The gradients after a node hook, which may return None to keep them."""
    if result is None:
        return before
    if not isinstance(result, tuple):
        raise TypeError(f"a hook on a node must return a tuple or None, not {type(result).__name__}")
    if len(result) != len(before):
        raise RuntimeError(f"a hook returned an incorrect number of gradients: {len(result)}, not {len(before)}")
    for new, old in zip(result, before, strict=True):
        if new is not None:
            check_like(new, new if old is None else old)
    return result


def _register(place: str, node: Any, fn: Callable[..., Any]) -> RemovableHandle:
    """Call ``fn(grad_inputs, grad_outputs)`` after the rules, if ``place`` is "last", or ``fn(grad_outputs)`` before
    them, if it is "first". A result other than None replaces the first argument."""
    if isinstance(node, graph.AccumulateGrad):
        around = node.variable._around = node.variable._around or Around()
    else:
        node.hooks = {} if node.hooks is None else node.hooks
        around = node.hooks.setdefault(AROUND, Around())
    return RemovableHandle(getattr(around, place), fn)


_METHODS = {"register_hook": partial(_register, "last"), "register_prehook": partial(_register, "first")}
