"""``viz.trace``: a call of a model, all of whose intermediate values have names."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from fnmatch import translate
from typing import Any

from ...backend.random import default_generator
from ...nn.module import Module
from ...tensor import Tensor
from ..graph import GraphView
from ..graph import graph as graph_view
from ..graph.graph_record import record as recorded_graph
from ..numbers import similar
from .trace_record import Call, Change, Kept, leaf, mapped, record


def trace(model: Callable[..., Any], /, *inputs: Any, **named: Any) -> Run:
    """Call a model, and keep every intermediate value under its name.

        run = viz.trace(model, x)
        run["layers.0.attention.weights"]                    a tensor
        run.names("layers.0.*")                              what else there is
        run.edited({"layers.0.mlp": lambda value: value * 0})
        run.patch("layers.0.mlp", other["layers.0.mlp"]).output

    Names are the path of a module for its result, "PATH.input" for its first input and "PATH.input.NAME" for each,
    "PATH.OP" and "PATH.OP 2" for the results of ops in it, and of an attention "PATH.weights", "PATH.scores", "PATH.q",
    "PATH.k", "PATH.v" and "PATH.heads". The result of the model is "output".

    The model runs in the mode that it is in. Its parameters, modes and buffers, gradients and random numbers are
    afterwards as before; values are connected, so that gradients can be taken of and from them.

    Args:
        model: a module, a method of one, or a function; it is called once, and again for each change.
        inputs, named: what it is called with.

    Raises:
        TypeError: what cannot be called, inputs that can be read only once, or a generator. RuntimeError: no op ran
        on tensors.
    """
    if not callable(model):
        raise TypeError(f"trace takes a module or a function, not {type(model).__name__}")
    for value in (*inputs, *named.values()):
        if isinstance(value, Iterator):
            raise TypeError(
                f"trace calls the model again for each change: give it a list, not a {type(value).__name__}"
            )
    return Run((model, inputs, named, default_generator.get_state()), {})


class Run(Mapping[str, Any]):
    """A call of a model: names and values, in the order of their computation; ``output`` is what the model returned."""

    def __init__(self, call: Call, changes: Mapping[str, list[Change]]) -> None:
        self._call, self._changes, model = call, dict(changes), call[0]
        recorder, self.output = record(call, self._changes)
        title = type(model).__name__ if isinstance(model, Module) else getattr(model, "__name__", "call")
        self.title: str = title
        if inspect.isgenerator(self.output) or inspect.isawaitable(self.output) or isinstance(self.output, Iterator):
            raise TypeError(
                f"{title} returned a {type(self.output).__name__}, which runs later: trace a function that reads it, "
                f"such as lambda x: list(model(x))"
            )
        if not recorder.ops:
            raise RuntimeError(f"no op ran on tensors in {title}: there is nothing to trace")
        self._values, self._others = recorder.values, recorder.other_names
        missed = [name for name in changes if name not in recorder.changed]
        if missed:
            raise RuntimeError(f"with the changes, {', '.join(map(repr, missed))} was not computed any more")

    def __getitem__(self, name: str) -> Any:
        """The value of a name: a tensor, or what a module returned. Raises KeyError with names that are close."""
        value = self._values[self._known(name)]
        return value() if inspect.isfunction(value) else mapped(value, name, lambda kept, _: kept.get(name), Kept)

    def __iter__(self) -> Iterator[str]:
        return iter([*self._values, *self._others])

    def __len__(self) -> int:
        return len(self._values) + len(self._others)

    def __contains__(self, name: object) -> bool:
        return name in self._values or name in self._others

    def names(self, pattern: str = "*") -> list[str]:
        """The names that fit a pattern: "*.weights", "layers.0.*"."""
        fits = re.compile(translate(pattern.replace("[", "[[]"))).match
        return [name for name in self if fits(name)]

    def __repr__(self) -> str:
        changed = f", {', '.join(map(repr, self._changes))} changed" if self._changes else ""
        return f"<run of {self.title}: {len(self)} names{changed}>"

    def edited(self, replace: Mapping[str, Change]) -> Run:
        """A run of the same call in which other values go on.

        Args:
            replace: by name (or pattern, "layers.*.mlp") a tensor or a number, or a function from the value to the one
                that goes on. Gradients go into it.

        Raises:
            KeyError: a name that there is not. RuntimeError: a value of another shape.
        """
        places = {name: list(change) for name, change in self._changes.items()}
        for pattern, what in replace.items():
            for name in self._matching(pattern):
                places.setdefault(name, []).append(what)
        return Run(self._call, places)

    def patch(self, name: str, value: Any, at: Any = None) -> Run:
        """A run with the numbers of another run in a place (activation patching: Vig et al. 2020, Meng et al. 2022).

        Args:
            name: where; a name or a pattern.
            value: the other run, whose value of that name is taken; or a tensor, an array or a number.
            at: an index: only there; for head 2 of (B, H, T, D) it is ``(slice(None), 2)``.
        """

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
        """The graph of the call, in which each change is a node "replaced" with the name of its place. The
        model runs once more. ``look`` is what ``viz.graph`` takes.

        Raises:
            RuntimeError: nothing in the result wants a gradient.
        """
        model, inputs, named, random = self._call

        def again(*inputs: Any, **named: Any) -> Any:
            return record((model, inputs, named, random), self._changes)[1]

        # As a method of the model: so the graph knows the names of its modules.
        owner = model if isinstance(model, Module) else getattr(model, "__self__", None)
        signature = inspect.signature(model.forward if isinstance(model, Module) else model)
        vars(again).update(__self__=owner, __signature__=signature)
        again.__name__ = self.title
        return graph_view(recorded_graph(again, inputs, named), **look)

    def _known(self, name: str) -> str:
        """What a value is called in every run."""
        if name in self._others:
            return self._others[name]
        if name not in self._values:
            raise KeyError(f"no value is called {name!r}{similar(name, self)}. run.names('*') has all {len(self)}")
        return name

    def _matching(self, pattern: str) -> list[str]:
        """The values of a name or a pattern, each once."""
        names = self.names(pattern) if pattern not in self and ("*" in pattern or "?" in pattern) else []
        return list(dict.fromkeys(map(self._known, names or [pattern])))
