"""Optimizer: parameters in groups with options of their own, and a state for each parameter."""

from __future__ import annotations

import copy
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ..autograd import enable_grad
from ..nn.module import clear_grad
from ..tensor import Tensor

Params = Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]]
Group = dict[str, Any]
Closure = Callable[[], Any]


class Optimizer:
    """What all optimisers share. A subclass writes ``_update(parameter, state, group)``.

    Args:
        params: parameters, (name, parameter) pairs, or dicts {"params": [...], "lr": ...} of groups.
        defaults: the options that a group does not name.

    Attributes:
        param_groups: a dict for each group; change ``group["lr"]`` at any time.
        state: what is kept for each parameter.

    Raises:
        TypeError: something else than tensors. ValueError: no parameters, some in two groups, or with a
            history.
    """

    def __init__(self, params: Params, defaults: dict[str, Any]) -> None:
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, but got a "
                "Tensor"
            )
        self.defaults = defaults
        self.state: defaultdict[Tensor, dict[str, Any]] = defaultdict(dict)
        self.param_groups: list[Group] = []
        listed: list[Any] = list(params)
        if not listed:
            raise ValueError("optimizer got an empty parameter list")
        for group in listed if isinstance(listed[0], dict) else [{"params": listed}]:
            self.add_param_group(group)

    def add_param_group(self, param_group: Group) -> None:
        """Add parameters with options of their own: {"params": [...], "lr": 0.01}."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        given = param_group["params"]
        if isinstance(given, set):
            raise TypeError(
                "optimizer parameters need to be organized in ordered collections, but the order of tensors "
                "in sets will change between runs. Please use a list instead."
            )
        listed = [given] if isinstance(given, Tensor) else given
        params = [p[1] if isinstance(p, tuple) else p for p in listed]  # (name, parameter) pairs are welcome
        for p in params:
            if not isinstance(p, Tensor):
                raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {type(p)}")
            if not p.is_leaf:
                raise ValueError("can't optimize a non-leaf Tensor")
        if len({id(p) for p in params}) < len(params):
            warnings.warn("optimizer contains a parameter group with duplicate parameters", stacklevel=3)
        held = {id(p) for group in self.param_groups for p in group["params"]}
        if any(id(p) in held for p in params):
            raise ValueError("some parameters appear in more than one parameter group")
        self.param_groups.append(
            {"params": params, **{k: v for k, v in param_group.items() if k != "params"}}
        )
        for name, value in self.defaults.items():
            self.param_groups[-1].setdefault(name, value)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop all gradients, or fill them with zeros."""
        for group in self.param_groups:
            for p in group["params"]:
                clear_grad(p, set_to_none)

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
        place = ("step", f"{type(self).__name__}.step()")
        for group in self.param_groups:
            for p in group["params"]:
                if p._grad is not None:
                    self._update(p, self.state[p], group)
                    p._version[0] += 1
                    p._version[1] = place
        return loss

    def _update(self, p: Tensor, state: dict[str, Any], group: Group) -> None:
        """Change one parameter and its state in place. Its gradient is there."""
        raise NotImplementedError

    def state_dict(self) -> dict[str, Any]:
        """PyTorch's layout: {"state": {number: {...}}, "param_groups": [{..., "params": [numbers]}]}."""
        numbers: dict[int, int] = {}
        for group in self.param_groups:
            for p in group["params"]:
                numbers.setdefault(id(p), len(numbers))
        groups = []
        for group in self.param_groups:
            options = {k: v for k, v in group.items() if k != "params"}
            groups.append({**options, "params": [numbers[id(p)] for p in group["params"]]})
        return {"state": {numbers[id(p)]: dict(s) for p, s in self.state.items()}, "param_groups": groups}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Take over options and state, also PyTorch's. Tensors are copied to the parameters' dtypes and
        devices.

        Raises:
            ValueError: another number of groups, or of parameters in one; nothing has been changed then.
        """
        groups = copy.deepcopy(list(state_dict["param_groups"]))
        lengths = [len(group["params"]) for group in self.param_groups]
        if len(groups) != len(lengths):
            raise ValueError(
                f"loaded state dict has a different number of parameter groups ({len(groups)}, not "
                f"{len(lengths)})"
            )
        found = [len(group["params"]) for group in groups]
        if found != lengths:
            raise ValueError(
                f"loaded state dict contains a parameter group that doesn't match the size of optimizer's "
                f"group: {found} parameters, not {lengths}"
            )
        by_number = {n: p for own, group in zip(self.param_groups, groups, strict=True)
                     for n, p in zip(group["params"], own["params"], strict=True)}  # fmt: skip
        state: defaultdict[Tensor, dict[str, Any]] = defaultdict(dict)
        for number, values in state_dict["state"].items():
            if number in by_number:
                state[by_number[number]] = {k: _fitted(k, v, by_number[number]) for k, v in values.items()}
        self.state = state
        for own, group in zip(self.param_groups, groups, strict=True):
            own.update({k: v for k, v in group.items() if k != "params"})

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for i, group in enumerate(self.param_groups):
            lines += [
                f"Parameter Group {i}",
                *(f"    {k}: {group[k]}" for k in sorted(group) if k != "params"),
            ]
        return "\n".join([*lines, ")"])


def _fitted(name: str, value: Any, p: Tensor) -> Any:
    """A loaded value of a parameter's state. A count of steps becomes a number (PyTorch keeps a tensor)."""
    if name == "step":
        return int(value)
    if isinstance(value, Tensor):
        return value.detach().to(
            device=p.device, dtype=p.dtype if value.is_floating_point() else None, copy=True
        )
    return copy.deepcopy(value)


def check_number(name: str, value: float, fits: bool) -> None:
    """Refuse an option that does not fit.

    Raises:
        ValueError: ``fits`` is False.
    """
    if not fits:
        raise ValueError(f"Invalid {name}: {value}")
