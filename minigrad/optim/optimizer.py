"""Optimizer: parameters in groups with options of their own, and a state for each parameter."""

from __future__ import annotations

import copy
import functools
import warnings
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, TypeVar

import numpy as np

from ..autograd import enable_grad
from ..autograd.observer import span
from ..autograd.tape import wrap
from ..backend import dtype as dt
from ..backend import xp
from ..backend.dtype import Array
from ..nn.module import clear_grad
from ..tensor import RemovableHandle, Tensor

Params = Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]]
Rate = float | Tensor
Group = dict[str, Any]
State = dict[str, Any]
Closure = Callable[[], Any]
Step = TypeVar("Step", bound=Callable[..., Any])
_HOOKS = ("_step_pre", "_step_post", "_state_pre", "_state_post", "_load_pre", "_load_post")


class _Required:
    """The value of a default that every group has to name itself."""

    def __repr__(self) -> str:
        return "<required parameter>"


required = _Required()


def _with_hooks(step: Step) -> Step:
    """A ``step`` around which the hooks run: those of the class itself, not what it calls by ``super()``."""

    @functools.wraps(step)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        self: Optimizer = args[0]
        if getattr(type(self), "step", None) is not wrapped:
            return step(*args, **kwargs)
        self._opt_called = True  # a schedule asks for it
        for hook in self._step_pre.values():
            changed = hook(self, args, kwargs)
            if changed is not None:
                if not (isinstance(changed, tuple) and len(changed) == 2):
                    raise RuntimeError(
                        f"{step} must return None or a tuple of (new_args, new_kwargs), but got {changed}."
                    )
                args, kwargs = changed
        with span(f"{type(self).__name__}.step", "step", self):
            result = step(*args, **kwargs)
        for hook in self._step_post.values():
            hook(self, args, kwargs)
        return result

    return wrapped  # type: ignore[return-value]


class Optimizer:
    """What all optimisers share. A subclass writes ``_update(parameter, group)``, or ``step(closure)`` whole.

    Args:
        params: parameters, (name, parameter) pairs, or dicts {"params": [...], "lr": ...} of groups.
        defaults: the options that a group does not name.

    Attributes:
        param_groups: a dict for each group; change ``group["lr"]`` at any time.
        state: what is kept for each parameter.
        defaults: as given.

    Raises:
        TypeError: something else than tensors.
        ValueError: no parameters, some in two groups or with a history; names for some of them only; a
            required option is missing; a ``lr`` that is a tensor of more than one element.
        NotImplementedError: ``differentiable=True``: steps are not recorded.
    """

    _counts: ClassVar[tuple[str, ...]] = ()  # numbers in the state that are tensors without axes
    _opt_called = False

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "step" in cls.__dict__:
            cls.step = _with_hooks(cls.__dict__["step"])  # type: ignore[method-assign]

    def __init__(self, params: Params, defaults: dict[str, Any]) -> None:
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
                f"{params.type()}"
            )
        _check_flags(type(self).__name__, defaults)
        self._make_hooks()
        self.defaults = defaults
        self.state: defaultdict[Tensor, State] = defaultdict(dict)
        self.param_groups: list[Group] = []
        listed: list[Any] = list(params)
        if not listed:
            raise ValueError("optimizer got an empty parameter list")
        for group in listed if isinstance(listed[0], dict) else [{"params": listed}]:
            self.add_param_group(group)

    def _make_hooks(self) -> None:
        for name in _HOOKS:
            self.__dict__.setdefault(name, OrderedDict())

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._make_hooks()
        for group in self.param_groups:
            for name, value in self.defaults.items():
                group.setdefault(name, value)
        for values in self.state.values():
            for name in self._counts:  # an older file has plain numbers
                if name in values and not isinstance(values[name], Tensor):
                    values[name] = scalar(values[name])

    # Parameters -----------------------------------------------------------------------------------------

    def add_param_group(self, param_group: Group) -> None:
        """Add parameters with options of their own: {"params": [...], "lr": 0.01}. The dict is kept."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        params = _take_names(param_group)
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
            warnings.warn("optimizer contains a parameter group with duplicate parameters", stacklevel=3)
        if self.param_groups and ("param_names" in param_group) != ("param_names" in self.param_groups[0]):
            less = "without" if "param_names" in self.param_groups[0] else "with"
            raise ValueError(
                "all optimizer param groups should be with/without names. cannot add param "
                f"group {less} names to the optimizer"
            )
        held = {id(p) for group in self.param_groups for p in group["params"]}
        if any(id(p) in held for p in params):
            raise ValueError("some parameters appear in more than one parameter group")
        self.param_groups.append(param_group)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop all gradients, or fill them with zeros."""
        with span(f"{type(self).__name__}.zero_grad", "step", self):
            for group in self.param_groups:
                for p in group["params"]:
                    clear_grad(p, set_to_none)

    # A step ---------------------------------------------------------------------------------------------

    def step(self, closure: Closure | None = None) -> Any:
        """Change every parameter that has a gradient.

        Args:
            closure: computes the loss and its gradients anew; it is called first.

        Returns:
            What the closure returned, or None.
        """
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        for group in self.param_groups:
            ready = [p for p in group["params"] if p._grad is not None]
            for p in ready:
                self._changed(p)
            self._update_all(ready, group)
        return loss

    step = _with_hooks(step)

    def _update_all(self, params: list[Tensor], group: Group) -> None:
        """Change some of a group's parameters. A rule with work for several cores may take them together."""
        for p in params:
            self._update(p, group)

    def _update(self, p: Tensor, group: Group) -> None:
        """Change one parameter and its state in place. Its gradient is there."""
        raise NotImplementedError(
            f"{type(self).__name__} has no rule: write step(closure), or _update(parameter, group)"
        )

    def _changed(self, p: Tensor) -> None:
        """Let graphs that were recorded before notice the change."""
        p._version[0] += 1
        p._version[1] = ("step", f"{type(self).__name__}.step()")

    # State ----------------------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """PyTorch's layout: {"state": {number: {...}}, "param_groups": [{..., "params": [numbers]}]}."""
        for hook in self._state_pre.values():
            hook(self)
        numbers: dict[int, int] = {}
        for group in self.param_groups:
            for p in group["params"]:
                numbers.setdefault(id(p), len(numbers))
        groups = []
        for group in self.param_groups:
            options = {k: v for k, v in group.items() if k != "params"}
            groups.append({**options, "params": [numbers[id(p)] for p in group["params"]]})
        state: dict[Any, Any] = {numbers.get(id(p), p): dict(s) for p, s in self.state.items()}
        packed: dict[str, Any] = {"state": state, "param_groups": groups}
        for hook in self._state_post.values():
            changed = hook(self, packed)
            packed = packed if changed is None else changed
        return packed

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Take over options and state, also PyTorch's. Tensors are copied to the parameters' dtypes and
        devices.

        Raises:
            ValueError: another number of groups, or of parameters in one; nothing has been changed then.
        """
        given = dict(state_dict)
        for hook in self._load_pre.values():
            changed = hook(self, given)
            given = given if changed is None else changed
        groups = copy.deepcopy(list(given["param_groups"]))
        _check_sizes([len(group["params"]) for group in self.param_groups], [len(group["params"]) for group in groups])
        by_number = {
            n: p
            for own, group in zip(self.param_groups, groups, strict=True)
            for n, p in zip(group["params"], own["params"], strict=True)
        }
        state: defaultdict[Any, Any] = defaultdict(dict)
        for number, values in given["state"].items():
            if number in by_number:
                p = by_number[number]
                state[p] = {k: _fitted(k, v, p) for k, v in values.items()}
            else:
                state[number] = values
        for own, group in zip(self.param_groups, groups, strict=True):
            group["params"] = own["params"]
            if "param_names" in own:
                group.setdefault("param_names", own["param_names"])
        self.__setstate__({"state": state, "param_groups": groups})
        for hook in self._load_post.values():
            hook(self)

    # Hooks ----------------------------------------------------------------------------------------------

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(optimizer, args, kwargs)`` before each step; it may return other (args, kwargs)."""
        return RemovableHandle(self._step_pre, hook)

    def register_step_post_hook(self, hook: Callable[..., None]) -> RemovableHandle:
        """Call ``hook(optimizer, args, kwargs)`` after each step."""
        return RemovableHandle(self._step_post, hook)

    def register_state_dict_pre_hook(self, hook: Callable[..., None], prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer)`` before ``state_dict`` is made."""
        return _registered(self._state_pre, hook, prepend)

    def register_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer, state_dict)`` on each new one; it may return another."""
        return _registered(self._state_post, hook, prepend)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer, state_dict)`` before one is loaded; it may return another."""
        return _registered(self._load_pre, hook, prepend)

    def register_load_state_dict_post_hook(self, hook: Callable[..., None], prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer)`` after one is loaded."""
        return _registered(self._load_post, hook, prepend)

    _step_pre: OrderedDict[int, Callable[..., Any]]
    _step_post: OrderedDict[int, Callable[..., Any]]
    _state_pre: OrderedDict[int, Callable[..., Any]]
    _state_post: OrderedDict[int, Callable[..., Any]]
    _load_pre: OrderedDict[int, Callable[..., Any]]
    _load_post: OrderedDict[int, Callable[..., Any]]

    def __repr__(self) -> str:
        text = f"{type(self).__name__} ("
        for i, group in enumerate(self.param_groups):
            options = [f"    {k}: {group[k]}\n" for k in sorted(group) if k != "params"]
            text += f"\nParameter Group {i}\n{''.join(options)}"
        return f"{text})"


# What the optimisers share --------------------------------------------------------------------------------


def gradient(p: Tensor, group: Group, decay: bool = True) -> Array:
    """The array of p's gradient, turned round for ``maximize``, with the part of the L2 penalty."""
    g = -p._grad.array if group["maximize"] else p._grad.array
    if decay and group["weight_decay"]:
        g = g + float(group["weight_decay"]) * p.array
    return g


def zeros_like(p: Tensor) -> Tensor:
    """A state that starts with zeros."""
    return wrap(xp(p.array).zeros_like(p.array))


def scalar(value: float) -> Tensor:
    """A number of the state, as PyTorch keeps it: a tensor without axes, float32 unless that is float64."""
    kind = np.float64 if dt.get_default_dtype() is dt.float64 else np.float32
    return wrap(np.array(value, kind))


def advance(state: State) -> int:
    """Count a step, and return its number, from 1."""
    steps = state["step"].array
    number = int(steps) + 1
    steps.fill(number)
    return number


def check_number(name: str, value: Any, fits: Any) -> None:
    """Refuse an option that does not fit.

    Raises:
        ValueError: ``fits`` is False.
    """
    if not fits:
        raise ValueError(f"Invalid {name}: {value}")


def check_rate(lr: Rate, positive: bool = False) -> None:
    """Refuse a learning rate that is negative (or zero), or a tensor of several.

    Raises:
        ValueError: it is refused.
    """
    if isinstance(lr, Tensor) and lr.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")
    check_number("learning rate", lr, lr > 0 if positive else lr >= 0)


def check_betas(betas: tuple[Any, Any]) -> None:
    """Refuse a pair outside [0, 1).

    Raises:
        ValueError: one is outside.
    """
    for i, beta in enumerate(betas):
        check_number(f"beta parameter at index {i}", beta, 0 <= beta < 1)


def _check_flags(name: str, defaults: dict[str, Any]) -> None:
    """PyTorch's flags that say how to compute a step: refuse what is not so here, and what PyTorch does."""
    if defaults.get("fused") and defaults.get("differentiable"):
        raise RuntimeError("`fused` does not support `differentiable`")
    if defaults.get("fused") and defaults.get("foreach"):
        raise RuntimeError("`fused` and `foreach` cannot be `True` together.")
    if defaults.get("differentiable"):
        raise NotImplementedError(
            f"{name}: differentiable=True is not provided, steps are not recorded: write the step out in "
            f"tensor operations, with autograd.grad(..., create_graph=True)"
        )


def _check_sizes(own: list[int], found: list[int]) -> None:
    if len(found) != len(own):
        raise ValueError(f"loaded state dict has a different number of parameter groups ({len(found)}, not {len(own)})")
    if found != own:
        raise ValueError(
            f"loaded state dict contains a parameter group that doesn't match the size of optimizer's "
            f"group: {found} parameters, not {own}"
        )


def _take_names(group: Group) -> list[Tensor]:
    """Make a list of a group's "params", and of (name, parameter) pairs also a list "param_names"."""
    given = group["params"]
    if isinstance(given, set):
        raise TypeError(
            "optimizer parameters need to be organized in ordered collections, but the order of tensors "
            "in sets will change between runs. Please use a list instead."
        )
    listed = [given] if isinstance(given, Tensor) else list(given)
    named = [p for p in listed if isinstance(p, tuple)]
    if named and len(named) < len(listed):
        raise ValueError("all optimizer params should be with/without names. Some param names are missing")
    group["params"] = params = [p[1] for p in named] if named else listed
    if named:
        group["param_names"] = [p[0] for p in named]
    return params


def _fitted(name: str, value: Any, p: Tensor) -> Any:
    """A copy of a loaded value of a parameter's state, in the parameter's dtype (not a count of steps)."""
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


def _registered(hooks: OrderedDict[int, Any], hook: Any, prepend: bool) -> RemovableHandle:
    handle = RemovableHandle(hooks, hook)
    if prepend:
        hooks.move_to_end(handle.key, last=False)
    return handle
