"""A pickle machine that runs no code: it builds plain values, and refuses all names that ``allowed.py`` lacks.

Python's own unpickler calls whatever a file names. This one keeps its instructions for numbers, text, lists, tuples,
sets and dicts; it looks names, calls and states up among those that are allowed. It reads protocols 2 to 5, which
PyTorch and Python 3 write.
"""

from __future__ import annotations

import pickle
from argparse import Namespace
from collections import OrderedDict
from collections.abc import Callable
from types import FunctionType, MethodType, SimpleNamespace
from typing import Any

import numpy as np

from .allowed import FUNCTIONS, NEW, PYTHON_2, VALUES, fill_array, fill_dtype, safe
from .keys import add, checked, put, set_of
from .rebuild import Rebuilder

Unpickler: Any = vars(pickle)["_Unpickler"]  # the one written in Python; type checkers know only the other


class Bytes:
    """A binary file that reads from memory, from a position on, without a copy of the whole."""

    def __init__(self, data: Any, position: int) -> None:
        self._data, self.position = memoryview(data), position

    def read(self, count: int) -> bytes:
        """The next bytes. Raises EOFError if there are fewer."""
        end = self.position + count
        if count < 0 or end > len(self._data):
            raise EOFError("its pickle ends early")
        part = self._data[self.position : end]
        self.position = end
        return bytes(part)

    def readline(self) -> bytes:
        """The next line. Raises IndexError if it has no end."""
        end = self.position
        while self._data[end] != 10:
            end += 1
        return self.read(end + 1 - self.position)


class Refused(pickle.UnpicklingError):
    """A name or a call that is not allowed."""


def refusal(file: str, module: str, name: str) -> Refused:
    """The error for a name that is not allowed."""
    if module.partition(".")[0] == "torch":
        what = f"{module}.{name}, an object that only PyTorch can build"
        repair = (
            "in PyTorch, save dense tensors of common dtypes in plain containers: model.state_dict(), not "
            "the model itself"
        )
    else:
        what = f"the class or function {module}.{name}"
        repair = (
            "if you trust where it comes from, load(..., weights_only=False), which lets it run code; or allow "
            f"this one alone: with minigrad.serialization.safe_globals([{name}])"
        )
        if module.startswith("minigrad."):
            repair = "load(..., weights_only=False) if you trust where it comes from; or save its state_dict()"
    return Refused(f"cannot load {file}: it holds {what}. What to do: {repair}.")


class Machine(Unpickler):  # type: ignore[misc]
    """Reads one pickle, whose tensors and storages ``rebuilder`` builds; ``encoding`` is that of Python 2's text."""

    def __init__(self, file: Bytes, name: str, rebuilder: Rebuilder, encoding: str) -> None:
        super().__init__(file, encoding=encoding)
        self._name, self.persistent_load = name, rebuilder.storage
        self._values = VALUES | rebuilder.values()
        self._functions = FUNCTIONS | {f: f for f in rebuilder.functions().values()}
        self._safe = dict(safe)
        self._hollow: dict[int, Any] = {}  # arrays and dtypes that have no state yet

    def load(self) -> Any:
        """The object. Raises ``Refused``, or whatever Python's unpickler raises for a damaged pickle."""
        try:
            return super().load()
        except Refused:
            raise
        except pickle.UnpicklingError as error:
            raise ValueError(str(error)) from error

    def find_class(self, module: str, name: str) -> Any:
        """The object with a name, if it is allowed."""
        key = (PYTHON_2.get(module, module), name)
        if key in self._values:
            return self._values[key]
        if (module, name) in self._safe:
            return self._safe[module, name]
        raise refusal(self._name, module, name)

    def _is_safe(self, candidate: Any) -> bool:
        return any(candidate is declared for declared in self._safe.values())

    def _pop(self, count: int) -> list[Any]:
        """The topmost values of the stack."""
        if len(self.stack) < count:
            raise IndexError("its pickle takes more than there is")
        values: list[Any] = self.stack[len(self.stack) - count :]
        del self.stack[len(self.stack) - count :]
        return values

    def _bytearray(self) -> None:
        size = int.from_bytes(self.read(8), "little")
        self.append(bytearray(self.read(size)))  # no memory before the bytes are there

    # Containers ---------------------------------------------------------------------------------------------

    def _target(self, kind: type) -> Any:
        """The container on top of the stack, of some kind or a subclass."""
        target = self.stack[-1]
        if not isinstance(target, kind):
            raise TypeError(f"its pickle fills a {type(target).__name__} like a {kind.__name__}")
        return target

    def _append(self, values: list[Any]) -> None:
        self._target(list).extend(values)

    def _set_items(self, items: list[Any]) -> None:
        put(self._target(dict), zip(checked(items[::2]), items[1::2], strict=True))

    def _add_items(self, items: list[Any]) -> None:
        add(self._target(set), checked(items))

    def _frozen(self, items: list[Any]) -> None:
        self.append(frozenset(set_of(items)))

    # What needs permission ----------------------------------------------------------------------------------

    def _call(self, function: Any, args: Any) -> None:
        """The result of a function, if it may be called."""
        _check_tuple(args)
        if isinstance(function, (type, FunctionType, MethodType)) and function in self._functions:
            result = self._functions[function](*args)
            if type(result) is np.ndarray or isinstance(result, np.dtype):
                self._hollow[id(result)] = result
        elif self._is_safe(function):
            result = function(*args)
        else:
            raise Refused(
                f"cannot load {self._name}: it calls {function!r}, which no loaded file may. What to do: do not "
                "trust this file"
            )
        self.append(result)

    def _new(self, cls: Any, args: Any, kwargs: Any = ()) -> None:
        """An object without a state, if its class may have instances."""
        _check_tuple(args)
        named = dict(kwargs)
        if isinstance(cls, type) and cls in NEW and not named:
            self.append(NEW[cls](*args))
        elif isinstance(cls, type) and self._is_safe(cls):
            self.append(cls.__new__(cls, *args, **named))
        else:
            self._call(cls, args)  # mostly raises

    def _build(self) -> None:
        """Give an object its state."""
        state, obj = self.stack.pop(), self.stack[-1]
        if id(obj) in self._hollow:
            fill = fill_array if type(obj) is np.ndarray else fill_dtype
            fill(self._hollow.pop(id(obj)), state)
        elif type(obj) in (OrderedDict, Namespace, SimpleNamespace):
            for name in state:  # none that its class has
                if type(name) is not str or (hasattr(type(obj), name) and type(obj) is not Namespace):
                    raise ValueError(f"an attribute {name!r} that a {type(obj).__name__} has of its own")
            vars(obj).update(state)
        elif self._is_safe(type(obj)):
            _set_state(obj, state)
        else:
            raise TypeError(f"its pickle gives a {type(obj).__name__} a state")


def _set_state(obj: Any, state: Any) -> None:
    """Set the state of an object of a safe class, as unpickling does."""
    if hasattr(obj, "__setstate__"):
        obj.__setstate__(state)
        return
    in_dict, in_slots = state if isinstance(state, tuple) and len(state) == 2 else (state, None)
    if in_dict:
        vars(obj).update(in_dict)
    for name, value in (in_slots or {}).items():
        if name.startswith("__"):
            raise ValueError(f"an attribute {name!r}")
        setattr(obj, name, value)


def _check_tuple(args: Any) -> None:
    if type(args) is not tuple:
        raise TypeError(f"its pickle has a {type(args).__name__} for arguments")


# Python's instructions that build plain values, or ask for a name or a storage.
_PLAIN = """
    PROTO STOP MARK POP POP_MARK BINPUT LONG_BINPUT MEMOIZE BINGET LONG_BINGET NONE NEWTRUE NEWFALSE BININT BININT1
    BININT2 LONG1 LONG4 BINFLOAT SHORT_BINUNICODE BINUNICODE BINUNICODE8 SHORT_BINSTRING BINSTRING SHORT_BINBYTES
    BINBYTES BINBYTES8 EMPTY_TUPLE TUPLE1 TUPLE2 TUPLE3 TUPLE EMPTY_LIST EMPTY_DICT EMPTY_SET GLOBAL STACK_GLOBAL
    BINPERSID
"""
_CHECKED: dict[bytes, Callable[[Machine], None]] = {
    pickle.FRAME: lambda m: m.read(8),  # the length of a frame, which only hurries reading
    pickle.BYTEARRAY8: Machine._bytearray,
    pickle.APPEND: lambda m: m._append(m._pop(1)),
    pickle.APPENDS: lambda m: m._append(m.pop_mark()),
    pickle.SETITEM: lambda m: m._set_items(m._pop(2)),
    pickle.SETITEMS: lambda m: m._set_items(m.pop_mark()),
    pickle.ADDITEMS: lambda m: m._add_items(m.pop_mark()),
    pickle.FROZENSET: lambda m: m._frozen(m.pop_mark()),
    pickle.REDUCE: lambda m: m._call(*m._pop(2)),
    pickle.NEWOBJ: lambda m: m._new(*m._pop(2)),
    pickle.NEWOBJ_EX: lambda m: m._new(*m._pop(3)),
    pickle.BUILD: Machine._build,
}
Machine.dispatch = {code: Unpickler.dispatch[code] for code in (getattr(pickle, name)[0] for name in _PLAIN.split())}
Machine.dispatch |= {code[0]: instruction for code, instruction in _CHECKED.items()}
