"""What an op is: a forward on arrays, and beside it one gradient rule for each input.

    @op
    def tanh(x):
        return xp(x).tanh(x)

    tanh.gradient(x=lambda g, out: g * (1 - out * out))

The names of a rule's parameters say what the tape keeps for it: ``g`` is the gradient that arrives, ``out``
the op's result, ``shape`` the shape of the input that the rule is for (of a variadic input ``which`` is its
number, and ``shapes`` are those of all), and any other name is an argument of the forward. Nothing else is
held in memory, and the rule of an input that needs no gradient is never called.

Rules are written in operators and ops. An op called on arrays returns an array; called on a Tensor, it
returns a Tensor and is recorded. So the same rule gives numbers in ``backward()`` and, on Tensors, a graph of
its own in ``backward(create_graph=True)``: higher orders need no second set of rules. Rules do not sum over
broadcast axes or convert dtypes: the walk does that once, for all (``autograd/walk.py``).

A fused op names a kernel of the backend. Its function is then the *plain definition*, in ordinary ops: what
the kernel must compute, what runs where a backend has no such kernel, and what second order differentiates.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from typing import Any, overload

from ..backend import of

Rule = Callable[..., Any]
_VARIADIC = 0x04  # CO_VARARGS
_GIVEN = ("g", "out", "shape", "which", "shapes")


class Traced:
    """What records the ops it goes through. An op that meets one hands itself over to its ``apply``."""

    array: Any

    @staticmethod
    def apply(op: Op, args: tuple[Any, ...]) -> Any:
        raise NotImplementedError


class Plan:
    """What the backward pass of an op needs, given which of its inputs want a gradient.

    Attributes:
        inputs: the positions of those inputs among the arguments.
        keep: the positions of the arguments to keep.
        keeps_out: whether to keep the result.
        rules: for each input its rule, and the getter that picks the rule's arguments.
        gradients: all rules as one function of arrays (see ``_as_one``); None for an op without rules.
    """

    __slots__ = ("gradients", "inputs", "keep", "keeps_out", "needs", "rules")

    def __init__(self, op: Op, mask: int, arity: int) -> None:
        self.inputs = tuple(i for i in range(arity) if mask >> i & 1)
        self.needs = tuple(bool(mask >> i & 1) for i in range(arity))
        rules = [op.rules[op.param(i)] for i in self.inputs] if op.rules else []
        names = {name for _, wanted in rules for name in wanted}
        if op.kernel and not op.rules:
            self.keep = tuple(range(arity))
        else:
            self.keep = tuple(i for i in range(arity) if op.param(i) in names)
        self.keeps_out = "out" in names
        place = {name: i for i, name in enumerate((*_GIVEN, *map(op.param, self.keep)))}
        self.rules = [(rule, _picker([place[name] for name in wanted])) for rule, wanted in rules]
        self.gradients = self._as_one(op, rules) if rules else None

    def _as_one(self, op: Op, rules: list[tuple[Rule, tuple[str, ...]]]) -> Callable[..., tuple[Any, ...]]:
        """All rules in one call, compiled once, as nothing else spends so little on finding arguments.

        For ``mul`` this is ``lambda g, out, edges, shapes, saved: (rule0(g, saved[1].array), rule1(g,
        saved[0].array),)``. It does what a loop over ``rules`` does, where everything kept is an array.
        """

        def word(name: str, n: int) -> str:
            if name in _GIVEN:
                which = str(self.inputs[n] - op.arity)
                return {"shape": f"edges[{n}][2]", "which": which}.get(name, name)
            kept = f"saved[{place[name]}]"
            return f"{kept}.array" if self.keep[place[name]] in self.inputs else f"bare({kept})"

        place = {op.param(i): k for k, i in enumerate(self.keep)}
        calls = [f"rule{n}({', '.join(word(name, n) for name in wanted)})" for n, (_, wanted) in enumerate(rules)]
        known = {f"rule{n}": rule for n, (rule, _) in enumerate(rules)}
        text = f"lambda g, out, edges, shapes, saved: ({', '.join(calls)},)"
        code = compile(text, f"<the rules of {op.name} in one>", "eval")
        made: Callable[..., tuple[Any, ...]] = eval(code, {**known, "bare": _bare})
        return made


def _bare(value: Any) -> Any:
    """The array of a Variable; anything else as it is."""
    return value.array if isinstance(value, Traced) else value


def _picker(places: list[int]) -> Callable[[tuple[Any, ...]], tuple[Any, ...]]:
    """A function that takes the values at ``places`` out of a tuple, as a tuple."""
    return itemgetter(slice(0, 1)) if places == [0] else itemgetter(*places)


class Op:
    """A primitive: ``forward`` on arrays, ``rules`` by input name. Make one with ``@op``.

    Args:
        forward: a function of arrays and attributes, all of them positional. A last ``*xs`` makes it
            variadic.
        promote: "same" brings array arguments to one dtype first, "float" to a floating one.
        view: the result may share memory with the first argument.
        kernel: the backend's kernel that computes the same; ``forward`` is then its plain definition.
    """

    def __init__(self, forward: Callable[..., Any], *, promote: str = "", view: bool = False, kernel: str = "") -> None:
        code = forward.__code__
        self.forward = forward
        self.plain = forward
        self.name: str = forward.__name__
        self.__name__ = self.name
        self.__doc__ = forward.__doc__
        self.__module__ = forward.__module__
        self.__wrapped__ = forward
        self.promote, self.view, self.kernel = promote, view, kernel
        self.direct = not (view or kernel)  # there is nothing to do beside calling ``forward``
        self.arity = code.co_argcount
        self.params = code.co_varnames[: self.arity]
        if taken := set(self.params) & set(_GIVEN):
            raise TypeError(f"{self.name}: {taken} mean something else in a gradient rule; rename the arguments")
        self.variadic = code.co_varnames[self.arity] if code.co_flags & _VARIADIC else ""
        self.defaults = forward.__defaults__ or ()
        self.rules: dict[str, tuple[Rule, tuple[str, ...]]] = {}
        self.differentiable = 0  # a bit for each argument that has a rule
        self.plans: dict[int, Plan] = {}
        self.complex: Op | None = None  # what computes it of complex numbers (ops/complex.py)
        self.backward: Any = None  # what a user's Function runs in place of rules (autograd/function.py)
        if kernel:
            self.forward = self._run_kernel

    def __repr__(self) -> str:
        return f"<op {self.name}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if kwargs or len(args) < self.arity:
            args = self.bind(args, kwargs)
        for a in args:
            if isinstance(a, Traced):
                return a.apply(self, args)
        return self.forward(*args)

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """All arguments in their positions, defaults filled in."""
        bound = list(args)
        first_default = self.arity - len(self.defaults)
        for i in range(len(args), self.arity):
            name = self.params[i]
            if name in kwargs:
                bound.append(kwargs.pop(name))
            elif i >= first_default:
                bound.append(self.defaults[i - first_default])
            else:
                raise TypeError(f"{self.name}() is missing its argument {name!r}")
        if kwargs:
            raise TypeError(f"{self.name}() got an unexpected or repeated argument {next(iter(kwargs))!r}")
        return tuple(bound)

    def gradient(self, **rules: Rule | None) -> Op:
        """Give the rule of each differentiable input, by its name: ``tanh.gradient(x=lambda g, out: ...)``.

        A fused op whose kernel has a backward takes no rules: ``gradient(x=None)`` merely names the inputs.
        """
        for name, rule in rules.items():
            if name != self.variadic and name not in self.params:
                raise TypeError(f"{self.name} has no input {name!r}")
            if rule is not None:
                code = rule.__code__
                wanted = code.co_varnames[: code.co_argcount]
                known = (*_GIVEN, *self.params)
                if not wanted or wanted[0] != "g" or any(w not in known for w in wanted):
                    raise TypeError(f"the rule of {self.name} for {name} takes g first, then any of {known}")
                self.rules[name] = (rule, wanted)
            if name == self.variadic:
                self.differentiable |= -1 << self.arity
            else:
                self.differentiable |= 1 << self.params.index(name)
        return self

    def param(self, i: int) -> str:
        """The name of argument ``i``."""
        return self.params[i] if i < self.arity else self.variadic

    def plan(self, mask: int, arity: int) -> Plan:
        """What to keep and run for the inputs in ``mask`` (a bit each), made once."""
        key = mask | 1 << arity  # the highest bit tells the number of arguments
        plan = self.plans.get(key)
        if plan is None:
            plan = self.plans[key] = Plan(self, mask, arity)
        return plan

    def find_kernel(self, arrays: tuple[Any, ...] | list[Any]) -> Any:
        """The kernel of the arguments' backend, or None."""
        first = arrays[0]
        if not hasattr(first, "dtype"):
            first = next(a for a in arrays if hasattr(a, "dtype"))
        return of(first).kernel(self.kernel)

    def _run_kernel(self, *args: Any) -> Any:
        kernel = self.find_kernel(args)
        return self.plain(*args) if kernel is None else kernel.forward((False,) * len(args), *args)[0]

    def rule_place(self, name: str) -> str:
        """Where a gradient rule stands: "file:line"."""
        rule = self.rules[name][0] if name in self.rules else self.plain
        return f"{rule.__code__.co_filename}:{rule.__code__.co_firstlineno}"


REGISTRY: dict[str, Op] = {}


@overload
def op(forward: Callable[..., Any], /) -> Any:
    """``@op``: an Op. (To type checkers Any, as it is both called and given rules.)"""


@overload
def op(*, promote: str = "", view: bool = False, kernel: str = "") -> Callable[[Callable[..., Any]], Any]:
    """``@op(promote="same")``: what makes an Op."""


def op(forward: Callable[..., Any] | None = None, *, promote: str = "", view: bool = False, kernel: str = "") -> Any:
    """Turn a function of arrays into an op, and register it by its name. See ``Op`` for the arguments."""

    def make(function: Callable[..., Any]) -> Op:
        made = Op(function, promote=promote, view=view, kernel=kernel)
        if made.name in REGISTRY:
            raise ValueError(f"there is an op {made.name!r} already, in {REGISTRY[made.name].__module__}")
        REGISTRY[made.name] = made
        return made

    return make if forward is None else make(forward)
