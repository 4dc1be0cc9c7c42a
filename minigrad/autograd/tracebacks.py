"""Tracebacks, warnings and messages that point at the user's line.

Mistakes are detected deep inside the library, but their cause is in the user's code. Where an error leaves the library,
``shorten`` removes the library's frames from its traceback. The frames of the user's own functions that the library
called (``forward``, hooks) stay. A function at this border is decorated with ``@border`` or, where an extra call would
take too long, has these lines, which cost nothing unless an error occurs:

    try:
        return apply(op, args)
    except Exception as error:
        shorten(error)
        raise

Keep the bare ``raise``, which adds no frame. MINIGRAD_TRACEBACK_FILTERING=off turns the filter off.
"""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from inspect import Parameter, signature
from types import CodeType, FrameType, FunctionType, TracebackType
from typing import Any, TypeVar

from ..extension import layer

Function = TypeVar("Function", bound=Callable[..., Any])
Place = tuple[CodeType, int]  # the code object and the instruction of an expression
PACKAGE = __name__.partition(".")[0]
_BELOW = {"numpy", "cupy", "cupyx", "ml_dtypes"}  # packages that the library calls, besides the standard library
_PYTHON = os.path.dirname(os.__file__) + os.sep
_filtering = os.environ.get("MINIGRAD_TRACEBACK_FILTERING", "on").lower() not in ("off", "0", "false")


def set_traceback_filtering(enabled: bool) -> None:
    """Set whether tracebacks omit the frames within minigrad. By default they do, unless the environment variable
    MINIGRAD_TRACEBACK_FILTERING is "off"."""
    global _filtering
    _filtering = bool(enabled)


def get_traceback_filtering() -> bool:
    """Whether tracebacks omit the frames within minigrad."""
    return _filtering


# Errors -----------------------------------------------------------------------------------------------------


def shorten(error: BaseException, module: Any = None) -> None:
    """Remove the library's frames from the traceback of an error and of its chained errors. An error that was raised
    and handled within the library, such as a NumPy error about an op's operands, is dropped from the chain. A note
    gives the path, within ``module``, of the submodule that failed."""
    if _filtering:
        _shorten(error, {})
    inner = vars(error).setdefault("_module", module) if module is not None else None
    if inner is not module and (path := next((name for name, one in module.named_modules() if one is inner), "")):
        others = [note for note in getattr(error, "__notes__", ()) if not note.startswith("in the module ")]
        error.__notes__ = [*others, f"in the module {path}, a {type(inner).__name__}"]


def _shorten(error: BaseException, of_users: dict[int, bool]) -> None:
    """Implements ``shorten``. ``of_users`` caches, by id, whether an error in the chain has user frames."""
    before, error.__traceback__ = error.__traceback__, of_user(error.__traceback__)
    of_users[id(error)] = before is None or error.__traceback__ is not None
    for name in ("__cause__", "__context__"):
        link = getattr(error, name)
        if link is not None and id(link) not in of_users:
            _shorten(link, of_users)
        if link is not None and not of_users[id(link)]:
            setattr(error, name, None)  # setting __cause__ also suppresses the context, as ``raise ... from`` did


def of_user(trace: TracebackType | None) -> TracebackType | None:
    """A traceback without the frames of the library and the packages that it called."""
    entries: list[TracebackType] = []
    in_library = True  # the caller is a border, whose frame comes first
    while trace is not None:
        path, name = trace.tb_frame.f_code.co_filename, trace.tb_frame.f_globals.get("__name__", "")
        package = name.partition(".")[0]
        is_python = path.startswith((_PYTHON, "<frozen ")) and "site-packages" not in path
        in_library = package == PACKAGE or (in_library and (is_python or package in _BELOW))
        if not in_library:
            entries.append(trace)
        trace = trace.tb_next
    result: TracebackType | None = None
    for entry in reversed(entries):
        result = TracebackType(result, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return result


def border(function: Function, named: Callable[..., Any] | None = None) -> Function:
    """Make a function a border for errors. ``named(function, args, kwargs)`` calls it with keyword arguments."""

    def bordered(*args: Any, **kwargs: Any) -> Any:
        try:
            if kwargs and named is not None:
                return named(function, args, kwargs)
            return function(*args, **kwargs)
        except Exception as error:
            if met(*args, *kwargs.values(), error=error):
                return bordered(*args, **kwargs)
            if text := no_tensor(function, args, kwargs, error):
                raise TypeError(text) from None
            shorten(error)
            raise

    return is_border(wrapping(bordered, function))


def is_border(function: Any) -> Any:
    """Mark a function as a border, so that it is not wrapped twice."""
    function.is_border = True
    return function


def wrapping(wrapper: Any, function: Any) -> Any:
    """A faster ``functools.wraps``, as importing minigrad wraps hundreds of functions."""
    wrapper.__module__, wrapper.__doc__ = function.__module__, function.__doc__
    wrapper.__name__, wrapper.__qualname__ = function.__name__, function.__qualname__
    wrapper.__annotations__ = function.__annotations__
    wrapper.__dict__ = {**function.__dict__, "__wrapped__": function}
    return wrapper


def border_functions(names: dict[str, Any], place: str = "") -> None:
    """Turn the public functions of a module, or of a package's files, into borders. ``names`` is its ``globals()`` at
    the end of the file, and ``place`` is the module in which the functions are public, if that differs."""
    home = names["__name__"]
    for name, function in list(names.items()):
        if name[0] != "_" and _may_be_border(function) and f"{function.__module__}.".startswith(f"{home}."):
            names[name] = border(function)
            names[name].__module__ = place or home  # pickle looks for it there


def border_methods(cls: type, *names: str) -> None:
    """Turn methods that a library class itself defines into borders. A user's class stays unchanged."""
    for name in names if is_ours(cls) else ():
        method: Any = vars(cls).get(name)
        if _may_be_border(method):
            setattr(cls, name, border(method))


def _may_be_border(function: Any) -> bool:
    return type(function) is FunctionType and is_ours(function) and not hasattr(function, "is_border")


# Arguments that are not tensors -----------------------------------------------------------------------------


def no_tensor(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], error: Exception) -> str:
    """A better error message if an argument is annotated as Tensor but is not a tensor, else "". (Checking argument
    types in every call would be slow.)"""
    refused = isinstance(error, TypeError) and error.__context__ is not None  # raised by NumPy or Python
    if not (refused or isinstance(error, AttributeError)) or hasattr(function, "asks"):
        return ""
    try:
        parameters = signature(function).parameters
        keywords = {name: value for name, value in kwargs.items() if name in parameters}
        bound = signature(function).bind_partial(*args, **keywords).arguments
    except (TypeError, ValueError):  # an unknown argument, which the error already names
        return ""
    for i, (name, value) in enumerate(bound.items()):
        wrong = _wrong_value(parameters[name], value)
        if wrong is not None:  # a method's later arguments have other positions
            which = f"argument {name!r}{' (position 1)' if i == 0 else ''}"
            return f"{function.__name__}(): {which} must be {wrong}"
    if isinstance(error, AttributeError) and error.name in ("array", "dtype") and of_user(error.__traceback__) is None:
        return f"{function.__name__}(): an argument must be Tensor, not {type(error.obj).__name__}"
    return ""


def _wrong_value(parameter: Parameter, value: Any) -> str | None:
    """The type that an argument's annotation requires, or None if the value has (or may have) that type."""
    kinds, several = str(parameter.annotation).split(" | "), parameter.kind is Parameter.VAR_POSITIONAL
    if kinds == ["Sequence[Tensor]"]:
        kinds, several = ["Tensor"], True
    if kinds[0] != "Tensor" or not {"Scalar", "float", "None"}.issuperset(kinds[1:]):
        return None
    numbers = not {"Scalar", "float"}.isdisjoint(kinds)
    for each in value if several and isinstance(value, (list, tuple)) else (value,):
        is_right = hasattr(each, "array") or (each is None and "None" in kinds)
        if not is_right and not (numbers and hasattr(each, "__float__")):
            right = "a Tensor or a number" if numbers else "Tensors" if several else "Tensor"
            kind = type(each).__name__
            return f"{right}, not {kind}" + (": convert it with from_numpy(array)" if kind == "ndarray" else "")
    return None


# Arguments with a __torch_function__ ------------------------------------------------------------------------


def disabled_torch_function(func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """A ``__torch_function__`` that overrides nothing: it calls the function itself."""
    return layer().disabled(func, args, kwargs or {})


def answers(kind: Any) -> bool:
    """Whether a class overrides functions with a ``__torch_function__``."""
    return getattr(kind, "__torch_function__", disabled_torch_function) is not disabled_torch_function


def is_ours(kind: Any) -> bool:
    """Whether a class or a function belongs to the library."""
    return kind.__module__.partition(".")[0] == PACKAGE


def met(*values: Any, error: Exception | None = None) -> bool:
    """Whether a call should be repeated because it encountered the first class with a ``__torch_function__``."""
    flat = [v for value in values for v in (value if isinstance(value, (list, tuple)) else (value,))]
    return any(answers(type(v)) and not is_ours(type(v)) for v in flat) and layer().met(flat, error)


# Warnings ---------------------------------------------------------------------------------------------------


@cache
def _is_between(module: str) -> bool:
    """Whether a module's frames lie between the user's code and the library's."""
    return module.partition(".")[0] in (PACKAGE, "numpy", "importlib")  # ops run within a NumPy decorator


def user_frames() -> Iterator[FrameType]:
    """The stack frames outside the library and NumPy, innermost first."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if not _is_between(frame.f_globals.get("__name__", "")):
            yield frame
        frame = frame.f_back


def user_frame(depth: int = 0) -> FrameType:
    """The innermost user frame, or this frame if there is none. The innermost ``depth`` calls must be the library's."""
    frame: FrameType | None = sys._getframe(depth)
    while frame is not None and _is_between(frame.f_globals.get("__name__", "")):
        frame = frame.f_back
    return frame or sys._getframe()


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Issue a warning at the user's line, however deep in the library the cause is; by default, once per line."""
    frame = user_frame()
    names = frame.f_globals
    registry = names.setdefault("__warningregistry__", {})
    place = frame.f_code.co_filename, frame.f_lineno, names.get("__name__", "")
    warnings.warn_explicit(message, category, *place, registry=registry)


# Locations in the user's program, for messages and drawings -------------------------------------------------


def caller(depth: int = 0) -> Place:
    """Where the program called into the library. The innermost ``depth`` calls must be the library's."""
    frame = user_frame(depth + 1)
    return frame.f_code, frame.f_lasti


def line_of(place: Place) -> str:
    """A place as "file:line"."""
    lines = (line for start, end, line in place[0].co_lines() if start <= place[1] < end)
    return f"{place[0].co_filename}:{next(lines, 0)}"


def spelled(place: str | Place) -> str:
    """A place (or "file:line") in readable form, such as "cell 5, line 2" in a notebook."""
    place = place if isinstance(place, str) else line_of(place)
    file, _, line = place.rpartition(":")
    return at(cell(file) or file, line) if file else place


def at(file: str, line: int | str) -> str:
    """A line of a file, or of a notebook cell named by ``cell``."""
    return f"{file}, line {line}" if re.fullmatch(r"cell \d+", file) else f"{file}:{line}"


def cell(file: str) -> str:
    """The name of the notebook cell with this file (ipykernel_123/456.py), such as "cell 5", or "" for other files."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    known = getattr(getattr(shell, "compile", None), "format_code_name", lambda _: None)(file)
    number = known and re.search(r"\d+", known[1])
    return f"cell {number[0]}" if number else ""
