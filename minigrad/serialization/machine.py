"""An unpickler that does not run code. It builds plain values, and rejects all names that are not in ``allowed.py``.
Python's unpickler calls any function that a file names. This one reuses its opcodes for numbers, text and containers,
but allows only certain names, calls and states. It reads protocols 2 to 5, which PyTorch and Python 3 write."""

from __future__ import annotations

import pickle
from argparse import Namespace
from collections import OrderedDict
from collections.abc import Callable
from types import FunctionType, MethodType, SimpleNamespace
from typing import Any

import numpy as np

from . import allowed
from .memory import Rebuilder
from .source import reason, short

Unpickler: Any = vars(pickle)["_Unpickler"]  # the Python version, as type checkers only know the C version
_Stop: Any = vars(pickle)["_Stop"]
_LONGEST_SHOWN = 100  # maximum characters of a name in a message
_LEAST_PARTS = 300_000  # limit on the parts that calls process and keys contain; each use counts
_PARTS_A_BYTE = 4  # additional parts per byte of the pickle


class Refused(pickle.UnpicklingError):
    """A name or a call that is not allowed."""


def refusal(file: str, module: str, name: str) -> Refused:
    """Create the error for a name that is not allowed."""
    module, name = module[:_LONGEST_SHOWN], name[:_LONGEST_SHOWN]
    if module.partition(".")[0] == "torch":
        what = f"{module}.{name}, an object that only PyTorch can build"
        repair = (
            "in PyTorch, save dense tensors of common dtypes in plain containers: model.state_dict(), not "
            "the model itself"
        )
    else:
        what = f"the class or function {module}.{name}"
        repair = (
            "if you trust its source, use load(..., weights_only=False), which allows it to run code, or "
            f"allow only this name with minigrad.serialization.safe_globals([{name}])"
        )
        if module.startswith("minigrad."):
            repair = "if you trust its source, use load(..., weights_only=False), or save its state_dict() instead"
    return Refused(f"cannot load {file}: it holds {what}. What to do: {repair}.")


class Machine(Unpickler):  # type: ignore[misc]
    """Reads the next pickle from a binary file of ``size`` bytes. ``rebuilder`` builds the tensors and storages.
    ``encoding`` applies to text from Python 2."""

    def __init__(self, file: Any, size: int, name: str, rebuilder: Rebuilder, encoding: str) -> None:
        super().__init__(file, encoding=encoding)
        self._name, self.persistent_load = name, rebuilder.storage
        self._read, self.readline = file.read, file.readline
        self._values = allowed.VALUES | rebuilder.values()
        self._functions = allowed.FUNCTIONS | {f: f for f in rebuilder.functions().values()}
        self._safe = dict(allowed.safe)
        self._hollow: dict[int, Any] = {}  # arrays and dtypes whose state is not set yet
        self._bounds, self._fragile = allowed.Bounds(), list[Any]()
        self._size, self._left = size, _LEAST_PARTS + _PARTS_A_BYTE * size

    def load(self) -> Any:
        """Load the object. Raises ``Refused``, or the errors of Python's unpickler for a damaged pickle."""
        self.metastack, self.stack, self.proto = list[Any](), list[Any](), 0
        self.append = self.stack.append
        read, dispatch = self.read, self.dispatch
        try:
            try:
                while True:
                    dispatch[read(1)[0]](self)
            except _Stop as end:
                obj = end.value
            allowed.Bounds().check([obj, *self._fragile], allowed.MOST_PARTS + self._size)
        except BaseException as error:
            allowed.dismantle(self._fragile)
            if isinstance(error, pickle.UnpicklingError) and not isinstance(error, Refused):
                raise ValueError(reason(error)) from error
            raise
        return obj

    def read(self, count: int) -> bytes:
        """The next bytes. Raises EOFError if there are fewer."""
        data: bytes = self._read(count)
        if len(data) != count:
            raise EOFError("its pickle ends early")
        return data

    def find_class(self, module: str, name: str) -> Any:
        """The object with a name. Raises Refused if the name is not allowed."""
        for key, table in (((allowed.PYTHON_2.get(module, module), name), self._values), ((module, name), self._safe)):
            if key in table:
                return table[key]
        raise refusal(self._name, module, name)

    def _is_safe(self, candidate: Any) -> bool:
        return any(candidate is declared for declared in self._safe.values())

    def _spend(self, parts: int) -> None:
        """Count copied or hashed parts. Raises ValueError if a small pickle repeats parts too often."""
        self._left -= parts
        if self._left < 0:
            raise ValueError("it repeats parts too often")

    def _pop(self, count: int) -> list[Any]:
        if len(self.stack) < count:
            raise IndexError("its pickle has a stack underflow")
        values: list[Any] = self.stack[len(self.stack) - count :]
        del self.stack[len(self.stack) - count :]
        return values

    def _target(self, kind: type) -> Any:
        """The container on top of the stack. It must be an instance of ``kind`` or of a safe class, such as deque."""
        target = self.stack[-1]
        self._bounds.forget(target)
        if not isinstance(target, kind) and not self._is_safe(type(target)):
            raise TypeError(f"its pickle adds items to a {type(target).__name__} as if it were a {kind.__name__}")
        return target

    def _tuple(self, values: list[Any]) -> None:
        self.append(tuple(values))

    def _append(self, values: list[Any]) -> None:
        target = self._target(list)
        if hasattr(target, "extend"):
            target.extend(values)
            return
        for value in values:
            target.append(value)

    def _set_items(self, items: list[Any]) -> None:
        self._spend(allowed.hashed(items[::2], self._bounds))
        target, pairs = self._target(dict), zip(items[::2], items[1::2], strict=True)
        if isinstance(target, dict):
            allowed.put(target, pairs)
            return
        for key, value in pairs:
            target[key] = value

    def _add_items(self, items: list[Any]) -> None:
        self._spend(allowed.hashed(items, self._bounds))
        allowed.put(self._target(set), items)

    def _frozen(self, items: list[Any]) -> None:
        self._spend(allowed.hashed(items, self._bounds))
        self.append(frozenset(allowed.put(set(), items)))

    def _check_args(self, function: Any, args: Any) -> None:
        """Raise TypeError if the arguments are not a tuple, and ValueError if they are too large to process."""
        _check_tuple(args)
        if self._is_safe(function):
            self._bounds.check(args)
        elif args:
            self._spend(self._bounds.of(args)[0] + _text_in(args))

    def _call(self, function: Any, args: Any) -> None:
        """Push the result of a function. Raises Refused if calling the function is not allowed."""
        self._check_args(function, args)
        if isinstance(function, (type, FunctionType, MethodType)) and function in self._functions:
            result = self._functions[function](*args)
            if type(result) is np.ndarray or isinstance(result, np.dtype):
                self._hollow[id(result)] = result
        elif self._is_safe(function):
            result = function(*args)
        else:
            raise Refused(
                f"cannot load {self._name}: it calls {short(function)}, which is never allowed. What to do: do not "
                "trust this file"
            )
        self._put(result)

    def _put(self, result: Any) -> None:
        if isinstance(result, allowed.FRAGILE):
            self._fragile.append(result)
        self.append(result)

    def _new(self, cls: Any, args: Any, kwargs: Any = ()) -> None:
        """Create an object without state and push it, if its class is allowed."""
        if kwargs != () and type(kwargs) is not dict:
            raise TypeError(f"its pickle has a {type(kwargs).__name__} instead of keyword arguments")
        if isinstance(cls, type) and self._is_safe(cls):
            self._check_args(cls, args)
            self._put(cls.__new__(cls, *args, **dict(kwargs)))
        else:
            self._call(cls, args)

    def _build(self) -> None:
        state, obj = self.stack.pop(), self.stack[-1]
        self._bounds.forget(obj)
        if id(obj) in self._hollow:
            _check_tuple(state)
            self._spend(_text_in(state))
            fill = allowed.fill_array if type(obj) is np.ndarray else allowed.fill_dtype
            fill(self._hollow.pop(id(obj)), state)
        elif type(obj) in (OrderedDict, Namespace, SimpleNamespace):
            if type(state) is not dict:
                raise TypeError(f"its pickle has a {type(state).__name__} as the state of a {type(obj).__name__}")
            for name in state:  # these must not hide class attributes
                if type(name) is not str or (hasattr(type(obj), name) and type(obj) is not Namespace):
                    raise ValueError(f"the attribute {short(name)} would replace an attribute of {type(obj).__name__}")
            vars(obj).update(state)
        elif self._is_safe(type(obj)):
            self._bounds.check(state)
            if hasattr(obj, "__setstate__"):
                obj.__setstate__(state)
                return
            in_dict, in_slots = state if isinstance(state, tuple) and len(state) == 2 else (state, None)
            if in_dict:
                vars(obj).update(in_dict)
            for name, value in (in_slots or {}).items():
                if name.startswith("__"):
                    raise ValueError(f"it sets the attribute {short(name)}")
                setattr(obj, name, value)
        else:
            raise TypeError(f"its pickle sets the state of a {type(obj).__name__}")


def _text_in(args: Any) -> int:
    """The number of characters and bytes in the arguments, as calls copy them."""
    return sum(len(arg) for arg in args if isinstance(arg, (str, bytes, bytearray)))


def _check_tuple(args: Any) -> None:
    if type(args) is not tuple:
        raise TypeError(f"its pickle has a {type(args).__name__} instead of arguments")


# Python's opcodes that build plain values or look up a name or a storage.
_PLAIN = """
    PROTO STOP MARK POP POP_MARK BINPUT LONG_BINPUT MEMOIZE BINGET LONG_BINGET NONE NEWTRUE NEWFALSE BININT BININT1
    BININT2 LONG1 LONG4 BINFLOAT SHORT_BINUNICODE BINUNICODE BINUNICODE8 SHORT_BINSTRING BINSTRING SHORT_BINBYTES
    BINBYTES BINBYTES8 EMPTY_TUPLE EMPTY_LIST EMPTY_DICT EMPTY_SET GLOBAL STACK_GLOBAL BINPERSID
"""
_CHECKED: dict[bytes, Callable[[Machine], object]] = {
    pickle.FRAME: lambda m: m.read(8),  # skip the length of a frame, which only serves to speed up reading
    pickle.BYTEARRAY8: lambda m: m.append(bytearray(m.read(int.from_bytes(m.read(8), "little")))),
    pickle.TUPLE1: lambda m: m._tuple(m._pop(1)),
    pickle.TUPLE2: lambda m: m._tuple(m._pop(2)),
    pickle.TUPLE3: lambda m: m._tuple(m._pop(3)),
    pickle.TUPLE: lambda m: m._tuple(m.pop_mark()),
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
