"""A program that compiles loops:  python -m minigrad.backend.compiled.build FOLDER UNIT...

A unit is a kernel file or "thread_pool". The program writes machine code for this machine to the folder, with one file
(a marshalled ``Code``) per unit, named after the unit.
"""

from __future__ import annotations

import importlib
import marshal
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .. import kernels
from . import THREAD_POOL, Code, loops, thread_pool

_FLAGS = {"contract", "reassoc", "nsz", "arcp"}  # allow sums in any order, but respect NaN and infinity
# For functions that are not called from outside: no wrappers, which take longer to compile than the functions.
_INNER = {
    "fastmath": _FLAGS,
    "error_model": "numpy",
    "boundscheck": False,
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
}
_LENGTHS = {"Rows": "volume(o, 1), length(o, -1)", "Cube": "volume(o, 2), length(o, -2), length(o, -1)"}


def adapter(each: loops.Loop) -> str:
    """The source of the function that threads call, which decodes a loop's arguments from the words of a call. Its
    symbol comes from its name, which must be unique, as separately compiled units are loaded together."""
    lines = [f"def {_adapter_name(each)}(start, stop, thread, place):"]
    names = []
    for i, kind in enumerate(each.kinds):
        name = f"a{i}"
        names.append(name)
        if kind == "int":
            lines.append(f"    {name} = word(place + {8 * i})")
        elif kind == "float":
            lines.append(f"    {name} = double(place + {8 * i})")
        else:
            view = "o" if kind == "Strided" else f"{kind}(at(o), {_LENGTHS.get(kind, 'volume(o, 0)')})"
            lines += [f"    o = word(place + {8 * i})", f"    {name} = {view}"]
    first = ["start", "stop", *(["thread"] if each.takes_thread else [])]
    lines.append(f"    body({', '.join(first + names)})")
    return "\n".join(lines)


def _adapter_name(each: loops.Loop) -> str:
    return each.name.replace(".", "_")


def compile_units(units: list[str]) -> Iterator[tuple[str, Code]]:
    """The machine code of each unit."""
    import numba
    from llvmlite import binding
    from numba.extending import register_jitable

    from . import functions, intrinsics, native

    warnings.simplefilter("ignore", numba.NumbaWarning)
    if hasattr(binding, "initialize_native_asmparser"):
        binding.initialize_native_asmparser()
    scope = {**vars(functions), **vars(native), **intrinsics.register()}
    registry: set[Any] = set()
    for unit in units:
        if unit != THREAD_POOL:
            package = kernels.__name__ if unit in kernels.CPU_FILES.values() else kernels.__name__.rpartition(".")[0]
            importlib.import_module(f"{package}.{unit}")
        for function in (*thread_pool.PARTS, *loops.INLINE):
            if function not in registry:
                register_jitable(**_INNER)(function)
                registry.add(function)
        yield unit, _compile_unit(numba, unit, scope)


def _compile_unit(numba: Any, unit: str, scope: dict[str, Any]) -> Code:
    word = numba.int64
    todo: list[tuple[str, Any, Any]] = []
    if unit == THREAD_POOL:
        for name, function in thread_pool.FUNCTIONS.items():
            result = word if name in ("serial", "launch") else numba.void
            todo.append((f"{unit}.{name}", result(*[word] * function.__code__.co_argcount), function))
    else:
        members = [each for each in loops.LOOPS if each.name.rpartition(".")[0] == unit]
        for each in members:  # a loop is inlined into the function that threads call
            names = {**scope, "body": numba.njit(nogil=True, **_INNER)(each.body)}
            exec(adapter(each), names)
            todo.append((each.name, numba.void(*[word] * 4), names[_adapter_name(each)]))
    code: Code = {}
    for name, signature, function in todo:
        compiled = numba.cfunc(signature, error_model="numpy", fastmath=_FLAGS)(function)
        library, symbol = compiled._library, compiled._wrapper_name
        for other in library._final_module.functions:
            if not other.is_declaration and other.name != symbol:
                other.linkage = "internal"  # each object has its own copy, even if another object uses the same name
        code[name] = symbol, library._codegen._tm.emit_object(library._final_module)
    return code


def main(arguments: list[str]) -> int:
    """Compile units, and write their files."""
    folder, *units = arguments
    for unit, code in compile_units(units):
        (Path(folder) / unit).write_bytes(marshal.dumps(code))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
