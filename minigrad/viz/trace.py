"""``viz.trace``: a model call whose named intermediate values can be read, replaced and patched. A value is a tensor,
or a tuple, list or dict of tensors, which are named by index ("lstm[0]"). Names are the same in every run."""

from __future__ import annotations

import inspect
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from fnmatch import translate
from typing import Any

import numpy as np

from ..autograd.observer import observed
from ..autograd.tape import wrap
from ..backend import xp
from ..backend.dtype import Array
from ..backend.random import default_generator
from ..backend.storage import owner
from ..functions.names import as_tensor, full_like
from ..nn.module import Module
from ..ops import attention
from ..ops.linear import matmul
from ..ops.op import Op, op
from ..ops.softmax import softmax
from ..profiler.watched import Within, around_calls, untouched
from ..tensor import Tensor
from ..utils.checkpoint import is_in_first_run
from .graph import GraphView, graph as graph_view
from .graph.graph_names import Modules
from .numbers import similar

__all__ = ["Run", "trace"]
Call = tuple[Callable[..., Any], tuple[Any, ...], Mapping[str, Any], Any]  # function, inputs, kwargs, random state
Change = Callable[[Any], Any] | Tensor | float  # a replacement for a value, or a function that computes it


def trace(model: Callable[..., Any], /, *inputs: Any, **kwargs: Any) -> Run:
    """Call a model and store every intermediate value under a name.

        run = viz.trace(model, x)
        run["layers.0.attention.weights"]                    a tensor
        run.names("layers.0.*")                              other names
        run.edited({"layers.0.mlp": lambda value: value * 0})
        run.patch("layers.0.mlp", other["layers.0.mlp"]).output

    The path of a module names its result. "PATH.input" is its first input, "PATH.input.NAME" is each input, and
    "PATH.OP" and "PATH.OP 2" are the results of its ops. For attention, there are also "PATH.weights", "PATH.scores",
    "PATH.q", "PATH.k", "PATH.v" and "PATH.heads". The model's result is "output".

    The model (a module, a module's method, or a function) is called once, and again for each change, in its current
    mode. Its state is restored afterwards. Values stay in the graph, so gradients flow through them.

    Raises TypeError if the model is not callable or an input is an iterator, and RuntimeError if no op ran.
    """
    if not callable(model):
        raise TypeError(f"trace takes a module or a function, not {type(model).__name__}")
    for value in (*inputs, *kwargs.values()):
        if isinstance(value, Iterator):
            kind = type(value).__name__
            raise TypeError(f"trace calls the model again for each change, so no input may be a {kind}: pass a list")
    return Run((model, inputs, kwargs, default_generator.get_state()), {})


class Run(Mapping[str, Any]):
    """A traced model call: a mapping of names to values, in order of computation. ``output`` is the model's result."""

    def __init__(self, call: Call, changes: Mapping[str, list[Change]]) -> None:
        self._call, self._changes, model = call, dict(changes), call[0]
        recorder, self.output = record(call, self._changes)
        self.title = title = type(model).__name__ if isinstance(model, Module) else getattr(model, "__name__", "call")
        if inspect.isgenerator(self.output) or inspect.isawaitable(self.output) or isinstance(self.output, Iterator):
            raise TypeError(
                f"{title} returned a {type(self.output).__name__}, which runs later: trace a function that consumes "
                f"it, such as lambda x: list(model(x))"
            )
        if not recorder.ops:
            raise RuntimeError(f"no op ran on tensors in {title}: there is nothing to trace")
        self._values = recorder.values
        self._names = {name: name for name in recorder.values} | recorder.other_names
        missed = [name for name in changes if name not in recorder.changed]
        if missed:
            raise RuntimeError(f"{', '.join(map(repr, missed))} was not computed in the run with the changes")

    def __getitem__(self, name: str) -> Any:
        """The value with this name: a tensor, or a module's result. Raises KeyError, with a list of similar names."""
        value = self._values[self._known(name)]
        return value() if inspect.isfunction(value) else mapped(value, name, lambda saved, _: saved.get(name), Kept)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def names(self, pattern: str = "*") -> list[str]:
        """The names that match a pattern, such as "*.weights" or "layers.0.*"."""
        fits = re.compile(translate(pattern.replace("[", "[[]"))).match
        return [name for name in self if fits(name)]

    def __repr__(self) -> str:
        changed = f", {', '.join(map(repr, self._changes))} changed" if self._changes else ""
        return f"<run of {self.title}: {len(self)} names{changed}>"

    def edited(self, replace: Mapping[str, Change]) -> Run:
        """Run the same call with replaced values. ``replace`` maps each name or pattern ("layers.*.mlp") to a tensor, a
        number, or a function from the old value to the new one. Gradients flow into the new values. Raises KeyError for
        an unknown name, and RuntimeError for a value of a different shape."""
        places = {name: list(change) for name, change in self._changes.items()}
        for pattern, what in replace.items():
            for name in self._matching(pattern):
                places.setdefault(name, []).append(what)
        return Run(self._call, places)

    def patch(self, name: str, value: Any, at: Any = None) -> Run:
        """Run the call with another run's values for a name or pattern (activation patching: Vig et al. 2020, Meng et
        al. 2022). ``value`` is the other run, or a tensor, array or number. ``at`` selects the part to patch: for head
        2 of (B, H, T, D), use ``(slice(None), 2)``."""

        def patching(source: Any) -> Change:
            copied = mapped(source, "", lambda part, _: leaf(part))
            return copied if at is None else lambda old: within(old, copied)

        def within(old: Tensor, source: Any) -> Tensor:
            new = old.clone()
            new[at] = source[at] if getattr(source, "shape", ()) == old.shape else source
            return new

        names = self._matching(name)
        return self.edited({n: patching(value[n] if isinstance(value, Run) else value) for n in names})

    def graph(self, **look: Any) -> GraphView:
        """The graph of the call, in which each change is a "replaced" node with the value's name. The model runs once
        more. ``look`` is passed to ``viz.graph``. Raises RuntimeError if nothing in the result requires a gradient."""
        model, inputs, kwargs, random = self._call

        def again(*inputs: Any, **kwargs: Any) -> Any:
            return record((model, inputs, kwargs, random), self._changes)[1]

        # Make it look like a method of the model, so that the graph knows the names of its modules.
        owner = model if isinstance(model, Module) else getattr(model, "__self__", None)
        signature = inspect.signature(model.forward if isinstance(model, Module) else model)
        vars(again).update(__self__=owner, __signature__=signature)
        again.__name__ = self.title
        return graph_view(again, *inputs, **kwargs, **look)

    def _known(self, name: str) -> str:
        if name not in self._names:
            raise KeyError(f"no value is called {name!r}{similar(name, self)}. run.names() lists all {len(self)} names")
        return self._names[name]

    def _matching(self, pattern: str) -> list[str]:
        names = self.names(pattern) if pattern not in self and ("*" in pattern or "?" in pattern) else []
        return list(dict.fromkeys(map(self._known, names or [pattern])))


def parts(value: Any, name: str) -> dict[str, Tensor]:
    """The tensors in a value by name, such as "lstm[0]" and "lstm[1]" for a pair called "lstm"."""
    tensors: dict[str, Tensor] = {}
    mapped(value, name, lambda tensor, part: tensors.setdefault(part, tensor))
    return tensors


def mapped(value: Any, name: str, function: Callable[[Any, str], Any], kind: type = Tensor) -> Any:
    """Replace each tensor (or instance of ``kind``) in a value with ``function(tensor, its name)``."""
    if isinstance(value, kind):
        return function(value, name)
    if isinstance(value, Mapping):
        inner = {key: mapped(entry, f"{name}[{key!r}]", function, kind) for key, entry in value.items()}
        same = all(inner[key] is entry for key, entry in value.items())
        return value if same else type(value)(inner)  # type: ignore[call-arg]
    if isinstance(value, list | tuple):
        items = [mapped(entry, f"{name}[{i}]", function, kind) for i, entry in enumerate(value)]
        if all(new is old for new, old in zip(items, value, strict=True)):
            return value
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    return value


class Kept:
    """A recorded tensor, whose numbers later in-place ops do not change."""

    def __init__(self, tensor: Tensor) -> None:
        self.version = tensor._changes[0]
        self.tensor = tensor
        if not tensor.is_leaf or not tensor.requires_grad:  # a leaf must receive its own gradient
            self.tensor = wrap(tensor.array)
            (self.tensor._node, self.tensor._slot), self.tensor._needs = tensor._source(), tensor._wanted()
            self.tensor._changes = tensor._changes

    def save(self) -> None:
        """Copy the numbers before an in-place op overwrites them."""
        tensor: Tensor = wrap(self.tensor.array.copy())
        tensor._node, tensor._slot, tensor._needs = self.tensor._node, self.tensor._slot, self.tensor._needs
        self.tensor, self.version = tensor, 0

    def get(self, name: str) -> Tensor:
        """The tensor. Raises RuntimeError if an assignment has overwritten its numbers."""
        count, change = self.tensor._changes
        if count != self.version:
            by = f" ({change[0]} at {change[1]})" if change else ""
            raise RuntimeError(f"{name!r} was overwritten after it was computed{by}: its numbers are gone")
        return self.tensor


@op("dnew = g", new=lambda g: g, holomorphic=True)
def replaced(new: Array, old: Array, name: str) -> Array:
    """new, instead of old"""
    return xp(new).array(new)


def _in_place_of(old: Tensor, new: Any, name: str) -> Tensor:
    if is_in_first_run():
        raise RuntimeError(f"{name!r} is computed inside a checkpoint, which would be recomputed without the change")
    if isinstance(new, bool | int | float | complex):
        new = leaf(full_like(old, new))
    elif isinstance(new, np.ndarray | np.generic | list):
        new = leaf(as_tensor(new, device=old.device))
    if not isinstance(new, Tensor):
        raise RuntimeError(f"the replacement of {name!r} must be a tensor or a number, not {type(new).__name__}")
    if tuple(new.shape) != tuple(old.shape):
        shapes = f"{tuple(old.shape)}, not {tuple(new.shape)}"
        raise RuntimeError(f"the replacement of {name!r} must have shape {shapes}")
    result: Tensor = replaced(new.to(device=old.device, dtype=old.dtype), old, name)
    return result


def leaf(value: Tensor) -> Tensor:
    """A copy that requires a gradient, so that the graph shows it."""
    copied = value.detach().clone()
    return copied.requires_grad_() if copied.is_floating_point() else copied


_IN_PLACE = ("put", "assign_view")  # ops that have already changed memory when they are observed
_THROUGH = ("dropout", "reshape", "cast", "identity")  # may be between a softmax and its product with values
_PRODUCTS = ("matmul", "einsum_pair")


class Recorder(Within):
    """Records one call, with ``changes`` by name. The names of ops, inputs and results are the same in every run."""

    def __init__(self, owner: Module | None, changes: Mapping[str, list[Change]]) -> None:
        super().__init__(Modules(owner))
        self.values: dict[str, Any] = {}  # by name: Kept, a structure of Kept, or a function that computes the value
        self.other_names: dict[str, str] = {}  # by alias: the name that it refers to
        self.changed: set[str] = set()
        self.error: BaseException | None = None  # raised by the user's replacement; kept because ops wrap errors
        self.ops = 0
        self._changes = changes
        self._paths = {name for name, _ in owner.named_modules()} if owner else set[str]()
        self._taken: Counter[str] = Counter()
        self._scopes = [("", "")]  # for each open module call, the prefix of its values and its path
        self._spans: list[tuple[str, str]] = []  # kinds and names of open spans
        self._quiet = 0  # depth of replacements and backward passes, whose ops are not recorded
        self._names: dict[int, str] = {}  # of tensors, by id
        self._sources: dict[int, tuple[Op, Any]] = {}  # the op that computed a result, and its first argument
        self._aliases: set[tuple[str, str]] = set()  # unnumbered aliases and the names that they refer to
        self._alive: list[Any] = []  # prevents ids from being reused

    def call(self, function: Callable[..., Any], inputs: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        try:
            with observed(self), around_calls(self._before, self._after):
                if isinstance(function, Module):
                    return function(*inputs, **kwargs)
                inputs, kwargs = self._inputs(function, inputs, dict(kwargs))
                return self._passed("output", function(*inputs, **kwargs))
        except Exception:
            if self.error is not None:
                raise self.error from None
            raise

    def entered(self, name: str, kind: str, subject: Any) -> None:
        if kind == "module" and not self._quiet:
            path = self.names.path(subject, self._scopes[-1][1])
            first = not path and len(self._scopes) == 1 and not self.values
            prefix = "" if first else self._free(path or "forward", op=False)
            self._scopes.append((prefix, path))
        elif kind == "walk":
            self._quiet += 1
        self._spans.append((kind, name))

    def left(self) -> None:
        kind, _ = self._spans.pop()
        if kind == "walk":
            self._quiet -= 1
        elif kind == "module" and not self._quiet:
            self._scopes.pop()

    def _before(self, module: Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self._quiet:
            return None
        arguments = self._inputs(module.forward, args, kwargs)
        return None if arguments[0] is args else arguments

    def _after(self, module: Module, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> Any:
        if self._quiet:
            return None
        return self._passed(self._scopes[-1][0] or "output", result)

    def _inputs(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Record a call's arguments and change them. The first tensor is "input", and each one "input.NAME"."""
        try:
            bound = inspect.signature(function).bind(*args, **kwargs)
        except (TypeError, ValueError):  # the function is built in, or the call itself will fail
            return args, kwargs
        tensors: list[str] = []  # the names of the parts that are tensors

        def passed(tensor: Tensor, part: str) -> Tensor:
            tensors.append(part)
            return self._tensor(self._within(f"input.{part}" if len(tensors) > 1 else "input"), tensor)

        for parameter, value in bound.arguments.items():
            bound.arguments[parameter] = mapped(value, parameter, passed)
        if len(tensors) > 1:
            self.other_names[self._within(f"input.{tensors[0]}")] = self._within("input")
        names = [self._within(name) for name in ("input", *(f"input.{part}" for part in tensors))]
        return (bound.args, bound.kwargs) if not self.changed.isdisjoint(names) else (args, kwargs)

    def applied(self, op: Op, args: tuple[Any, ...], result: Any, node: Any) -> Any:
        self.running.pop()
        first = result[0] if isinstance(result, tuple) and result else result
        if self.running or self._quiet or not isinstance(first, Tensor):
            return None
        self.ops += 1
        within, span_name = self._spans[-1] if self._spans else ("", "")
        if within == "call" and span_name.endswith("_") and op.name not in _IN_PLACE:
            for saved in self.values.values():  # copy values before their memory is overwritten
                if isinstance(saved, Kept) and owner(saved.tensor.array) is owner(getattr(args[0], "array", None)):
                    saved.save()
        name = self._free(self._within(op.name))
        is_fused = op is attention.scaled_dot_product_attention
        if is_fused:
            result = self._attention(args, result)
        is_attention = is_fused or (op.name in _PRODUCTS and self._note_weights(args))
        value = self._passed(name, result, op.name in _IN_PLACE)
        if is_attention:
            self._also("heads", value)
        if op.view and value is not result and isinstance(value, Tensor):
            value._changes = args[0]._changes  # ``view`` uses this to detect copies
        self._sources[id(value)] = op, args[0] if args else None
        return value

    def _attention(self, args: tuple[Any, ...], result: Tensor) -> Tensor:
        """Name the weights that the fused op does not keep. They are computed when they are read or changed."""
        query, key, value, mask, keep, is_causal, scale, dropout_p = args
        for letter, tensor in zip("qkv", (query, key, value), strict=True):
            self._also(letter, tensor)
        names = [self._free(self._within(part)) for part in ("scores", "weights")]
        inputs: list[Any] = [query, key, mask, is_causal, scale]
        if not any(name in self._changes for name in names):
            saved: list[Any] = [Kept(x) if isinstance(x, Tensor) else x for x in inputs]

            def scores() -> Tensor:
                arguments: Any = [x.get("scores") if isinstance(x, Kept) else x for x in saved]
                return attention.attention_scores(*arguments)

            self.values |= {names[0]: scores, names[1]: lambda: softmax(scores(), -1)}
            return result
        with self._quietly():
            changed = self._tensor(names[0], attention.attention_scores(*inputs))
            weights = self._tensor(names[1], softmax(changed, -1))
            composed: Tensor = matmul(attention.dropped(weights, keep, dropout_p), value)
        return composed

    def _note_weights(self, args: tuple[Any, ...]) -> bool:
        """Name a softmax "weights" if a factor of the product comes from it. Returns whether one does."""
        for factor in args[:2]:
            while (source := self._sources.get(id(factor))) and source[0].name in _THROUGH:
                factor = source[1]
            if source and source[0].name == "softmax":
                self._also("weights", factor)
                return True
        return False

    @contextmanager
    def _quietly(self) -> Iterator[None]:
        self._quiet += 1
        try:
            yield
        finally:
            self._quiet -= 1

    def _within(self, name: str) -> str:
        scope = self._scopes[-1][0]
        return f"{scope}.{name}" if scope else name

    def _passed(self, name: str, value: Any, fixed: bool = False) -> Any:
        if isinstance(value, Tensor):
            return self._tensor(name, value, fixed)
        for change in self._changes.get(name, ()):
            value = self._structure(name, value, change)
        value = mapped(value, name, lambda tensor, part: self._tensor(part, tensor))
        self.values[name] = mapped(value, name, lambda tensor, _: Kept(tensor))
        self._alive.append(value)
        return value

    def _structure(self, name: str, value: Any, change: Change) -> Any:
        """Apply a change to several tensors at once."""
        new = self._replacement(change, value, name)
        old, after = parts(value, name), parts(new, name)
        if list(old) != list(after) or type(new) is not type(value):
            raise RuntimeError(f"the replacement of {name!r} must have the same parts: {', '.join(old)}")
        self.changed.add(name)
        with self._quietly():
            return mapped(new, name, lambda x, n: x if x is old[n] else _in_place_of(old[n], x, n))

    def _tensor(self, name: str, tensor: Tensor, fixed: bool = False) -> Tensor:
        for change in self._changes.get(name, ()):
            if fixed:
                raise RuntimeError(
                    f"{name!r} is an in-place assignment, which cannot be replaced: replace the assigned value, or a "
                    f"value that is computed from the result"
                )
            new = self._replacement(change, tensor, name)
            with self._quietly():
                tensor = _in_place_of(tensor, new, name)
            self.changed.add(name)
        self._names[id(tensor)] = name
        self.values[name] = Kept(tensor)
        self._alive.append(tensor)
        return tensor

    def _replacement(self, change: Change, value: Any, name: str) -> Any:
        with self._quietly():
            try:
                new = change(value) if callable(change) and not isinstance(change, Tensor) else change
                if new is None:
                    raise RuntimeError(f"the replacement of {name!r} returned None instead of the new value")
                return new
            except Exception as error:
                error.add_note(f"in the replacement of {name!r}")
                self.error = error
                raise

    def _also(self, part: str, tensor: Any) -> None:
        name, alias = self._names.get(id(tensor), ""), self._within(part)
        if name and name != alias and alias not in self._paths and (alias, name) not in self._aliases:
            self._aliases.add((alias, name))
            self.other_names[self._free(alias)] = name

    def _free(self, name: str, op: bool = True) -> str:
        """The name, numbered if it is in use. A module's path is reserved for that module, even if it never runs."""
        if op and name in self._paths:
            self._taken[name] = max(self._taken[name], 1)
        while True:
            self._taken[name] += 1
            count = self._taken[name]
            free = f"{name} {count}" if count > 1 else name
            if free not in self.values and free not in self.other_names:
                return free


def record(call: Call, changes: Mapping[str, list[Change]]) -> tuple[Recorder, Any]:
    """Record a call, starting from its random state. The random state and the model's state are restored afterwards."""
    function, inputs, kwargs, random = call
    owner = function if isinstance(function, Module) else getattr(function, "__self__", None)
    owner = owner if isinstance(owner, Module) else None
    recorder = Recorder(owner, changes)
    with untouched(owner):
        default_generator.set_state(random)
        return recorder, recorder.call(function, inputs, kwargs)
