"""Puts timed functions in the place of those that run ops, modules and steps, and puts the old ones back.

Nothing in the library asks whether a profile is on: while none is, nothing of this is in place, and it costs
nothing. While one is, names are replaced where they are looked up: attributes of classes, and functions in
every module of the library that has imported them.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from types import ModuleType
from typing import Any

from ..autograd import function, tape, walk
from ..autograd.tape import Node, Variable
from ..nn.module import Module
from ..ops.op import Op, Traced
from .flops import flops_of
from .names import ModuleNames
from .recorder import MODULE, NODE, OP, STEP, WALK, Recorder

_PACKAGE = __name__.split(".")[0]
_MAKERS = {  # functions that make tensors without an op
    "functions.creation": ("arange", "empty", "eye", "full", "full_like", "linspace", "ones", "tensor", "zeros"),
    "functions.random": (
        "bernoulli",
        "multinomial",
        "normal",
        "rand",
        "rand_like",
        "randint",
        "randint_like",
        "randn",
        "randn_like",
        "randperm",
    ),
    "nn.functional.dropout": ("keep_mask",),
}


class Watch:
    """What is replaced while a recorder is at work.

    Args:
        recorder: gets the events.
    """

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.names = ModuleNames()
        self._undo: list[Callable[[], None]] = []
        self._functions: list[tuple[Any, Any]] = []  # what stands where

    def install(self) -> None:
        """Begin to watch; if that fails halfway, all is as before."""
        try:
            self._watch_ops()
            self._watch_backward()
            self._watch_steps()
            if self.recorder.modules:
                self._attribute(Module, "__call__", self._module_call)
            _rename(self._functions)
        except BaseException:
            self.remove()
            raise

    def remove(self) -> None:
        """Put everything back that ``install`` replaced."""
        while self._undo:
            self._undo.pop()()
        _rename([(timed, original) for original, timed in self._functions])  # also where imported since

    def _watch_ops(self) -> None:
        self._everywhere(tape.apply, self._apply)
        self._everywhere(tape.unary, self._unary)
        self._everywhere(tape.binary, self._binary)
        self._everywhere(tape._new_node, self._new_node)
        self._everywhere(tape.mutate, self._mutate)
        self._attribute(Op, "__call__", self._op_call)
        self._attribute(function.Function, "apply", self._function_apply)
        for path, names in _MAKERS.items():
            for name in names:
                made = getattr(import_module(f"{_PACKAGE}.{path}"), name)
                self._everywhere(made, functools.partial(self._maker, name))

    def _watch_backward(self) -> None:
        for begin in (walk.backward, walk.grad):
            self._everywhere(begin, functools.partial(self._spanned, begin.__name__, WALK))
        self._everywhere(walk._accumulate, functools.partial(self._maker, "AccumulateGrad"))
        self._attribute(walk._Walk, "pass_on", self._pass_on)

    def _watch_steps(self) -> None:
        """The optimisers' steps and the data loaders' batches, as PyTorch's own profiler does."""
        optimizer = import_module(f"{_PACKAGE}.optim.optimizer").Optimizer
        for kind in (optimizer, *_subclasses(optimizer)):
            if "step" in kind.__dict__:  # within the hooks; see Optimizer._with_hooks
                self._attribute(kind.__dict__["step"], "__wrapped__", self._method("Optimizer.step", "step"))
            if "zero_grad" in kind.__dict__:
                self._attribute(kind, "zero_grad", self._method("Optimizer.zero_grad", "zero_grad"))
        loading = import_module(f"{_PACKAGE}.utils.data.dataloader")._BaseDataLoaderIter
        self._attribute(loading, "__next__", self._method("enumerate(DataLoader)", "__next__"))

    # Replacing -------------------------------------------------------------------------------------------

    def _attribute(self, owner: Any, name: str, timed: Callable[[Any], Any]) -> None:
        """Replace an attribute of a class or function by what ``timed`` makes of it."""
        original = owner.__dict__[name]
        if isinstance(original, classmethod):
            replaced: Any = classmethod(timed(original.__func__))
        else:
            replaced = timed(original)
        setattr(owner, name, replaced)
        self._undo.append(lambda: setattr(owner, name, original))

    def _everywhere(self, original: Callable[..., Any], timed: Callable[[Any], Any]) -> None:
        """Replace a function in every module of the library that names it."""
        self._functions.append((original, functools.wraps(original)(timed(original))))

    # What stands in their places -------------------------------------------------------------------------

    def _apply(self, original: Any) -> Any:
        recorder = self.recorder

        def apply(op: Op, args: tuple[Any, ...]) -> Any:
            top = recorder.current()
            if top is not None and top.op is op and top.kind == OP:  # begun anew, its operands converted
                return original(op, args)
            return self._timed(op.name, op, args, original, (op, args))

        return apply

    def _unary(self, original: Any) -> Any:
        def unary(op: Op, x: Any) -> Any:
            return self._timed(op.name, op, (x,), original, (op, x))

        return unary

    def _binary(self, original: Any) -> Any:
        def binary(op: Op, a: Any, b: Any) -> Any:
            return self._timed(op.name, op, (a, b), original, (op, a, b))

        return binary

    def _new_node(self, original: Any) -> Any:
        """Notes by which event each node was made."""
        recorder = self.recorder

        def new_node(op: Op, plan: Any) -> Node:
            node: Node = original(op, plan)
            event = recorder.current()
            if event is not None:
                recorder.made[node] = event
                event.sequence_nr = node.order
            return node

        return new_node

    def _mutate(self, original: Any) -> Any:
        def mutate(target: Variable, op: Op, args: tuple[Any, ...], out: Any = None) -> Any:
            name = "copy_" if op.name == "put" else f"{op.name}_"
            return self._timed(name, None, args, original, (target, op, args, out))

        return mutate

    def _op_call(self, original: Any) -> Any:
        """Ops on arrays: gradient rules and kernels call them. (On tensors they go on to ``apply``.)"""

        def call(op: Op, *args: Any, **kwargs: Any) -> Any:
            if any(isinstance(a, Traced) for a in (*args, *kwargs.values())):
                return original(op, *args, **kwargs)
            return self._timed(op.name, op, args, original, (op, *args), kwargs)

        return call

    def _function_apply(self, original: Any) -> Any:
        def apply(cls: Any, *args: Any) -> Any:
            return self._timed(cls.__name__, cls._op, args, original, (cls, *args))

        return apply

    def _maker(self, name: str, original: Any) -> Any:
        def make(*args: Any, **kwargs: Any) -> Any:
            return self._timed(name, None, args, original, args, kwargs)

        return make

    def _timed(
        self,
        name: str,
        op: Any,
        args: tuple[Any, ...],
        function: Any,
        given: tuple[Any, ...],
        keywords: dict[str, Any] | None = None,
    ) -> Any:
        """The result of an op, whose event is written down."""
        recorder = self.recorder
        shapes = [_shape(a) for a in args] if recorder.shapes else []
        event = recorder.open(name, OP, op)
        try:
            result = function(*given, **keywords) if keywords else function(*given)
        finally:
            recorder.close(event)
        event.input_shapes = shapes
        for made in result if isinstance(result, tuple) else (result,):
            array = _array(made)
            if hasattr(array, "nbytes") and not _is_view(array, args):
                event.bytes += array.nbytes
        if recorder.flops:
            event.flops = flops_of(name, result, args)
        return result

    def _pass_on(self, original: Any) -> Any:
        recorder = self.recorder

        def pass_on(walk: Any, node: Node, sums: dict[int, list[Any]]) -> Any:
            forward = recorder.made.get(node)
            event = recorder.open(node.name(), NODE, node.op, forward=forward)
            event.sequence_nr = node.order if forward is None else forward.sequence_nr
            if recorder.shapes:
                event.input_shapes = [_shape(held[0]) for held in sums.values()]
            try:
                return original(walk, node, sums)
            finally:
                recorder.close(event)
                event.bytes = sum(dtype.itemsize * _size(shape) for _, _, shape, dtype in node.edges)

        return pass_on

    def _module_call(self, original: Any) -> Any:
        recorder, names = self.recorder, self.names

        def call(module: Module, *args: Any, **kwargs: Any) -> Any:
            top = recorder.current()
            path = names.path(module, "" if top is None or top.place.startswith("[") else top.place)
            event = recorder.open(path, MODULE, type(module).__name__, place=path)
            try:
                return original(module, *args, **kwargs)
            finally:
                recorder.close(event)

        return call

    def _method(self, what: str, name: str) -> Callable[[Any], Any]:
        """The maker of a timed method, called as PyTorch calls it: "Optimizer.step#Adam.step"."""
        recorder = self.recorder

        def timed(original: Any) -> Any:
            @functools.wraps(original)
            def method(self: Any, *args: Any, **kwargs: Any) -> Any:
                event = recorder.open(f"{what}#{type(self).__name__}.{name}", STEP)
                try:
                    return original(self, *args, **kwargs)
                finally:
                    recorder.close(event)

            return method

        return timed

    def _spanned(self, name: str, kind: str, original: Any) -> Any:
        recorder = self.recorder

        def function(*args: Any, **kwargs: Any) -> Any:
            event = recorder.open(name, kind)
            try:
                return original(*args, **kwargs)
            finally:
                recorder.close(event)

        return function


def _rename(pairs: list[tuple[Any, Any]]) -> None:
    """Let every name in the library's modules that means the first of a pair mean the second."""
    known = {id(old): new for old, new in pairs}
    for path, module in list(sys.modules.items()):
        if path.partition(".")[0] == _PACKAGE and isinstance(module, ModuleType):
            for name, value in list(vars(module).items()):
                if id(value) in known:
                    setattr(module, name, known[id(value)])


def _subclasses(kind: type) -> Iterator[type]:
    found: type
    for found in kind.__subclasses__():
        yield found
        yield from _subclasses(found)


def _array(value: Any) -> Any:
    """The array of a tensor, if it has been computed; a look at it shall not be what computes it."""
    return value.__dict__.get("array") if isinstance(value, Variable) else value


def _shape(value: Any) -> list[int]:
    return list(value.shape) if hasattr(value, "nbytes") else []


def _size(shape: tuple[int, ...]) -> int:
    return functools.reduce(lambda size, n: size * n, shape, 1)


def _is_view(array: Any, args: tuple[Any, ...]) -> bool:
    """Whether a result is an argument, or shares its memory, so that it takes none of its own."""
    base = getattr(array, "base", None)
    for a in args:
        given = _array(a)
        if given is array or (base is not None and (given is base or getattr(given, "base", None) is base)):
            return True
    return False


# One at a time -------------------------------------------------------------------------------------------

_active: Watch | None = None


def begin(recorder: Recorder) -> None:
    """Let a recorder watch.

    Raises:
        RuntimeError: another one does.
    """
    global _active
    if _active is not None:
        raise RuntimeError(
            "a profile is running already: end it (leave its with block, or call stop()) before another begins"
        )
    watch = Watch(recorder)
    watch.install()
    _active = watch


def end() -> None:
    """Let nobody watch."""
    global _active
    if _active is not None:
        _active.remove()
        _active = None


def recording() -> Recorder | None:
    """The recorder that watches at present."""
    return None if _active is None else _active.recorder


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=end)  # the workers of a data loader are not watched
