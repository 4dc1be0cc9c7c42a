"""Hooks: functions that a module calls before and after its forward."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..tensor import RemovableHandle

Hook = tuple[Callable[..., Any], bool]  # the function, and whether it wants the keyword arguments, too
Args = tuple[Any, ...]


def register(
    hooks: dict[int, Any], hook: Callable[..., Any], prepend: bool, with_kwargs: bool
) -> RemovableHandle:
    """Put a hook last, or first, among ``hooks``; the handle takes it out again."""
    others = dict(hooks) if prepend else {}
    for other in others:
        del hooks[other]
    handle = RemovableHandle(hooks, (hook, with_kwargs))
    hooks.update(others)
    return handle


def run_before(
    hooks: dict[int, Hook], module: Any, args: Args, kwargs: dict[str, Any]
) -> tuple[Args, dict[str, Any]]:
    """The arguments of forward, as the hooks that stand before it leave them.

    Raises:
        RuntimeError: a hook with keyword arguments returned neither None nor (args, kwargs).
    """
    for hook, with_kwargs in list(hooks.values()):
        changed = hook(module, args, kwargs) if with_kwargs else hook(module, args)
        if changed is None:
            continue
        if not with_kwargs:
            args = changed if isinstance(changed, tuple) else (changed,)
        elif isinstance(changed, tuple) and len(changed) == 2:
            args, kwargs = changed
        else:
            raise RuntimeError(
                f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), got {changed}"
            )
    return args, kwargs


def run_after(hooks: dict[int, Hook], module: Any, args: Args, kwargs: dict[str, Any], result: Any) -> Any:
    """The result of forward, as the hooks that stand after it leave it."""
    for hook, with_kwargs in list(hooks.values()):
        changed = hook(module, args, kwargs, result) if with_kwargs else hook(module, args, result)
        if changed is not None:
            result = changed
    return result
