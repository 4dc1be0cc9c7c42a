"""The tape: ``Variable`` is an array that remembers how it was made, ``Node`` is that memory.

``apply`` runs an op on Variables and, where a gradient will be wanted, records a Node with what the op's
rules keep. ``mutate`` does the same for changes in place. The walk back over the nodes is in ``walk.py``.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np

from ..backend import ARRAY_TYPES, of
from ..backend import dtype as dt
from ..ops.op import Op, Plan, Traced
from .mode import state

Array = dt.Array
_new = object.__new__
_NUMPY = np.ndarray
_REFUSED = (ValueError, TypeError, IndexError, OverflowError)  # how an array library refuses its operands
_FLOAT32 = np.dtype(np.float32)
RETAINED = -1  # the number of retain_grad's hook: those of register_hook have positive ones
_order = count()  # a node is younger than all that it was computed from


class Variable(Traced):
    """An array, whether it wants a gradient, and the node that made it. ``Tensor`` gives it operators.

    Attributes:
        array: the NumPy or CuPy array.
    """

    array: Array
    _version: list[Any]  # [changes in place, op and place of the last]; one list for all views of a memory
    _needs: bool = False
    _node: Node | None = None  # None for a leaf
    _slot: int = 0  # which of the node's results this is
    _grad: Any = None
    _hooks: dict[int, Callable[..., Any]] | None = None
    _after: dict[int, Callable[..., Any]] | None = None  # hooks that run when .grad has been added to
    _base: Variable | None = None  # of a view: what it is a view of,
    _view: tuple[Op, tuple[Any, ...], int] | None = None  # by which op, and which of its results it is,
    _seen: int = 0  # and the version at which its node was made
    _bypasses: Any = None  # losses that were found without it (nn/functional/deferred.py)

    def __hash__(self) -> int:
        return id(self)

    def to(self, *args: Any, **kwargs: Any) -> Any:
        """In another dtype or on another device: Tensor's."""
        raise NotImplementedError

    @staticmethod
    def apply(op: Op, args: tuple[Any, ...]) -> Any:
        return apply(op, args)

    def _wanted(self) -> bool:
        """Whether it wants a gradient, for a view after a look at its base."""
        if self._base is not None:
            self._source()
        return self._needs

    def _close_bypasses(self) -> None:
        """Have losses that were found without this tensor led through it, as its gradient is wanted."""
        for bypass in self._bypasses or ():
            bypass.close()
        self._bypasses = None

    def _source(self) -> tuple[Node | None, int]:
        """The node that made it, and which of its results it is. Of a view whose memory has changed since,
        the node is made again from its base, whose history the change is part of."""
        base = self._base
        if base is not None and self._seen != self._version[0]:
            self._seen = self._version[0]
            if base._wanted():
                op, args, slot = self._view  # type: ignore[misc]
                again = _raw_apply(op, (base, *args))
                again = again[slot] if isinstance(again, tuple) else again
                self._node, self._slot, self._needs = again._node, again._slot, again._needs
        return self._node, self._slot


class Node:
    """One application of an op, kept for the backward pass.

    Attributes:
        op: the op.
        plan: which inputs want a gradient, and by which rules.
        edges: for each of them (its node, or itself where it is a leaf; slot; shape; dtype).
        saved: the kept arguments; None once the walk has freed them, Lost until they are computed again.
        order: its number in order of creation.
    """

    __slots__ = (
        "__weakref__",
        "edges",
        "hooks",
        "op",
        "order",
        "out",
        "place",
        "plan",
        "residual",
        "results",
        "saved",
        "versions",
    )

    op: Op
    plan: Plan
    edges: list[tuple[Any, int, tuple[int, ...], Any]]
    saved: list[Any] | Lost | None
    versions: list[tuple[list[Any], int]]
    out: Array | None  # the result, where a rule wants it; its version is then the last of those
    residual: Any  # what a kernel keeps for its own backward; the shapes of variadic inputs
    results: list[tuple[tuple[int, ...], Any, Any]] | None  # of an op with several results: shape, dtype, xp
    hooks: dict[int, dict[int, Callable[..., Any]]] | None
    place: str | None
    order: int

    def __repr__(self) -> str:
        return f"<{self.name()} of {self.op.name}>"

    def name(self) -> str:
        """PyTorch's way to call it: "MulBackward0"; of a user's Function "CubeBackward"."""
        name = "".join(part[:1].upper() + part[1:] for part in self.op.name.split("_"))
        return f"{name}Backward" if self.op.backward else f"{name}Backward0"

    @property
    def next_functions(self) -> tuple[tuple[Node | AccumulateGrad, int], ...]:
        """The nodes of the inputs that want a gradient; an AccumulateGrad stands for a leaf."""
        return tuple((t if isinstance(t, Node) else AccumulateGrad(t), slot) for t, slot, _, _ in self.edges)


class AccumulateGrad:
    """Stands for a leaf among the nodes of a graph.

    Attributes:
        variable: the leaf.
    """

    next_functions: tuple[tuple[Any, int], ...] = ()

    def __init__(self, variable: Variable) -> None:
        self.variable = variable

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AccumulateGrad) and other.variable is self.variable

    def __hash__(self) -> int:
        return id(self.variable)

    def name(self) -> str:
        """PyTorch's name of it, "struct torch::autograd::AccumulateGrad" without the namespaces."""
        return "AccumulateGrad"


class Lost:
    """In the place of what a node keeps: it is gone for now, and ``restore`` gets it back."""

    def restore(self, node: Node) -> None:
        """Put what the node keeps in its place again."""
        raise NotImplementedError


_result: Any = Variable  # the class of results; ``results_are`` makes it Tensor


def results_are(cls: type[Variable]) -> None:
    """Make ``cls`` what ops return (tensor.py stands above this file, so it tells)."""
    global _result
    _result = cls


def wrap(array: Array) -> Any:
    """A Variable without history around an array; a NumPy scalar becomes an array without axes."""
    made = _new(_result)
    made.array = array if array.__class__ is _NUMPY or type(array) in ARRAY_TYPES else np.asarray(array)
    made._version = [0, None]
    made._node = made._base = None  # as the class has it, but read faster where each has its own
    made._needs, made._slot = False, 0
    return made


def apply(op: Op, args: tuple[Any, ...]) -> Any:
    """Run an op on Variables and attributes, recording it where an input wants a gradient."""
    arrays = []
    mask, bit = 0, 1
    kind = dtype = None
    mixed = False  # whether the operands' dtypes differ
    for a in args:
        if isinstance(a, Variable):
            array = a.array
            if a._needs or (a._base is not None and a._wanted()):
                mask |= bit
            if dtype is None:
                kind, dtype = type(array), array.dtype
            elif type(array) is not kind:
                return apply(op, _one_device(op, args))
            elif array.dtype is not dtype:
                mixed = True
            arrays.append(array)
        else:
            if a.__class__ is complex:
                mixed = True
            arrays.append(a)
        bit <<= 1
    if (mixed or dtype is not _FLOAT32) and op.promote and (mixed or dtype is None or dtype.kind != "f"):
        if (fixed := _one_dtype(op, args, arrays)) is not None:
            return apply(op, fixed)
        if dtype is not None and dtype.kind == "c" and op.complex is not op:
            return apply(_of_complex(op), args)
    if mask:
        mask = mask & op.differentiable if state.grad else 0
    if op.kernel:
        return _apply_fused(op, args, arrays, mask)
    try:
        out = op.forward(*arrays)
    except _REFUSED as error:
        if isinstance(error, OverflowError) and (within := _in_range(op, args, dtype)) != args:
            return apply(op, within)
        raise _explained(op, arrays, error) from error
    result = record(op, args, mask, out) if mask else _results(out)
    if op.view:
        _note_view(op, args, result)
    return result


def unary(op: Op, x: Any) -> Any:
    """``apply(op, (x,))``, without the loops of ``apply`` and ``record`` where x is a float32 array in main
    memory and the op neither has a kernel nor makes a view, as nearly always."""
    if not (op.direct and isinstance(x, Variable)):
        return apply(op, (x,))
    if x._base is not None:
        x._source()
    array = x.array
    if array.dtype is not _FLOAT32 or array.__class__ is not _NUMPY:
        return apply(op, (x,))
    try:
        out = op.forward(array)
    except _REFUSED as error:
        raise _explained(op, [array], error) from error
    result = wrap(out)
    if x._needs and op.differentiable and state.grad:
        result._node = node = _new_node(op, op.plans.get(0b11) or op.plan(1, 1))
        result._needs = True
        source = x._node
        node.edges = [(x if source is None else source, x._slot, array.shape, _FLOAT32)]
        if node.plan.keep:
            version = x._version
            node.saved, node.versions = [x], [(version, version[0])]
        else:
            node.saved, node.versions = [], []
        if node.plan.keeps_out:
            node.out = result.array
            node.versions.append((result._version, 0))
        if state.observers:
            _show(node, (x,), result)
    return result


def binary(op: Op, a: Any, b: Any) -> Any:
    """``apply(op, (a, b))``, likewise, where both are such arrays, or b a number of Python's."""
    if not (op.direct and isinstance(a, Variable)):
        return apply(op, (a, b))
    if a._base is not None:
        a._source()
    x, y, mask = a.array, b, 1 if a._needs else 0
    if isinstance(b, Variable):
        if b._base is not None:
            b._source()
        y = b.array
        if y.dtype is not _FLOAT32 or y.__class__ is not _NUMPY:
            return apply(op, (a, b))
        if b._needs:
            mask |= 2
    elif b.__class__ is not float and b.__class__ is not int:
        return apply(op, (a, b))
    if x.dtype is not _FLOAT32 or x.__class__ is not _NUMPY:
        return apply(op, (a, b))
    try:
        out = op.forward(x, y)
    except _REFUSED as error:
        raise _explained(op, [x, y], error) from error
    result = wrap(out)
    mask &= op.differentiable
    if mask and state.grad:
        result._node = node = _new_node(op, op.plans.get(0b100 | mask) or op.plan(mask, 2))
        result._needs = True
        node.edges = edges = []
        if mask & 1:
            source = a._node
            edges.append((a if source is None else source, a._slot, x.shape, _FLOAT32))
        if mask & 2:
            source = b._node
            edges.append((b if source is None else source, b._slot, y.shape, _FLOAT32))
        _keep(node, (a, b))
        if node.plan.keeps_out:
            node.out = result.array
            node.versions.append((result._version, 0))
        if state.observers:
            _show(node, (a, b), result)
    return result


def _raw_apply(op: Op, args: tuple[Any, ...]) -> Any:
    """``apply`` without noting that the result is a view."""
    out = op.forward(*(a.array if isinstance(a, Variable) else a for a in args))
    return record(op, args, _mask(op, args), out)


def _mask(op: Op, args: tuple[Any, ...]) -> int:
    """A bit for each argument that wants a gradient and has a rule."""
    wanted = sum(1 << i for i, a in enumerate(args) if isinstance(a, Variable) and a._wanted())
    return wanted & op.differentiable


def _results(out: Any) -> Any:
    """A Variable without history around an op's result, several for a tuple."""
    return tuple(map(wrap, out)) if out.__class__ is tuple else wrap(out)


def record(op: Op, args: tuple[Any, ...], mask: int, out: Any, residual: Any = None) -> Any:
    """A Variable for the result ``out`` (several for a tuple), with the node that leads back to ``args``."""
    node = _new_node(op, op.plans.get(mask | 1 << len(args)) or op.plan(mask, len(args)))
    node.edges = edges = []
    for i in node.plan.inputs:
        a = args[i]
        if a._base is not None:
            a._source()
        source, array = a._node, a.array
        dtype = array.dtype
        if dtype is not _FLOAT32 and dtype.kind == "c" and op.complex is not op:
            _of_complex(op, "differentiated")
        edges.append((a if source is None else source, a._slot, array.shape, dtype))
    _keep(node, args)
    node.residual = [a.array.shape for a in args[op.arity :]] if op.variadic else residual
    if out.__class__ is tuple:
        result = _several(node, out)
    else:
        result = wrap(out)
        result._node, result._needs = node, True
        if node.plan.keeps_out:
            node.out = result.array
            node.versions.append((result._version, 0))
        elif residual.__class__ is tuple and any(r is out for r in residual):
            node.versions.append((result._version, 0))
    if state.observers:
        _show(node, args, result)
    return result


def _new_node(op: Op, plan: Plan) -> Node:
    """A node without edges, that keeps nothing yet."""
    node = _new(Node)
    node.op, node.plan, node.order = op, plan, next(_order)
    node.residual = node.out = node.results = node.hooks = node.place = None
    return node


def _keep(node: Node, args: tuple[Any, ...]) -> None:
    """Let a node keep those of its op's arguments that the rules name."""
    node.saved = saved = []
    node.versions = versions = []
    for i in node.plan.keep:
        a = args[i]
        saved.append(a)
        if isinstance(a, Variable):
            version = a._version
            versions.append((version, version[0]))


def _show(node: Node, args: tuple[Any, ...], result: Any) -> None:
    for observe in state.observers:
        observe(node, args, result)


def _several(node: Node, out: tuple[Array, ...]) -> tuple[Any, ...]:
    """Variables for an op's several results, of which those of numbers with a gradient lead to the node."""
    made = tuple(map(wrap, out))
    module, results = of(made[0].array).xp if made else None, []
    for slot, r in enumerate(made):
        array = r.array
        dtype = array.dtype
        if dtype is _FLOAT32 or dtype.kind in "fc":
            r._node, r._slot, r._needs = node, slot, True
        results.append((array.shape, dtype, module))
    node.results = results
    return made


def _apply_fused(op: Op, args: tuple[Any, ...], arrays: list[Any], mask: int) -> Any:
    """Run an op by the backend's kernel, or by its plain definition where there is none."""
    kernel = op.find_kernel(arrays)
    if kernel is None:
        return op.plain(*args)
    try:
        if op.rules or not mask:
            out, residual = kernel.forward((False,) * len(args), *arrays)[0], None
        else:
            out, residual = kernel.forward(op.plan(mask, len(args)).needs, *arrays)
    except _REFUSED as error:
        raise _explained(op, arrays, error) from error
    return record(op, args, mask, out, residual) if mask else _results(out)


# Views and changes in place -------------------------------------------------------------------------------


def _note_view(op: Op, args: tuple[Any, ...], result: Any, slot: int = 0) -> None:
    """Tie results that share memory with their input to it: one version, history through the base."""
    if result.__class__ is tuple:
        for slot, r in enumerate(result):
            _note_view(op, args, r, slot)
        return
    base, shared = args[0], result.array.base
    array = base.array
    if shared is array or (shared is not None and shared is array.base):
        result._version = version = base._version
        if state.grad or not base._needs:  # a view made under no_grad is like ``detach()``
            result._base, result._view, result._seen = base, (op, args[1:], slot), version[0]


def mutate(target: Variable, op: Op, args: tuple[Any, ...], out: Array | None = None) -> Any:
    """Change ``target`` in place to what ``op`` makes of ``args``, and give it that op's history.

    Args:
        target: the Variable to change; usually ``args[0]`` as well.
        op, args: the op without the change in place.
        out: where the memory has been changed already, the array that shows it (``x[i] = v`` does that).

    Raises:
        RuntimeError: a leaf that wants a gradient, while gradients are recorded; a result of another shape or
            of a category of dtype that the target cannot hold.
    """
    check_mutable(target, op.name)
    if out is None:
        result = apply(op, args)
        _check_fits(target, result.array, op)
        if result._node is not None:
            _keep_original(result._node, target)
        target.array[...] = result.array
    else:
        mask = _mask(op, args) if state.grad else 0
        result = record(op, args, mask, out) if mask else _results(out)
    bump(target, op.name)
    if state.grad:
        rebase(target, result)
    return target


def _keep_original(node: Node, target: Variable) -> None:
    """Where a node keeps the very Variable that is about to change, let it keep a copy (no cycle then)."""
    saved = node.saved
    if isinstance(saved, list) and any(a is target for a in saved):
        original: Variable = wrap(target.array.copy())
        (original._node, original._slot), original._needs = target._source(), target._needs
        version_of_out = node.versions[-1]
        node.saved = saved = [original if a is target else a for a in saved]
        node.versions = [(a._version, a._version[0]) for a in saved if isinstance(a, Variable)]
        if node.out is not None:
            node.versions.append(version_of_out)


_readers: dict[int, weakref.ref[Any]] = {}  # values still to be computed, from memory as it is now


def read_later(reader: Any) -> None:
    """Have ``reader.keep(array)`` called before an array's memory changes, as long as the reader lives."""
    key, forget = id(reader), _readers.pop
    _readers[key] = weakref.ref(reader, lambda _: forget(key, None))


def before_change(array: Array) -> None:
    """Tell those who have yet to read memory that it is about to change."""
    for reference in list(_readers.values()) if _readers else ():
        reader = reference()
        if reader is not None:
            reader.keep(array)


def check_mutable(target: Variable, name: str) -> None:
    """Refuse to change what cannot be written to, and, while gradients are recorded, a leaf that wants one
    or a view of such a leaf."""
    array = target.array
    if _readers:
        before_change(array)
    if not getattr(array.flags, "writeable", True) or (0 in array.strides and array.size):
        _check_own_memory(array, name)
    if not (state.grad and (target._needs or target._wanted())):
        return
    leaf: Variable | None = target
    while leaf is not None:
        if leaf._node is None:
            kind = "a leaf tensor" if leaf is target else "a view of a leaf tensor"
            raise RuntimeError(
                f"{kind} that requires grad is being used in an in-place operation ({name}_): its gradient "
                f"would have no meaning. Change it under minigrad.no_grad(), or work on a copy (x.clone())"
            )
        leaf = leaf._base


def _check_own_memory(array: Array, name: str) -> None:
    """Refuse to write where elements share memory (``expand``), or to read-only memory."""
    if any(step == 0 and n > 1 for step, n in zip(array.strides, array.shape, strict=True)):
        raise RuntimeError(
            f"{name}_: more than one element of the written-to tensor refers to a single memory location "
            f"(expand() makes such tensors): clone() it before changing it in place"
        )
    if not getattr(array.flags, "writeable", True):
        raise RuntimeError(f"{name}_: the tensor's memory is read-only: clone() it before changing it in place")


def _check_fits(target: Variable, result: Array, op: Op) -> None:
    if result.shape != target.array.shape:
        raise RuntimeError(
            f"output with shape {list(target.array.shape)} doesn't match the broadcast shape "
            f"{list(result.shape)}: {op.name}_ cannot change a tensor's shape in place; use {op.name} "
            f"without the underscore"
        )
    source, own = dt.of(result), dt.of(target.array)
    if not dt.can_cast(source, own):
        raise RuntimeError(f"result type {source} can't be cast to the desired output type {own} in {op.name}_")


def bump(target: Variable, name: str) -> None:
    """Count a change in place, and note where the program made it."""
    target._version[0] += 1
    target._version[1] = ("x[...] = value" if name == "put" else f"{name}_", caller())


def rebase(target: Variable, result: Any) -> None:
    """Give ``target`` the history of ``result``; its base, if it is a view, that of a partial assignment."""
    before, slot = target._node, target._slot
    target._node, target._slot, target._needs = result._node, result._slot, result._needs
    target._seen = target._version[0]
    if before is not None and before.hooks:
        _move_retained(before.hooks.get(slot, {}), target)
    base = target._base
    if base is None or not (result._needs or base._wanted()):
        return
    from ..ops.indexing import assign_view

    view, args, slot = target._view  # type: ignore[misc]
    mask = (1 if base._needs else 0) | (2 if result._needs else 0)
    rebase(base, record(assign_view, (base, result, view, args, slot), mask, base.array))


def _move_retained(hooks: dict[int, Callable[..., Any]], target: Variable) -> None:
    """After a change in place, what ``retain_grad`` keeps is the gradient of the new value."""
    keep, node = hooks.pop(RETAINED, None), target._node
    if keep is not None and node is not None:
        node.hooks = node.hooks or {}
        node.hooks.setdefault(target._slot, {})[RETAINED] = keep


# Operands that do not go together -------------------------------------------------------------------------


def _one_device(op: Op, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Move CPU tensors without axes to the device of the others, as PyTorch does; refuse all else."""
    variables = [a for a in args if isinstance(a, Variable)]
    backends = {id(of(a.array)): a for a in variables if a.array.ndim or of(a.array).device_type != "cpu"}
    if len(backends) > 1:
        told = " and ".join(
            f"{tuple(a.array.shape)} {dt.of(a.array).name} on {of(a.array).device_of(a.array)}"
            for a in backends.values()
        )
        raise RuntimeError(
            f"{op.name}: expected all tensors to be on the same device, but found {told}; move one with .to(device)"
        )
    device = of((target := next(iter(backends.values()))).array).device_of(target.array)
    return tuple(a.to(device) if isinstance(a, Variable) else a for a in args)


def _one_dtype(op: Op, args: tuple[Any, ...], arrays: list[Any]) -> tuple[Any, ...] | None:
    """The arguments brought to the dtype of the result; None where they have it already (nearly always)."""
    first: Any = None
    agree = True
    for a in arrays:
        if hasattr(a, "dtype"):
            if first is None:
                first = a.dtype
            elif a.dtype != first:
                agree = False
                break
    if first is None:
        given = next((a for a in args if not isinstance(a, Variable)), None)
        kind = type(given).__name__
        raise TypeError(f"{op.name}(): argument 'input' (position 1) must be Tensor, not {kind}")
    if agree and first.kind == "f" and not any(isinstance(a, complex) for a in arrays):
        return None
    operands = [a for a in arrays if hasattr(a, "dtype") or isinstance(a, (bool, int, float, complex))]
    common = dt.result_type(*operands)
    if op.promote == "float" and common.rank < 2:
        common = dt.get_default_dtype()
    if agree and first == common.numpy:
        return None
    return tuple(a.to(common) if isinstance(a, Variable) else a for a in args)


def _in_range(op: Op, args: tuple[Any, ...], dtype: Any) -> tuple[Any, ...]:
    """Python integers that the dtype cannot hold, modulo 2ⁿ: in PyTorch they do not change the dtype."""
    if not op.promote or dtype is None or dtype.kind not in "iu":
        return args
    low, count = int(np.iinfo(dtype).min), 1 << 8 * dtype.itemsize
    return tuple((a - low) % count + low if a.__class__ is int else a for a in args)


def _of_complex(op: Op, done: str = "computed") -> Op:
    """The op that does the same with complex numbers.

    Raises:
        RuntimeError: there is none.
    """
    if op.complex is None or (done == "differentiated" and op.complex is not op):
        raise RuntimeError(
            f"{op.name} cannot be {done} for complex tensors: take view_as_real(x), or x.real and x.imag, "
            f"and compute with these"
        )
    return op.complex


def _explained(op: Op, arrays: list[Any], error: Exception) -> Exception:
    """An array library's error as one that names the op and what it was given."""
    shapes = ", ".join(f"{tuple(a.shape)} {a.dtype}" for a in arrays if hasattr(a, "dtype") and hasattr(a, "shape"))
    if isinstance(error, TypeError) and "not supported for the input types" in str(error):
        kind = TypeError if op.name == "bitwise_not" else NotImplementedError
        return kind(f"{op.name} is not implemented for these dtypes (given {shapes})")
    told = f"{op.name}: {error} (given {shapes})"
    if isinstance(error, IndexError):
        return IndexError(told)
    return TypeError(told) if isinstance(error, TypeError) else RuntimeError(told)


# Places in the user's program -----------------------------------------------------------------------------

_PACKAGE = __name__.split(".")[0]


def caller() -> str:
    """The line of the program that called into the library, "file:line"."""
    frame = sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__", "").split(".")[0] == _PACKAGE:
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def weak(variable: Variable) -> Callable[[], Variable | None]:
    """A reference that does not keep a Variable alive (a node must not keep its own result)."""
    return weakref.ref(variable)
