"""Ops. Each consists of a forward function on arrays and a gradient rule, with its formula, for each input.

    @op("dx = g (1 - y²)", x=lambda g, out: g * (1 - out * out))
    def tanh(x):
        return xp(x).tanh(x)

The names of a rule's parameters define the values that the tape saves for the rule: ``g`` is the gradient for the
result, ``out`` the result (both are tuples if there are several results), ``shape`` the shape of the rule's input, and
``arguments`` all forward arguments in order. For a variadic input, ``which`` is its index, and ``shapes`` all shapes.
Other names are forward arguments. Nothing else is saved, and rules for inputs that need no gradient never run.

Rules consist of operators and ops. An op called on arrays returns an array; called on a Tensor, it returns a Tensor and
is recorded. So the same rule yields numbers in ``backward()`` and a graph in ``backward(create_graph=True)``. Rules do
not sum over broadcast axes or convert dtypes, as the backward pass does that for all rules (``autograd/walk.py``).

An op's kernel, in ``backend/kernels``, computes the same result in fewer passes over memory. The forward function is
its definition, and runs if a backend lacks the kernel.
"""

from __future__ import annotations

from _thread import _local as local  # ``threading`` only renames it, but takes 3% of minigrad's import time
from collections.abc import Callable
from inspect import unwrap
from operator import itemgetter
from typing import Any, overload

from ..backend import ARRAY_TYPES, kernels, of

Rule = Callable[..., Any]
_VARIADIC = 0x04  # CO_VARARGS
_LIBRARY = f"{__name__.partition('.')[0]}."
_VALUES = ("g", "out", "shape", "which", "shapes", "arguments")  # names that a rule may use besides the op's arguments


class Watch(local):
    """The observers of this thread's ops and backward passes (``autograd/observer.py``)."""

    observers: tuple[Any, ...] = ()

    def notify(self, event: str, *about: Any) -> list[Any]:
        return [getattr(observer, event)(*about) for observer in self.observers]


watch = Watch()


class Traced:
    """A value that records the ops applied to it. An op called on such a value delegates to its ``apply``."""

    array: Any

    @staticmethod
    def apply(op: Op, args: tuple[Any, ...]) -> Any:
        raise NotImplementedError


def bare(value: Any) -> Any:
    """The array of a Tensor, or any other value unchanged. Used for values that a rule treats as constants."""
    return value.array if isinstance(value, Traced) else value


class Arguments(list[Any]):
    """All arguments of an op, as the backward pass passes them to the rules of one node."""

    def once(self, function: Callable[..., Any], *args: Any) -> Any:
        """``function(*args, self)``, computed once for all rules that call it."""
        cache = vars(self)
        if function.__name__ not in cache:
            cache[function.__name__] = function(*args, self)
        return cache[function.__name__]


class Plan:
    """The plan for an op's backward pass, given the inputs that need a gradient.

    Attributes:
        inputs, others: the positions of those inputs among the arguments, and of the other arguments.
        needs: for each argument, whether it is one of those inputs.
        keep: the positions of the arguments to save. keeps_out: whether to save the result.
        rules: for each input, its rule and the getter that selects the rule's arguments from ``(g, out, shape, which,
            shapes, kept, *kept)``."""

    __slots__ = ("inputs", "keep", "keeps_out", "needs", "others", "rules")

    def __init__(self, op: Op, mask: int, arity: int) -> None:
        self.needs = tuple(bool(mask >> i & 1) for i in range(arity))
        self.inputs = tuple(i for i in range(arity) if self.needs[i])
        self.others = tuple(sorted({*range(arity)}.difference(self.inputs)))
        rules = [op.rules[op.param(i)] for i in self.inputs] if op.rules else []
        kept_for = op.rules.values() if op.kernel else rules  # a kernel may need any value that a rule names
        names = {name for _, takes in kept_for for name in takes}
        self.keep = tuple(i for i in range(arity) if op.param(i) in names or "arguments" in names)
        self.keeps_out = "out" in names
        place = {name: i for i, name in enumerate((*_VALUES, *map(op.param, self.keep)))}
        self.rules = [(rule, _picker([place[name] for name in takes])) for rule, takes in rules]


def _picker(places: list[int]) -> Callable[[tuple[Any, ...]], tuple[Any, ...]]:
    return itemgetter(*places) if len(places) > 1 else itemgetter(slice(0, 1))


class Op:
    """A primitive op, with ``forward`` on arrays and ``rules`` by input name. Create one with ``@op``.

    Args:
        forward: a function of arrays and attributes, all positional. A final ``*xs`` makes it variadic.
        promote: "same" first casts array arguments to a common dtype, and "float" to a floating-point dtype.
        view: whether the result may share memory with the first argument.
        holomorphic: forward and rules also apply off the real line, where the rules return g times the derivative.

    Attributes:
        rules: for each differentiable input, by name, its rule and the names of the rule's parameters.
        formulas: for each of these inputs, the rule as a formula.
        builtin: whether it belongs to the library (a folder "ops"). Others have no kernel and may have any name.
        kernel: the name of the op's kernel, or "" if it has none.
        least: the smallest number of elements for which calling the kernel is worthwhile."""

    def __init__(
        self, forward: Callable[..., Any], *, promote: str = "", view: bool = False, holomorphic: bool = False
    ) -> None:
        bare = unwrap(forward)
        code = bare.__code__
        self.forward = forward
        self.name: str = forward.__name__
        self.__name__ = self.name
        self.__doc__ = forward.__doc__
        self.__module__ = forward.__module__
        self.__wrapped__ = forward
        self.promote, self.view, self.holomorphic = promote, view, holomorphic
        folder = self.__module__.rpartition(".")[0]
        self.builtin = folder.startswith(_LIBRARY) and folder.endswith(".ops")
        self.kernel = self.name if self.builtin and self.name in kernels.NAMES else ""
        self.least = kernels.LEAST if self.kernel in kernels.FOR_LARGE else 0
        self.arity = code.co_argcount
        self.params = code.co_varnames[: self.arity]
        if reserved := set(self.params) & set(_VALUES):
            raise TypeError(f"{self.name}: {reserved} have a reserved meaning in gradient rules; rename the arguments")
        self.variadic = code.co_varnames[self.arity] if code.co_flags & _VARIADIC else ""
        self.defaults = bare.__defaults__ or ()
        self.rules: dict[str, tuple[Rule, tuple[str, ...]]] = {}
        self.formulas: dict[str, str] = {}
        self.differentiable = 0 if self.builtin else -1  # a bit for each argument that has a rule; -1 without rules
        self.plans: dict[int, Plan] = {}
        self.backward: Any = None  # a user's Function has this instead of rules (compat/function.py)

    def __repr__(self) -> str:
        return f"<op {self.name}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if kwargs or len(args) < self.arity:
            args = self.bind(args, kwargs)
        for a in args:
            if isinstance(a, Traced):
                return a.apply(self, args)
        if not watch.observers:
            return self.compute(args)[0]
        watch.notify("applying", self, args)
        out = self.compute(args)[0]
        watch.notify("applied", self, args, out, None)
        return out

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """All arguments in position, with defaults filled in."""
        bound = list(args)
        first_default = self.arity - len(self.defaults)
        for i in range(len(args), self.arity):
            name = self.params[i]
            if name in kwargs:
                bound.append(kwargs.pop(name))
            elif i >= first_default:
                bound.append(self.defaults[i - first_default])
            else:
                raise TypeError(f"{self.name}() is missing the argument {name!r}")
        if kwargs:
            raise TypeError(f"{self.name}() got an unexpected or repeated argument {next(iter(kwargs))!r}")
        return tuple(bound)

    def compute(self, args: Any, needs: tuple[bool, ...] = ()) -> tuple[Any, Any, Any]:
        """Return the result on arrays, the kernel that computed it, and the values that it saved for the backward pass
        (None and None if the rules compute the gradients). ``needs`` says whether each argument needs a gradient."""
        if self.kernel and (not self.least or args[0].size >= self.least):
            for kernel in self.find_kernels(args):
                result = kernel.forward(needs or (False,) * len(args), *args)
                if result is not NotImplemented:
                    return result[0], kernel if hasattr(kernel, "backward") else None, result[1]
        return self.forward(*args), None, None

    def find_kernels(self, arrays: Any) -> Any:
        """The kernels of the arguments' backend, in the order to try them."""
        first = arrays[0]
        if type(first) not in ARRAY_TYPES:
            first = next((a for a in arrays if hasattr(a, "dtype")), None)
        return of(first).kernels(self.kernel)

    def gradient(self, formulas: str = "", /, **rules: Rule) -> Op:
        """Set the rule of each differentiable input, by name. Its parameters are ``g`` and the other values that it
        needs. ``formulas`` are the rules as formulas, in the same order, separated by "; ", where y is the result."""
        lines = formulas.split("; ") if formulas else [""] * len(rules)
        if len(lines) != len(rules):
            raise TypeError(f"{self.name} has {len(rules)} rules and {len(lines)} formulas: {formulas!r}")
        names = (*_VALUES, *self.params)
        if rules and not self.rules:
            self.differentiable = 0
            self.plans.clear()
        for (name, rule), formula in zip(rules.items(), lines, strict=True):
            if name != self.variadic and name not in self.params:
                raise TypeError(f"{self.name} has no input {name!r}")
            takes = rule.__code__.co_varnames[: rule.__code__.co_argcount]
            if takes[:1] != ("g",) or any(name not in names for name in takes):
                raise TypeError(f"the rule of {self.name} for {name} must take g first, then any of {names}")
            self.rules[name] = (rule, takes)
            self.formulas[name] = formula
            variadic = name == self.variadic
            self.differentiable |= -1 << self.arity if variadic else 1 << self.params.index(name)
        return self

    def formula(self, name: str) -> str:
        """The formula of an input's rule, or "". For example, ``linear.formula("weight") == "dW = gᵀ x"``."""
        return self.formulas.get(name, "")

    def param(self, i: int) -> str:
        return self.params[i] if i < self.arity else self.variadic

    def plan(self, mask: int, arity: int) -> Plan:
        """The cached Plan for the inputs in ``mask`` (one bit each)."""
        key = mask | 1 << arity  # the highest bit encodes the number of arguments
        return self.plans.get(key) or self.plans.setdefault(key, Plan(self, mask, arity))

    def rule_place(self, name: str) -> str:
        """The location of a gradient rule: "file:line"."""
        rule = self.rules[name][0] if name in self.rules else self.forward
        rule = getattr(rule, "__wrapped__", rule)
        return f"{rule.__code__.co_filename}:{rule.__code__.co_firstlineno}"


REGISTRY: dict[str, Op] = {}  # the library's ops in loaded files; ``registry.py`` loads all files


@overload
def op(forward: Callable[..., Any], /) -> Any: ...  # Any for type checkers, as an Op can be called and also given rules
@overload
def op(formulas: str = "", /, **options: Any) -> Callable[[Callable[..., Any]], Any]: ...


def op(first: Any = "", /, *, promote: str = "", view: bool = False, holomorphic: bool = False, **rules: Rule) -> Any:
    """Turn a function of arrays into an op with ``@op`` or ``@op("dx = g y", x=lambda g, out: g * out)``. A library op
    is registered under its name. See ``Op`` and ``Op.gradient`` for the arguments."""

    def register(function: Callable[..., Any]) -> Op:
        result = Op(function, promote=promote, view=view, holomorphic=holomorphic)
        result.gradient("" if callable(first) else first, **rules)
        if result.builtin:
            if result.name in REGISTRY:
                raise ValueError(f"there is already an op {result.name!r}, in {REGISTRY[result.name].__module__}")
            REGISTRY[result.name] = result
        return result

    return register(first) if callable(first) else register


def expression(name: str, about: str, forward: Callable[..., Any], formulas: str = "", /, **rules: Any) -> Any:
    """An op whose forward function is a single expression. ``rules`` are the other arguments of ``op``."""
    forward.__name__ = forward.__qualname__ = name
    forward.__doc__ = about
    return op(formulas, **rules)(forward)
