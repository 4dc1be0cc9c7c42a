"""All parts of the library while a program runs, to find out whether anything has replaced a part."""

import gc
import inspect
import sys
from collections.abc import Iterator
from typing import Any

from minigrad.autograd.tape import Node, Variable
from minigrad.nn import hooks
from minigrad.ops.op import watch

Parts = dict[str, Any]


def parts(*models: Any) -> Parts:
    """Every function, class and variable of the library except viz, by name; the contents of the hook tables, the
    tape's observers, and the same for these models."""
    result: Parts = {}
    for path, module in list(sys.modules.items()):
        if path.split(".")[0] == "minigrad" and not f"{path}.".startswith("minigrad.viz."):
            for name, value in list(vars(module).items()):
                if not name.startswith("__"):
                    result.update(_within(f"{path}.{name}", value, path))
    result["observers"], result["trace"], result["profile"] = watch.observers, sys.gettrace(), sys.getprofile()
    tables = [*hooks.AROUND_CALLS, *hooks.ALL_REGISTRATION.values()]
    result.update({f"hooks for all modules {i}": _held(table) for i, table in enumerate(tables)})
    for number, model in enumerate(models):
        result.update({f"model {number} {name}": value for name, value in _of_model(model)})
    return result


def changed(before: Parts, after: Parts) -> list[str]:
    """The names of parts that are no longer the same object."""
    missing = object()
    return [name for name, value in before.items() if after.get(name, missing) is not value]


def alive() -> int:
    """The total number of tensors and nodes."""
    gc.collect()
    return sum(isinstance(thing, Variable | Node) for thing in gc.get_objects())


def _within(name: str, value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """A value, the value it wraps, and the members of a class of the module at ``path``."""
    yield name, value
    if inspect.isclass(value) and value.__module__ == path:
        for key, member in list(vars(value).items()):
            if key not in ("__dict__", "__weakref__", "_abc_impl") and member is not value:
                yield from _within(f"{name}.{key}", member, path)
    elif "__wrapped__" in getattr(value, "__dict__", {}):
        yield f"{name}.__wrapped__", vars(value)["__wrapped__"]


def _of_model(model: Any) -> Iterator[tuple[str, Any]]:
    for path, module in model.named_modules():
        for name, value in vars(module).items():
            is_table = isinstance(value, dict) and name.endswith("hooks")
            yield f"{path}.{name}", _held(value) if is_table else value
    for path, p in model.named_parameters():
        for name, value in {**vars(p), "requires_grad": p.requires_grad}.items():
            yield f"{path}.{name}", _held(value) if isinstance(value, dict) else value


_cache: dict[tuple[Any, ...], tuple[Any, ...]] = {}


def _held(table: dict[Any, Any]) -> tuple[Any, ...]:
    """The contents of a table as an object that stays the same as long as they do."""
    contents = tuple(x for item in table.items() for x in item)
    return _cache.setdefault(tuple(map(id, contents)), contents)
