"""Optimizer: parameter groups with options, and a state for each parameter."""

from __future__ import annotations

import copy
import functools
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, ClassVar, TypeVar, overload

import numpy as np

from ..autograd import enable_grad
from ..autograd.mode import at_end
from ..autograd.observer import span
from ..autograd.origin import note_change
from ..autograd.tape import wrap
from ..autograd.tracebacks import border_methods, shorten, warn
from ..backend import dtype as dt, memory, of, xp
from ..backend.dtype import Array
from ..nn.hooks import register
from ..nn.module import clear_grad
from ..ops.half_precision import is_half
from ..tensor import RemovableHandle, Tensor

Params = Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]]
Rate = float | Tensor
Group = dict[str, Any]
State = dict[str, Any]
Closure = Callable[[], Any]
Step = TypeVar("Step", bound=Callable[..., Any])
Loss = TypeVar("Loss")
Values = SimpleNamespace
ZEROS = ""  # in ``Optimizer._state``: zeros, whatever the options


class _Required:
    """The default of an option that every group must set."""

    def __repr__(self) -> str:
        return "<required parameter>"


required = _Required()


def plain_options(group: Group) -> Values:
    """A group's options as attributes, with Python numbers, since NumPy scalars could change an array's dtype."""
    return Values(**{k: _plain(v) for k, v in group.items() if k not in ("params", "param_names")})


def _plain(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return tuple(_plain(v) for v in value)
    size = value.numel() if isinstance(value, Tensor) else getattr(value, "size", 0)
    return value.item() if size == 1 else value


def parts(x: Array) -> Array:
    """A view of complex numbers (...) as pairs of reals (..., 2). Real arrays are returned unchanged."""
    return x[..., None].view(x.real.dtype) if x.dtype.kind == "c" else x


def _with_hooks(step: Step) -> Step:
    """Run the hooks around a class's ``step``, but not around the ``step`` that it calls via ``super()``."""

    @functools.wraps(step)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        self: Optimizer = args[0]
        if getattr(type(self), "step", None) is not wrapped:
            return step(*args, **kwargs)
        self._opt_called = True  # schedules check this
        try:
            for hook in self._hooks["step_pre"].values():
                changed = hook(self, args, kwargs)
                if changed is not None and not (isinstance(changed, tuple) and len(changed) == 2):
                    raise RuntimeError(f"a step hook must return None or (new_args, new_kwargs), but got {changed}.")
                args, kwargs = changed or (args, kwargs)
            with span(f"{type(self).__name__}.step", "step", self):
                result = step(*args, **kwargs)
            for hook in self._hooks["step_post"].values():
                hook(self, args, kwargs)
            return result
        except Exception as error:
            shorten(error)
            raise

    return wrapped  # type: ignore[return-value]


class Optimizer:
    """The base class of optimisers.

    A subclass lists the state of each parameter in ``_state``, and defines the update rule, ``_update(param, grad,
    options, state)``, which changes arrays in place. Its ``__init__`` passes ``checked(locals())`` to the base class.
    Alternatively, it overrides ``step(closure)``.

    Options shared by all optimisers and omitted from their docstrings:
        lr: the learning rate, a number or a one-element tensor.
        betas: the decay rates, in [0, 1), of the running means of the gradient and its square.
        eps: a small number that avoids division by 0.
        weight_decay: an L2 penalty, which adds weight_decay · θ to the gradient. With ``decoupled_weight_decay``, θ ←
            (1 - lr · weight_decay) θ before the step instead (Loshchilov and Hutter 2019).
        maximize: ascend instead of descend.
        foreach, capturable, fused: accepted for compatibility, but ignored. differentiable: must be False.

    Args:
        params: parameters, (name, parameter) pairs, or group dicts {"params": [...], "lr": ...}.
        defaults: the default options of groups.

    Attributes:
        param_groups: a dict for each group; ``group["lr"]`` can be changed at any time.
        state: a dict for each parameter that has been updated. defaults: the default options.

    Raises TypeError if parameters are not tensors; ValueError if an option is missing or outside its range, or if
    parameters are absent, in two groups, not leaves, or only partly named; and NotImplementedError for
    ``differentiable=True``, as steps are not recorded."""

    # The initial state. A number becomes a 0-D tensor. ZEROS becomes zeros in the parameter's shape, as does the name
    # of an option that is set.
    _state: ClassVar[Mapping[str, float | str]] = {}
    _kernel: ClassVar[str] = ""  # updates many parameters at once, if the backend has it
    _opt_called = False

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        border_methods(cls, "__init__")
        if "step" in cls.__dict__:
            cls.step = _with_hooks(cls.__dict__["step"])  # type: ignore[method-assign]

    def __init__(self, params: Params, defaults: dict[str, Any]) -> None:
        if isinstance(params, Tensor) or hasattr(params, "parameters"):
            advice = "put it in a list" if isinstance(params, Tensor) else "pass its .parameters()"
            kind = f"a single {type(params).__name__}: {advice}"
            raise TypeError(f"params should be an iterable of Tensors or dicts, but got {kind}")
        if defaults.get("fused") and defaults.get("differentiable"):
            raise RuntimeError("`fused` does not support `differentiable`")
        if defaults.get("fused") and defaults.get("foreach"):
            raise RuntimeError("`fused` and `foreach` cannot be `True` together.")
        if defaults.get("differentiable"):
            problem = f"{type(self).__name__}: differentiable=True is not supported, as steps are not recorded"
            remedy = "write the step in tensor operations, with autograd.grad(..., create_graph=True)"
            raise NotImplementedError(f"{problem}: {remedy}")
        self.defaults = defaults
        self.state: defaultdict[Tensor, State] = defaultdict(dict)
        self.param_groups: list[Group] = []
        entries: list[Any] = list(params)
        if not entries:
            raise ValueError(
                "optimizer got an empty parameter list: model.parameters() is a generator, which can be used only "
                "once, and it finds layers only in attributes and in an nn.ModuleList, not in a plain list"
            )
        for group in entries if isinstance(entries[0], dict) else [{"params": entries}]:
            self.add_param_group(group)
        memory.keep_freed()  # a training run begins

    @functools.cached_property
    def _hooks(self) -> defaultdict[str, dict[int, Callable[..., Any]]]:
        """Hooks by kind. An optimiser that wraps another may never have called ``__init__``."""
        return vars(self).setdefault("_hooks", defaultdict(dict))  # concurrent threads get one dict

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        for group in self.param_groups:
            for name, value in self.defaults.items():
                group.setdefault(name, value)
        numbers = [name for name, start in self._state.items() if not isinstance(start, str)]
        for values in self.state.values():
            for name in numbers:  # older files contain plain numbers
                if name in values and not isinstance(values[name], Tensor):
                    values[name] = scalar(values[name])

    def add_param_group(self, param_group: Group) -> None:
        """Add a parameter group with its options: {"params": [...], "lr": 0.01}. The dict itself is stored."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        params: Any = param_group["params"]
        if isinstance(params, set):
            raise TypeError("params are a set, whose order changes between runs. Please use a list instead.")
        params = [params] if isinstance(params, Tensor) else list(params)
        pairs = [p for p in params if isinstance(p, tuple)]
        if pairs and len(pairs) < len(params):
            raise ValueError("all optimizer params should be with/without names. Some param names are missing")
        if pairs:
            param_group["param_names"], params = map(list, zip(*pairs, strict=True))
        param_group["params"] = params
        for p in params:
            if not isinstance(p, Tensor):
                raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {type(p)}")
            if not p.is_leaf:
                raise ValueError("can't optimize a non-leaf Tensor")
        for name, value in self.defaults.items():
            if value is required and name not in param_group:
                raise ValueError(f"parameter group didn't specify a value of required optimization parameter {name}")
            param_group.setdefault(name, value)
        if len({id(p) for p in params}) < len(params):
            warn("optimizer contains a parameter group with duplicate parameters")
        if self.param_groups and ("param_names" in param_group) != ("param_names" in self.param_groups[0]):
            less = "without" if "param_names" in self.param_groups[0] else "with"
            raise ValueError(f"cannot add param group {less} names: all groups should be with/without names")
        others = {id(p) for group in self.param_groups for p in group["params"]}
        if any(id(p) in others for p in params):
            raise ValueError("some parameters appear in more than one parameter group")
        self.param_groups.append(param_group)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Delete all gradients, or fill them with zeros.

        >>> w = mg.ones(1, requires_grad=True)
        >>> w.sum().backward()
        >>> mg.optim.SGD([w], lr=0.1).zero_grad()
        >>> w.grad is None
        True
        """
        with span(f"{type(self).__name__}.zero_grad", "step", self):
            for group in self.param_groups:
                for p in group["params"]:
                    clear_grad(p, set_to_none)

    @overload
    def step(self, closure: None = None) -> None: ...
    @overload
    def step(self, closure: Callable[[], Loss]) -> Loss: ...

    @_with_hooks
    def step(self, closure: Closure | None = None) -> Any:
        """Update every parameter that has a gradient.

        If ``closure`` is given, first call it to recompute the loss and gradients, and return its result at the end.

        >>> w = mg.ones(1, requires_grad=True)
        >>> sgd = mg.optim.SGD([w], lr=0.1)
        >>> (w * 2).sum().backward()
        >>> sgd.step()
        >>> w.detach()
        tensor([0.8000])
        """
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        name = f"{type(self).__name__}.step()"
        for group in self.param_groups:
            ready = [p for p in group["params"] if p._grad is not None]
            for p in ready:
                note_change(p._changes, "step", name)
            self._update_all(ready, group)
        return loss

    @contextmanager
    def _in_float32(self, params: list[Tensor]) -> Iterator[None]:
        """Convert 16-bit parameters, gradients and states to float32, and round them back in place at the end."""
        narrow = [p for p in params if p.array.itemsize == 2 and is_half(p.array.dtype)]
        if not narrow:
            yield
            return
        tensors = [t for p in narrow for t in (p, p._grad, *self.state.get(p, {}).values()) if isinstance(t, Tensor)]
        before = [(t, t.array) for t in tensors if is_half(t.array.dtype)]

        def put_back() -> None:
            with np.errstate(over="ignore"):
                for tensor, array in before:
                    if tensor.array is not array:
                        array[...] = tensor.array
                        tensor.array = array
                for p in narrow:  # states that the first step created, except numbers such as the step count
                    for name, value in self.state.get(p, {}).items():
                        if isinstance(value, Tensor) and name != "step" and isinstance(self._state.get(name, ""), str):
                            value.array = value.array.astype(p.array.dtype, copy=False)

        with at_end(put_back) as end, end:
            for tensor, array in before:
                tensor.array = array.astype(np.float32)
            yield

    def _update_all(self, params: list[Tensor], group: Group) -> None:
        """Update a group's parameters, all at once if there is a kernel."""
        options = plain_options(group)
        names = self._names(options)
        has_kernel = self._kernel and together(self._kernel, params) is not None
        rest = self._update_together(params, options) if has_kernel else params
        with self._in_float32(rest):
            for p in rest:
                grad, state = self._gradient(p, options), self._rule_state(p, options, names)
                self._update(self._numbers(p.array), self._numbers(grad), options, state)

    def _update_together(self, params: list[Tensor], options: Values) -> list[Tensor]:
        """Update the parameters that the kernel supports, and return the others."""
        return params

    _numbers = staticmethod(parts)  # the array for the rule, with separate real and imaginary parts

    def _update(self, param: Array, grad: Array, options: Values, state: Values) -> None:
        """The rule: update the parameter and its state arrays in place."""
        raise NotImplementedError(f"{type(self).__name__} has no update rule: define step(closure) or _update(...)")

    def _gradient(self, p: Tensor, options: Values) -> Array:
        """The gradient for the rule, with ``maximize`` and ``weight_decay`` applied."""
        grad: Array = -p._grad.array if getattr(options, "maximize", False) else p._grad.array
        decay = getattr(options, "weight_decay", 0)
        if decay and not getattr(options, "decoupled_weight_decay", False):
            return grad + decay * p.array
        if decay:
            array = p.array
            array *= 1 - options.lr * decay
        return grad

    def _rule_state(self, p: Tensor, options: Values, names: list[str]) -> Values:
        """The parameter state for the rule: arrays, and ``step``, counted from 1."""
        state = self._begun(p, options)
        values = Values(**{name: self._numbers(state[name].array) for name in names})
        if "step" in state:
            values.step = advance(state)
        return values

    def _begun(self, p: Tensor, options: Values) -> State:
        if not self.state[p]:
            self.state[p].update(self._start(p, options))
        return self.state[p]

    def _start(self, p: Tensor, options: Values) -> State:
        starts = ((name, self._state[name]) for name in self._names(options))
        return {name: zeros_like(p) if isinstance(start, str) else scalar(start) for name, start in starts}

    def _names(self, options: Values) -> list[str]:
        """The names in a parameter's state with these options."""
        optional = [start for start in self._state.values() if isinstance(start, str) and start != ZEROS]
        without = [start for start in optional if not getattr(options, start)]
        return [name for name, start in self._state.items() if start not in without]

    def state_dict(self) -> dict[str, Any]:
        """The state in PyTorch's layout: {"state": {index: {...}}, "param_groups": [{..., "params": [indices]}]}."""
        for hook in self._hooks["state_pre"].values():
            hook(self)
        numbers, groups = self._numbered()
        state: dict[Any, Any] = {numbers.get(id(p), p): dict(s) for p, s in self.state.items()}
        return self._passed("state_post", {"state": state, "param_groups": groups})

    def _numbered(self) -> tuple[dict[int, int], list[Group]]:
        """The parameters' indices by id, and the groups with indices instead of parameters."""
        numbers: dict[int, int] = {}
        for group in self.param_groups:
            for p in group["params"]:
                numbers.setdefault(id(p), len(numbers))
        params = [[numbers[id(p)] for p in group["params"]] for group in self.param_groups]
        options = [{k: v for k, v in group.items() if k != "params"} for group in self.param_groups]
        return numbers, [{**own, "params": each} for own, each in zip(options, params, strict=True)]

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Load a state dict, even one from PyTorch. Tensors are copied to the parameters' dtypes and devices. Raises
        ValueError, without changing anything, if the number of groups or of parameters in a group differs."""
        loaded = self._passed("load_pre", dict(state_dict))
        groups = copy.deepcopy(list(loaded["param_groups"]))
        present, saved = ([len(group["params"]) for group in each] for each in (self.param_groups, groups))
        if len(present) != len(saved):
            raise ValueError(f"a different number of parameter groups was saved: {len(saved)}, not {len(present)}")
        if present != saved:
            raise ValueError(f"the state dict doesn't match the size of optimizer's group: {saved}, not {present}")
        by_number: dict[Any, Tensor] = {}
        for mine, group in zip(self.param_groups, groups, strict=True):
            by_number.update(zip(group["params"], mine["params"], strict=True))
            group["params"] = mine["params"]
            if "param_names" in mine:
                group.setdefault("param_names", mine["param_names"])
        state: defaultdict[Any, Any] = defaultdict(dict)
        for number, values in loaded["state"].items():
            if number in by_number:
                p = by_number[number]
                state[p] = {k: _fitted(k, v, p) for k, v in values.items()}
            else:
                state[number] = values
        self.__setstate__({"state": state, "param_groups": groups})
        for hook in self._hooks["load_post"].values():
            hook(self)

    def _passed(self, hooks: str, state_dict: dict[str, Any]) -> dict[str, Any]:
        """The state dict after all hooks have run. Each hook may replace it."""
        for hook in self._hooks[hooks].values():
            changed = hook(self, state_dict)
            state_dict = state_dict if changed is None else changed
        return state_dict

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(optimizer, args, kwargs)`` before each step; it may return new (args, kwargs)."""
        return register(self._hooks["step_pre"], hook)

    def register_step_post_hook(self, hook: Callable[..., None]) -> RemovableHandle:
        """Call ``hook(optimizer, args, kwargs)`` after each step."""
        return register(self._hooks["step_post"], hook)

    def register_state_dict_pre_hook(self, hook: Callable[..., None], prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer)`` at the beginning of ``state_dict``."""
        return register(self._hooks["state_pre"], hook, prepend)

    def register_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer, state_dict)`` on each new state dict; it may return a replacement."""
        return register(self._hooks["state_post"], hook, prepend)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer, state_dict)`` before a state dict is loaded; it may return a new one."""
        return register(self._hooks["load_pre"], hook, prepend)

    def register_load_state_dict_post_hook(self, hook: Callable[..., None], prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer)`` after a state dict is loaded."""
        return register(self._hooks["load_post"], hook, prepend)

    def __repr__(self) -> str:
        text = f"{type(self).__name__} ("
        for i, group in enumerate(self.param_groups):
            options = [f"    {k}: {group[k]}\n" for k in sorted(group) if k != "params"]
            text += f"\nParameter Group {i}\n{''.join(options)}"
        return f"{text})"


border_methods(Optimizer, "__init__", "add_param_group", "load_state_dict", "zero_grad")


def zeros_like(p: Tensor) -> Tensor:
    """An initial state of zeros."""
    return wrap(xp(p.array).zeros_like(p.array))


def together(name: str, params: Sequence[Tensor]) -> Any:
    """The kernel that updates many parameters at once; None if the backend does not have it."""
    kernels: Any = of(params[0].array).kernels(name) if params else ()
    return kernels[0] if kernels else None


def scalar(value: float) -> Tensor:
    """A number in the state, as a 0-D tensor like in PyTorch. It is float32 unless the default is float64."""
    kind = np.float64 if dt.get_default_dtype() is dt.float64 else np.float32
    return wrap(np.array(value, kind))


def advance(state: State) -> int:
    """Count a step and return its number, starting from 1."""
    steps = state["step"]
    if not isinstance(steps, Tensor):
        state["step"] = steps + 1
        return state["step"]
    number = int(steps.array) + 1
    steps.array.fill(number)
    return number


def _fitted(name: str, value: Any, p: Tensor) -> Any:
    """A copy of a loaded state value, in the parameter's dtype (except for a step count)."""
    if isinstance(value, Tensor):
        if name == "step":
            return value.detach().clone()
        kind = p.dtype if p.is_floating_point() else None
        return value.detach().to(device=p.device, dtype=kind, copy=True)
    if isinstance(value, dict):
        return {k: _fitted(k, v, p) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_fitted(name, v, p) for v in value)
    return copy.deepcopy(value)


_NOT_NEGATIVE = {"lr": "learning rate", "eps": "epsilon value"} | {
    name: f"{name} value"
    for name in ("weight_decay", "momentum", "lr_decay", "initial_accumulator_value", "momentum_decay")
}


def arguments(local: dict[str, Any], first: str = "") -> dict[str, Any]:
    """The options among the ``locals()`` at the start of an ``__init__``, in the order of PyTorch's state dicts: first
    the names in ``first``, then the others in the signature's order."""
    names = [*first.split(), *local]
    return {name: local[name] for name in names if name not in ("self", "params", "__class__")}


def checked(local: dict[str, Any], first: str = "") -> dict[str, Any]:
    """Return ``arguments`` after checking them. Raises ValueError if a shared option is outside its range."""
    options = arguments(local, first)
    lr = options["lr"]
    if isinstance(lr, Tensor) and lr.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")
    for name, label in _NOT_NEGATIVE.items():
        if name in options:
            check(options[name] >= 0, label, options[name])
    betas = options.get("betas", ())
    if len({isinstance(beta, Tensor) for beta in betas}) > 1:
        raise ValueError("betas must be either both floats or both Tensors")
    for i, beta in enumerate(betas):
        if isinstance(beta, Tensor) and options.get("foreach") and not options.get("capturable"):
            raise ValueError(f"betas[{i}] as a Tensor is not supported for capturable=False and foreach=True")
        check(0 <= beta < 1, f"beta parameter at index {i}", beta)
    return options


def check(fits: Any, label: str, value: Any) -> None:
    """Reject an invalid option with PyTorch's error message."""
    if not fits:
        raise ValueError(f"Invalid {label}: {value}")
