"""A pickle machine that runs no code: it builds plain values, and asks ``Allowed`` for everything else.

Python's own unpickler calls whatever a file names. This one executes the instructions for numbers, text,
lists, tuples, sets and dicts; it looks names, calls and states up among those that are allowed. It reads
protocols 2 to 5, which PyTorch and Python 3 write.
"""

from __future__ import annotations

import pickle
import struct
from collections.abc import Callable
from typing import Any

from .allowed import Allowed, checked


class Machine:
    """Runs one pickle.

    Args:
        data: the bytes that hold it.
        position: its begin; after ``run``, its end.
        allowed: names, calls and states.
        persistent: persistent id -> object (a storage).
        encoding: of text that Python 2 wrote.
    """

    def __init__(
        self, data: Any, position: int, allowed: Allowed, persistent: Callable[[Any], Any], encoding: str = "ASCII"
    ) -> None:
        self._data, self.position = memoryview(data), position
        self._allowed, self._persistent, self._encoding = allowed, persistent, encoding
        self._stack: list[Any] = []
        self._below: list[list[Any]] = []  # the stacks under the marks
        self._memo: dict[int, Any] = {}

    def run(self) -> Any:
        """The object.

        Raises:
            EOFError, ValueError, TypeError, LookupError, struct.error, AttributeError: the pickle is damaged.
            pickle.UnpicklingError: a name or a call that is not allowed.
        """
        while True:
            code = self._take(1)[0]
            if code == _STOP:
                return self._stack.pop()
            instruction = _INSTRUCTIONS.get(code)
            if instruction is None:
                raise ValueError(f"an instruction {bytes([code])!r} that is none of protocols 2 to 5")
            instruction(self)

    # Bytes --------------------------------------------------------------------------------------------------

    def _take(self, count: int) -> Any:
        end = self.position + count
        if count < 0 or end > len(self._data):
            raise EOFError("its pickle ends early")
        part = self._data[self.position : end]
        self.position = end
        return part

    def _number(self, form: str) -> Any:
        return struct.unpack(form, self._take(struct.calcsize(form)))[0]

    def _line(self) -> str:
        end = self.position
        while self._data[end] != 10:
            end += 1
        return bytes(self._take(end + 1 - self.position))[:-1].decode("utf-8")

    # The stack ----------------------------------------------------------------------------------------------

    def _push(self, value: Any) -> None:
        self._stack.append(value)

    def _mark(self) -> None:
        self._below.append(self._stack)
        self._stack = []

    def _to_mark(self) -> list[Any]:
        items, self._stack = self._stack, self._below.pop()
        return items

    def _pop_many(self, count: int) -> list[Any]:
        if len(self._stack) < count:
            raise IndexError("its pickle takes more than there is")
        items = self._stack[len(self._stack) - count :]
        del self._stack[len(self._stack) - count :]
        return items

    def _put(self, index: int) -> None:
        self._memo[index] = self._stack[-1]

    def _drop(self) -> None:
        if self._stack:
            self._stack.pop()
        else:
            self._stack = self._below.pop()

    # Values -------------------------------------------------------------------------------------------------

    def _text(self, form: str) -> str:
        return str(bytes(self._take(self._number(form))), "utf-8", "surrogatepass")

    def _old_text(self, form: str) -> Any:
        raw = bytes(self._take(self._number(form)))
        return raw if self._encoding == "bytes" else raw.decode(self._encoding)

    def _long(self, form: str) -> int:
        return int.from_bytes(self._take(self._number(form)), "little", signed=True)

    def _append(self, values: list[Any]) -> None:
        self._target(list).extend(values)

    def _set_items(self, items: list[Any]) -> None:
        target = self._target(dict)
        for key, value in zip(checked(items[::2]), items[1::2], strict=True):
            target[key] = value

    def _add_items(self, items: list[Any]) -> None:
        self._target(set).update(checked(items))

    def _frozen(self) -> frozenset[Any]:
        return frozenset(checked(self._to_mark()))

    def _target(self, kind: type) -> Any:
        """The container on top of the stack, of some kind or a subclass."""
        target = self._stack[-1]
        if not isinstance(target, kind):
            raise TypeError(f"its pickle fills a {type(target).__name__} like a {kind.__name__}")
        return target

    # What needs permission ----------------------------------------------------------------------------------

    def _global(self) -> None:
        module, name = self._line(), self._line()
        self._push(self._allowed.find(module, name))

    def _stack_global(self) -> None:
        module, name = self._pop_many(2)
        if not isinstance(module, str) or not isinstance(name, str):
            raise TypeError("its pickle has a name that is no text")
        self._push(self._allowed.find(module, name))

    def _reduce(self) -> None:
        function, args = self._pop_many(2)
        self._push(self._allowed.call(function, _tuple(args)))

    def _new(self) -> None:
        cls, args = self._pop_many(2)
        self._push(self._allowed.new(cls, _tuple(args), {}))

    def _new_by_name(self) -> None:
        cls, args, kwargs = self._pop_many(3)
        self._push(self._allowed.new(cls, _tuple(args), dict(kwargs)))

    def _build(self) -> None:
        state = self._stack.pop()
        self._allowed.build(self._stack[-1], state)


def _tuple(args: Any) -> tuple[Any, ...]:
    if type(args) is not tuple:
        raise TypeError(f"its pickle has a {type(args).__name__} for arguments")
    return args


def _pushing(make: Callable[[Machine], Any]) -> Callable[[Machine], None]:
    return lambda m: m._push(make(m))


_STOP = pickle.STOP[0]
_INSTRUCTIONS: dict[int, Callable[[Machine], Any]] = {
    code[0]: instruction
    for code, instruction in {
        pickle.PROTO: lambda m: m._take(1),
        pickle.FRAME: lambda m: m._take(8),
        pickle.MARK: Machine._mark,
        pickle.POP: Machine._drop,
        pickle.POP_MARK: Machine._to_mark,
        pickle.BINPUT: lambda m: m._put(m._number("<B")),
        pickle.LONG_BINPUT: lambda m: m._put(m._number("<I")),
        pickle.MEMOIZE: lambda m: m._put(len(m._memo)),
        pickle.BINGET: _pushing(lambda m: m._memo[m._number("<B")]),
        pickle.LONG_BINGET: _pushing(lambda m: m._memo[m._number("<I")]),
        pickle.NONE: _pushing(lambda m: None),
        pickle.NEWTRUE: _pushing(lambda m: True),
        pickle.NEWFALSE: _pushing(lambda m: False),
        pickle.BININT: _pushing(lambda m: m._number("<i")),
        pickle.BININT1: _pushing(lambda m: m._number("<B")),
        pickle.BININT2: _pushing(lambda m: m._number("<H")),
        pickle.LONG1: _pushing(lambda m: m._long("<B")),
        pickle.LONG4: _pushing(lambda m: m._long("<i")),
        pickle.BINFLOAT: _pushing(lambda m: m._number(">d")),
        pickle.SHORT_BINUNICODE: _pushing(lambda m: m._text("<B")),
        pickle.BINUNICODE: _pushing(lambda m: m._text("<I")),
        pickle.BINUNICODE8: _pushing(lambda m: m._text("<Q")),
        pickle.SHORT_BINSTRING: _pushing(lambda m: m._old_text("<B")),
        pickle.BINSTRING: _pushing(lambda m: m._old_text("<i")),
        pickle.SHORT_BINBYTES: _pushing(lambda m: bytes(m._take(m._number("<B")))),
        pickle.BINBYTES: _pushing(lambda m: bytes(m._take(m._number("<I")))),
        pickle.BINBYTES8: _pushing(lambda m: bytes(m._take(m._number("<Q")))),
        pickle.BYTEARRAY8: _pushing(lambda m: bytearray(m._take(m._number("<Q")))),
        pickle.EMPTY_TUPLE: _pushing(lambda m: ()),
        pickle.TUPLE1: _pushing(lambda m: tuple(m._pop_many(1))),
        pickle.TUPLE2: _pushing(lambda m: tuple(m._pop_many(2))),
        pickle.TUPLE3: _pushing(lambda m: tuple(m._pop_many(3))),
        pickle.TUPLE: _pushing(lambda m: tuple(m._to_mark())),
        pickle.EMPTY_LIST: _pushing(lambda m: []),
        pickle.APPEND: lambda m: m._append(m._pop_many(1)),
        pickle.APPENDS: lambda m: m._append(m._to_mark()),
        pickle.EMPTY_DICT: _pushing(lambda m: {}),
        pickle.SETITEM: lambda m: m._set_items(m._pop_many(2)),
        pickle.SETITEMS: lambda m: m._set_items(m._to_mark()),
        pickle.EMPTY_SET: _pushing(lambda m: set()),
        pickle.ADDITEMS: lambda m: m._add_items(m._to_mark()),
        pickle.FROZENSET: _pushing(Machine._frozen),
        pickle.GLOBAL: Machine._global,
        pickle.STACK_GLOBAL: Machine._stack_global,
        pickle.REDUCE: Machine._reduce,
        pickle.NEWOBJ: Machine._new,
        pickle.NEWOBJ_EX: Machine._new_by_name,
        pickle.BUILD: Machine._build,
        pickle.BINPERSID: _pushing(lambda m: m._persistent(m._stack.pop())),
    }.items()
}
