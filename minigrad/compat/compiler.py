"""``compile`` and the names around it (``torch.compiler``, ``torch._dynamo``): nothing is compiled.

NumPy and CuPy run one op after another. Functions come back as they are, and a module stays the same module:
its state-dict keys have no ``_orig_mod.``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

__all__ = ["allow_in_graph", "compile", "disable", "is_compiling", "reset"]

MODES = ("default", "lite", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")
config = SimpleNamespace(suppress_errors=False, cache_size_limit=8, recompile_limit=8, verbose=False)


def compile(
    model: Any = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: Any = None,
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    name: str | None = None,
    disable: bool = False,
    recompile_limit: int | None = None,
) -> Any:
    """Return ``model``, a function or a module, as it is; without it, a decorator that does so.

    Raises:
        RuntimeError: a mode that PyTorch does not have, or a mode and options.
    """
    if mode is not None and options is not None:
        raise RuntimeError("Either mode or options can be specified, but not both at the same time.")
    if mode is not None and mode not in MODES:
        raise RuntimeError(f"Unrecognized mode={mode}, should be one of: {', '.join(MODES)}")
    if model is None:
        return _same
    return model


def _same(function: Any) -> Any:
    return function


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """Return ``fn``, or a decorator: nothing is compiled anyway."""
    return _same if fn is None else fn


def allow_in_graph(fn: Any) -> Any:
    """Return ``fn``."""
    return fn


assume_constant_result = disallow_in_graph = substitute_in_graph = forbid_in_graph = allow_in_graph
graph_break = reset = cudagraph_mark_step_begin = lambda *args, **kwargs: None
mark_dynamic = mark_static = maybe_mark_dynamic = mark_static_address = lambda tensor, *args, **kwargs: None


def is_compiling() -> bool:
    """False."""
    return False


is_dynamo_compiling = is_exporting = is_compiling


def list_backends(exclude_tags: Iterable[str] = ("debug", "experimental")) -> list[str]:
    """None."""
    return []


def optimize(*args: Any, **kwargs: Any) -> Callable[[Any], Any]:
    """A decorator that returns its argument: the older form of ``compile``."""
    return _same


def set_stance(stance: str = "default", **options: Any) -> Any:
    """A context, and a decorator, that changes nothing."""
    return nullcontext()


def run(fn: Any = None) -> Any:
    """Return ``fn``."""
    return functools.partial(run) if fn is None else fn
