"""Function: a custom op, with a ``forward`` and a ``backward``, following PyTorch's protocol."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import Any, NoReturn

from ..autograd.inplace import check_no_leaf, rebase
from ..autograd.mode import enable_grad, kept, no_grad, state
from ..autograd.tape import Node, Variable, node_of, record, report, wrap
from ..autograd.tracebacks import border, warn
from ..autograd.walk import intact
from ..backend.dtype import has_gradient
from ..ops.op import Op, op, watch


class FunctionCtx:
    """Passes values from ``forward`` to ``backward``. Programs may set any attribute on it. ``needs_input_grad`` shows
    which arguments of ``forward`` need a gradient."""

    needs_input_grad: tuple[bool, ...] = ()
    _to_save: tuple[Any, ...] = ()
    _dirty: tuple[Any, ...] = ()
    _constant: tuple[Any, ...] = ()
    _are_tensors: list[bool] = []  # for each result
    _materialize = True
    _node: weakref.ref[Node] | None = None

    def save_for_backward(self, *tensors: Variable | None) -> None:
        """Save inputs, results or other tensors for ``backward``, which reads them from ``saved_tensors``. Raises
        TypeError for anything except tensors and None; save other values as attributes: ``ctx.axis = axis``."""
        for tensor in tensors:
            if tensor is not None and not isinstance(tensor, Variable):
                raise TypeError(
                    f"save_for_backward can only save tensors, not {type(tensor).__name__}: save other "
                    f"values as attributes (ctx.name = value)"
                )
        self._to_save = tensors

    def save_for_forward(self, *tensors: Variable | None) -> None:
        """Do nothing, because there is no forward mode. This method is part of PyTorch's protocol."""

    def mark_dirty(self, *tensors: Variable) -> None:
        """Mark inputs that ``forward`` modifies in place. They must be among its results."""
        self._dirty = tensors

    def mark_non_differentiable(self, *tensors: Variable) -> None:
        """Mark results as having no gradient."""
        self._constant = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Set whether the gradient of an unused result is passed as zeros (the default) or as None."""
        self._materialize = value

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """The tensors passed to ``save_for_backward``. Raises RuntimeError if an earlier backward() has freed them, or
        if one was modified in place after it was saved."""
        if self._node is None:
            return self._to_save
        node = self._node()
        assert node is not None, "the graph was freed"
        return tuple(s.tensor(node) if isinstance(s, _Result) else s for s in intact(node))

    @property
    def saved_variables(self) -> tuple[Any, ...]:
        """The old name of ``saved_tensors``."""
        warn("'saved_variables' is deprecated; use 'saved_tensors'", DeprecationWarning)
        return self.saved_tensors


class _Result:
    """A saved result. Only its array is stored, because its tensor refers to the node, which would create a cycle."""

    def __init__(self, array: Any, version: list[Any], slot: int) -> None:
        self.array, self.version, self.slot = array, version, slot

    def tensor(self, node: Node) -> Variable:
        result: Variable = wrap(self.array)
        result._changes, result._node, result._slot, result._needs = self.version, node, self.slot, True
        return result


class _UserOp(Op):
    """A Function on the tape: an op with a ``backward`` instead of rules."""

    def __init__(self, cls: type[Function]) -> None:
        self.function = cls
        self.name = self.__name__ = cls.__name__
        self.params: tuple[str, ...] = ()
        self.arity, self.variadic, self.kernel, self.promote, self.view = 0, "", "", "", False
        self.rules, self.formulas, self.plans, self.differentiable = {}, {}, {}, -1
        self.backward: Any = _run_backward

    def param(self, i: int) -> str:
        return f"argument {i}"

    def rule_place(self, name: str) -> str:
        code = getattr(self.function.backward, "__code__", None)
        return f"{code.co_filename}:{code.co_firstlineno}" if code else f"{self.name}.backward"


class Function:
    """A custom op. Subclass it, write ``forward`` and ``backward`` as static methods, and call ``apply``.

        class Cube(Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x ** 3

            @staticmethod
            def backward(ctx, grad):
                (x,) = ctx.saved_tensors
                return 3 * x * x * grad

        y = Cube.apply(x)

    The ops in ``forward`` are not recorded. ``backward`` gets the gradient of each result and returns a gradient or
    None for each argument of ``forward``. ``backward`` can itself be differentiated if it uses differentiable
    operations. If a class has ``setup_context(ctx, inputs, output)``, ``forward`` does not take ctx.
    """

    _op: _UserOp

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._op = _UserOp(cls)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError(
            f"a Function must not be instantiated: make forward and backward static methods, and call "
            f"{type(self).__name__}.apply(...)"
        )

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the results from ctx and the arguments. Override this method."""
        raise NotImplementedError(
            "You must implement the forward function of a custom autograd.Function: a static method forward(ctx, *args)"
        )

    setup_context: Any = None

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """Compute the arguments' gradients from ctx and the results' gradients. Override this method."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method of a custom autograd.Function: a static method "
            "backward(ctx, *grads)"
        )

    vjp = backward

    @classmethod
    @border
    def apply(cls, *args: Any) -> Any:
        """Run ``forward``, and record the call if an argument requires a gradient."""
        if cls.setup_context is not None:  # setup_context also gets the defaults of ``forward``
            count, defaults = cls.forward.__code__.co_argcount, cls.forward.__defaults__ or ()
            args = (*args, *defaults[len(defaults) + len(args) - count :]) if len(args) < count else args
        watch.notify("applying", cls._op, args)
        needs = tuple(isinstance(a, Variable) and a._wanted() for a in args)
        ctx: Any = FunctionCtx()
        ctx.needs_input_grad = needs
        try:
            with kept() as end, end, no_grad():
                if cls.setup_context is None:
                    output = cls.forward(ctx, *args)
                else:
                    output = cls.forward(*args)
                    cls.setup_context(ctx, args, output)
        except BaseException:
            watch.notify("failed", cls._op)
            raise
        mask = sum(1 << i for i, need in enumerate(needs) if need) if state.grad else 0
        results = _recorded(cls._op, ctx, args, mask, output if isinstance(output, tuple) else (output,))
        tensors = tuple(r for r in results if isinstance(r, Variable))  # observers only see tensor results
        if watch.observers:
            one = len(tensors) == 1
            new = report(cls._op, args, tensors[0] if one else tensors, node_of(tensors) if mask else None)
            by_id = dict(zip(map(id, tensors), (new,) if one else new, strict=True))
            results = tuple(by_id.get(id(r), r) for r in results)
        return results if isinstance(output, tuple) else results[0]


def _recorded(op: Op, ctx: Any, args: tuple[Any, ...], mask: int, results: tuple[Any, ...]) -> tuple[Any, ...]:
    """The results of ``forward``, attached to a node if ``mask`` selects an input. Non-tensors are unchanged."""
    tensors = [r for r in results if isinstance(r, Variable)]
    if not mask or not any(has_gradient(t.array.dtype) for t in tensors):
        return results
    ctx._are_tensors = [isinstance(r, Variable) for r in results]
    recorded = record(op, args, mask, tuple(t.array for t in tensors), None, ctx)
    node: Node = node_of(recorded)  # type: ignore[assignment]
    for original, new in zip(tensors, recorded, strict=True):
        new._changes = original._changes
        if any(original is c for c in ctx._constant):
            new._node, new._slot, new._needs = None, 0, False
    by_id = {id(original): new for original, new in zip(tensors, recorded, strict=True)}
    ctx._node, node.saved = weakref.ref(node), []
    for tensor in ctx._to_save:
        new = None if tensor is None else by_id.get(id(tensor))
        if new is not None and new._node is node:
            node.saved.append(_Result(new.array, new._changes, new._slot))
        else:
            node.saved.append(tensor)
        if tensor is not None:
            node.versions.append((tensor._changes, tensor._changes[0]))
    ctx._to_save = ()
    for tensor in ctx._dirty:
        if id(tensor) not in by_id:
            raise RuntimeError(f"{op.name}: a tensor passed to mark_dirty() must be a result of forward")
        check_no_leaf(tensor, op.name)
        rebase(tensor, by_id[id(tensor)])
        by_id[id(tensor)] = tensor
    return tuple(by_id[id(r)] if isinstance(r, Variable) else r for r in results)


def _run_backward(node: Node, sums: dict[int, list[Any]], create: bool) -> list[Any]:
    """A Function's gradients for the inputs that need one, from the gradients of its results."""
    ctx, function = node.residual, node.op.function  # type: ignore[attr-defined]
    ctx._node = weakref.ref(node)
    arriving: list[Any] = []
    for slot, (shape, dtype, module) in enumerate(node.results or ()):
        value = sums[slot][0] if slot in sums else module.zeros(shape, dtype) if ctx._materialize else None
        arriving.append(value if value is None or isinstance(value, Variable) else wrap(value))
    slots = iter(arriving)
    arriving = [next(slots) if is_tensor else None for is_tensor in ctx._are_tensors]
    with enable_grad() if create else no_grad():
        returned = function.backward(ctx, *arriving)
    gradients = returned if isinstance(returned, tuple) else (returned,)
    arguments = len(ctx.needs_input_grad)
    if len(gradients) < arguments or any(g is not None for g in gradients[arguments:]):
        raise RuntimeError(
            f"function {node} returned an incorrect number of gradients (expected {arguments}, got {len(gradients)})"
        )
    return [_checked(node, i, gradients[i], create) for i in node.plan.inputs]


def _checked(node: Node, i: int, gradient: Any, create: bool) -> Any:
    """Check a returned gradient's type and shape, and convert it for the rest of the backward pass."""
    if gradient is None:
        return None
    if not isinstance(gradient, Variable):
        raise TypeError(
            f"function {node} returned a {type(gradient).__name__} as the gradient of argument {i}: "
            f"it must be a Tensor or None"
        )
    expected = next(e[2] for e, n in zip(node.edges, node.plan.inputs, strict=True) if n == i)
    shape = gradient.array.shape
    padded = (1,) * (len(shape) - len(expected)) + expected
    if len(padded) > len(shape) or any(old not in (1, new) for new, old in zip(shape, padded, strict=True)):
        raise RuntimeError(  # otherwise, the walk would sum over the added axes
            f"function {node} returned an invalid gradient for argument {i}: got {list(shape)}, but expected shape "
            f"compatible with {list(expected)}"
        )
    return gradient if create else gradient.array


def _refuse(g: Any) -> NoReturn:
    raise RuntimeError("trying to differentiate twice a function that was marked with @once_differentiable")


@op(x=_refuse)
def _once(x: Any) -> Any:
    """The identity, with gradients that cannot be differentiated."""
    return x


def once_differentiable(backward: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a Function's ``backward`` as not differentiable, for example because it uses NumPy."""

    @functools.wraps(backward)
    def wrapped(ctx: Any, *grads: Any) -> Any:
        with no_grad():
            returned = backward(ctx, *grads)
        if not state.grad or not any(isinstance(g, Variable) and g._wanted() for g in grads):
            return returned
        listed = returned if isinstance(returned, tuple) else (returned,)
        marked = tuple(_once(wrap(g.array).requires_grad_()) if isinstance(g, Variable) else g for g in listed)
        return marked if isinstance(returned, tuple) else marked[0]

    return wrapped
