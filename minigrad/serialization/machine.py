"""A pickle machine that runs no code: it builds plain values, and asks ``Allowed`` for everything else.

Python's own unpickler calls whatever a file names. This one keeps its instructions for numbers, text, lists, tuples,
sets and dicts; it looks names, calls and states up among those that are allowed. It reads protocols 2 to 5, which
PyTorch and Python 3 write.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

from .allowed import Allowed, Refused, checked

Unpickler: Any = vars(pickle)["_Unpickler"]  # the one written in Python; type checkers know only the other


class Bytes:
    """A binary file that reads from memory, without a copy of the whole.

    Args:
        data: the bytes.
        position: where to begin.
    """

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


class Machine(Unpickler):  # type: ignore[misc]
    """Reads one pickle.

    Args:
        file: where it begins.
        allowed: names, calls and states.
        persistent: persistent id -> object (a storage).
        encoding: of text that Python 2 wrote.
    """

    def __init__(self, file: Bytes, allowed: Allowed, persistent: Callable[[Any], Any], encoding: str) -> None:
        super().__init__(file, encoding=encoding)
        self._allowed, self.find_class, self.persistent_load = allowed, allowed.find, persistent

    def load(self) -> Any:
        """The object.

        Raises:
            EOFError, ValueError, TypeError, LookupError, struct.error, AttributeError: the pickle is damaged.
            pickle.UnpicklingError: a name or a call that is not allowed.
        """
        try:
            return super().load()
        except Refused:
            raise
        except pickle.UnpicklingError as error:
            raise ValueError(str(error)) from error

    def _pop(self, count: int) -> list[Any]:
        """The topmost values of the stack."""
        if len(self.stack) < count:
            raise IndexError("its pickle takes more than there is")
        values: list[Any] = self.stack[len(self.stack) - count :]
        del self.stack[len(self.stack) - count :]
        return values

    def _unframed(self) -> None:
        self.read(8)  # the length of a frame, which only hurries reading

    def _bytearray(self) -> None:
        self.append(
            bytearray(self.read(int.from_bytes(self.read(8), "little")))
        )  # no memory before the bytes are there

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
        target = self._target(dict)
        for key, value in zip(checked(items[::2]), items[1::2], strict=True):
            target[key] = value

    def _add_items(self) -> None:
        items = self.pop_mark()
        self._target(set).update(checked(items))

    def _frozen(self) -> None:
        items = self.pop_mark()
        self.append(frozenset(checked(items)))

    # What needs permission ----------------------------------------------------------------------------------

    def _reduce(self) -> None:
        function, args = self._pop(2)
        self.append(self._allowed.call(function, _tuple(args)))

    def _new(self) -> None:
        cls, args = self._pop(2)
        self.append(self._allowed.new(cls, _tuple(args), {}))

    def _new_by_name(self) -> None:
        cls, args, kwargs = self._pop(3)
        self.append(self._allowed.new(cls, _tuple(args), dict(kwargs)))

    def _build(self) -> None:
        state = self.stack.pop()
        self._allowed.build(self.stack[-1], state)


def _tuple(args: Any) -> tuple[Any, ...]:
    if type(args) is not tuple:
        raise TypeError(f"its pickle has a {type(args).__name__} for arguments")
    return args


# Python's instructions that build plain values, or ask for a name or a storage.
_PLAIN = """
    PROTO STOP MARK POP POP_MARK BINPUT LONG_BINPUT MEMOIZE BINGET LONG_BINGET NONE NEWTRUE NEWFALSE BININT BININT1
    BININT2 LONG1 LONG4 BINFLOAT SHORT_BINUNICODE BINUNICODE BINUNICODE8 SHORT_BINSTRING BINSTRING SHORT_BINBYTES
    BINBYTES BINBYTES8 EMPTY_TUPLE TUPLE1 TUPLE2 TUPLE3 TUPLE EMPTY_LIST EMPTY_DICT EMPTY_SET GLOBAL STACK_GLOBAL
    BINPERSID
"""
_CHECKED: dict[bytes, Callable[[Machine], None]] = {
    pickle.FRAME: Machine._unframed,
    pickle.BYTEARRAY8: Machine._bytearray,
    pickle.APPEND: lambda m: m._append(m._pop(1)),
    pickle.APPENDS: lambda m: m._append(m.pop_mark()),
    pickle.SETITEM: lambda m: m._set_items(m._pop(2)),
    pickle.SETITEMS: lambda m: m._set_items(m.pop_mark()),
    pickle.ADDITEMS: Machine._add_items,
    pickle.FROZENSET: Machine._frozen,
    pickle.REDUCE: Machine._reduce,
    pickle.NEWOBJ: Machine._new,
    pickle.NEWOBJ_EX: Machine._new_by_name,
    pickle.BUILD: Machine._build,
}
Machine.dispatch = {code: Unpickler.dispatch[code] for code in (getattr(pickle, name)[0] for name in _PLAIN.split())}
Machine.dispatch |= {code[0]: instruction for code, instruction in _CHECKED.items()}
