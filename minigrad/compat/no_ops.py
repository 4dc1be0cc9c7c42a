"""Functions that do nothing here, but that PyTorch programs call. ``names.py`` lists their names.

Nothing is compiled, traced or recorded: functions and modules are returned unchanged, and "compiled" state dicts do not
contain ``_orig_mod.``. Ranks do not call each other's functions, tensors are sent as pickles, and ops run in order.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from types import SimpleNamespace
from typing import Any, NoReturn

from ..backend.dtype import bfloat16
from ..cuda import is_available

MODES = ("default", "lite", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")
SHARING = {"file_descriptor", "file_system"}

# Functions shared by many names. ``same`` returns its first argument; a decorator returns its function.
same = lambda obj=None, *args, **kwargs: obj
decorators = lambda *args, **kwargs: same
decorator = lambda fn=None, *args, **kwargs: fn if callable(fn) else same
context = lambda *args, **kwargs: nullcontext()
nothing = lambda *args, **kwargs: None
never, always = lambda *args, **kwargs: False, lambda: True
zero, one = lambda *args, **kwargs: 0, lambda: 1


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
    """Return ``model``, a function or a module, unchanged, or return a decorator that does so. Raises RuntimeError if
    PyTorch does not have the mode, or if both a mode and options are passed."""
    if mode is not None and options is not None:
        raise RuntimeError("Either mode or options can be specified, but not both at the same time.")
    if mode is not None and mode not in MODES:
        raise RuntimeError(f"Unrecognized mode={mode}, should be one of: {', '.join(MODES)}")
    return same if model is None else model


def unwrap_optional(x: Any) -> Any:
    """Return a value that is not None. Raises AssertionError if it is None."""
    assert x is not None, "Unwrapping null optional"
    return x


def set_sharing_strategy(new_strategy: str) -> None:
    """Check that the strategy exists. Raises AssertionError if it does not."""
    assert new_strategy in SHARING


def check_nonzero(input: Any, assert_msg: str = "Expected Tensor with single nonzero value, but got zero") -> None:
    """Raise RuntimeError if a one-element tensor is zero. This check is synchronous."""
    if not input:
        raise RuntimeError(assert_msg)


def _synchronize(name: str, device: Any = None) -> NoReturn:
    raise RuntimeError(f"there is no {name} device here: guard the call with is_available()")


synchronize_mps, synchronize_mtia, synchronize_xpu = (partial(_synchronize, name) for name in ("mps", "mtia", "xpu"))
config = SimpleNamespace(suppress_errors=False, cache_size_limit=8, recompile_limit=8, verbose=False)
annotate = lambda the_type, the_value: the_value
call_if_available = lambda callable, **kwargs: callable() if is_available() else None
dispatch_keys = lambda *keys: frozenset(keys)
get_all_sharing_strategies = lambda: SHARING
get_sharing_strategy = lambda: "file_descriptor"
has_bf16 = lambda including_emulation=True: is_available() and bfloat16.is_available
list_backends: Callable[..., list[str]] = lambda exclude_tags=("debug", "experimental"): []
name_of_cpu, name_of_others = lambda: "cpu", lambda: "privateuseone"
parallel_info = lambda: "minigrad's threads: see get_num_threads()\n"
show = lambda: "minigrad, on NumPy and CuPy\n"
unpack_dual = lambda tensor, *, level=None: SimpleNamespace(primal=tensor, tangent=None)
